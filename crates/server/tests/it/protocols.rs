//! Whole turns over HTTP in each wire protocol: what the model says becomes the same messages, and what is
//! sent back to it is what that protocol wants to have back.

use crate::protocols_heard::heard;
use crate::world::World;
use serde_json::{Value, json};
use sturdy_testkit::script::Gate;
use sturdy_testkit::world::speaking;
use sturdy_testkit::{Answer, Dialect, Provider, answer};

/// One pixel.
const DOT: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// A world whose model speaks this protocol. It is named in the user's own settings.
pub(crate) async fn world(dialect: Dialect) -> (World, Provider) {
    let provider = Provider::start().await;
    let world = World::new().await;
    configure(&world, &provider, dialect);
    (world, provider)
}

fn configure(world: &World, provider: &Provider, dialect: Dialect) {
    let mut config = speaking(&provider.url(), dialect);
    config["permission"] = json!("allow");
    let model = &mut config["provider"]["acme"]["models"]["main"];
    model["reasoning"] = json!(true);
    model["modalities"] = json!({ "input": ["text", "image"], "output": ["text"] });
    let place = world.root.path().join("home/.config/opencode");
    std::fs::create_dir_all(&place).unwrap();
    std::fs::write(place.join("opencode.json"), config.to_string()).unwrap();
}

pub(crate) async fn titled(world: &World) -> String {
    world.session_with(&json!({ "title": "A test" })).await["id"].as_str().unwrap().to_owned()
}

/// The parts of a message as lines: what a client shows of them.
pub(crate) fn shown(message: &Value) -> Vec<String> {
    let parts = message["parts"].as_array().unwrap();
    parts.iter().filter_map(line).collect()
}

fn line(part: &Value) -> Option<String> {
    match part["type"].as_str().unwrap() {
        kind @ ("text" | "reasoning") => Some(format!("{kind} {}", part["text"].as_str().unwrap())),
        "tool" => {
            let state = &part["state"];
            Some(format!("{} {} {}", part["tool"].as_str().unwrap(), state["status"], state["input"]))
        }
        _ => None,
    }
}

pub(crate) async fn messages(world: &World, session: &str) -> Vec<Value> {
    let answer = world.get(&format!("/session/{session}/message")).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.json().as_array().unwrap().clone()
}

#[tokio::test]
async fn thoughts_calls_and_results_come_back_to_the_model_as_its_protocol_wants_them() {
    for dialect in Dialect::ALL {
        let (world, provider) = world(dialect).await;
        std::fs::write(world.project().join("a.txt"), "first\n").unwrap();
        std::fs::write(world.project().join("b.txt"), "second\n").unwrap();
        let a = json!({ "filePath": world.project().join("a.txt") }).to_string();
        let b = json!({ "filePath": world.project().join("b.txt") }).to_string();
        let begin = answer().reasoning("Let me ").reasoning("look.").seal("sealed").text("I read both.");
        provider.will(begin.call(0, "call_a", "read", &a).call(1, "call_b", "read", &b).finish("tool_calls"));
        provider.will(answer().text("They ").text("differ.").finish("stop"));
        let session = titled(&world).await;

        let last = world.ask(&session, "compare a and b").await;

        assert_eq!(shown(&last), ["text They differ."], "{dialect:?}");
        let all = messages(&world, &session).await;
        assert_eq!(
            shown(&all[1]),
            [
                "reasoning Let me look.".to_owned(),
                "text I read both.".to_owned(),
                format!("read \"completed\" {a}"),
                format!("read \"completed\" {b}"),
            ],
            "{dialect:?}"
        );
        assert_eq!((all.len(), &all[1]["info"]["finish"]), (3, &json!("tool-calls")), "{dialect:?}");
        let told = heard(dialect, &provider.requests()[1]);
        let thought = match dialect {
            // It has no place for what must come back with a thought.
            Dialect::Chat => "thought Let me look.",
            Dialect::Anthropic | Dialect::Responses | Dialect::Gemini => "thought Let me look. [sealed]",
        };
        let told: Vec<&str> = told.iter().map(String::as_str).collect();
        let calls = [format!("call read {a}"), format!("call read {b}")];
        let at = told.iter().position(|line| *line == "user compare a and b").unwrap();
        assert_eq!(
            &told[at..at + 6],
            ["user compare a and b", thought, "said I read both.", &calls[0], &calls[1], told[at + 5],],
            "{dialect:?}"
        );
        assert!(told[at + 5].starts_with("result <path>"), "{dialect:?}: {told:?}");
        assert_eq!(
            told.iter().filter(|line| line.starts_with("result ")).count(),
            2,
            "{dialect:?}: {told:?}"
        );
    }
}

