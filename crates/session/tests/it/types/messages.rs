//! Both kinds of messages, and the pair of the spec byte for byte.

use crate::wire::{becomes, exact, needs_all, print, read, refused};
use sturdy_session::types::message::{Message, MessageWithParts, Switches};

const USER: &str = r#"{"id":"msg_1","sessionID":"ses_1","role":"user","time":{"created":1},"agent":"build","model":{"providerID":"acme","modelID":"main"}}"#;
const ASSISTANT: &str = r#"{"id":"msg_2","sessionID":"ses_1","role":"assistant","time":{"created":1},"parentID":"msg_1","modelID":"main","providerID":"acme","mode":"build","agent":"build","path":{"cwd":"/p/sub","root":"/p"},"cost":0,"tokens":{"input":0,"output":0,"reasoning":0,"cache":{"read":0,"write":0}}}"#;

/// A user and an assistant message as the reference returns them.
const PAIR: &str = include_str!("pair.json");

#[test]
fn the_pair_of_the_spec_prints_as_it_was_read() {
    let pair: Vec<MessageWithParts> = exact(PAIR.trim_end());

    assert_eq!(pair.iter().map(|entry| entry.parts.len()).collect::<Vec<_>>(), [1, 3]);
    assert_eq!(pair[1].info.created(), 1_794_770_278_195);
}

#[test]
fn a_user_message_bare_and_with_everything() {
    let bare: Message = exact(USER);
    exact::<Message>(
        r#"{"id":"msg_1","sessionID":"ses_1","role":"user","time":{"created":1},"format":{"type":"json_schema","schema":{"b":1,"a":2},"retryCount":2},"summary":{"title":"t","body":"b","diffs":[{"file":"a","patch":"@@","additions":1,"deletions":0,"status":"added"},{"additions":0,"deletions":2}]},"agent":"build","model":{"providerID":"acme","modelID":"main","variant":"high"},"system":"be brief","tools":{"bash":true,"*":false}}"#,
    );
    exact::<Message>(
        &USER.replace(r#""agent":"#, r#""format":{"type":"text"},"summary":{"diffs":[]},"agent":"#),
    );

    assert_eq!((bare.id().as_str(), bare.session_id().as_str(), bare.created()), ("msg_1", "ses_1", 1));
}

#[test]
fn an_assistant_message_bare_and_with_everything() {
    let bare: Message = exact(ASSISTANT);
    exact::<Message>(
        r#"{"id":"msg_2","sessionID":"ses_1","role":"assistant","time":{"created":1,"completed":2},"error":{"name":"MessageAbortedError","data":{"message":"Aborted"}},"parentID":"msg_1","modelID":"main","providerID":"acme","mode":"compaction","agent":"compaction","path":{"cwd":"/p","root":"/p"},"summary":true,"cost":0.000114,"tokens":{"total":107,"input":100,"output":7,"reasoning":0,"cache":{"read":0,"write":0}},"structured":{"z":1,"a":null},"variant":"high","finish":"tool-calls"}"#,
    );

    assert_eq!((bare.id().as_str(), bare.session_id().as_str(), bare.created()), ("msg_2", "ses_1", 1));
}

#[test]
fn every_status_of_a_changed_file() {
    for status in ["added", "deleted", "modified"] {
        let diff = format!(r#"{{"file":"a","additions":0,"deletions":0,"status":"{status}"}}"#);
        exact::<sturdy_session::types::diff::FileDiff>(&diff);
    }
}

#[test]
fn a_stored_message_has_its_ids_last_and_prints_them_first() {
    let stored = r#"{"role":"user","time":{"created":1},"agent":"build","model":{"providerID":"acme","modelID":"main"},"id":"msg_1","sessionID":"ses_1"}"#;
    becomes::<Message>(stored, USER);
}

#[test]
fn a_time_that_is_a_number_is_read_as_milliseconds() {
    becomes::<Message>(&USER.replace(":1}", ":1.75}"), USER);
}

#[test]
fn a_null_is_read_as_absent_and_not_printed_again() {
    let nulls = ASSISTANT.replace(r#""cost""#, r#""summary":null,"error":null,"finish":null,"cost""#);
    becomes::<Message>(&nulls.replace(":1}", r#":1,"completed":null}"#), ASSISTANT);
}

#[test]
fn a_message_without_what_it_needs_is_refused() {
    needs_all::<Message>(USER);
    needs_all::<Message>(ASSISTANT);
    refused::<Message>(&USER.replace("\"user\"", "\"system\""), "the role \"user\" or \"assistant\"");
    refused::<Message>(&USER.replace(r#""role":"user","#, ""), "the role \"user\" or \"assistant\"");
    refused::<Message>(
        &USER.replace("msg_1", "prt_1"),
        r#"Expected a string starting with "msg", got "prt_1""#,
    );
    refused::<Message>(&ASSISTANT.replace(r#""parentID":"msg_1","#, ""), "missing field `parentID`");
}

#[test]
fn switches_keep_the_order_they_were_written_in() {
    // Was: sorted by name, so that a wildcard said last came first and lost.
    let text = r#"{"read":true,"*":false,"b":true,"a":false}"#;

    let switches: Switches = read(text);

    assert_eq!(print(&switches), text);
    assert_eq!(switches.iter().map(|(tool, _)| tool).collect::<Vec<_>>(), ["read", "*", "b", "a"]);
    assert_eq!((switches.get("read"), switches.get("nothing")), (Some(true), None));
    becomes::<Switches>(r#"{"a":true,"b":true,"a":false}"#, r#"{"a":false,"b":true}"#);
    assert_eq!(
        print(&[("b", true), ("a", false)].into_iter().collect::<Switches>()),
        r#"{"b":true,"a":false}"#
    );
    assert!(read::<Switches>("{}").is_empty());
    refused::<Switches>(r#"{"a":1}"#, "invalid type");
    refused::<Switches>("[]", "a map of tool names to booleans");
}
