//! What a person relies on without thinking of it: rules, variables and files that another program wrote.

use crate::tools::{asked, call_of, check, permission, runs, world_with};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::time::Duration;
use sturdy_engine::{EngineOptions, Environment};
use sturdy_session::fact::Fact;
use sturdy_session::id::SessionId;
use sturdy_session::types::ask::PermissionReply;
use sturdy_session::types::tool::ToolState;
use sturdy_testkit::script::Gate;
use sturdy_testkit::world::scripted;
use sturdy_testkit::{Answer, Seen, World, answer};

/// A page on this machine, and where.
fn page() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || serve(&listener));
    address
}

fn serve(listener: &TcpListener) {
    for connection in listener.incoming() {
        let Ok(mut connection) = connection else { return };
        let _ = connection.read(&mut [0; 4096]);
        let page = "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 5\r\nconnection: close\r\n\r\nhello";
        let _ = connection.write_all(page.as_bytes());
    }
}

fn fetches(address: &str) -> Answer {
    let arguments = json!({ "url": format!("http://{address}/"), "format": "text" }).to_string();
    answer().call(0, "call_1", "webfetch", &arguments).finish("tool_calls")
}

fn output(state: &ToolState) -> &str {
    match state {
        ToolState::Completed { output, .. } => output,
        ToolState::Error { error, .. } => error,
        ToolState::Pending { .. } | ToolState::Running { .. } => "",
    }
}

async fn asks(world: &World, session: &SessionId) -> usize {
    world.log(session).await.iter().filter(|fact| matches!(fact, Fact::PermissionAsked { .. })).count()
}

#[tokio::test]
async fn a_rule_lets_a_turn_fetch_from_this_machine() {
    let address = page();
    let rules = json!({ "webfetch": "allow", "private_network": { address.as_str(): "allow" } });
    let world = world_with(rules).await;
    let session = world.session().await.id;
    world.provider.will(fetches(&address));
    world.provider.will(answer().text("It says hello.").finish("stop"));

    world.ask(&session, "go").await.unwrap();

    assert_eq!(output(&call_of(&world.messages(&session).await).state), "hello");
    assert_eq!(asks(&world, &session).await, 0);
    check(&world, &session).await;
}

#[tokio::test]
async fn always_lets_later_turns_fetch_from_the_same_place_of_this_machine() {
    let address = page();
    let world = world_with(json!({ "webfetch": "allow" })).await;
    let session = world.session().await.id;
    let mut seen = Seen::from_now(world.engine.feed());
    for _ in 0..2 {
        world.provider.will(fetches(&address));
        world.provider.will(answer().text("It says hello.").finish("stop"));
    }
    let prompted = world.prompt(&session, "go").await.unwrap();
    let request = asked(&mut seen).await;
    assert_eq!((request.permission.as_str(), &request.patterns[..]), ("private_network", &[address][..]));
    world.engine.answer_ask(request.id.as_str(), permission(PermissionReply::Always, None)).await.unwrap();
    world.engine.answer(&session, &prompted).await.unwrap();

    world.ask(&session, "again").await.unwrap();

    assert_eq!(output(&call_of(&world.messages(&session).await).state), "hello");
    assert_eq!(asks(&world, &session).await, 1);
}

/// A world in whose environment this variable is set.
async fn with_variable(name: &str, value: &str) -> World {
    let set = |options: &mut EngineOptions| {
        let home = options.data_dir.with_file_name("home").to_string_lossy().into_owned();
        let variables = HashMap::from([("HOME".to_owned(), home), (name.to_owned(), value.to_owned())]);
        options.environment = Environment::new(variables).trusting_all();
    };
    World::with(set).await
}

#[tokio::test]
async fn the_variable_for_the_time_limit_of_commands_is_obeyed() {
    let world = with_variable("OPENCODE_EXPERIMENTAL_BASH_DEFAULT_TIMEOUT_MS", "50").await;
    let session = world.session().await.id;
    world.provider.will(runs("exec sleep 600"));
    world.provider.will(answer().text("Too slow.").finish("stop"));

    world.ask(&session, "go").await.unwrap();

    let state = call_of(&world.messages(&session).await).state.clone();
    assert!(output(&state).contains("50 ms"), "{state:?}");
}

fn write(path: &Path, content: &Value) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, content.to_string()).unwrap();
}

#[tokio::test]
async fn the_model_that_was_chosen_last_in_the_terminal_answers_when_none_is_named() {
    let world = World::new().await;
    let mut config = scripted(&world.provider.url());
    config.as_object_mut().unwrap().remove("model");
    let models = &mut config["provider"]["acme"]["models"];
    models["other"] = models["main"].clone();
    world.disk.configure(&config);
    let chosen = json!({ "recent": [{ "providerID": "gone", "modelID": "x" }, { "providerID": "acme", "modelID": "other" }] });
    write(&world.disk.home().join(".local/state/opencode/model.json"), &chosen);
    world.engine.dispose_all();
    let session = world.session().await.id;
    world.provider.will(answer().text("Hello.").finish("stop"));

    world.ask(&session, "hello").await.unwrap();

    assert_eq!(world.provider.requests()[0]["model"], "other");
}

