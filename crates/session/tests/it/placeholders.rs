//! What stands in for a row that cannot be read is a record like any other.

use sturdy_session::depth::read_stored;
use sturdy_session::id::SessionId;
use sturdy_session::placeholder::{self, PART_TEXT, SessionColumns, is_json, is_record};
use sturdy_session::types::message::Message;
use sturdy_session::types::part::{Part, PartBody};
use sturdy_session::types::session::Session;

const SESSION: &str = "ses_0123456789abABCDEFGHIJKLMN";
const MESSAGE: &str = "msg_0123456789abABCDEFGHIJKLMN";
const PART: &str = "prt_0123456789abABCDEFGHIJKLMN";

#[test]
fn every_placeholder_is_read_like_the_record_it_stands_for() {
    let id = SessionId::parse(SESSION).unwrap();
    let columns = SessionColumns {
        project: "global".to_owned(),
        directory: "/work".to_owned(),
        parent: Some(SESSION.to_owned()),
        title: "Still known".to_owned(),
        created: 3,
        updated: 4,
    };
    let session = placeholder::session(&id, columns);
    let message: Message = read_stored(&placeholder::message(SESSION, MESSAGE, 7)).unwrap();
    let part: Part = read_stored(&placeholder::part(SESSION, MESSAGE, PART)).unwrap();

    let again: Session = read_stored(&serde_json::to_string(&session).unwrap()).unwrap();
    assert_eq!(again, session);
    assert_eq!((session.title.as_str(), session.parent_id.as_ref()), ("Still known", Some(&id)));
    let Message::Assistant(message) = message else { panic!("{message:?}") };
    assert!(message.error.is_some());
    assert_eq!((message.id.as_str(), message.time.created), (MESSAGE, 7));
    let PartBody::Text(text) = &part.body else { panic!("{part:?}") };
    assert_eq!((part.id.as_str(), text.text.as_str()), (PART, PART_TEXT));
}

#[test]
fn a_record_is_an_object_with_the_id_of_its_row() {
    let deep = format!("{{\"input\":{}{},\"id\":\"a\"}}", "[".repeat(150), "]".repeat(150));
    assert!(is_record(r#"{"id":"a","more":[1]}"#, "a"));
    assert!(is_record(r#"{"id":"\u0061"}"#, "a"));
    assert!(is_record(&deep, "a"));
    for text in
        ["", "{", "{}", "[]", "null", r#"{"id":"b"}"#, r#"{"id":1}"#, r#"{"id":"a"}}"#, r#"{"id":"a""#]
    {
        assert!(!is_record(text, "a"), "{text}");
    }
    assert!(is_json("[]") && !is_json("") && !is_json("[1"));
}
