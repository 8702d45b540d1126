//! Damage is named, and takes nothing else with it.

use super::{message_with_parts, projects, session};
use crate::error::EngineError;
use sturdy_session::id::{MessageId, SessionId};
use sturdy_store::{RawMessage, ReadError};

#[test]
fn a_record_that_is_not_what_it_should_be_is_named_with_what_is_wrong() {
    let id = SessionId::parse("ses_1").unwrap();
    let damaged = session(&id, "{\"id\":7}").unwrap_err();
    assert_eq!(damaged.record, "session ses_1");
    let EngineError::Read(ReadError::Broken { what, place }) = damaged.into() else {
        panic!("damage is an error of reading, and not that there is no such session");
    };
    assert_eq!(place, "session ses_1");
    assert!(what.contains("invalid type"), "{what}");
}

#[test]
fn a_damaged_part_is_named_by_its_place_in_its_message() {
    let info = r#"{"id":"msg_1","sessionID":"ses_1","role":"user","time":{"created":1},"agent":"build",
        "model":{"providerID":"p","modelID":"m"}}"#;
    let part = r#"{"id":"prt_1","sessionID":"ses_1","messageID":"msg_1","type":"text","text":"hello"}"#;
    let raw = RawMessage {
        id: MessageId::parse("msg_1").unwrap(),
        created: 1,
        info: info.to_owned(),
        parts: vec![part.to_owned(), "[]".to_owned()],
    };
    let damaged = message_with_parts(&raw).unwrap_err();
    assert_eq!(damaged.record, "part 2 of message msg_1");
}

#[test]
fn one_damaged_record_does_not_take_the_others_of_a_list_with_it() {
    let whole = r#"{"id":"p1","worktree":"/w","time":{"created":1,"updated":1},"sandboxes":[]}"#;
    let texts = ["null".to_owned(), whole.to_owned()];
    let read: Vec<String> = projects(&texts).map(|project| project.id).collect();
    assert_eq!(read, ["p1"]);
}
