//! Facts: what was stored is read back, by kind and data.

use crate::wire::read;
use std::collections::BTreeSet;
use sturdy_session::fact::{Fact, FactError, GROWTH};

const SESSION: &str = r#"{"id":"ses_1","slug":"s","projectID":"global","directory":"/p","cost":0.00001,"tokens":{"input":0,"output":0,"reasoning":0,"cache":{"read":0,"write":0}},"title":"\"data\":{}","version":"1","time":{"created":1,"updated":1}}"#;
const DIFF: &str = r#"[{"file":"a","additions":1,"deletions":0}]"#;
const USER: &str = r#"{"id":"msg_1","sessionID":"ses_1","role":"user","time":{"created":1},"agent":"build","model":{"providerID":"acme","modelID":"main"},"tools":{"b":true,"a":false}}"#;
const STEP: &str = r#"{"id":"msg_2","sessionID":"ses_1","role":"assistant","time":{"created":1},"parentID":"msg_1","modelID":"main","providerID":"acme","mode":"build","agent":"build","path":{"cwd":"/p","root":"/p"},"cost":0,"tokens":{"input":0,"output":0,"reasoning":0,"cache":{"read":0,"write":0}}}"#;
const READY: &str = r#"{"agent":"build","provider_id":"acme","model_id":"main","variant":"high","path":{"cwd":"/p","root":"/p"},"prices":{"input":3,"output":15,"cache":{"read":0.3,"write":0}},"limits":{"context":200000,"input":100000,"output":8000},"tree":"0d8a","steps_max":5,"continue_on_deny":true}"#;
const READY_BARE: &str = r#"{"agent":"build","provider_id":"acme","model_id":"main","path":{"cwd":"/p","root":"/p"},"prices":{"input":0,"output":0,"cache":{"read":0,"write":0}},"limits":{"context":0,"output":0},"continue_on_deny":false}"#;
const READY_SUMMARY: &str = r#"{"agent":"compaction","provider_id":"acme","model_id":"main","path":{"cwd":"/p","root":"/p"},"prices":{"input":0,"output":0,"cache":{"read":0,"write":0}},"limits":{"context":0,"output":0},"continue_on_deny":false,"kind":{"compact":{"part":"prt_9","auto":true,"overflow":true,"goes_on":true,"tail":"msg_7"}},"usable":9,"auto_compact":true,"prune":true,"structured":2}"#;
const READY_SUBTASK: &str = r#"false,"kind":{"subtask":{"part":"prt_9","follow":{"agent":"build","model":{"providerID":"acme","modelID":"main"}}}}}"#;
const TEXT: &str =
    r#"{"id":"prt_1","sessionID":"ses_1","messageID":"msg_2","type":"text","text":"a\u0000b"}"#;
const CALL: &str = r#"{"id":"prt_2","sessionID":"ses_1","messageID":"msg_2","type":"tool","callID":"c1","tool":"bash","state":{"status":"pending","input":{},"raw":""}}"#;
const USED: &str =
    r#""cost":0.000001,"tokens":{"total":3,"input":1,"output":2,"reasoning":0,"cache":{"read":0,"write":0}}"#;
const ATTACHMENT: &str =
    r#"{"id":"prt_3","sessionID":"ses_1","messageID":"msg_2","type":"file","mime":"a/b","url":"data:,"}"#;

