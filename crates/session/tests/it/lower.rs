//! From stored messages to what a model is asked.

use crate::sample::{assistant, completed, file, reasoning, request, step, text, tool, user};
use proptest::prelude::*;
use serde_json::{Value, json};
use sturdy_session::prompt::lower::{LowerOptions, MediaInResults, MediaMode, Target, lower, lower_with};
use sturdy_session::talk::{AssistantItem, Media, ResultContent, ToolResult, Turn, UserItem};
use sturdy_session::types::message::MessageWithParts;

const PNG: &str = "data:image/png;base64,AAAA";
const PDF: &str = "data:application/pdf;base64,BBBB";

fn target(media_in_results: MediaInResults) -> Target {
    Target { provider_id: "acme".to_owned(), model_id: "m1".to_owned(), media_in_results }
}

fn plain() -> Target {
    target(MediaInResults::None)
}

fn answered(extra: Value, parts: Vec<Value>) -> Vec<Turn> {
    lower(&[assistant("a", "u", 2, extra, parts)], &plain())
}

fn says(words: &str) -> AssistantItem {
    AssistantItem::Text { text: words.to_owned(), metadata: None }
}

fn call(id: &str, name: &str) -> AssistantItem {
    let input = json!({ "x": 1 });
    AssistantItem::Call { id: id.to_owned(), name: name.to_owned(), input, metadata: None, executed: None }
}

fn result(call: &str, name: &str, text: &str, is_error: bool) -> ToolResult {
    let content = ResultContent::Text(text.to_owned());
    ToolResult { call: call.to_owned(), name: name.to_owned(), content, is_error }
}

fn media(mime: &str, name: &str, url: &str) -> Media {
    Media { mime: mime.to_owned(), url: url.to_owned(), filename: Some(name.to_owned()) }
}

fn metadata(value: Value) -> Option<serde_json::Map<String, Value>> {
    value.as_object().cloned()
}

fn user_turns(parts: Vec<Value>) -> Vec<Turn> {
    lower(&[user("u", 1, parts)], &plain())
}

#[test]
fn a_user_message_is_its_spoken_texts_and_its_files() {
    let turns = user_turns(vec![
        text("look"),
        json!({ "type": "text", "text": "read for you", "synthetic": true }),
        json!({ "type": "text", "text": "only for eyes", "ignored": true }),
        text(""),
        file("text/plain", "a.txt", "file:///a.txt"),
        file("application/x-directory", "src", "file:///src"),
        file("image/png", "a.png", PNG),
        json!({ "type": "agent", "name": "general" }),
    ]);

    let items = vec![
        UserItem::Text("look".to_owned()),
        UserItem::Text("read for you".to_owned()),
        UserItem::File(media("image/png", "a.png", PNG)),
    ];
    assert_eq!(turns, [Turn::User(items)]);
}

#[test]
fn a_user_message_with_nothing_to_say_is_left_out() {
    assert_eq!(user_turns(vec![]), []);
    assert_eq!(user_turns(vec![text(""), json!({ "type": "agent", "name": "general" })]), []);
}

