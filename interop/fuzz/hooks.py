"""The one promise that is checked: whatever is asked, the server does not fail."""

import schemathesis


@schemathesis.check
def no_server_error(ctx, response, case):
    """Also for what the wire has and one server has no use for."""
    assert response.status_code < 500, f"the server answered {response.status_code}"
