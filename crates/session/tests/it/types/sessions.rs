//! Session, project, todo, status.

use crate::wire::{becomes, exact, needs_all, print, read, refused};
use serde_json::Value;
use sturdy_session::types::project::Project;
use sturdy_session::types::session::{GlobalSession, Rule, Session};
use sturdy_session::types::status::Status;
use sturdy_session::types::todo::Todo;

const BARE: &str = r#"{"id":"ses_1","slug":"quiet-river","projectID":"global","directory":"/p","cost":0,"tokens":{"input":0,"output":0,"reasoning":0,"cache":{"read":0,"write":0}},"title":"","version":"1.18.33","time":{"created":1,"updated":2}}"#;
const FULL: &str = r#"{"id":"ses_1","slug":"quiet-river","projectID":"4f1e","workspaceID":"wrk_1","directory":"/p","path":"","parentID":"ses_0","summary":{"additions":1,"deletions":0,"files":1,"diffs":[{"file":"a","additions":1,"deletions":0}]},"cost":0.0032099999999999993,"tokens":{"input":1020,"output":63,"reasoning":0,"cache":{"read":0,"write":0}},"share":{"url":"https://x/s"},"title":"T","agent":"build","model":{"id":"main","providerID":"acme","variant":"default"},"version":"1.18.33","metadata":{"b":{"c":[true,null]},"a":1},"time":{"created":1,"updated":2,"compacting":3,"archived":-4.5},"permission":[{"permission":"bash","pattern":"*","action":"ask"},{"permission":"edit","pattern":"*.md","action":"deny"},{"permission":"*","pattern":"*","action":"allow"}],"revert":{"messageID":"msg_1","partID":"prt_1","snapshot":"9c2b","diff":"diff --git"}}"#;

/// Where an optional field is, as a JSON pointer.
const OPTIONAL: [&str; 17] = [
    "/workspaceID",
    "/path",
    "/parentID",
    "/summary",
    "/summary/diffs",
    "/share",
    "/agent",
    "/model",
    "/model/variant",
    "/metadata",
    "/time/compacting",
    "/time/archived",
    "/permission",
    "/revert",
    "/revert/partID",
    "/revert/snapshot",
    "/revert/diff",
];

fn without(value: &Value, pointer: &str) -> Value {
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    let mut value = value.clone();
    let object = value.pointer_mut(parent).unwrap().as_object_mut().unwrap();
    assert!(object.shift_remove(key).is_some(), "{pointer} is in the example");
    value
}

#[test]
fn a_session_bare_and_with_everything() {
    exact::<Session>(BARE);
    exact::<Session>(FULL);
}

#[test]
fn every_optional_field_can_be_left_out_alone() {
    for pointer in OPTIONAL {
        exact::<Session>(&without(&read(FULL), pointer).to_string());
    }
}

#[test]
fn a_null_in_any_optional_place_is_read_as_absent() {
    for pointer in OPTIONAL {
        let mut nulled: Value = read(FULL);
        *nulled.pointer_mut(pointer).unwrap() = Value::Null;

        becomes::<Session>(&nulled.to_string(), &without(&read(FULL), pointer).to_string());
    }
}

#[test]
fn cost_and_tokens_may_be_missing_but_are_always_printed() {
    let old = without(&without(&read(BARE), "/cost"), "/tokens");
    becomes::<Session>(&old.to_string(), BARE);
}

#[test]
fn a_session_without_a_required_field_is_refused() {
    for field in ["id", "slug", "projectID", "directory", "title", "version", "time"] {
        let short = without(&read(FULL), &format!("/{field}")).to_string();
        refused::<Session>(&short, &format!("missing field `{field}`"));
    }
    refused::<Session>(&BARE.replace("ses_1", "abc"), r#"Expected a string starting with "ses", got "abc""#);
    refused::<Session>(&BARE.replace(r#""created":1"#, r#""created":-1"#), "non-negative integer");
}

#[test]
fn a_rule_has_one_of_three_actions() {
    for action in ["allow", "deny", "ask"] {
        exact::<Rule>(&format!(r#"{{"permission":"bash","pattern":"*","action":"{action}"}}"#));
    }
    refused::<Rule>(r#"{"permission":"bash","pattern":"*","action":"maybe"}"#, "unknown variant `maybe`");
}

#[test]
fn a_session_in_a_global_list_says_null_when_its_project_is_unknown() {
    let listed = |project: &str| format!(r#"{},"project":{project}}}"#, &FULL[..FULL.len() - 1]);

    for project in [r#"{"id":"4f1e","worktree":"/p"}"#, r#"{"id":"4f1e","name":"n","worktree":"/p"}"#, "null"]
    {
        exact::<GlobalSession>(&listed(project));
    }
}

#[test]
fn a_project_bare_and_with_everything() {
    exact::<Project>(r#"{"id":"global","worktree":"/","time":{"created":1,"updated":2},"sandboxes":[]}"#);
    exact::<Project>(
        r##"{"id":"4f1e","worktree":"/p","vcs":"git","name":"n","icon":{"url":"u","override":"o","color":"#fff"},"commands":{"start":"make"},"time":{"created":1,"updated":2,"initialized":3},"sandboxes":["/q"]}"##,
    );
    exact::<Project>(
        r#"{"id":"4f1e","worktree":"/p","icon":{},"commands":{},"time":{"created":1,"updated":2},"sandboxes":[]}"#,
    );
}

#[test]
fn a_todo_is_three_strings() {
    exact::<Todo>(r#"{"content":"Ship it","status":"in_progress","priority":"low"}"#);
    exact::<Todo>(r#"{"content":"","status":"whatever","priority":"?"}"#);
    needs_all::<Todo>(r#"{"content":"","status":"","priority":""}"#);
}

#[test]
fn each_status() {
    needs_all::<Status>(r#"{"type":"retry","attempt":1,"message":"slow down","next":1700000001000}"#);
    exact::<Status>(r#"{"type":"idle"}"#);
    exact::<Status>(r#"{"type":"busy"}"#);
    exact::<Status>(r#"{"type":"retry","attempt":1,"message":"slow down","next":1700000001000}"#);
    for link in ["", r#","link":"https://x""#] {
        exact::<Status>(&format!(
            r#"{{"type":"retry","attempt":5,"message":"m","action":{{"reason":"r","provider":"p","title":"t","message":"m","label":"l"{link}}},"next":1}}"#
        ));
    }
    refused::<Status>(r#"{"type":"asleep"}"#, "unknown variant `asleep`");
    assert_eq!(print(&Status::default()), r#"{"type":"idle"}"#);
}
