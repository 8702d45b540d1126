//! What stays of a message, and that nothing else does.

use super::{message, session};
use crate::wire::redaction::{Omitted, Redaction};
use serde_json::{Value, json};
use sturdy_engine::reads::RawMessage;
use sturdy_session::id::MessageId;

const ALL: [Omitted; 3] = [Omitted::Outputs, Omitted::Files, Omitted::Thoughts];

fn redacted(info: &Value, parts: &[Value]) -> (Value, Vec<Value>) {
    without(&ALL, info, parts)
}

fn without(omitted: &[Omitted], info: &Value, parts: &[Value]) -> (Value, Vec<Value>) {
    let whole = RawMessage {
        id: MessageId::parse("msg_0123456789abcdefghijklmnop").unwrap(),
        created: 1,
        info: info.to_string(),
        parts: parts.iter().map(Value::to_string).collect(),
    };
    let kept = message(whole, Redaction::from(omitted));
    let parts = kept.parts.iter().map(|part| serde_json::from_str(part).unwrap()).collect();
    (serde_json::from_str(&kept.info).unwrap(), parts)
}

#[test]
fn a_call_keeps_what_it_was_and_loses_what_it_wrote_and_found() {
    let input = json!({ "filePath": "/p/a.txt", "content": "x", "note": "n".repeat(401), "limit": 3 });
    let metadata = json!({ "exit": 1, "interrupted": false, "diff": "-a\n+b", "files": [{ "patch": "p" }] });
    let state = json!({ "status": "completed", "title": "a.txt", "time": { "start": 1, "end": 2 }, "input": input,
        "metadata": metadata, "output": "found", "attachments": [{ "url": "data:," }] });

    let call = json!({ "id": "p", "type": "tool", "callID": "c", "tool": "write", "state": state, "metadata": { "k": "v" } });
    let (_, parts) = redacted(&json!({}), &[call]);

    let left = "[left out]";
    let input = json!({ "filePath": "/p/a.txt", "content": left, "note": left, "limit": 3 });
    let state = json!({ "status": "completed", "title": "a.txt", "time": { "start": 1, "end": 2 }, "input": input,
        "metadata": { "exit": 1, "interrupted": false }, "output": left });
    assert_eq!(parts, [json!({ "id": "p", "type": "tool", "callID": "c", "tool": "write", "state": state })]);
}

#[test]
fn a_refused_call_still_says_who_refused_it() {
    let call =
        |error: &str| json!({ "type": "tool", "state": { "status": "error", "input": {}, "error": error } });

    let said = "The user rejected permission to use this tool. They said: secret";
    let (_, parts) = redacted(&json!({}), &[call(said), call("no such file: secret")]);

    let errors: Vec<&Value> = parts.iter().map(|part| &part["state"]["error"]).collect();
    assert_eq!(errors, [&json!("rejected permission [left out]"), &json!("[left out]")]);
}

#[test]
fn words_stay_and_thoughts_files_and_what_is_new_go() {
    let parts = [
        json!({ "type": "text", "text": "Look at @a.txt" }),
        json!({ "type": "text", "text": "1: secret", "synthetic": true }),
        json!({ "type": "reasoning", "text": "secret" }),
        json!({ "type": "file", "mime": "text/plain", "filename": "a.txt", "url": "data:text/plain;base64,c2VjcmV0" }),
        json!({ "id": "p", "type": "invented-later", "what": "secret" }),
    ];
    let failure =
        json!({ "name": "APIError", "data": { "message": "Overloaded", "responseBody": "secret" } });
    let info = json!({ "id": "m", "role": "user", "system": "secret", "summary": { "diffs": ["secret"] }, "error": failure });

    let (info, parts) = redacted(&info, &parts);

    let failure = json!({ "name": "APIError", "data": { "message": "Overloaded" } });
    assert_eq!(info, json!({ "id": "m", "role": "user", "error": failure }));
    let expected = [
        json!({ "type": "text", "text": "Look at @a.txt" }),
        json!({ "type": "text", "text": "[left out]", "synthetic": true }),
        json!({ "type": "file", "mime": "text/plain", "filename": "a.txt", "url": "" }),
        json!({ "id": "p", "type": "invented-later" }),
    ];
    assert_eq!(parts, expected);
}

