//! Rules where nobody is there to be asked: templates of commands.

use crate::tools::world_with;
use serde_json::{Value, json};
use sturdy_engine::{CommandRequest, EngineError};
use sturdy_testkit::world::scripted;
use sturdy_testkit::{World, answer};

/// A world with one command and these rules.
async fn with_template(template: &str, permission: Value) -> World {
    let world = world_with(permission.clone()).await;
    let mut config = scripted(&world.provider.url());
    config["permission"] = permission;
    config["command"] = json!({ "look": { "template": template } });
    world.disk.configure(&config);
    world.engine.dispose_all();
    world
}

fn look() -> CommandRequest {
    CommandRequest { command: "look".to_owned(), ..CommandRequest::default() }
}

#[tokio::test]
async fn a_snippet_of_a_template_passes_the_rules() {
    let template = "See !`touch marker` and !`echo fine`";
    for (rules, word) in [
        (json!({ "bash": { "*": "allow", "touch *": "deny" } }), "forbids"),
        (json!({ "bash": { "*": "ask", "echo *": "allow" } }), "asks about"),
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
