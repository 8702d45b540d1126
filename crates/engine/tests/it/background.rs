//! What the commands of sub-agents left running belongs to the session that they work for.

use crate::tools::runs;
use sturdy_engine::NewSession;
use sturdy_session::turn::SessionPatch;
use sturdy_testkit::{World, answer};

fn is_alive(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z'))
}

#[tokio::test]
async fn a_process_of_a_sub_agent_is_listed_with_its_parent_and_ends_when_that_is_archived() {
    // Was: nobody looked at the children of a session that was archived, and its list did not show them.
    let world = World::new().await;
    let parent = world.session().await.id;
    let instance = world.engine.instance(&world.directory()).await.unwrap();
    let mut youngest = parent.clone();
    for _ in 0..2 {
        let new = NewSession {
            title: Some("A child".to_owned()),
            parent: Some(youngest.clone()),
            ..NewSession::default()
        };
        youngest = world.engine.create_session(&instance, new).await.unwrap().id;
    }
    world.provider.will(runs("sleep 1000 & echo started"));
    world.provider.will(answer().text("It runs.").finish("stop"));
    world.ask(&youngest, "go").await.unwrap();

    let listed = world.engine.background_processes_of(&parent).await.unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0].session_id, youngest);
    let pid = listed[0].pids[0];
    assert!(is_alive(pid));
    let archived = Some(Some(serde_json::from_value(serde_json::json!(1)).unwrap()));
    let patch = SessionPatch { archived, ..SessionPatch::default() };
    world.engine.edit_session(&parent, patch).await.unwrap();

    assert!(!is_alive(pid));
    assert_eq!(world.engine.background_processes_of(&parent).await.unwrap(), []);
}