#[test]
fn a_session_keeps_its_numbers_and_loses_its_differences() {
    let summary = json!({ "additions": 1, "deletions": 2, "files": 1, "diffs": [{ "patch": "secret" }] });
    let revert = json!({ "messageID": "m", "diff": "secret", "snapshot": "s" });
    let info = json!({ "id": "s", "title": "T", "summary": summary, "revert": revert, "metadata": { "a": "secret" },
        "share": { "url": "u" } });

    let kept: Value =
        serde_json::from_str(&session(&info.to_string(), Redaction::from(ALL.as_slice()))).unwrap();

    let summary = json!({ "additions": 1, "deletions": 2, "files": 1 });
    assert_eq!(kept, json!({ "id": "s", "title": "T", "summary": summary, "revert": { "messageID": "m" } }));
}

fn read(tool: &str) -> Value {
    let state = json!({ "status": "completed", "title": "t", "time": { "start": 1, "end": 2 },
        "input": { "content": "written" }, "output": "found",
        "metadata": { "exit": 0, "output": "found", "diff": "-a", "preview": "p" },
        "attachments": [{ "url": "data:,x" }] });
    json!({ "type": "tool", "tool": tool, "state": state })
}

/// What is there of a call: its input, output, metadata, attachments.
fn left(parts: &[Value]) -> Vec<(Value, Value, Value, bool)> {
    let of = |part: &Value| {
        let state = &part["state"];
        let input = state["input"]["content"].clone();
        (input, state["output"].clone(), state["metadata"].clone(), state["attachments"].is_array())
    };
    parts.iter().map(of).collect()
}

#[test]
fn without_outputs_alone_what_files_hold_and_what_was_thought_stays() {
    let parts = [
        read("bash"),
        json!({ "type": "reasoning", "text": "hm" }),
        json!({ "type": "file", "mime": "m", "url": "data:,x" }),
        json!({ "type": "text", "text": "1: line", "synthetic": true }),
        json!({ "type": "tool", "tool": "bash", "state": { "status": "error", "input": {}, "error": "exit 1" } }),
    ];
    let info = json!({ "role": "user", "summary": { "diffs": ["-a"] } });

    let (info, parts) = without(&[Omitted::Outputs], &info, &parts);

    assert_eq!(info["summary"], json!({ "diffs": ["-a"] }));
    let metadata = json!({ "exit": 0, "diff": "-a" });
    assert_eq!(left(&parts[..1]), [(json!("written"), json!("[left out]"), metadata, false)]);
    assert_eq!(parts[1]["text"], "hm");
    assert_eq!(parts[2]["url"], "data:,x");
    assert_eq!(parts[3]["text"], "1: line");
    assert_eq!(parts[4]["state"]["error"], "[left out]");
}

#[test]
fn without_files_alone_only_answers_stay_that_are_known_to_be_something_else() {
    let failed = json!({ "type": "tool", "tool": "read", "state": { "status": "error", "input": {}, "error": "none" } });
    let parts =
        [read("bash"), read("read"), read("notes_all"), failed, json!({ "type": "reasoning", "text": "hm" })];

    let (_, parts) = without(&[Omitted::Files], &json!({}), &parts);

    let out = json!("[left out]");
    assert_eq!(
        left(&parts[..3]),
        [
            (out.clone(), json!("found"), json!({ "exit": 0, "output": "found" }), false),
            (out.clone(), out.clone(), json!({ "exit": 0 }), false),
            (out.clone(), out, json!({ "exit": 0 }), false),
        ]
    );
    assert_eq!(parts[3]["state"]["error"], "none");
    assert_eq!(parts[4]["text"], "hm");
}

#[test]
fn without_thoughts_alone_calls_stay_whole() {
    let parts = [read("notes_all"), json!({ "type": "reasoning", "text": "hm" })];

    let (_, kept) = without(&[Omitted::Thoughts], &json!({}), &parts);

    assert_eq!(kept, [read("notes_all")]);
}

#[test]
fn with_nothing_left_out_a_message_stays_byte_for_byte() {
    let odd = json!({ "type": "invented-later", "what": 1 });

    let (info, parts) = without(&[], &json!({ "system": "s" }), std::slice::from_ref(&odd));

    assert_eq!((info, parts), (json!({ "system": "s" }), vec![odd]));
}