#[tokio::test]
async fn images_of_prompts_and_of_results_reach_the_model_in_every_protocol() {
    for dialect in Dialect::ALL {
        let (world, provider) = world(dialect).await;
        let dot = world.project().join("dot.png");
        std::fs::write(&dot, base64_decoded(DOT)).unwrap();
        let read = json!({ "filePath": dot }).to_string();
        provider.will(answer().call(0, "call_a", "read", &read).finish("tool_calls"));
        provider.will(answer().text("A dot.").finish("stop"));
        let session = titled(&world).await;
        let prompt = json!({ "parts": [
            { "type": "text", "text": "what is it" },
            { "type": "file", "mime": "image/png", "filename": "x.png", "url": format!("data:image/png;base64,{DOT}") },
        ] });

        let sent = world.send("POST", &format!("/session/{session}/message"), &prompt).await;

        assert_eq!(shown(&sent.json()), ["text A dot."], "{dialect:?}");
        let first = heard(dialect, &provider.requests()[0]);
        assert!(
            first.iter().any(|line| line == "user image" || line == "said image"),
            "{dialect:?}: {first:?}"
        );
        let second = heard(dialect, &provider.requests()[1]);
        let images = second.iter().filter(|line| line.ends_with("image")).count();
        assert_eq!(images, 2, "{dialect:?}: {second:?}");
    }
}

#[tokio::test]
async fn a_compaction_replaces_what_came_before_it_in_every_protocol() {
    for dialect in Dialect::ALL {
        let (world, provider) = world(dialect).await;
        provider.will(answer().text("Forty-two.").finish("stop"));
        let session = titled(&world).await;
        world.ask(&session, "a question of long ago").await;
        provider.will(answer().text("We spoke of numbers.").finish("stop"));
        let model = json!({ "providerID": "acme", "modelID": "main" });

        let done = world.send("POST", &format!("/session/{session}/summarize"), &model).await;
        assert_eq!(done.status, 200, "{dialect:?}: {}", done.text);
        provider.will(answer().text("Yes.").finish("stop"));
        world.ask(&session, "still there?").await;

        let told = heard(dialect, provider.requests().last().unwrap());
        assert!(told.contains(&"said We spoke of numbers.".to_owned()), "{dialect:?}: {told:?}");
        assert!(told.contains(&"user still there?".to_owned()), "{dialect:?}: {told:?}");
        assert!(!told.iter().any(|line| line.contains("long ago")), "{dialect:?}: {told:?}");
    }
}

#[tokio::test]
async fn a_kill_in_the_middle_keeps_what_was_said_and_goes_on_in_every_protocol() {
    for dialect in Dialect::ALL {
        let (world, provider) = world(dialect).await;
        let gate = Gate::new();
        provider.will(answer().text("Half of it").gate(&gate).text(" and the rest").finish("stop"));
        let session = titled(&world).await;
        let begun = json!({ "parts": [{ "type": "text", "text": "tell me all" }] });
        let sent = world.send("POST", &format!("/session/{session}/prompt_async"), &begun).await;
        assert_eq!(sent.status, 204, "{dialect:?}: {}", sent.text);
        while !messages(&world, &session).await.iter().any(|message| shown(message) == ["text Half of it"]) {
            tokio::task::yield_now().await;
        }

        let world = world.reopened().await;
        gate.open();
        provider.will(answer().text("The rest.").finish("stop"));
        let last = world.ask(&session, "go on").await;

        assert_eq!(shown(&last), ["text The rest."], "{dialect:?}");
        let told = heard(dialect, provider.requests().last().unwrap());
        let at = told.iter().position(|line| line == "user tell me all").unwrap();
        assert_eq!(told[at + 1], "said Half of it", "{dialect:?}: {told:?}");
        assert_eq!(told.last().unwrap(), "user go on", "{dialect:?}: {told:?}");
    }
}

#[tokio::test]
async fn a_kill_behind_a_signed_thought_keeps_it_with_its_calls_in_every_protocol() {
    for dialect in Dialect::ALL {
        let (world, provider) = world(dialect).await;
        std::fs::write(world.project().join("a.txt"), "first\n").unwrap();
        let read = json!({ "filePath": world.project().join("a.txt") }).to_string();
        let gate = Gate::new();
        let thinks = answer().reasoning("Let me look.").seal("sealed");
        provider.will(thinks.call(0, "call_a", "read", &read).finish("tool_calls"));
        provider.will(answer().text("Half of it").gate(&gate).text(" and the rest").finish("stop"));
        let session = titled(&world).await;
        let begun = json!({ "parts": [{ "type": "text", "text": "read it" }] });
        let sent = world.send("POST", &format!("/session/{session}/prompt_async"), &begun).await;
        assert_eq!(sent.status, 204, "{dialect:?}: {}", sent.text);
        while !messages(&world, &session).await.iter().any(|message| shown(message) == ["text Half of it"]) {
            tokio::task::yield_now().await;
        }

        let world = world.reopened().await;
        gate.open();
        provider.will(answer().text("The rest.").finish("stop"));
        let last = world.ask(&session, "go on").await;

        assert_eq!(shown(&last), ["text The rest."], "{dialect:?}");
        let told = heard(dialect, provider.requests().last().unwrap());
        let at = told.iter().position(|line| line == "user read it").unwrap();
        let thought = match dialect {
            Dialect::Chat => "thought Let me look.",
            Dialect::Anthropic | Dialect::Responses | Dialect::Gemini => "thought Let me look. [sealed]",
        };
        assert_eq!(told[at + 1], thought, "{dialect:?}: {told:?}");
        assert_eq!(told[at + 2], format!("call read {read}"), "{dialect:?}: {told:?}");
        assert!(told[at + 3].starts_with("result <path>"), "{dialect:?}: {told:?}");
        assert_eq!(told[at + 4..], ["said Half of it", "user go on"], "{dialect:?}: {told:?}");
    }
}

