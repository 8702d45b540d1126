//! What `sturdy verify` finds: nothing in a store that was much used, and every kind of damage in it.

use crate::approvals::allow_always;
use crate::tools::world_with;
use serde_json::json;
use sturdy_engine::verify;
use sturdy_session::id::SessionId;
use sturdy_testkit::{Answer, World, answer};

/// A store in which people were asked and allowed for good, a provider failed, a conversation was summarised, copied,
/// renamed, cut and removed.
async fn used() -> (World, SessionId) {
    let world = world_with(json!({ "bash": "ask" })).await;
    let session = world.session().await.id;
    allow_always(&world, &session, "echo one").await;
    let todos = json!({ "todos": [{ "content": "one", "status": "pending", "priority": "low", "id": "1" }] });
    world.provider.will(Answer::error(503, "later").header("retry-after-ms", "1"));
    world.provider.will(
        answer()
            .reasoning("Thinking.")
            .text_in_chunks("Looking around.", 3)
            .call(0, "c1", "todowrite", &todos.to_string())
            .finish("tool_calls"),
    );
    let usage = json!({ "prompt_tokens": 199_000, "completion_tokens": 7, "total_tokens": 199_007 });
    world.provider.will(answer().text_in_chunks("Done.", 2).finish_with("stop", usage));
    world.provider.will(answer().text("## Objective\nA summary.").finish("stop"));
    world.provider.will(answer().text("Going on.").finish("stop"));
    world.ask(&session, "go").await.unwrap();
    let copy = world.engine.fork(&session, None).await.unwrap().id;
    world.provider.will(Answer::error(401, "no"));
    world.ask(&copy, "more").await.unwrap();
    let removed = world.messages(&copy).await.swap_remove(0);
    world.engine.remove_message(&copy, removed.info.id()).await.unwrap();
    let gone = world.session().await.id;
    world.engine.remove_session(&gone).await.unwrap();
    (world, session)
}

async fn findings(world: &World) -> Vec<String> {
    let verified = verify::everything(world.engine.store()).await.unwrap();
    verified.findings.into_iter().map(|finding| format!("{}: {}", finding.place, finding.what)).collect()
}

#[tokio::test]
async fn a_store_that_was_much_used_keeps_every_promise() {
    let (world, _) = used().await;
    assert_eq!(findings(&world).await, [""; 0]);
    let world = world.reopen().await;
    assert_eq!(findings(&world).await, [""; 0]);
}

#[tokio::test]
async fn damage_that_fits_the_database_is_found_by_its_log() {
    let last = "(SELECT MAX(position) FROM log WHERE session_id = 'SESSION')";
    let cases = [
        ("UPDATE approval SET pattern = '*'", "it allows something else than was answered"),
        ("UPDATE part SET position = LAST WHERE session_id = 'SESSION'", "was written by entry"),
        ("UPDATE todo SET data = '[]' WHERE session_id = 'SESSION'", "the list of todos is not what"),
        ("UPDATE message SET ord = ord + 1 WHERE session_id = 'SESSION'", "is not what its log leads to"),
        ("DELETE FROM log WHERE position = (SELECT position FROM head)", "head: it is at"),
        ("UPDATE head SET horizon = position + 5", "horizon: it is at"),
    ];
    for (damage, expected) in cases {
        let (world, session) = used().await;
        let damage = damage.replace("LAST", last).replace("SESSION", session.as_str());

        let world = world.reopen_damaged(&damage).await;

        let found = findings(&world).await;
        assert!(found.iter().any(|finding| finding.contains(expected)), "{damage}: {found:#?}");
    }
}
