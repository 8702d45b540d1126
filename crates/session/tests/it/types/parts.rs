//! The twelve kinds of parts, and where a file came from.

use crate::wire::{becomes, exact, needs_all, print, refused};
use sturdy_session::types::part::{FileSourceKind, Part, PartBody};

fn text(fields: &str) -> String {
    format!(r#"{{"id":"prt_1","sessionID":"ses_1","messageID":"msg_1",{fields}}}"#)
}

fn part(fields: &str) -> PartBody {
    exact::<Part>(&text(fields)).body
}

#[test]
fn a_text_part() {
    let bare = part(r#""type":"text","text":"""#);
    let full = part(
        r#""type":"text","text":"a \"b\" / é \u0001\n","synthetic":true,"ignored":false,"time":{"start":1,"end":2},"metadata":{"anthropic":{"x":null},"b":[1,0.5]}"#,
    );
    part(r#""type":"text","text":"x","time":{"start":1}"#);

    assert!(matches!(bare, PartBody::Text(text) if text.synthetic.is_none() && text.metadata.is_none()));
    assert!(matches!(full, PartBody::Text(text) if text.text == "a \"b\" / é \u{1}\n"));
}

#[test]
fn a_subtask_part() {
    let bare = part(r#""type":"subtask","prompt":"do","description":"it","agent":"general""#);
    part(
        r#""type":"subtask","prompt":"do","description":"it","agent":"general","model":{"providerID":"acme","modelID":"main"},"command":"review""#,
    );

    assert!(matches!(bare, PartBody::Subtask(task) if task.model.is_none()));
}

#[test]
fn a_reasoning_part() {
    let bare = part(r#""type":"reasoning","text":"","time":{"start":1}"#);
    part(
        r#""type":"reasoning","text":"hm","metadata":{"anthropic":{"signature":"s"}},"time":{"start":1,"end":2}"#,
    );

    assert!(matches!(bare, PartBody::Reasoning(reasoning) if reasoning.time.end.is_none()));
    refused::<Part>(&text(r#""type":"reasoning","text":"""#), "missing field `time`");
}

#[test]
fn a_file_part_with_each_source() {
    let bare = part(r#""type":"file","mime":"image/png","url":"data:image/png;base64,AA==""#);
    let sourced = |source: &str| {
        let fields = format!(
            r#""type":"file","mime":"text/plain","filename":"a.rs","url":"file:///a.rs?start=1&end=2","source":{{"text":{{"value":"@a.rs","start":0,"end":5}},{source}}}"#
        );
        match part(&fields) {
            PartBody::File(file) => file.source.unwrap().kind,
            other => panic!("{other:?}"),
        }
    };

    assert!(matches!(bare, PartBody::File(file) if file.source.is_none() && file.filename.is_none()));
    let file = sourced(r#""type":"file","path":"a.rs""#);
    let symbol = sourced(
        r#""type":"symbol","path":"a.rs","range":{"start":{"line":0,"character":1},"end":{"line":9007199254740991,"character":4294967296}},"name":"main","kind":12"#,
    );
    let resource = sourced(r#""type":"resource","clientName":"mcp","uri":"mem://x""#);
    assert!(matches!(file, FileSourceKind::File { path } if path == "a.rs"));
    assert!(matches!(symbol, FileSourceKind::Symbol { kind: 12, .. }));
    assert!(matches!(resource, FileSourceKind::Resource { uri, .. } if uri == "mem://x"));
}

#[test]
fn the_span_of_a_source_is_numbers_not_integers() {
    part(
        r#""type":"file","mime":"a/b","url":"u","source":{"text":{"value":"","start":-1,"end":0.5},"type":"file","path":"p"}"#,
    );
}

#[test]
fn a_file_from_an_unknown_source_is_refused() {
    let fields = r#""type":"file","mime":"a/b","url":"u","source":{"text":{"value":"","start":0,"end":0},"type":"web"}"#;
    refused::<Part>(&text(fields), "unknown variant `web`");
}

#[test]
fn a_tool_part() {
    let bare =
        part(r#""type":"tool","callID":"c1","tool":"bash","state":{"status":"pending","input":{},"raw":""}"#);
    part(
        r#""type":"tool","callID":"c1","tool":"bash","state":{"status":"pending","input":{},"raw":""},"metadata":{"providerExecuted":true}"#,
    );

    assert!(matches!(bare, PartBody::Tool(tool) if tool.metadata.is_none() && tool.call_id == "c1"));
}

#[test]
fn the_bounds_of_a_step() {
    let start = part(r#""type":"step-start""#);
    part(r#""type":"step-start","snapshot":"0d8a""#);
    let tokens = r#"{"input":1,"output":2,"reasoning":3,"cache":{"read":4,"write":5}}"#;
    let finish = part(&format!(r#""type":"step-finish","reason":"tool-calls","cost":0,"tokens":{tokens}"#));
    part(
        r#""type":"step-finish","reason":"stop","snapshot":"0d8a","cost":0.00001,"tokens":{"total":15,"input":1,"output":2,"reasoning":3,"cache":{"read":4,"write":5}}"#,
    );

    assert!(matches!(start, PartBody::StepStart(start) if start.snapshot.is_none()));
    assert!(matches!(finish, PartBody::StepFinish(finish) if finish.tokens.total.is_none()));
}

#[test]
fn a_snapshot_and_a_patch_part() {
    let snapshot = part(r#""type":"snapshot","snapshot":"0d8a""#);
    let patch = part(r#""type":"patch","hash":"0d8a","files":["/p/a","/p/b"]"#);
    part(r#""type":"patch","hash":"0d8a","files":[]"#);

    assert!(matches!(snapshot, PartBody::Snapshot(part) if part.snapshot == "0d8a"));
    assert!(matches!(patch, PartBody::Patch(patch) if patch.files.len() == 2));
}

#[test]
fn an_agent_part() {
    let bare = part(r#""type":"agent","name":"plan""#);
    part(r#""type":"agent","name":"plan","source":{"value":"@plan","start":0,"end":5}"#);

    assert!(matches!(bare, PartBody::Agent(agent) if agent.source.is_none()));
    let negative = r#""type":"agent","name":"plan","source":{"value":"@plan","start":-1,"end":5}"#;
    refused::<Part>(&text(negative), "non-negative integer");
}

#[test]
fn a_retry_part_carries_an_api_error_and_no_other() {
    let retry = part(
        r#""type":"retry","attempt":0,"error":{"name":"APIError","data":{"message":"slow down","isRetryable":true}},"time":{"created":7}"#,
    );

    assert!(matches!(retry, PartBody::Retry(retry) if retry.attempt == 0 && retry.time.created == 7));
    let other = r#""type":"retry","attempt":1,"error":{"name":"UnknownError","data":{"message":"x"}},"time":{"created":7}"#;
    refused::<Part>(&text(other), "unknown variant `UnknownError`");
}

#[test]
fn a_compaction_part() {
    let manual = part(r#""type":"compaction","auto":false"#);
    part(r#""type":"compaction","auto":true,"overflow":false"#);
    part(r#""type":"compaction","auto":true,"overflow":true,"tail_start_id":"msg_9""#);

    assert!(matches!(manual, PartBody::Compaction(part) if !part.auto && part.overflow.is_none()));
}

#[test]
fn the_type_may_stand_first_or_last() {
    let stored = r#"{"type":"text","text":"hi","id":"prt_1","sessionID":"ses_1","messageID":"msg_1"}"#;
    becomes::<Part>(stored, &text(r#""type":"text","text":"hi""#));
}

#[test]
fn a_null_is_read_as_absent_and_not_printed_again() {
    let null = r#""type":"text","text":"hi","synthetic":null,"time":{"start":1,"end":null},"metadata":null"#;
    becomes::<Part>(&text(null), &text(r#""type":"text","text":"hi","time":{"start":1}"#));
}

#[test]
fn a_part_of_unknown_type_or_with_a_wrong_id_is_refused() {
    refused::<Part>(&text(r#""type":"hologram""#), "unknown variant `hologram`");
    refused::<Part>(&text(r#""text":"no type""#), "missing field `type`");
    let wrong = r#"{"id":"msg_1","sessionID":"ses_1","messageID":"msg_1","type":"text","text":""}"#;
    refused::<Part>(wrong, r#"Expected a string starting with "prt", got "msg_1""#);
}

#[test]
fn there_are_twelve_kinds_and_each_needs_its_fields() {
    let kinds = [
        r#""type":"text","text":"""#,
        r#""type":"subtask","prompt":"","description":"","agent":"""#,
        r#""type":"reasoning","text":"","time":{"start":0}"#,
        r#""type":"file","mime":"","url":"""#,
        r#""type":"tool","callID":"","tool":"","state":{"status":"pending","input":{},"raw":""}"#,
        r#""type":"step-start""#,
        r#""type":"step-finish","reason":"stop","cost":0,"tokens":{"input":0,"output":0,"reasoning":0,"cache":{"read":0,"write":0}}"#,
        r#""type":"snapshot","snapshot":"""#,
        r#""type":"patch","hash":"","files":[]"#,
        r#""type":"agent","name":"""#,
        r#""type":"retry","attempt":0,"error":{"name":"APIError","data":{"message":"","isRetryable":false}},"time":{"created":0}"#,
        r#""type":"compaction","auto":false"#,
    ];
    kinds.iter().for_each(|fields| needs_all::<Part>(&text(fields)));
    let bodies = kinds.map(part);
    let distinct: std::collections::HashSet<_> = bodies.iter().map(std::mem::discriminant).collect();

    assert_eq!(distinct.len(), 12);
    assert!(bodies.iter().all(|body| !print(body).contains("null")));
}
