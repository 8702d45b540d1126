//! The four states of a tool call, and what can be asked of them.

use crate::wire::{exact, needs_all, read, refused};
use sturdy_session::types::tool::{Attachment, ToolState};

const PENDING: &str = r#"{"status":"pending","input":{},"raw":""}"#;
const RUNNING: &str = r#"{"status":"running","input":{"command":"ls"},"time":{"start":1}}"#;
const COMPLETED: &str =
    r#"{"status":"completed","input":{},"output":"","title":"","metadata":{},"time":{"start":1,"end":2}}"#;
const ERROR: &str = r#"{"status":"error","input":{},"error":"no","time":{"start":1,"end":2}}"#;
const ATTACHMENT: &str = r#"{"id":"prt_2","sessionID":"ses_1","messageID":"msg_1","type":"file","mime":"image/png","url":"data:,"}"#;

#[test]
fn each_state_bare() {
    for text in [PENDING, RUNNING, COMPLETED, ERROR] {
        exact::<ToolState>(text);
        needs_all::<ToolState>(text);
    }
}

#[test]
fn each_state_with_everything() {
    exact::<ToolState>(r#"{"status":"pending","input":{"a":{"z":1,"b":2}},"raw":"{\"a\":"}"#);
    exact::<ToolState>(
        r#"{"status":"running","input":{"b":1,"a":2},"title":"ls","metadata":{"output":"x","exit":null},"time":{"start":1}}"#,
    );
    exact::<ToolState>(&format!(
        r#"{{"status":"completed","input":{{"b":1,"a":[]}},"output":"out","title":"t","metadata":{{"exit":null,"a":1}},"time":{{"start":1,"end":2,"compacted":3}},"attachments":[{ATTACHMENT}]}}"#
    ));
    exact::<ToolState>(
        r#"{"status":"error","input":{"a":1},"error":"Tool execution aborted","metadata":{"interrupted":true},"time":{"start":1,"end":2}}"#,
    );
    exact::<ToolState>(COMPLETED.replace("}}", r#"},"attachments":[]}"#).as_str());
}

#[test]
fn what_was_heard_of_the_arguments_is_kept_by_an_error() {
    exact::<ToolState>(
        r#"{"status":"error","input":{},"error":"no","time":{"start":1,"end":2},"raw":"{\"a"}"#,
    );
}

#[test]
fn an_attachment_is_a_whole_file_part() {
    exact::<Attachment>(ATTACHMENT);
    exact::<Attachment>(
        r#"{"id":"prt_2","sessionID":"ses_1","messageID":"msg_1","type":"file","mime":"a/b","filename":"f","url":"u","source":{"text":{"value":"","start":0,"end":0},"type":"file","path":"p"}}"#,
    );
    refused::<Attachment>(
        &ATTACHMENT.replace(r#""type":"file""#, r#""type":"text""#),
        "unknown variant `text`",
    );
    refused::<Attachment>(&ATTACHMENT.replace(r#""id":"prt_2","#, ""), "missing field `id`");
}

#[test]
fn the_input_is_an_object() {
    refused::<ToolState>(&PENDING.replace("{}", "[]"), "invalid type");
    refused::<ToolState>(&PENDING.replace("pending", "waiting"), "unknown variant `waiting`");
    assert_eq!(read::<ToolState>(RUNNING).input()["command"], "ls");
}

#[test]
fn a_call_is_over_when_it_completed_or_failed() {
    let over = [PENDING, RUNNING, COMPLETED, ERROR].map(|text| read::<ToolState>(text).is_over());
    assert_eq!(over, [false, false, true, true]);
}

#[test]
fn only_an_error_that_says_so_is_an_interruption() {
    let interrupted = |text: &str| read::<ToolState>(text).is_interrupted();
    let with = |metadata: &str| {
        ERROR.replace(r#""time""#, &format!(r#""metadata":{{"interrupted":{metadata}}},"time""#))
    };

    assert!(interrupted(&with("true")));
    assert!(!interrupted(&with("false")));
    assert!(!interrupted(&with("\"true\"")));
    assert!(!interrupted(ERROR));
    assert!(!interrupted(&COMPLETED.replace(r#""metadata":{}"#, r#""metadata":{"interrupted":true}"#)));
}