#[tokio::test]
async fn a_model_of_the_list_that_opencode_fetched_is_known() {
    let world = World::new().await;
    let listed = json!({ "acme": { "id": "acme", "name": "Acme", "env": [], "npm": "@ai-sdk/openai-compatible", "models": {
        "listed": { "id": "listed", "name": "From the list", "tool_call": true, "limit": { "context": 123_000, "output": 4_000 } },
    } } });
    write(&world.disk.home().join(".cache/opencode/models.json"), &listed);
    let mut config = scripted(&world.provider.url());
    config["model"] = json!("acme/listed");
    world.disk.configure(&config);
    world.engine.dispose_all();
    let session = world.session().await.id;
    world.provider.will(answer().text("Hello.").finish("stop"));

    world.ask(&session, "hello").await.unwrap();

    let request = &world.provider.requests()[0];
    assert_eq!((&request["model"], &request["max_tokens"]), (&json!("listed"), &json!(4_000)));
}

#[tokio::test]
async fn a_provider_that_is_silent_for_ten_minutes_is_waited_for() {
    let world = World::new().await;
    let session = world.session().await.id;
    let gate = Gate::new();
    world.provider.will(answer().gate(&gate).text("I had to think.").finish("stop"));
    let prompted = world.prompt(&session, "hello").await.unwrap();
    world.provider.wait_for_requests(1).await;

    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(600)).await;
    tokio::time::resume();
    gate.open();
    let raw = world.engine.answer(&session, &prompted).await.unwrap();

    assert!(raw.parts.iter().any(|part| part.contains("I had to think.")), "{raw:?}");
    assert_eq!(world.provider.requests().len(), 1, "nothing was tried again");
    check(&world, &session).await;
}

#[tokio::test]
async fn what_a_turn_has_tried_again_is_counted_on_behind_a_restart() {
    let world = world_with(json!({ "bash": { "*": "allow", "echo two": "ask" } })).await;
    let session = world.session().await.id;
    let mut seen = Seen::from_now(world.engine.feed());
    let fails_five_times = |world: &World| {
        for _ in 0..5 {
            world.provider.will(Answer::error(503, "later").header("retry-after-ms", "1"));
        }
    };
    for command in ["echo one", "echo two", "echo three", "echo four"] {
        fails_five_times(&world);
        world.provider.will(runs(command));
    }
    fails_five_times(&world);
    let prompted = world.prompt(&session, "go").await.unwrap();
    let request = asked(&mut seen).await;

    let world = world.reopen().await;
    world.engine.answer_ask(request.id.as_str(), permission(PermissionReply::Once, None)).await.unwrap();
    world.engine.answer(&session, &prompted).await.unwrap();

    // Twenty in all: the fifth step is not tried again once.
    assert_eq!(world.provider.requests().len(), 4 * 6 + 1);
    let messages = world.messages(&session).await;
    assert!(crate::turns::assistant(messages.last().unwrap()).error.is_some());
    check(&world, &session).await;
}

// Was: the model was told of all of them, and learned from a refusal which it may not use.
#[tokio::test]
async fn a_model_is_told_of_the_skills_and_agents_that_rules_leave_it() {
    let rules = json!({ "skill": { "secret-*": "deny" }, "task": { "explore": "deny" } });
    let world = world_with(rules).await;
    let place = world.disk.project().join(".opencode/skill");
    for name in ["open-one", "secret-one"] {
        std::fs::create_dir_all(place.join(name)).unwrap();
        let text = format!("---\nname: {name}\ndescription: d\n---\nDo it.");
        std::fs::write(place.join(name).join("SKILL.md"), text).unwrap();
    }
    world.engine.dispose_all();
    let session = world.session().await.id;
    world.provider.will(answer().text("Yes.").finish("stop"));

    world.ask(&session, "go").await.unwrap();

    let request = world.provider.requests()[0].to_string();
    assert!(request.contains("open-one") && request.contains("- general: "), "{request}");
    assert!(!request.contains("secret-one") && !request.contains("- explore: "), "{request}");
}

// Was: ignored, and the provider refused the request.
#[tokio::test]
async fn a_key_in_the_variable_for_credentials_is_used() {
    let stored = json!({ "acme": { "type": "api", "key": "sk-of-the-variable" } }).to_string();
    let world = with_variable("OPENCODE_AUTH_CONTENT", &stored).await;
    let mut config = scripted(&world.provider.url());
    config["provider"]["acme"]["options"].as_object_mut().unwrap().remove("apiKey");
    world.disk.configure(&config);
    world.engine.dispose_all();
    let session = world.session().await.id;
    world.provider.will(answer().text("Hello.").finish("stop"));

    world.ask(&session, "hello").await.unwrap();

    assert_eq!(world.provider.header(0, "authorization").as_deref(), Some("Bearer sk-of-the-variable"));
}

#[tokio::test]
async fn a_list_of_models_that_a_variable_names_is_read() {
    let place = tempfile::tempdir().unwrap();
    let list = place.path().join("list.json");
    let listed =
        json!({ "acme": { "models": { "listed": { "limit": { "context": 123_000, "output": 4_000 } } } } });
    write(&list, &listed);
    let world = with_variable("OPENCODE_MODELS_PATH", &list.to_string_lossy()).await;
    let mut config = scripted(&world.provider.url());
    config["model"] = json!("acme/listed");
    world.disk.configure(&config);
    world.engine.dispose_all();
    let session = world.session().await.id;
    world.provider.will(answer().text("Hello.").finish("stop"));

    world.ask(&session, "hello").await.unwrap();

    assert_eq!(world.provider.requests()[0]["max_tokens"], 4_000);
}
