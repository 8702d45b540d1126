"""The one promise that is checked: whatever is asked, the server does not fail."""

import schemathesis


@schemathesis.check
def no_server_error(ctx, response, case):
    """501 is an answer: the wire has the operation, and this server says that it has not."""
    assert response.status_code < 500 or response.status_code == 501, f"the server answered {response.status_code}"