#[test]
fn requests_for_compactions_and_subtasks_are_told_in_words() {
    let subtask = json!({ "type": "subtask", "prompt": "secret", "description": "d", "agent": "general" });

    let turns = lower(&[request("c", 1, None), user("u", 2, vec![subtask])], &plain());

    let words: Vec<&str> = turns
        .iter()
        .map(|turn| match turn {
            Turn::User(items) => match &items[..] {
                [UserItem::Text(words)] => words.as_str(),
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        })
        .collect();
    assert!(words[0].contains("up to this point"));
    assert!(words[1].contains("started the following tool"));
}

#[test]
fn media_are_named_instead_of_sent_when_asked() {
    let options = LowerOptions { media: MediaMode::Name, output_chars_max: Some(4) };
    let mut shot = completed("c", "shot", "taken 😀");
    shot["state"]["attachments"] = json!([attachment("image/png", "s.png", PNG)]);
    let history = [
        user("u", 1, vec![file("image/png", "a.png", PNG), file("audio/wav", "a.wav", "data:audio/wav,x")]),
        assistant("a", "u", 2, json!({}), vec![shot]),
    ];

    let turns = lower_with(&history, &target(MediaInResults::ImagesAndDocuments), options);

    assert_eq!(
        turns,
        [
            Turn::User(vec![
                UserItem::Text("[Attached image/png: a.png]".to_owned()),
                UserItem::File(media("audio/wav", "a.wav", "data:audio/wav,x")),
            ]),
            Turn::Assistant(vec![call("c", "shot")]),
            Turn::Tool(vec![result("c", "shot", "take\n[truncated]\n[Attached image/png: s.png]", false)]),
        ]
    );
}

#[test]
fn an_answer_is_cut_at_its_steps_and_every_call_is_answered_behind_it() {
    let turns = answered(
        json!({}),
        vec![
            step(),
            text("one"),
            completed("c1", "bash", "out 1"),
            completed("c2", "read", "out 2"),
            json!({ "type": "step-finish", "reason": "tool-calls", "cost": 0, "tokens": {} }),
            step(),
            text("two"),
        ],
    );

    assert_eq!(
        turns,
        [
            Turn::Assistant(vec![says("one"), call("c1", "bash"), call("c2", "read")]),
            Turn::Tool(vec![result("c1", "bash", "out 1", false), result("c2", "read", "out 2", false)]),
            Turn::Assistant(vec![says("two")]),
        ]
    );
}

#[test]
fn an_answer_of_step_starts_and_empty_text_is_left_out() {
    assert_eq!(answered(json!({}), vec![]), []);
    assert_eq!(answered(json!({}), vec![step(), step()]), []);
    assert_eq!(answered(json!({}), vec![step(), text("")]), []);
    assert_eq!(answered(json!({}), vec![json!({ "type": "patch", "hash": "h", "files": [] })]), []);
}

#[test]
fn a_failed_answer_is_not_told() {
    let api = json!({ "name": "APIError", "data": { "message": "no", "isRetryable": false } });

    assert_eq!(answered(json!({ "error": api }), vec![text("half")]), []);
}

#[test]
fn an_aborted_answer_is_told_once_it_said_something() {
    let aborted = json!({ "error": { "name": "MessageAbortedError", "data": { "message": "Aborted" } } });

    assert_eq!(answered(aborted.clone(), vec![step(), reasoning("hm", json!({}))]), []);
    assert_eq!(
        answered(aborted, vec![step(), reasoning("hm", json!({})), text("half")]),
        [Turn::Assistant(vec![
            AssistantItem::Reasoning { text: "hm".to_owned(), metadata: metadata(json!({})) },
            says("half"),
        ])]
    );
}

#[test]
fn the_model_that_made_it_gets_its_metadata_back() {
    let mut spoken = text("hi");
    spoken["metadata"] = json!({ "openai": { "itemId": "i1" } });
    let mut called = completed("c1", "bash", "out");
    called["metadata"] = json!({ "google": { "thoughtSignature": "t" }, "providerExecuted": false });

    let turns = answered(
        json!({}),
        vec![reasoning("why", json!({ "anthropic": { "signature": "s" } })), spoken, called],
    );

    let Turn::Assistant(items) = &turns[0] else { panic!() };
    assert_eq!(
        items[..],
        [
            AssistantItem::Reasoning {
                text: "why".to_owned(),
                metadata: metadata(json!({ "anthropic": { "signature": "s" } })),
            },
            AssistantItem::Text {
                text: "hi".to_owned(),
                metadata: metadata(json!({ "openai": { "itemId": "i1" } }))
            },
            AssistantItem::Call {
                id: "c1".to_owned(),
                name: "bash".to_owned(),
                input: json!({ "x": 1 }),
                metadata: metadata(json!({ "google": { "thoughtSignature": "t" } })),
                executed: None,
            },
        ]
    );
}

#[test]
fn another_model_gets_plain_text() {
    let mut spoken = text("hi");
    spoken["metadata"] = json!({ "openai": { "itemId": "i1" } });
    let mut called = completed("c1", "bash", "out");
    called["metadata"] = json!({ "openai": { "itemId": "i2" } });
    let parts = vec![
        reasoning("why", json!({ "anthropic": { "signature": "s" } })),
        reasoning("  ", json!({ "anthropic": { "signature": "s" } })),
        text(""),
        spoken,
        called,
    ];

    for other in [json!({ "modelID": "m2" }), json!({ "providerID": "other" })] {
        let turns = answered(other, parts.clone());

        assert_eq!(
            turns,
            [
                Turn::Assistant(vec![says("why"), says("hi"), call("c1", "bash")]),
                Turn::Tool(vec![result("c1", "bash", "out", false)]),
            ]
        );
    }
}

#[test]
fn an_empty_text_beside_signed_reasoning_is_a_space() {
    let signed = reasoning("why", json!({ "anthropic": { "signature": "s" } }));
    let Turn::Assistant(items) = &answered(json!({}), vec![text(""), signed])[0] else { panic!() };
    assert_eq!(items[0], says(" "));

    for unsigned in
        [json!({ "anthropic": {} }), json!({ "anthropic": { "signature": null } }), json!({ "openai": {} })]
    {
        let Turn::Assistant(items) = &answered(json!({}), vec![text(""), reasoning("why", unsigned)])[0]
        else {
            panic!()
        };
        assert_eq!(items.len(), 1);
    }
}

fn state_of(state: Value) -> ToolResult {
    let turns = answered(json!({}), vec![tool("c", "bash", state)]);
    let [Turn::Assistant(_), Turn::Tool(results)] = &turns[..] else { panic!("{turns:?}") };
    results[0].clone()
}

#[test]
fn an_error_is_told_as_an_error() {
    let time = json!({ "start": 1, "end": 2 });
    let failed = json!({ "status": "error", "input": {}, "error": "no such file", "time": time });

    assert_eq!(state_of(failed), result("c", "bash", "no such file", true));
}

#[test]
fn what_a_stopped_tool_had_said_is_a_normal_result() {
    let stopped = |metadata: Value| {
        let time = json!({ "start": 1, "end": 2 });
        json!({ "status": "error", "input": {}, "error": "aborted", "metadata": metadata, "time": time })
    };

    assert_eq!(
        state_of(stopped(json!({ "interrupted": true, "output": "half" }))),
        result("c", "bash", "half", false)
    );
    let errors = [
        json!({ "interrupted": true }),
        json!({ "output": "half" }),
        json!({ "interrupted": true, "output": 1 }),
    ];
    for metadata in errors {
        assert_eq!(state_of(stopped(metadata)), result("c", "bash", "aborted", true));
    }
}

#[test]
fn a_call_that_never_ended_is_answered_as_interrupted() {
    let pending = state_of(json!({ "status": "pending", "input": {}, "raw": "{\"x" }));
    let running = state_of(json!({ "status": "running", "input": {}, "time": { "start": 1 } }));

    assert_eq!(pending, running);
    assert!(pending.is_error);
    assert!(matches!(pending.content, ResultContent::Text(text) if text.contains("interrupted")));
}

#[test]
fn a_pruned_output_is_a_placeholder_without_files() {
    let mut pruned = completed("c", "bash", "long gone");
    pruned["state"]["time"]["compacted"] = json!(9);
    pruned["state"]["attachments"] = json!([attachment("image/png", "s.png", PNG)]);

    let turns = answered(json!({}), vec![pruned]);

    assert_eq!(turns.len(), 2);
    let Turn::Tool(results) = &turns[1] else { panic!() };
    assert!(matches!(&results[0].content, ResultContent::Text(text) if text.contains("removed")));
    assert!(!results[0].is_error);
}

#[test]
fn a_call_the_provider_ran_keeps_its_result_in_the_answer() {
    let mut search = completed("c1", "web_search", "found");
    search["metadata"] = json!({ "providerExecuted": true });

    for extra in [json!({}), json!({ "modelID": "m2" })] {
        let turns = answered(extra, vec![step(), search.clone(), text("so")]);

        let executed = AssistantItem::Call {
            id: "c1".to_owned(),
            name: "web_search".to_owned(),
            input: json!({ "x": 1 }),
            metadata: None,
            executed: Some(ResultContent::Text("found".to_owned())),
        };
        assert_eq!(turns, [Turn::Assistant(vec![executed, says("so")])]);
    }
}

fn attachment(mime: &str, name: &str, url: &str) -> Value {
    json!({
        "id": "prt_x", "sessionID": "ses_a", "messageID": "msg_a", "type": "file",
        "mime": mime, "filename": name, "url": url,
    })
}

/// Two steps, each with files in its result.
fn with_files(target: &Target) -> Vec<Turn> {
    let mut first = completed("c1", "shot", "one");
    first["state"]["attachments"] =
        json!([attachment("image/png", "a.png", PNG), attachment("application/pdf", "b.pdf", PDF)]);
    let mut second = completed("c2", "shot", "two");
    second["state"]["attachments"] = json!([
        attachment("text/plain", "c.txt", "data:,c"),
        attachment("image/png", "d.png", "https://x/d.png")
    ]);
    let parts = vec![step(), first, step(), second];
    lower(&[assistant("a", "u", 2, json!({}), parts), user("v", 3, vec![text("next")])], target)
}

#[test]
fn files_stay_in_results_where_the_provider_takes_them() {
    let turns = with_files(&target(MediaInResults::ImagesAndDocuments));

    let Turn::Tool(results) = &turns[1] else { panic!() };
    assert_eq!(
        results[0].content,
        ResultContent::Mixed {
            text: "one".to_owned(),
            media: vec![media("image/png", "a.png", PNG), media("application/pdf", "b.pdf", PDF)],
        }
    );
    // Only what is in the message can be in a result.
    let Turn::User(items) = &turns[4] else { panic!() };
    assert_eq!(items[1..], [UserItem::File(media("image/png", "d.png", "https://x/d.png"))]);
}

#[test]
fn files_follow_the_whole_answer_where_the_provider_does_not_take_them() {
    let turns = with_files(&plain());

    let Turn::User(items) = &turns[4] else { panic!() };
    assert!(matches!(&items[0], UserItem::Text(lead) if lead.contains("tool results")));
    assert_eq!(
        turns[..4],
        [
            Turn::Assistant(vec![call("c1", "shot")]),
            Turn::Tool(vec![result("c1", "shot", "one", false)]),
            Turn::Assistant(vec![call("c2", "shot")]),
            Turn::Tool(vec![result("c2", "shot", "two", false)]),
        ]
    );
    assert_eq!(
        items[1..],
        [
            UserItem::File(media("image/png", "a.png", PNG)),
            UserItem::File(media("application/pdf", "b.pdf", PDF)),
            UserItem::File(media("image/png", "d.png", "https://x/d.png")),
        ]
    );
    assert_eq!(turns[5], Turn::User(vec![UserItem::Text("next".to_owned())]));
}

#[test]
fn a_file_nobody_else_can_open_is_named() {
    let mut shot = completed("c", "shot", "");
    shot["state"]["attachments"] = json!([attachment("image/png", "s.png", "file:///s.png")]);

    let turns = answered(json!({}), vec![shot]);

    assert_eq!(turns[1], Turn::Tool(vec![result("c", "shot", "[Attached image/png: s.png]", false)]));
    assert_eq!(turns.len(), 2);
}

#[test]
fn a_target_takes_what_it_takes() {
    let table = [
        (MediaInResults::None, [false, false, false]),
        (MediaInResults::Images, [true, false, false]),
        (MediaInResults::ImagesAndDocuments, [true, true, false]),
    ];
    for (media, taken) in table {
        assert_eq!(
            ["image/png", "application/pdf", "audio/wav"].map(|mime| media.takes(mime)),
            taken,
            "{media:?}"
        );
    }
}

fn any_part() -> impl Strategy<Value = Value> {
    (0..10_u8, "[a-c]{1,2}").prop_map(|(kind, id)| match kind {
        0 => text(""),
        1 => text("words"),
        2 => reasoning("why", json!({ "anthropic": { "signature": "s" } })),
        3 => completed(&id, "bash", "out"),
        4 => tool(&id, "bash", json!({ "status": "pending", "input": {}, "raw": "" })),
        5 => tool(&id, "bash", json!({ "status": "running", "input": {}, "time": { "start": 1 } })),
        6 => {
            let mut provided = completed(&id, "search", "out");
            provided["metadata"] = json!({ "providerExecuted": true });
            provided
        }
        7 => {
            let mut shot = completed(&id, "shot", "out");
            shot["state"]["attachments"] = json!([attachment("image/png", "s.png", PNG)]);
            shot
        }
        _ => step(),
    })
}

fn any_messages() -> impl Strategy<Value = Vec<MessageWithParts>> {
    let parts = prop::collection::vec(any_part(), 0..12);
    prop::collection::vec((any::<bool>(), any::<bool>(), parts), 0..6).prop_map(|messages| {
        let build = |(at, (is_user, is_aborted, parts)): (usize, (bool, bool, Vec<Value>))| {
            let error =
                json!({ "error": { "name": "MessageAbortedError", "data": { "message": "Aborted" } } });
            let name = format!("m{at}");
            let extra = if is_aborted { error } else { json!({}) };
            if is_user {
                user(&name, at as u64, parts)
            } else {
                assistant(&name, "u", at as u64, extra, parts)
            }
        };
        messages.into_iter().enumerate().map(build).collect()
    })
}

fn any_media() -> impl Strategy<Value = MediaInResults> {
    prop_oneof![
        Just(MediaInResults::None),
        Just(MediaInResults::Images),
        Just(MediaInResults::ImagesAndDocuments)
    ]
}

fn open_calls(items: &[AssistantItem]) -> Vec<&str> {
    let open = |item| match item {
        &AssistantItem::Call { ref id, executed: None, .. } => Some(id.as_str()),
        _ => None,
    };
    items.iter().filter_map(open).collect()
}

proptest! {
    /// Providers refuse anything else: no turn is empty, and the calls of an answer are
    /// answered, in order, by the turn behind it and nowhere else.
    #[test]
    fn every_call_is_answered_right_behind_it(messages in any_messages(), media in any_media()) {
        let turns = lower(&messages, &target(media));

        let mut open: Vec<&str> = Vec::new();
        for turn in &turns {
            match turn {
                Turn::User(items) => {
                    prop_assert!(!items.is_empty() && open.is_empty());
                }
                Turn::Assistant(items) => {
                    prop_assert!(!items.is_empty() && open.is_empty());
                    open = open_calls(items);
                }
                Turn::Tool(results) => {
                    let answered: Vec<&str> = results.iter().map(|result| result.call.as_str()).collect();
                    prop_assert!(!answered.is_empty());
                    prop_assert_eq!(std::mem::take(&mut open), answered);
                }
            }
        }
        prop_assert!(open.is_empty());
    }

    /// A history is lowered message by message; a tail can therefore be measured so.
    #[test]
    fn a_history_is_the_sum_of_its_messages(messages in any_messages()) {
        let single: Vec<Turn> =
            messages.iter().flat_map(|message| lower(std::slice::from_ref(message), &plain())).collect();

        prop_assert_eq!(lower(&messages, &plain()), single);
    }
}
