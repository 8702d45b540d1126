//! What an extension may change, and what it may not break.

use crate::turns::{assistant, texts};
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use sturdy_engine::Engine;
use sturdy_engine::extension::{Extension, Extensions, Moment, SummaryWords, ToolMoment};
use sturdy_session::fact::{Fact, Outcome};
use sturdy_session::id::SessionId;
use sturdy_session::json::Map;
use sturdy_session::oracle;
use sturdy_session::talk::{Request, ToolSpec};
use sturdy_session::types::part::PartBody;
use sturdy_session::types::tool::ToolState;
use sturdy_store::CrashPlan;
use sturdy_testkit::world::{Disk, options, scripted};
use sturdy_testkit::{Provider, World, answer};
use sturdy_worktree::tool::{Call, Done, Tool, ToolFailure, World as ToolWorld, spec};
use tokio::sync::Notify;

async fn world_of(extensions: Vec<Arc<dyn Extension>>) -> World {
    let disk = Disk::new();
    let provider = Provider::start().await;
    disk.configure(&scripted(&provider.url()));
    let mut options = options(&disk, CrashPlan::Never);
    options.extensions = Extensions::new(extensions);
    let engine = Engine::open(options).await.unwrap();
    World { engine, disk, provider }
}

/// Has its say everywhere.
#[derive(Debug)]
struct Loud;

impl Extension for Loud {
    fn before_request<'a>(&'a self, _: Moment<'a>, request: &'a mut Request) -> BoxFuture<'a, ()> {
        Box::pin(async {
            // As if another process had to be asked.
            tokio::task::yield_now().await;
            request.top_p = Some(0.5);
            request.system.push("Be loud.".to_owned());
            request.headers.push(("x-loud".to_owned(), "yes".to_owned()));
        })
    }

    fn after_text<'a>(&'a self, _: Moment<'a>, text: &'a mut String) -> BoxFuture<'a, ()> {
        Box::pin(async {
            tokio::task::yield_now().await;
            *text = text.to_uppercase();
        })
    }

    fn before_tool<'a>(&'a self, moment: ToolMoment<'a>, input: &'a mut Map) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            assert_eq!((moment.tool, moment.call), ("bash", "c1"));
            input.insert("command".to_owned(), json!("echo loud"));
        })
    }

    fn after_tool<'a>(&'a self, _: ToolMoment<'a>, outcome: &'a mut Outcome) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            if let Outcome::Done { output, .. } = outcome {
                output.push_str("(and an echo)");
            }
        })
    }

    fn before_summary<'a>(&'a self, _: &'a SessionId, words: &'a mut SummaryWords) -> BoxFuture<'a, ()> {
        Box::pin(async { words.context.push("Keep it loud.".to_owned()) })
    }
}

#[derive(Debug)]
struct Panics;

impl Extension for Panics {
    fn before_request<'a>(&'a self, _: Moment<'a>, _: &'a mut Request) -> BoxFuture<'a, ()> {
        panic!("an extension that panics, on purpose");
    }

    fn after_text<'a>(&'a self, _: Moment<'a>, _: &'a mut String) -> BoxFuture<'a, ()> {
        Box::pin(async { panic!("an extension that panics later, on purpose") })
    }
}

/// Says that it was asked, and never answers.
#[derive(Debug)]
struct Hangs(Arc<Notify>);

impl Extension for Hangs {
    fn before_request<'a>(&'a self, _: Moment<'a>, _: &'a mut Request) -> BoxFuture<'a, ()> {
        self.0.notify_one();
        Box::pin(std::future::pending())
    }
}

/// Adds a tool of its own, and one whose name is taken.
#[derive(Debug)]
struct Equipped;

struct Greet(ToolSpec);

impl Tool for Greet {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn run<'a>(&'a self, call: Call, _: &'a ToolWorld) -> BoxFuture<'a, Result<Done, ToolFailure>> {
        Box::pin(async move {
            let name = call.input["name"].as_str().unwrap_or("nobody").to_owned();
            Ok(Done::new("Greeting", format!("Hello, {name}"), json!({})))
        })
    }
}

impl Extension for Equipped {
    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        let properties = json!({ "name": { "type": "string" } });
        let greet = |name: &str| Greet(spec(name, "Greets somebody", properties.clone(), &["name"]));
        vec![Arc::new(greet("greet")), Arc::new(greet("read"))]
    }
}

