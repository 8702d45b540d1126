//! Rules about templates of commands.

use crate::tools::{permission, world_with};
use serde_json::{Value, json};
use sturdy_engine::{CommandRequest, EngineError};
use sturdy_session::fact::Fact;
use sturdy_session::id::MessageId;
use sturdy_session::turn::Refusal;
use sturdy_session::types::ask::{PermissionReply, PermissionRequest};
use sturdy_store::CrashPlan;
use sturdy_testkit::world::{Disk, scripted};
use sturdy_testkit::{Provider, World, answer};

/// A world with one command and these rules.
async fn with_template(template: &str, rules: Value) -> World {
    let world = world_with(rules.clone()).await;
    configure(&world, template, rules);
    world
}

fn configure(world: &World, template: &str, rules: Value) {
    let mut config = scripted(&world.provider.url());
    config["permission"] = rules;
    config["command"] = json!({ "look": { "template": template } });
    world.disk.configure(&config);
    world.engine.dispose_all();
}

fn look() -> CommandRequest {
    CommandRequest { command: "look".to_owned(), ..CommandRequest::default() }
}

#[tokio::test]
async fn a_snippet_of_a_template_passes_the_rules() {
    let template = "See !`touch marker` and !`echo fine`";
    for (rules, word) in [
        (json!({ "bash": { "*": "allow", "touch *": "deny" } }), "forbids"),
        (json!({ "bash": { "*": "deny", "echo *": "allow" } }), "forbids"),
    ] {
        let world = with_template(template, rules).await;
        let session = world.session().await;

        let refused = world.engine.command(&session.id, look()).await;

        let Err(EngineError::Bad(said)) = refused else { panic!("{refused:?}") };
        assert!(said.contains("touch marker") && said.contains(word), "{said}");
        assert!(!world.disk.project().join("marker").exists());
    }
    let world = with_template(template, json!("allow")).await;
    let session = world.session().await;
    world.provider.will(answer().text("Seen.").finish("stop"));
    let asked = world.engine.command(&session.id, look()).await.unwrap();
    world.engine.answer(&session.id, &asked).await.unwrap();
    assert!(world.disk.project().join("marker").exists());
    assert!(world.provider.requests()[0].to_string().contains("and fine"));
}

// Was: they ran before anything was stored, and a crash left no trace of what had acted.
#[tokio::test]
async fn snippets_run_after_it_is_stored_that_they_will() {
    let template = "See !`touch marker` and !`echo fine`";
    for plan in [CrashPlan::BeforeKind("snippets.started.1"), CrashPlan::AfterKind("snippets.started.1")] {
        let world = World::open(Disk::new(), Provider::start().await, plan).await;
        configure(&world, template, json!("allow"));
        let session = world.session().await;

        let refused = world.engine.command(&session.id, look()).await;

        assert!(refused.is_err() && world.engine.store().was_crashed(), "{plan:?}");
        assert!(!world.disk.project().join("marker").exists(), "{plan:?}");
    }
    let world = with_template(template, json!("allow")).await;
    let session = world.session().await;
    world.provider.will(answer().text("Seen.").finish("stop"));
    world.engine.command(&session.id, look()).await.unwrap();
    let log = world.log(&session.id).await;
    let snippets = vec!["touch marker".to_owned(), "echo fine".to_owned()];
    assert_eq!(log[1], Fact::SnippetsStarted { command: "look".to_owned(), snippets });
}

// Was: they ran, and then the prompt was refused because its id was taken.
#[tokio::test]
async fn snippets_of_a_command_that_is_sent_again_under_its_id_do_not_run_again() {
    let world = with_template("See !`echo once >> marker`", json!("allow")).await;
    let session = world.session().await;
    world.provider.will(answer().text("Seen.").finish("stop"));
    let id = MessageId::parse("msg_again").unwrap();
    let request = CommandRequest { message: Some(id.clone()), ..look() };
    let asked = world.engine.command(&session.id, request.clone()).await.unwrap();
    world.engine.answer(&session.id, &asked).await.unwrap();

    let again = world.engine.command(&session.id, request).await;

    assert!(
        matches!(&again, Err(EngineError::Refused(Refusal::MessageExists(taken))) if *taken == id),
        "{again:?}"
    );
    assert_eq!(std::fs::read_to_string(world.disk.project().join("marker")).unwrap(), "once\n");
}

