//! Stored messages in the spelling of v2.

use super::{SummaryReason, message, request_of};
use serde_json::{Value, json};
use sturdy_engine::reads::RawMessage;
use sturdy_session::id::MessageId;

fn shown(info: Value, parts: &[Value]) -> Option<Value> {
    let raw = RawMessage {
        id: MessageId::parse("msg_1").unwrap(),
        created: 1,
        info: info.to_string(),
        parts: parts.iter().map(Value::to_string).collect(),
    };
    message(&raw, SummaryReason::Auto).unwrap()
}

#[test]
fn a_prompt_has_its_text_its_files_and_its_agents_and_nothing_the_server_added() {
    let info = json!({ "id": "msg_1", "role": "user", "sessionID": "ses_1", "time": { "created": 5 } });
    let parts = [
        json!({ "type": "text", "text": "read @a with @plan" }),
        json!({ "type": "text", "text": "<file>", "synthetic": true }),
        json!({ "type": "file", "url": "file:///a", "mime": "text/plain", "filename": "a",
            "source": { "type": "file", "path": "a", "text": { "value": "@a", "start": 5, "end": 7 } } }),
        json!({ "type": "agent", "name": "plan", "source": { "value": "@plan", "start": 13, "end": 18 } }),
    ];

    assert_eq!(
        shown(info, &parts).unwrap(),
        json!({
            "id": "msg_1", "type": "user", "text": "read @a with @plan", "time": { "created": 5 },
            "files": [{ "uri": "file:///a", "mime": "text/plain", "name": "a",
                "source": { "start": 5, "end": 7, "text": "@a" } }],
            "agents": [{ "name": "plan", "source": { "start": 13, "end": 18, "text": "@plan" } }],
        })
    );
}

#[test]
fn an_answer_has_its_texts_thoughts_and_calls_in_order() {
    let info = json!({
        "id": "msg_2", "role": "assistant", "sessionID": "ses_1", "agent": "build", "modelID": "main",
        "providerID": "acme", "cost": 0.5, "finish": "stop", "time": { "created": 5, "completed": 9 },
        "tokens": { "input": 1, "output": 2, "total": 3, "reasoning": 0, "cache": { "read": 0, "write": 0 } },
        "error": { "name": "MessageAbortedError", "data": { "message": "Aborted" } },
    });
    let parts = [
        json!({ "type": "step-start", "snapshot": "aaa" }),
        json!({ "id": "prt_1", "type": "reasoning", "text": "hm", "time": { "start": 5, "end": 6 } }),
        json!({ "id": "prt_2", "type": "text", "text": "Hello" }),
        json!({ "id": "prt_3", "type": "tool", "callID": "c1", "tool": "bash", "state": { "status": "completed",
            "input": { "command": "ls" }, "output": "a\n", "metadata": { "exit": 0 }, "title": "ls",
            "time": { "start": 6, "end": 7 } } }),
        json!({ "type": "step-finish", "snapshot": "bbb" }),
    ];

    assert_eq!(
        shown(info, &parts).unwrap(),
        json!({
            "id": "msg_2", "type": "assistant", "agent": "build", "model": { "id": "main", "providerID": "acme", "variant": "default" },
            "content": [
                { "type": "reasoning", "id": "prt_1", "text": "hm", "time": { "created": 5, "completed": 6 } },
                { "type": "text", "id": "prt_2", "text": "Hello" },
                { "type": "tool", "id": "c1", "name": "bash", "provider": { "executed": false },
                    "state": { "status": "completed", "input": { "command": "ls" }, "structured": { "exit": 0 },
                        "content": [{ "type": "text", "text": "a\n" }], "outputPaths": [] },
                    "time": { "created": 6, "ran": 6, "completed": 7 } },
            ],
            "cost": 0.5, "finish": "stop", "time": { "created": 5, "completed": 9 },
            "tokens": { "input": 1, "output": 2, "reasoning": 0, "cache": { "read": 0, "write": 0 } },
            "error": { "type": "unknown", "message": "Aborted" },
            "snapshot": { "start": "aaa", "end": "bbb", "files": [] },
        })
    );
}

#[test]
fn a_command_of_a_person_and_a_summary_have_types_of_their_own() {
    let info = json!({ "id": "msg_3", "role": "assistant", "agent": "build", "time": { "created": 1, "completed": 2 } });
    let call = json!({ "type": "tool", "callID": "c1", "tool": "bash", "state": { "status": "completed",
        "input": { "command": "echo hi" }, "output": "hi\n", "metadata": {}, "time": { "start": 1, "end": 2 } } });
    assert_eq!(
        shown(info, &[call]).unwrap(),
        json!({ "id": "msg_3", "type": "shell", "callID": "c1", "command": "echo hi", "output": "hi\n",
            "time": { "created": 1, "completed": 2 } })
    );

    let info = json!({ "id": "msg_4", "role": "assistant", "summary": true, "time": { "created": 1 } });
    let text = json!({ "type": "text", "text": "All is well." });
    assert_eq!(
        shown(info, &[text]).unwrap(),
        json!({ "id": "msg_4", "type": "compaction", "reason": "auto", "summary": "All is well.", "recent": "",
            "time": { "created": 1 } })
    );
    let asks = json!({ "id": "msg_5", "role": "user", "time": { "created": 1 } });
    assert_eq!(shown(asks, &[json!({ "type": "compaction", "auto": false })]), None);
}

#[test]
fn a_summary_names_its_request_which_says_why_it_was_made() {
    let raw = |info: Value, parts: &[Value]| RawMessage {
        id: MessageId::parse("msg_1").unwrap(),
        created: 1,
        info: info.to_string(),
        parts: parts.iter().map(Value::to_string).collect(),
    };
    let summary = raw(json!({ "role": "assistant", "summary": true, "parentID": "msg_9" }), &[]);
    let answer = raw(json!({ "role": "assistant", "parentID": "msg_9" }), &[]);
    let asked = |auto: bool| raw(json!({ "role": "user" }), &[json!({ "type": "compaction", "auto": auto })]);

    assert_eq!(request_of(&summary), Some(MessageId::parse("msg_9").unwrap()));
    assert_eq!(request_of(&answer), None);
    assert_eq!(SummaryReason::of(&asked(true)), SummaryReason::Auto);
    assert_eq!(SummaryReason::of(&asked(false)), SummaryReason::Manual);
}

#[test]
fn damage_is_said_as_damage() {
    let raw = RawMessage {
        id: MessageId::parse("msg_1").unwrap(),
        created: 1,
        info: "{".to_owned(),
        parts: Vec::new(),
    };
    assert!(message(&raw, SummaryReason::Manual).is_err());
    assert_eq!(request_of(&raw), None);
}
