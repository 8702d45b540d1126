//! Temporary files: the model knows where they may be, and nobody is asked about them.

use crate::tools::{check, runs};
use serde_json::Value;
use std::path::PathBuf;
use sturdy_session::fact::Fact;
use sturdy_testkit::{World, answer};

/// What the system text says of a directory.
fn told(request: &Value, name: &str) -> PathBuf {
    let system = request["messages"][0]["content"].as_str().unwrap();
    let start = format!("  {name}: ");
    let line = system.lines().find_map(|line| line.strip_prefix(&start));
    PathBuf::from(line.unwrap_or_else(|| panic!("no {name} in {system}")))
}

#[tokio::test]
async fn redirections_into_both_temporary_directories_are_not_asked_about() {
    let world = World::new().await;
    let session = world.session().await.id;
    world.provider.will(answer().text("Hello.").finish("stop"));
    world.ask(&session, "hello").await.unwrap();
    let first = world.provider.requests().remove(0);
    let scratch = told(&first, "scratch directory");
    let name = session.to_string();
    let temporary = tempfile::NamedTempFile::new_in(told(&first, "temporary directory")).unwrap();

    for target in [scratch.join(&name), temporary.path().to_owned()] {
        world.provider.will(runs(&format!("echo kept > {}", target.display())));
        world.provider.will(answer().text("Done.").finish("stop"));
        world.ask(&session, "go").await.unwrap();

        assert_eq!(std::fs::read_to_string(&target).unwrap(), "kept\n");
    }

    let log = world.log(&session).await;
    assert!(!log.iter().any(|fact| matches!(fact, Fact::PermissionAsked { .. })));
    std::fs::remove_file(scratch.join(&name)).unwrap();
    check(&world, &session).await;
}