/// The request that waits for a person.
async fn request(world: &World) -> PermissionRequest {
    loop {
        match world.engine.unstored_requests(None).pop() {
            Some(request) => return request,
            None => tokio::task::yield_now().await,
        }
    }
}

/// Answers what the command asks about, one reply after another; the patterns of the requests.
async fn reply_all(world: &World, replies: &[PermissionReply]) -> Vec<Vec<String>> {
    let mut patterns = Vec::new();
    for reply in replies {
        let request = request(world).await;
        assert_eq!((request.permission.as_str(), request.tool), ("bash", None));
        assert!(!world.disk.project().join("marker").exists(), "nothing runs before all is allowed");
        world.engine.answer_ask(request.id.as_str(), permission(*reply, None)).await.unwrap();
        patterns.push(request.patterns);
    }
    patterns
}

// Was: what a rule asks about was refused, though a person sat in front of it.
#[tokio::test]
async fn a_snippet_that_a_rule_asks_about_waits_for_a_person() {
    use PermissionReply::{Always, Once, Reject};
    let rules = json!({ "bash": { "*": "ask", "echo *": "allow" } });
    let world = with_template("See !`touch marker` and !`git status` and !`echo fine`", rules).await;
    let session = world.session().await;
    let touch = || vec!["touch marker".to_owned()];
    let git = || vec!["git status".to_owned()];

    let (asked, refused) =
        tokio::join!(reply_all(&world, &[Once, Reject]), world.engine.command(&session.id, look()));
    let Err(EngineError::Bad(said)) = refused else { panic!("{refused:?}") };
    assert_eq!(asked, [touch(), git()]);
    assert!(said.contains("you did not allow `git status`"), "{said}");

    // What is allowed for always is not asked about again.
    let (asked, refused) =
        tokio::join!(reply_all(&world, &[Reject]), world.engine.command(&session.id, look()));
    assert!(asked == [touch()] && refused.is_err());
    world.provider.will(answer().text("Seen.").finish("stop"));
    let (asked, done) =
        tokio::join!(reply_all(&world, &[Once, Always]), world.engine.command(&session.id, look()));
    world.engine.answer(&session.id, &done.unwrap()).await.unwrap();
    assert_eq!(asked, [touch(), git()]);
    assert!(world.disk.project().join("marker").exists());
    assert!(world.provider.requests()[0].to_string().contains("and fine"));
    std::fs::remove_file(world.disk.project().join("marker")).unwrap();
    let kept = world.engine.store().approvals(None).await.unwrap();
    let kept: Vec<_> = kept.into_iter().map(|row| (row.permission, row.pattern)).collect();
    assert_eq!(kept, [("bash".to_owned(), "git status *".to_owned())]);
    world.provider.will(answer().text("Seen.").finish("stop"));
    let (asked, done) = tokio::join!(reply_all(&world, &[Once]), world.engine.command(&session.id, look()));
    world.engine.answer(&session.id, &done.unwrap()).await.unwrap();
    assert_eq!(asked, [touch()]);
}

#[tokio::test]
async fn a_request_about_a_snippet_is_taken_back_when_nobody_waits_any_more() {
    let world = with_template("See !`touch marker`", json!({ "bash": "ask" })).await;
    let session = world.session().await;

    tokio::select! {
        done = world.engine.command(&session.id, look()) => panic!("{done:?}"),
        // Whoever asked leaves.
        _ = request(&world) => {}
    }

    assert!(world.engine.unstored_requests(None).is_empty());
    assert!(!world.disk.project().join("marker").exists());
}

#[tokio::test]
async fn a_file_that_a_template_names_is_attached_only_if_it_may_be_read() {
    let rules = json!({ "read": { "*": "allow", "*.key": "deny", "*.env": "ask" } });
    let world = with_template("Look at @open.txt and @closed.key and @asked.env", rules).await;
    for (name, text) in [("open.txt", "in the open"), ("closed.key", "leaked"), ("asked.env", "leaked")] {
        std::fs::write(world.disk.project().join(name), text).unwrap();
    }
    let session = world.session().await;
    world.provider.will(answer().text("Seen.").finish("stop"));

    let asked = world.engine.command(&session.id, look()).await.unwrap();
    world.engine.answer(&session.id, &asked).await.unwrap();

    let sent = world.provider.requests()[0].to_string();
    assert!(sent.contains("in the open") && sent.contains("@closed.key"), "{sent}");
    assert!(!sent.contains("leaked"), "{sent}");
}
