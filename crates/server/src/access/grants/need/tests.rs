//! What a grant can be used for, request by request.

use super::{Need, need};
use http::Request;
use http::request::Parts;

const SESSION: &str = "ses_0123456789abABCDEFGHIJKLMN";

fn request(method: &str, path: &str) -> Parts {
    Request::builder().method(method).uri(path).body(()).unwrap().into_parts().0
}

fn needed(method: &str, path: &str) -> Option<Need> {
    need(&request(method, &path.replace(":id", SESSION)), SESSION)
}

#[test]
fn requests_about_the_session_need_the_right_they_are_for() {
    let table = [
        ("GET", "/session/:id", Need::READ),
        ("GET", "/session/:id/message?limit=3", Need::READ),
        ("GET", "/api/session/:id/event", Need::READ),
        ("GET", "/sturdy/session/:id/entries", Need::READ),
        ("GET", "/sturdy/session/:id/message/msg_1/diff", Need::READ),
        ("GET", "/sturdy/blob/00ff?part=prt_1&session=:id", Need::READ),
        ("POST", "/sturdy/ticket", Need::READ),
        ("POST", "/session/:id/message", Need::PROMPT),
        ("POST", "/session/:id/prompt_async", Need::PROMPT),
        ("POST", "/api/session/:id/prompt", Need::PROMPT),
        ("POST", "/session/:id/abort", Need::STOP),
        ("GET", "/api/session/:id/permission", Need::ASKS),
        ("POST", "/api/session/:id/permission/per_1/reply", Need::ANSWER),
        ("POST", "/api/session/:id/question/que_1/reject", Need::ANSWER),
    ];

    for (method, path, right) in table {
        assert_eq!(needed(method, path), Some(right), "{method} {path}");
    }
}

#[test]
fn everything_else_is_allowed_by_no_grant() {
    let table = [
        ("GET", "/session"),
        ("POST", "/session"),
        ("GET", "/session/status"),
        ("GET", "/session/ses_anotherone"),
        ("GET", "/sturdy/blob/00ff?part=prt_1&session=ses_anotherone"),
        ("GET", "/sturdy/blob/00ff?part=prt_1&session=ses_anotherone&session=:id"),
        ("GET", "/sturdy/blob/00ff?part=prt_1"),
        ("POST", "/session/ses_anotherone/message"),
        ("GET", "/event"),
        ("GET", "/global/event"),
        ("GET", "/api/event"),
        ("DELETE", "/session/:id"),
        ("PATCH", "/session/:id"),
        ("POST", "/session/:id/shell"),
        ("POST", "/session/:id/command"),
        ("POST", "/session/:id/revert"),
        ("POST", "/session/:id/share"),
        ("POST", "/session/:id/fork"),
        ("GET", "/session/:id/children"),
        ("DELETE", "/session/:id/message/msg_1"),
        ("POST", "/session/:id/permissions/per_1"),
        ("POST", "/permission/per_1/reply"),
        ("GET", "/permission"),
        ("GET", "/file/content?path=x"),
        ("GET", "/config"),
        ("POST", "/sturdy/grant"),
        ("GET", "/sturdy/token"),
        ("GET", "/metrics"),
        ("GET", "/session/:id/../../config"),
        ("GET", "/session//:id"),
        ("GET", "/session/:id/"),
        ("POST", "/rpc/share"),
    ];

    for (method, path) in table {
        assert_eq!(needed(method, path), None, "{method} {path}");
    }
}