#[tokio::test]
async fn a_tool_of_an_extension_is_offered_and_called_and_takes_no_name_of_ours() {
    let world = world_of(vec![Arc::new(Equipped)]).await;
    let session = world.session().await;
    let arguments = json!({ "name": "Ada" }).to_string();
    world.provider.will(answer().call(0, "c1", "greet", &arguments).finish("tool_calls"));
    world.provider.will(answer().text("done").finish("stop"));

    world.ask(&session.id, "go").await.unwrap();

    let requests = world.provider.requests();
    let offered = requests[0]["tools"].as_array().unwrap().iter().map(|tool| &tool["function"]);
    let described: Vec<_> = offered.filter(|tool| tool["description"] == "Greets somebody").collect();
    assert_eq!(described.len(), 1, "{described:?}");
    assert_eq!(described[0]["name"], "greet");
    let result =
        requests[1]["messages"].as_array().unwrap().iter().find(|turn| turn["role"] == "tool").unwrap();
    assert_eq!(result["content"], "Hello, Ada");
}

#[tokio::test]
async fn an_extension_that_never_answers_does_not_stop_the_turn() {
    let was_asked = Arc::new(Notify::new());
    let world = world_of(vec![Arc::new(Hangs(was_asked.clone())), Arc::new(Loud)]).await;
    let session = world.session().await;
    world.provider.will(answer().text("hello").finish("stop"));
    let prompted = world.prompt(&session.id, "go").await.unwrap();
    was_asked.notified().await;

    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(11)).await;
    tokio::time::resume();

    let reply = world.engine.answer(&session.id, &prompted).await.unwrap();
    assert!(reply.parts.iter().any(|part| part.contains("HELLO")), "{reply:?}");
}

#[tokio::test]
async fn an_extension_takes_part_in_requests_calls_and_texts() {
    let world = world_of(vec![Arc::new(Loud)]).await;
    let session = world.session().await;
    let arguments = json!({ "command": "echo quiet" }).to_string();
    world.provider.will(answer().call(0, "c1", "bash", &arguments).finish("tool_calls"));
    world.provider.will(answer().text("all ").text("done").finish("stop"));

    let reply = world.ask(&session.id, "go").await.unwrap();

    assert_eq!(texts(&reply), ["ALL DONE"]);
    let request = &world.provider.requests()[1];
    assert_eq!(request["top_p"], json!(0.5));
    let mut told = request["messages"].as_array().unwrap().iter();
    assert!(told.any(|turn| turn["role"] == "system" && turn["content"] == "Be loud."), "{request}");
    assert_eq!(world.provider.header(1, "x-loud").as_deref(), Some("yes"));
    let result = request["messages"].as_array().unwrap().iter().find(|turn| turn["role"] == "tool").unwrap();
    assert_eq!(result["content"], "loud\n(and an echo)");
    // What the model asked for is what is shown.
    let messages = world.messages(&session.id).await;
    let call = messages.iter().flat_map(|message| &message.parts).find_map(|part| match &part.body {
        PartBody::Tool(tool) => Some(&tool.state),
        _ => None,
    });
    let Some(ToolState::Completed { input, .. }) = call else { panic!("{call:?}") };
    assert_eq!(Value::Object(input.clone()), json!({ "command": "echo quiet" }));
    oracle::check(&world.log(&session.id).await).unwrap();
}

#[tokio::test]
async fn a_text_that_is_replaced_was_still_said_as_it_was_said() {
    let world = world_of(vec![Arc::new(Loud)]).await;
    let session = world.session().await;
    world.provider.will(answer().text("hello").finish("stop"));

    world.ask(&session.id, "go").await.unwrap();

    let log = world.log(&session.id).await;
    let text = |fact: &Fact| match fact {
        Fact::TextEnded { text, .. } => Some(("said", text.clone())),
        Fact::PartWritten { part } => match &part.body {
            PartBody::Text(text) if text.time.is_some() => Some(("kept", text.text.clone())),
            _ => None,
        },
        _ => None,
    };
    let found: Vec<_> = log.iter().filter_map(text).collect();
    assert_eq!(found, [("said", "hello".to_owned()), ("kept", "HELLO".to_owned())]);
    // Invariant I9 is the oracle's to judge.
    oracle::check(&log).unwrap();
}

#[tokio::test]
async fn an_extension_adds_to_the_request_for_a_summary() {
    let world = world_of(vec![Arc::new(Loud)]).await;
    let session = world.session().await;
    world.provider.will(answer().text("hello").finish("stop"));
    world.ask(&session.id, "go").await.unwrap();
    world.provider.will(answer().text("A summary.").finish("stop"));

    world.engine.summarize(&session.id, "acme", "main").await.unwrap();

    assert!(world.provider.requests()[1].to_string().contains("Keep it loud."));
}

#[tokio::test]
async fn an_extension_that_panics_does_not_stop_the_turn() {
    let world = world_of(vec![Arc::new(Panics), Arc::new(Loud)]).await;
    let session = world.session().await;
    world.provider.will(answer().text("hello").finish("stop"));

    let reply = world.ask(&session.id, "go").await.unwrap();

    assert_eq!(texts(&reply), ["HELLO"]);
    assert!(assistant(&reply).error.is_none());
}