/// Kind and data of every variant, with and without what is optional.
fn stored() -> Vec<(&'static str, String)> {
    let posted = format!(r#""posted":{{"info":{USER},"parts":[{TEXT}]}}"#);
    let full = format!(
        r#""posted":{{"info":{USER},"parts":[],"touched":7,"failures":[{{"name":"MessageOutputLengthError","data":{{}}}}]}}"#
    );
    let step = |ready: &str| format!(r#"{{"message":"msg_2","user":"msg_1","created":5,"ready":{ready}}}"#);
    let shell = READY_BARE.replace("false}", r#"false,"kind":"shell"}"#);
    let mut all = vec![
        ("session.created.1", format!(r#"{{"info":{SESSION}}}"#)),
        ("session.removed.1", format!(r#"{{"info":{SESSION}}}"#)),
        ("message.added.1", format!("{{{posted}}}")),
        ("prompt.admitted.1", format!("{{{posted}}}")),
        ("prompt.admitted.1", format!(r#"{{{full},"begins":true}}"#)),
        ("prompt.admitted.1", format!(r#"{{{posted},"delivery":"queue","held":true,"digest":"0d8a"}}"#)),
        ("prompt.withdrawn.1", r#"{"message":"msg_1"}"#.to_owned()),
        ("prompt.failed.1", r#"{"messages":["msg_1","msg_3"]}"#.to_owned()),
        ("compaction.wanted.1", format!(r#"{{{posted},"auto":true}}"#)),
        ("compaction.wanted.1", format!(r#"{{{posted},"auto":false,"begins":true}}"#)),
        ("copy.started.1", "{}".to_owned()),
        ("copy.finished.1", "{}".to_owned()),
        ("message.copied.1", format!(r#"{{"info":{USER},{USED}}}"#)),
        ("message.copied.1", format!(r#"{{"info":{STEP},{USED}}}"#)),
        ("message.removed.1", format!(r#"{{"message":"msg_1",{USED}}}"#)),
        ("part.written.1", format!(r#"{{"part":{TEXT}}}"#)),
        ("part.written.1", format!(r#"{{"part":{CALL}}}"#)),
        ("part.removed.1", format!(r#"{{"message":"msg_1","part":"prt_1",{USED}}}"#)),
        ("turn.continued.1", r#"{"message":"msg_1"}"#.to_owned()),
        ("turn.stopping.1", "{}".to_owned()),
        ("files.changed.1", r#"{"message":"msg_2","files":{"before":"0d8a","after":"1e9b","files":["/p/a"]}}"#.to_owned()),
        ("turn.diffed.1", format!(r#"{{"diffed":{{"prompt":{USER},"summary":{{"additions":1,"deletions":0,"files":1}},"session":{DIFF}}},"updated":7}}"#)),
        ("session.reverted.1", r#"{"updated":7}"#.to_owned()),
        ("session.reverted.1", r#"{"updated":7,"committed":"msg_1"}"#.to_owned()),
        ("session.reverted.1", format!(r#"{{"revert":{{"messageID":"msg_1","snapshot":"0d8a"}},"totals":{{"summary":{{"additions":1,"deletions":0,"files":1}},"session":{DIFF}}},"updated":7}}"#)),
        ("step.started.1", step(READY)),
        ("step.started.1", step(READY_BARE)),
        ("step.started.1", step(READY_SUMMARY)),
        ("step.started.1", step(&READY_BARE.replace("false}", READY_SUBTASK))),
        ("step.started.1", format!(r#"{{"message":"msg_2","user":"msg_1","created":5,"takes":["msg_3","msg_1"],"ready":{READY}}}"#)),
        ("shell.started.1", format!(r#"{{{posted},"message":"msg_2","created":5,"ready":{shell}}}"#)),
        ("step.began.1", r#"{"message":"msg_2","part":"prt_1"}"#.to_owned()),
        ("step.delayed.1", r#"{"message":"msg_2","attempt":1,"reason":"Overloaded","next":9}"#.to_owned()),
        ("step.delayed.1", r#"{"message":"msg_2","attempt":1,"reason":"Overloaded","next":9,"note":{"part":"prt_1","error":{"message":"Overloaded","isRetryable":true},"time":5}}"#.to_owned()),
        ("step.retried.1", r#"{"message":"msg_2","attempt":1}"#.to_owned()),
        ("model.finished.1", r#"{"message":"msg_2","reason":"tool-calls","usage":{"input":5,"total":6}}"#.to_owned()),
        ("step.finished.1", format!(r#"{{"message":"msg_2","part":"prt_1","reason":"stop",{USED},"time":5}}"#)),
        ("step.ended.1", r#"{"message":"msg_2","completed":5}"#.to_owned()),
        ("step.ended.1", r#"{"message":"msg_2","completed":5,"error":{"name":"MessageAbortedError","data":{"message":"Aborted"}},"finish":"error","structured":{"z":1,"a":null}}"#.to_owned()),
        ("text.started.1", r#"{"message":"msg_2","part":"prt_1","block":"b1","words":"text","start":5}"#.to_owned()),
        ("text.started.1", r#"{"message":"msg_2","part":"prt_1","block":"b1","words":"reasoning","start":5,"metadata":{"a":1}}"#.to_owned()),
        ("text.grew.1", r#"{"part":"prt_1","delta":"\"data\":{\"x\":\u0000}"}"#.to_owned()),
        ("text.ended.1", r#"{"part":"prt_1","text":"a\u0000b","end":6}"#.to_owned()),
        ("text.ended.1", r#"{"part":"prt_1","text":"","end":6,"metadata":{"a":1}}"#.to_owned()),
        ("tool.called.1", r#"{"message":"msg_2","part":"prt_2","call":"c1","tool":"bash"}"#.to_owned()),
        ("tool.called.1", r#"{"message":"msg_2","part":"prt_2","call":"c1","tool":"bash","running":{"input":{"b":1},"start":6}}"#.to_owned()),
        ("tool.started.1", r#"{"part":"prt_2","tool":"bash","input":{"b":1,"a":2},"start":6}"#.to_owned()),
        ("tool.started.1", r#"{"part":"prt_2","tool":"bash","input":{},"start":6,"metadata":{"a":null}}"#.to_owned()),
        ("tool.allowed.1", r#"{"part":"prt_2"}"#.to_owned()),
        ("tool.progressed.1", r#"{"part":"prt_2"}"#.to_owned()),
        ("tool.progressed.1", r#"{"part":"prt_2","title":"ls","metadata":{"output":"x"}}"#.to_owned()),
        ("tool.ended.1", r#"{"part":"prt_2","outcome":{"done":{"output":"o","title":"t","metadata":{}}},"end":7}"#.to_owned()),
        ("tool.ended.1", format!(r#"{{"part":"prt_2","outcome":{{"done":{{"output":"o","title":"t","metadata":{{"exit":null}},"attachments":[{ATTACHMENT}]}}}},"end":7}}"#)),
        ("tool.ended.1", r#"{"part":"prt_2","outcome":{"failed":{"error":"e"}},"end":7}"#.to_owned()),
        ("tool.ended.1", r#"{"part":"prt_2","outcome":{"failed":{"error":"e","metadata":{"a":1}}},"end":7}"#.to_owned()),
        ("tool.ended.1", r#"{"part":"prt_2","outcome":{"interrupted":{"error":"e"}},"end":7}"#.to_owned()),
        ("tool.ended.1", r#"{"part":"prt_2","outcome":{"blocked":{"error":"e"}},"end":7}"#.to_owned()),
        ("tool.compacted.1", r#"{"part":"prt_2","at":8}"#.to_owned()),
        ("permission.asked.1", r#"{"request":{"id":"per_1","sessionID":"ses_1","permission":"bash","patterns":[],"metadata":{},"always":[]}}"#.to_owned()),
        ("permission.replied.1", r#"{"request":"per_1","reply":"once"}"#.to_owned()),
        ("permission.replied.1", r#"{"request":"per_1","reply":"reject","message":"no"}"#.to_owned()),
        ("question.asked.1", r#"{"request":{"id":"que_1","sessionID":"ses_1","questions":[]}}"#.to_owned()),
        ("question.replied.1", r#"{"request":"que_1","answers":[["a"],[]]}"#.to_owned()),
        ("question.rejected.1", r#"{"request":"que_1"}"#.to_owned()),
        ("todo.set.1", r#"{"todos":[{"content":"c","status":"pending","priority":"low"}]}"#.to_owned()),
        ("session.compacted.1", "{}".to_owned()),
        ("session.failed.1", r#"{"error":{"name":"MessageOutputLengthError","data":{}}}"#.to_owned()),
        ("snippets.started.1", r#"{"command":"init","snippets":["ls"]}"#.to_owned()),
        ("command.executed.1", r#"{"name":"init","arguments":"","message":"msg_1"}"#.to_owned()),
    ];
    let edits = [
        r#"{"renamed":{"title":"t"}}"#,
        r#"{"titled":{"title":"t"}}"#,
        r#"{"archived":{"archived":5}}"#,
        r#"{"archived":{"archived":null}}"#,
        r#"{"moved":{"project":"0d8a","path":"a/b"}}"#,
        r#"{"moved":{"project":"0d8a","path":"a/b","directory":"/w/a/b"}}"#,
        r#"{"permitted":{"rules":[{"permission":"bash","pattern":"*","action":"allow"}],"updated":5}}"#,
        r#"{"switched":{"agent":"plan","message":"msg_4","updated":5}}"#,
        r#"{"unswitched":{"messages":["msg_4"]}}"#,
        r#"{"described":{"metadata":{"b":1,"a":2},"updated":5}}"#,
    ];
    all.extend(edits.map(|edit| ("session.edited.1", format!(r#"{{"edit":{edit}}}"#))));
    let ends = ["done", "given", "refused", "failed", "shell", "stopped", "interrupted"];
    all.extend(ends.map(|end| ("session.idled.1", format!(r#"{{"end":"{end}"}}"#))));
    all
}

#[test]
fn every_fact_is_read_back_as_it_was_stored() {
    for (kind, data) in stored() {
        let fact = Fact::parse(kind, &data).unwrap_or_else(|error| panic!("{kind} {data}: {error:?}"));

        assert_eq!((fact.kind(), fact.data().as_str()), (kind, data.as_str()));
        assert_eq!(Fact::parse(fact.kind(), &fact.data()).unwrap(), fact);
        assert_eq!(read::<Fact>(&serde_json::to_string(&fact).unwrap()), fact, "tagged");
    }
}

#[test]
fn no_kind_is_missing_and_each_ends_in_its_version() {
    let kinds: BTreeSet<&str> = stored().into_iter().map(|(kind, _)| kind).collect();
    // The list the compiler knows, from what it says about a kind that is not on it.
    let error = serde_json::from_str::<Fact>(r#"{"kind":"?","data":{}}"#).unwrap_err().to_string();
    let known: Vec<&str> = error.split('`').skip(3).step_by(2).collect();

    assert_eq!(kinds, known.iter().copied().collect::<BTreeSet<_>>());
    assert_eq!(kinds.len(), known.len(), "unique");
    assert!(kinds.contains(GROWTH));
    for kind in kinds {
        let (name, version) = kind.rsplit_once('.').unwrap();
        assert!(name.contains('.') && version.parse::<u32>().unwrap() > 0, "{kind}");
    }
}

#[test]
fn a_kind_from_a_newer_version_is_unknown_not_damaged() {
    for kind in ["text.grew.2", "session.created", "", "SessionCreated", "a\"b\\", "\u{1}\u{7f}é"] {
        for data in ["{}", r#"{"message":"msg_1"}"#] {
            let error = Fact::parse(kind, data).unwrap_err();
            assert!(matches!(&error, FactError::Unknown(name) if name == kind), "{kind:?} {data}: {error:?}");
        }
    }
    let said = Fact::parse("text.grew.2", "{}").unwrap_err().to_string();
    assert_eq!(said, r#"unknown kind of fact "text.grew.2"; it was written by a newer version"#);
}

#[test]
fn a_known_kind_with_other_data_is_damaged() {
    let cases = [
        ("text.grew.1", ""),
        ("text.grew.1", "{"),
        ("text.grew.1", "{}"),
        ("text.grew.1", "null"),
        ("text.grew.1", "[]"),
        ("text.grew.1", r#"{"part":"prt_1"}"#),
        ("text.grew.1", r#"{"part":"msg_1","delta":""}"#),
        ("text.grew.1", r#"{"part":"prt_1","delta":""} {}"#),
        // It must not be able to say another kind than its own.
        ("turn.stopping.1", r#"{},"kind":"session.compacted.1""#),
        // Was: an unknown word inside the data was taken for a newer kind.
        ("session.edited.1", r#"{"edit":{"painted":{}}}"#),
        ("session.idled.1", r#"{"end":"asleep"}"#),
        ("session.failed.1", r#"{"error":{"name":"Other","data":{}}}"#),
        ("tool.ended.1", r#"{"part":"prt_2","outcome":{"vanished":{}},"end":7}"#),
    ];
    for (kind, data) in cases {
        let error = Fact::parse(kind, data).unwrap_err();
        assert!(
            matches!(&error, FactError::Damaged { kind: named, .. } if named == kind),
            "{kind} {data}: {error:?}"
        );
    }
    let said = Fact::parse("text.grew.1", "{").unwrap_err().to_string();
    assert_eq!(said, r#"damaged fact of kind "text.grew.1""#);
}

#[test]
fn keys_a_later_version_added_are_passed_over() {
    let fact = Fact::parse("prompt.withdrawn.1", r#"{"delivery":"queue","message":"msg_1"}"#).unwrap();

    assert_eq!(fact.data(), r#"{"message":"msg_1"}"#);
}

#[test]
fn all_that_is_said_of_a_call_or_of_what_a_turn_changed_has_a_subject() {
    let subjects: BTreeSet<&str> = stored()
        .into_iter()
        .filter(|(kind, data)| Fact::parse(kind, data).unwrap().subject().is_some())
        .map(|(kind, _)| kind)
        .collect();

    let calls = [
        "tool.called.1",
        "tool.started.1",
        "tool.allowed.1",
        "tool.progressed.1",
        "tool.ended.1",
        "tool.compacted.1",
    ];
    assert_eq!(subjects, calls.into_iter().chain(["part.written.1", "turn.diffed.1"]).collect());
}
