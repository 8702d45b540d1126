//! The step behind a call: it begins with the commit that ends the call, and knows everything that happened until then.

use serde_json::{Value, json};
use std::io::Write as _;
use std::path::PathBuf;
use sturdy_session::fact::Fact;
use sturdy_session::id::SessionId;
use sturdy_session::turn::SessionPatch;
use sturdy_session::types::session::{Action, Rule};
use sturdy_store::CrashPlan;
use sturdy_testkit::world::{Disk, scripted};
use sturdy_testkit::{Provider, World, answer};

/// A command that goes on when something is written to this pipe.
struct Held(PathBuf);

impl Held {
    fn new(world: &World) -> Self {
        let pipe = world.disk.project().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        Self(pipe)
    }

    async fn let_go(self) {
        let written = tokio::task::spawn_blocking(move || {
            let mut pipe = std::fs::OpenOptions::new().write(true).open(self.0).unwrap();
            pipe.write_all(b"go\n").unwrap();
        });
        written.await.unwrap();
    }
}

/// A turn that runs this command behind a held pipe, and the command when the model has said its last word.
async fn held(world: &World, session: &SessionId, command: &str) -> Held {
    let held = Held::new(world);
    let input = json!({ "command": format!("read line < pipe; {command}"), "description": "waits" });
    world.provider.will(answer().call(0, "c1", "bash", &input.to_string()).finish("tool_calls"));
    world.provider.will(answer().text("Done.").finish("stop"));
    world.prompt(session, "go").await.unwrap();
    while !world.log(session).await.iter().any(|fact| matches!(fact, Fact::ModelFinished { .. })) {
        tokio::task::yield_now().await;
    }
    held
}

async fn allowing(world: &World) {
    let mut config = scripted(&world.provider.url());
    config["permission"] = json!("allow");
    world.disk.configure(&config);
    world.engine.dispose_all();
}

fn steps(log: &[Fact]) -> usize {
    log.iter().filter(|fact| matches!(fact, Fact::StepStarted { .. })).count()
}

#[tokio::test]
async fn the_step_behind_a_call_begins_in_the_commit_that_ends_the_call() {
    // Was: what the step needs was looked up behind the commit, and the step was another one.
    let plan = CrashPlan::AfterKind("tool.ended.1");
    let world = World::open(Disk::new(), Provider::start().await, plan).await;
    allowing(&world).await;
    let session = world.session().await.id;

    held(&world, &session, "echo one").await.let_go().await;
    while !world.engine.store().was_crashed() {
        tokio::task::yield_now().await;
    }
    let world = world.reopen().await;

    assert_eq!(steps(&world.log(&session).await), 2);
    assert_eq!(world.provider.requests().len(), 1, "nobody had heard that it is durable");
}

#[tokio::test]
async fn what_a_command_writes_into_the_instructions_is_in_the_next_request() {
    let world = World::new().await;
    allowing(&world).await;
    let session = world.session().await.id;

    held(&world, &session, "echo Speak Latin. > AGENTS.md").await.let_go().await;
    world.provider.wait_for_requests(2).await;

    let requests = world.provider.requests();
    let says = |request: &Value| request["messages"][0].to_string().contains("Speak Latin.");
    assert_eq!((says(&requests[0]), says(&requests[1])), (false, true));
}

#[tokio::test]
async fn rules_that_change_while_a_call_runs_count_for_the_step_behind_it() {
    let world = World::new().await;
    allowing(&world).await;
    let session = world.session().await.id;
    let rule = |permission: &str| Rule {
        permission: permission.to_owned(),
        pattern: "*".to_owned(),
        action: Action::Deny,
    };

    let held = held(&world, &session, "echo one").await;
    let patch = SessionPatch { permission: Some(vec![rule("webfetch")]), ..SessionPatch::default() };
    world.engine.edit_session(&session, patch).await.unwrap();
    held.let_go().await;
    world.provider.wait_for_requests(2).await;

    let requests = world.provider.requests();
    let offers = |request: &Value| request["tools"].to_string().contains("webfetch");
    assert_eq!((offers(&requests[0]), offers(&requests[1])), (true, false));
}

#[tokio::test]
async fn a_prompt_that_came_while_a_call_ran_is_answered_by_the_step_behind_it() {
    let world = World::new().await;
    allowing(&world).await;
    let session = world.session().await.id;

    let held = held(&world, &session, "echo one").await;
    let joined = world.prompt(&session, "and be brief").await.unwrap();
    held.let_go().await;
    world.engine.answer(&session, &joined).await.unwrap();

    let requests = world.provider.requests();
    assert!(requests[1]["messages"].to_string().contains("and be brief"));
    assert_eq!((requests.len(), steps(&world.log(&session).await)), (2, 2));
}
