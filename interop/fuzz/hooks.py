"""The one promise that is checked: whatever is asked, the server does not fail."""

import os

import schemathesis

NAMES_OF_THE_DIRECTORY = ("directory", "location[directory]")


@schemathesis.check
def no_server_error(ctx, response, case):
    """Also for what the wire has and one server has no use for."""
    assert response.status_code < 500, f"the server answered {response.status_code}"


@schemathesis.hook
def before_call(context, case, kwargs):
    """What is asked stays in the directory of the run: some of it writes, and a made-up path may be somebody's."""
    for name in NAMES_OF_THE_DIRECTORY:
        if isinstance(case.query, dict) and name in case.query:
            case.query[name] = os.environ["FUZZ_DIRECTORY"]