#[tokio::test]
async fn a_prompt_that_does_not_fit_is_answered_behind_a_summary_in_every_protocol() {
    for dialect in Dialect::ALL {
        let (world, provider) = world(dialect).await;
        provider.will(answer().text("Forty-two.").finish("stop"));
        let session = titled(&world).await;
        world.ask(&session, "a question of long ago").await;
        let refusal = match dialect {
            Dialect::Chat => "This model's maximum context length is 200000 tokens, you requested 250000",
            Dialect::Anthropic => "prompt is too long: 250000 tokens > 200000 maximum",
            Dialect::Responses => "Your input exceeds the context window of this model",
            Dialect::Gemini => "The input token count (250000) exceeds the maximum number of tokens allowed",
        };
        provider.will(Answer::error(400, refusal));
        provider.will(answer().text("We spoke of numbers.").finish("stop"));
        provider.will(answer().text("Yes.").finish("stop"));

        let last = world.ask(&session, "still there?").await;

        assert_eq!(shown(&last), ["text Yes."], "{dialect:?}");
        assert_eq!(provider.requests().len(), 4, "{dialect:?}");
        let told = heard(dialect, provider.requests().last().unwrap());
        assert!(told.contains(&"said We spoke of numbers.".to_owned()), "{dialect:?}: {told:?}");
        assert!(told.contains(&"user still there?".to_owned()), "{dialect:?}: {told:?}");
        assert!(!told.iter().any(|line| line.contains("long ago")), "{dialect:?}: {told:?}");
    }
}

#[tokio::test]
async fn the_last_step_ends_with_a_user_turn_and_keeps_the_tools_without_a_choice_in_every_protocol() {
    for dialect in Dialect::ALL {
        let (world, provider) = world(dialect).await;
        let place = world.root.path().join("home/.config/opencode/opencode.json");
        let mut config: Value = serde_json::from_slice(&std::fs::read(&place).unwrap()).unwrap();
        config["agent"] = json!({ "build": { "steps": 2 } });
        std::fs::write(&place, config.to_string()).unwrap();
        std::fs::write(world.project().join("a.txt"), "first\n").unwrap();
        let a = json!({ "filePath": world.project().join("a.txt") }).to_string();
        provider.will(answer().call(0, "call_a", "read", &a).finish("tool_calls"));
        provider.will(answer().text("That is all.").finish("stop"));
        let session = titled(&world).await;

        let last = world.ask(&session, "look").await;

        assert_eq!(shown(&last), ["text That is all."], "{dialect:?}");
        let requests = provider.requests();
        let told = heard(dialect, &requests[1]);
        assert!(told.last().unwrap().starts_with("user <system-reminder>"), "{dialect:?}: {told:?}");
        assert_eq!(requests[1]["tools"], requests[0]["tools"], "{dialect:?}");
        let (choice, none) = match dialect {
            Dialect::Chat | Dialect::Responses => (&requests[1]["tool_choice"], json!("none")),
            Dialect::Anthropic => (&requests[1]["tool_choice"], json!({ "type": "none" })),
            Dialect::Gemini => (&requests[1]["toolConfig"]["functionCallingConfig"]["mode"], json!("NONE")),
        };
        assert_eq!(*choice, none, "{dialect:?}");
    }
}

#[tokio::test]
async fn a_step_behind_one_that_ended_without_a_reason_is_asked_for_by_a_user_turn() {
    // The other two have no reason that nobody knows.
    for dialect in [Dialect::Chat, Dialect::Anthropic] {
        let (world, provider) = world(dialect).await;
        provider.will(answer().text("I will").finish("unheard-of"));
        provider.will(answer().text("Done.").finish("stop"));
        let session = titled(&world).await;

        let last = world.ask(&session, "do it").await;

        assert_eq!(shown(&last), ["text Done."], "{dialect:?}");
        let told = heard(dialect, &provider.requests()[1]);
        assert_eq!(told[told.len() - 2], "said I will", "{dialect:?}: {told:?}");
        assert!(told.last().unwrap().starts_with("user <system-reminder>"), "{dialect:?}: {told:?}");
    }
}

fn base64_decoded(text: &str) -> Vec<u8> {
    use base64::Engine as _;
    base64::prelude::BASE64_STANDARD.decode(text).unwrap()
}
