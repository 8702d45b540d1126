//! What a person is asked, and the words they answer with.

use crate::wire::{becomes, exact, refused};
use sturdy_session::types::ask::{PermissionReply, PermissionRequest, QuestionRequest};

#[test]
fn a_permission_request_bare_and_with_everything() {
    let bare =
        r#"{"id":"per_1","sessionID":"ses_1","permission":"bash","patterns":[],"metadata":{},"always":[]}"#;
    exact::<PermissionRequest>(bare);
    exact::<PermissionRequest>(
        r#"{"id":"per_1","sessionID":"ses_1","permission":"edit","patterns":["a","b"],"metadata":{"filepath":"/a","diff":"@@"},"always":["*"],"tool":{"messageID":"msg_1","callID":"call_1"}}"#,
    );
    becomes::<PermissionRequest>(&bare.replace(r#""metadata":{},"#, ""), bare);
    refused::<PermissionRequest>(&bare.replace("per_1", "que_1"), r#"starting with "per", got "que_1""#);
}

#[test]
fn the_three_answers() {
    for reply in ["\"once\"", "\"always\"", "\"reject\""] {
        exact::<PermissionReply>(reply);
    }
    refused::<PermissionReply>("\"never\"", "unknown variant `never`");
}

#[test]
fn a_question_request_bare_and_with_everything() {
    exact::<QuestionRequest>(r#"{"id":"que_1","sessionID":"ses_1","questions":[]}"#);
    exact::<QuestionRequest>(
        r#"{"id":"que_1","sessionID":"ses_1","questions":[{"question":"Which colour?","header":"Colour","options":[{"label":"Red","description":"Warm"},{"label":"Blue","description":"Cold"}],"multiple":true,"custom":false},{"question":"?","header":"","options":[]}],"tool":{"messageID":"msg_1","callID":"call_1"}}"#,
    );
    refused::<QuestionRequest>(r#"{"id":"que_1","sessionID":"ses_1"}"#, "missing field `questions`");
}
