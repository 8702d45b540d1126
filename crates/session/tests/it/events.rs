//! Every event of the v1 streams, as text.

use crate::wire::{becomes, exact, refused};
use std::collections::BTreeSet;
use sturdy_session::types::event::Event;

const SESSION: &str = r#"{"id":"ses_1","slug":"quiet-river","projectID":"global","directory":"/p","path":"","cost":0,"tokens":{"input":0,"output":0,"reasoning":0,"cache":{"read":0,"write":0}},"title":"E","version":"1.18.33","time":{"created":1,"updated":1}}"#;
const USER: &str = r#"{"id":"msg_1","sessionID":"ses_1","role":"user","time":{"created":1},"agent":"build","model":{"providerID":"acme","modelID":"main"}}"#;
const PART: &str = r#"{"id":"prt_1","sessionID":"ses_1","messageID":"msg_1","type":"text","text":"hi"}"#;
const PTY: &str =
    r#"{"id":"pty_1","title":"t","command":"sh","args":["-c"],"cwd":"/p","status":"running","pid":7}"#;
const QUESTION: &str = r#"{"id":"que_1","sessionID":"ses_1","questions":[{"question":"?","header":"h","options":[{"label":"l","description":"d"}]}],"tool":{"messageID":"msg_1","callID":"c1"}}"#;

