//! The type of an event is read off its text.

use super::kind;

#[test]
fn the_type_of_an_event_is_what_its_text_begins_with() {
    assert_eq!(kind(br#"{"type":"session.idle","properties":{}}"#), "session.idle");
    assert_eq!(kind(br#"{"properties":{}}"#), "");
    assert_eq!(kind(b"{\"type\":\"cut"), "");
}
