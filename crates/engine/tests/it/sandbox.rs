//! Whose word puts the sandbox around commands, and what runs inside of it.
//!
//! On a system that has no sandbox, commands are refused: then too nothing is written outside.

use crate::tools::{call_of, runs};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::PathBuf;
use sturdy_engine::{CommandRequest, Environment, SandboxOffer, sandbox_offer};
use sturdy_session::types::tool::ToolState;
use sturdy_testkit::world::scripted;
use sturdy_testkit::{World, answer};

/// A world whose temporary directory does not hold everything else, with settings of the user and of the project.
async fn world(user: &Value, project: &Value) -> World {
    let world = World::with(|options| {
        let home = options.data_dir.with_file_name("home");
        let temporary = options.data_dir.with_file_name("temporary");
        std::fs::create_dir_all(&temporary).unwrap();
        let variables = [("HOME", home), ("TMPDIR", temporary)];
        let variables = variables.map(|(name, path)| (name.to_owned(), path.display().to_string()));
        options.environment = Environment::new(HashMap::from(variables)).trusting_all();
    })
    .await;
    let settings = world.disk.home().join(".config/opencode");
    std::fs::create_dir_all(&settings).unwrap();
    std::fs::write(settings.join("opencode.json"), user.to_string()).unwrap();
    let mut config = scripted(&world.provider.url());
    config["permission"] = json!("allow");
    for (key, value) in project.as_object().unwrap() {
        config[key] = value.clone();
    }
    world.disk.configure(&config);
    world.engine.dispose_all();
    for name in ["outside", "listed"] {
        std::fs::create_dir_all(world.disk.home().join(name)).unwrap();
    }
    world
}

fn sandbox(setting: Value) -> Value {
    json!({ "experimental": { "sandbox": setting } })
}

/// Lets the model write to a file, and says whether it is there.
async fn writes(world: &World, file: PathBuf) -> bool {
    let session = world.session().await;
    world.provider.will(runs(&format!("echo text > {}", file.display())));
    world.provider.will(answer().text("Done.").finish("stop"));
    world.ask(&session.id, "go").await.unwrap();
    let messages = world.messages(&session.id).await;
    let state = call_of(&messages).state.clone();
    assert!(matches!(state, ToolState::Completed { .. } | ToolState::Error { .. }), "{state:?}");
    file.exists()
}

/// Whether the system has what the settings ask for.
fn is_offered() -> bool {
    matches!(sandbox_offer(), SandboxOffer::Writes | SandboxOffer::WritesAndTcp)
}

#[tokio::test]
async fn a_project_does_not_switch_the_sandbox_of_the_user_off_or_make_it_wider() {
    let on = sandbox(json!({ "enabled": true }));
    for project in [
        json!({}),
        sandbox(json!({ "enabled": false })),
        sandbox(json!({ "enabled": true, "writable": ["~/outside", "/"] })),
    ] {
        let world = world(&on, &project).await;
        let outside = world.disk.home().join("outside/file");
        let inside = world.disk.project().join("file");

        assert!(!writes(&world, outside).await, "{project}");
        assert_eq!(writes(&world, inside).await, is_offered(), "{project}");
    }
}

#[tokio::test]
async fn a_project_does_not_switch_a_sandbox_on() {
    let world = world(&json!({}), &sandbox(json!({ "enabled": true }))).await;

    assert!(writes(&world, world.disk.home().join("outside/file")).await);
}

#[tokio::test]
async fn commands_write_to_what_the_user_lists() {
    let setting = json!({ "enabled": true, "writable": ["~/listed"] });
    let world = world(&sandbox(setting), &json!({})).await;

    assert_eq!(writes(&world, world.disk.home().join("listed/file")).await, is_offered());
    assert!(!writes(&world, world.disk.home().join("outside/file")).await);
}

#[tokio::test]
async fn snippets_of_a_template_run_in_the_sandbox() {
    let on = sandbox(json!({ "enabled": true }));
    for (user, is_written) in [(json!({}), true), (on, false)] {
        let world = world(&user, &json!({})).await;
        let file = world.disk.home().join("outside/file");
        let template = format!("Look: !`echo text > {}`", file.display());
        let mut config = scripted(&world.provider.url());
        config["permission"] = json!("allow");
        config["command"] = json!({ "look": { "template": template } });
        world.disk.configure(&config);
        world.engine.dispose_all();
        let session = world.session().await;
        world.provider.will(answer().text("Done.").finish("stop"));
        let request = CommandRequest { command: "look".to_owned(), ..CommandRequest::default() };

        // Where there is no sandbox the command is refused.
        if let Ok(asked) = world.engine.command(&session.id, request).await {
            world.engine.answer(&session.id, &asked).await.unwrap();
        }

        assert_eq!(file.exists(), is_written, "{user}");
    }
}