/// Type and properties of each; several forms of one type where fields are optional.
fn catalogue() -> Vec<(&'static str, String)> {
    let of_session = |more: &str| format!(r#"{{"sessionID":"ses_1"{more}}}"#);
    let session = of_session(&format!(r#","info":{SESSION}"#));
    let mut all = vec![
        ("session.created", session.clone()),
        ("session.updated", session.clone()),
        ("session.deleted", session),
        ("message.updated", of_session(&format!(r#","info":{USER}"#))),
        ("message.removed", of_session(r#","messageID":"msg_1""#)),
        ("message.part.updated", of_session(&format!(r#","part":{PART},"time":5"#))),
        ("message.part.removed", of_session(r#","messageID":"msg_1","partID":"prt_1""#)),
        ("message.part.delta", of_session(r#","messageID":"msg_1","partID":"prt_1","field":"text","delta":"x""#)),
        ("session.diff", of_session(r#","diff":[]"#)),
        ("session.diff", of_session(r#","diff":[{"file":"a","patch":"@@","additions":1,"deletions":2,"status":"modified"}]"#)),
        ("session.error", "{}".to_owned()),
        ("session.error", of_session(r#","error":{"name":"MessageAbortedError","data":{"message":"Aborted"}}"#)),
        ("session.error", r#"{"error":{"name":"UnknownError","data":{"message":"x"}}}"#.to_owned()),
        ("session.status", of_session(r#","status":{"type":"busy"}"#)),
        ("session.status", of_session(r#","status":{"type":"retry","attempt":1,"message":"m","next":9}"#)),
        ("session.idle", of_session("")),
        ("session.compacted", of_session("")),
        ("todo.updated", of_session(r#","todos":[{"content":"c","status":"pending","priority":"high"}]"#)),
        ("permission.asked", r#"{"id":"per_1","sessionID":"ses_1","permission":"bash","patterns":["ls"],"metadata":{"command":"ls"},"always":["ls *"],"tool":{"messageID":"msg_1","callID":"c1"}}"#.to_owned()),
        ("permission.replied", of_session(r#","requestID":"per_1","reply":"once""#)),
        ("question.asked", QUESTION.to_owned()),
        ("question.replied", of_session(r#","requestID":"que_1","answers":[["a","b"],[]]"#)),
        ("question.rejected", of_session(r#","requestID":"que_1""#)),
        ("command.executed", r#"{"name":"init","sessionID":"ses_1","arguments":"","messageID":"msg_1"}"#.to_owned()),
        ("tui.session.select", of_session("")),
    ];
    all.extend(transient().into_iter().map(|(kind, properties)| (kind, properties.to_owned())));
    all.push(("pty.created", format!(r#"{{"info":{PTY}}}"#)));
    let exited = PTY.replace("running", "exited").replace(r#""pid":7"#, r#""pid":7,"exitCode":3221225786"#);
    all.push(("pty.updated", format!(r#"{{"info":{exited}}}"#)));
    all
}

/// What is about no session.
fn transient() -> [(&'static str, &'static str); 26] {
    [
        ("server.connected", "{}"),
        ("server.heartbeat", "{}"),
        ("sturdy.resync", r#"{"reason":"horizon","cursor":"0123456789ab.7"}"#),
        ("server.instance.disposed", r#"{"directory":"/p"}"#),
        ("global.disposed", "{}"),
        (
            "project.updated",
            r#"{"id":"global","worktree":"/","time":{"created":1,"updated":2},"sandboxes":[]}"#,
        ),
        ("file.edited", r#"{"file":"/p/a"}"#),
        ("file.watcher.updated", r#"{"file":"/p/a","event":"add"}"#),
        ("file.watcher.updated", r#"{"file":"/p/a","event":"change"}"#),
        ("file.watcher.updated", r#"{"file":"/p/a","event":"unlink"}"#),
        ("vcs.branch.updated", "{}"),
        ("vcs.branch.updated", r#"{"branch":"main"}"#),
        ("lsp.updated", "{}"),
        ("mcp.tools.changed", r#"{"server":"x"}"#),
        ("mcp.browser.open.failed", r#"{"mcpName":"x","url":"http://x"}"#),
        ("pty.exited", r#"{"id":"pty_1","exitCode":0}"#),
        ("pty.deleted", r#"{"id":"pty_1"}"#),
        ("tui.prompt.append", r#"{"text":"x"}"#),
        ("tui.command.execute", "{}"),
        ("tui.command.execute", r#"{"command":"session.new"}"#),
        ("tui.toast.show", r#"{"message":"m","variant":"info","duration":5000}"#),
        ("tui.toast.show", r#"{"title":"t","message":"m","variant":"error","duration":1}"#),
        ("tui.toast.show", r#"{"message":"m","variant":"success","duration":1}"#),
        ("tui.toast.show", r#"{"message":"m","variant":"warning","duration":1}"#),
        (
            "project.updated",
            r#"{"id":"4f1e","worktree":"/p","vcs":"git","time":{"created":1,"updated":2},"sandboxes":["/q"]}"#,
        ),
        ("file.edited", r#"{"file":"é"}"#),
    ]
}

#[test]
fn every_event_prints_as_it_was_read() {
    for (kind, properties) in catalogue() {
        exact::<Event>(&format!(r#"{{"type":"{kind}","properties":{properties}}}"#));
    }
}

#[test]
fn no_event_of_the_streams_is_missing() {
    let kinds: BTreeSet<&str> = catalogue().into_iter().map(|(kind, _)| kind).collect();

    // Those of the reference that the server sends, and our own.
    assert_eq!(kinds.len(), 40);
}

#[test]
fn properties_may_come_before_the_type() {
    becomes::<Event>(
        r#"{"properties":{"info":{"unknown":1},"sessionID":"ses_1"},"id":"evt_1","type":"session.idle"}"#,
        r#"{"type":"session.idle","properties":{"sessionID":"ses_1"}}"#,
    );
}

#[test]
fn a_toast_stays_for_five_seconds_unless_told_and_never_for_none() {
    let toast = |more: &str| {
        format!(r#"{{"type":"tui.toast.show","properties":{{"message":"m","variant":"info"{more}}}}}"#)
    };
    becomes::<Event>(&toast(""), &toast(r#","duration":5000"#));
    refused::<Event>(&toast(r#","duration":0"#), "integer");
}

#[test]
fn an_unknown_event_or_a_wrong_id_is_refused() {
    refused::<Event>(r#"{"type":"session.vanished","properties":{}}"#, "unknown variant `session.vanished`");
    refused::<Event>(
        r#"{"type":"session.idle","properties":{"sessionID":"abc"}}"#,
        r#"Expected a string starting with "ses", got "abc""#,
    );
}
