//! What `sturdy verify` finds: nothing in a store that was much used, and every kind of damage in it.

use crate::approvals::allow_always;
use crate::copies::long;
use crate::tools::runs;
use crate::undo::{init, parts_of, repository, revert, says, turn, writes};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use sturdy_engine::task::PanicPlan;
use sturdy_engine::{CommandRequest, NewSession, PromptRequest, ShellRequest, verify};
use sturdy_session::fact::Fact;
use sturdy_session::id::SessionId;
use sturdy_session::turn::{Answer as Reply, SessionPatch};
use sturdy_store::AskQuery;
use sturdy_testkit::world::{prompt, scripted};
use sturdy_testkit::{Answer, Seen, World, answer};

/// A store in which people were asked and allowed for good, a provider failed, a conversation was summarised, copied,
/// renamed, cut and removed.
async fn used() -> (World, SessionId) {
    used_with(PanicPlan::default()).await
}

async fn used_with(panics: PanicPlan) -> (World, SessionId) {
    let world = World::with(|options| options.panics = panics).await;
    configure(&world, json!({ "permission": { "bash": "ask" } }));
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

/// The scripted provider, and these settings.
fn configure(world: &World, settings: Value) {
    let mut config = scripted(&world.provider.url());
    for (name, value) in settings.as_object().unwrap() {
        config[name] = value.clone();
    }
    world.disk.configure(&config);
    world.engine.dispose_all();
}

/// What `used` leaves out: files that are changed and undone, edits, commands, questions, a prompt that is withdrawn, a
/// turn that is stopped, a prompt that fails, a long copy, outputs that are pruned.
async fn use_the_rest(world: &World, fails_to_prepare: &PanicPlan) {
    let look = json!({ "look": { "template": "See !`echo fine`" } });
    configure(world, json!({ "permission": "allow", "compaction": { "prune": true }, "command": look }));
    init(world);
    let session = world.session().await.id;
    let first = turn(world, &session, writes("a.txt", "1")).await;
    revert(world, &session, &first).await;
    world.engine.unrevert(&session).await.unwrap();
    let title = SessionPatch { title: Some("Another title".to_owned()), ..SessionPatch::default() };
    world.engine.edit_session(&session, title).await.unwrap();

    let note =
        world.engine.prompt(&session, PromptRequest { no_reply: true, ..prompt("a note") }).await.unwrap();
    let part = world.messages(&session).await.pop().unwrap().parts.remove(0);
    world.engine.write_part(&session, &note, part.clone()).await.unwrap();
    assert!(world.engine.remove_part(&session, &note, &part.id).await.unwrap());

    let shell = ShellRequest {
        command: "echo mine".to_owned(),
        agent: "build".to_owned(),
        ..ShellRequest::default()
    };
    world.engine.shell(&session, shell).await.unwrap();
    world.provider.will(says("Seen."));
    let named = CommandRequest { command: "look".to_owned(), ..CommandRequest::default() };
    let asked = world.engine.command(&session, named).await.unwrap();
    world.engine.answer(&session, &asked).await.unwrap();

    question(world, &session, Reply::Question { answers: vec![vec!["Blue".to_owned()]] }).await;
    question(world, &session, Reply::Dismissed).await;
    stop_and_withdraw(world, &session).await;

    fails_to_prepare.arm();
    world.prompt(&session, "cannot be prepared").await.unwrap();
    world.engine.session(&session).await.unwrap().idle().await;

    let long = long(world).await;
    world.engine.fork(&long.id, None).await.unwrap();
    prune(world).await;
}

/// A turn in which a person is asked something.
async fn question(world: &World, session: &SessionId, reply: Reply) {
    let mut seen = Seen::from_now(world.engine.feed());
    let option = json!({ "label": "Blue", "description": "As the sky" });
    let question =
        json!({ "questions": [{ "question": "Which?", "header": "Colour", "options": [option] }] });
    world.provider.forget_answers();
    world.provider.will(answer().call(0, "c1", "question", &question.to_string()).finish("tool_calls"));
    world.provider.will(says("As you like."));
    let prompted = world.prompt(session, "ask me").await.unwrap();
    seen.until(|record| record.facts.iter().any(|fact| matches!(fact, Fact::QuestionAsked { .. }))).await;
    let asks = world.engine.store().asks(AskQuery::default()).await.unwrap();
    world.engine.answer_ask(&asks[0].id, reply).await.unwrap();
    world.engine.answer(session, &prompted).await.unwrap();
    world.provider.forget_answers();
}

/// A turn that is stopped while its command runs; a prompt that waited meanwhile was taken back.
async fn stop_and_withdraw(world: &World, session: &SessionId) {
    let mut seen = Seen::from_now(world.engine.feed());
    world.provider.will(runs("echo begin; sleep 600"));
    let prompted = world.prompt(session, "go").await.unwrap();
    seen.until(|record| record.facts.iter().any(|fact| matches!(fact, Fact::ToolProgressed { .. }))).await;
    let waiting = world.prompt(session, "and then").await.unwrap();
    world.engine.withdraw(session, &waiting).await.unwrap();
    world.engine.abort(session).await.unwrap();
    world.engine.answer(session, &prompted).await.unwrap();
}

/// Turns with outputs that are too long to be sent for ever.
async fn prune(world: &World) {
    let session = world.session().await.id;
    let mut seen = Seen::from_now(world.engine.feed());
    for _ in 0..7 {
        turn(world, &session, runs("head -c 45000 /dev/zero | tr '\\0' x")).await;
    }
    seen.until(|record| record.facts.iter().any(|fact| matches!(fact, Fact::ToolCompacted { .. }))).await;
}

/// Every kind of fact there is: the decoder names them all when it is given none of them.
fn kinds() -> BTreeSet<String> {
    let unknown = serde_json::from_value::<Fact>(json!({ "kind": "none", "data": {} })).unwrap_err();
    unknown.to_string().split('`').filter(|word| word.contains('.')).map(str::to_owned).collect()
}

/// Those in the log of all sessions, which is read in pages.
async fn kinds_that_happened(world: &World) -> BTreeSet<String> {
    let mut happened = BTreeSet::new();
    let mut position = 0;
    loop {
        let page = world.engine.store().log_after(position, 1_000).await.unwrap();
        let Some(last) = page.last() else { return happened };
        position = last.position;
        happened.extend(page.into_iter().map(|entry| entry.kind));
    }
}

/// What `sturdy verify` says of the store.
pub(crate) async fn findings(world: &World) -> Vec<String> {
    let verified = verify::everything(world.engine.store()).await.unwrap();
    verified.findings.into_iter().map(|finding| format!("{}: {}", finding.place, finding.what)).collect()
}

#[tokio::test]
async fn a_store_that_was_much_used_keeps_every_promise() {
    let (world, _) = used().await;
    assert_eq!(findings(&world).await, [""; 0]);
    let world = world.reopen().await;
    assert_eq!(findings(&world).await, [""; 0]);

    let head = world.engine.store().head();
    let folded = world.engine.store().fold(head).await.unwrap();
    assert!(folded.removed > 0, "{folded:?}");
    assert_eq!(findings(&world).await, [""; 0], "of what is left of the log");
}

#[tokio::test]
async fn a_store_in_which_every_kind_of_fact_happened_keeps_every_promise() {
    let fails_to_prepare = PanicPlan::later("prepare");
    let (world, _) = used_with(fails_to_prepare.clone()).await;
    Box::pin(use_the_rest(&world, &fails_to_prepare)).await;

    let happened = kinds_that_happened(&world).await;
    let missing: Vec<String> = kinds().difference(&happened).cloned().collect();
    assert_eq!(missing, [""; 0], "kinds of facts that this test leaves out");
    assert_eq!(findings(&world).await, [""; 0]);

    let world = world.reopen().await;
    let folded = world.engine.store().fold(u64::MAX).await.unwrap();
    assert!(folded.removed > 0, "{folded:?}");
    assert_eq!(findings(&world).await, [""; 0], "of what is left of the log");
}

#[tokio::test]
async fn a_session_that_goes_on_while_it_is_checked_is_not_called_damaged() {
    let (world, session) = used().await;
    let edits = async {
        for number in 0..300 {
            let title = SessionPatch { title: Some(format!("Title {number}")), ..SessionPatch::default() };
            world.engine.edit_session(&session, title).await.unwrap();
        }
    };
    let mut checks = 0;
    let checking = async {
        loop {
            let verified = verify::sessions(world.engine.store(), vec![session.clone()]).await.unwrap();
            assert_eq!(verified.findings, []);
            checks += 1;
        }
    };

    // Was: the log was read first and the rows a moment later, so that a commit in between looked like damage.
    tokio::select! {
        () = edits => {}
        _ = checking => {}
    }

    assert!(checks > 0, "it was not checked while it went on");
}

#[tokio::test]
async fn a_title_with_a_nul_in_it_is_not_called_damage() {
    let world = World::new().await;
    let instance = world.engine.instance(&world.directory()).await.unwrap();
    let new = NewSession { title: Some("before\0behind".to_owned()), ..NewSession::default() };
    let session = world.engine.create_session(&instance, new).await.unwrap().id;
    let title = SessionPatch { title: Some("again\0and again".to_owned()), ..SessionPatch::default() };
    world.engine.edit_session(&session, title).await.unwrap();

    // Was: the column was compared with a title that it cannot hold.
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
        ("DELETE FROM session WHERE id = 'SESSION'", "its log goes on and its row is gone"),
        ("DELETE FROM log WHERE position = LAST", "is not what its log leads to"),
        ("UPDATE log SET told = told + 1 WHERE position = LAST", "its last event has the number"),
        (
            "UPDATE log SET told = told - 1 WHERE session_id = 'SESSION' AND seq > 9",
            "entry 10: its last event",
        ),
        ("UPDATE log SET told = NULL WHERE position = LAST", "its last event has the number"),
    ];
    for (damage, expected) in cases {
        let (world, session) = used().await;
        let damage = damage.replace("LAST", last).replace("SESSION", session.as_str());

        let world = world.reopen_damaged(&damage).await;

        let found = findings(&world).await;
        assert!(found.iter().any(|finding| finding.contains(expected)), "{damage}: {found:#?}");
    }
}

#[tokio::test]
async fn a_session_that_an_earlier_version_began_keeps_the_numbers_it_gave() {
    let (world, session) = used().await;

    let world = world.reopen_damaged("UPDATE log SET told = NULL").await;
    world.provider.will(answer().text("Still here.").finish("stop"));
    world.ask(&session, "go on").await.unwrap();

    assert_eq!(findings(&world).await, [""; 0]);
}

async fn tree_findings(world: &World) -> Vec<String> {
    let found = verify::trees(world.engine.store(), &world.disk.data(), &[]).await.unwrap();
    found.into_iter().map(|finding| format!("{}: {}", finding.place, finding.what)).collect()
}

/// Everything below the stores of captured trees whose path ends so.
fn below_trees(world: &World, end: &str) -> Vec<std::path::PathBuf> {
    let mut open = vec![world.disk.data().join("trees")];
    let mut found = Vec::new();
    while let Some(here) = open.pop() {
        for entry in here.read_dir().unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path.to_string_lossy().ends_with(end) {
                found.push(path);
            }
        }
    }
    found
}

#[tokio::test]
async fn a_captured_tree_that_is_lost_or_that_nothing_keeps_is_found() {
    let world = repository().await;
    let session = world.session().await.id;
    turn(&world, &session, writes("a.txt", "1")).await;
    assert_eq!(tree_findings(&world).await, [""; 0]);
    let parts = parts_of(&world.messages(&session).await);
    let finish = parts.iter().find(|part| part["type"] == "step-finish").unwrap();
    let tree = finish["snapshot"].as_str().unwrap().to_owned();
    // Was: how the worktree looks is remembered a moment after a turn, and the scan for it stored the lost tree again.
    // A server that has just been started does that for nobody.
    let world = world.reopen().await;

    let object = below_trees(&world, &format!("{}/{}", &tree[..2], &tree[2..])).remove(0);
    let content = std::fs::read(&object).unwrap();
    std::fs::remove_file(&object).unwrap();
    let lost = tree_findings(&world).await;
    assert!(
        lost.iter().any(|found| found.starts_with("captured trees of ") && found.contains(&tree)),
        "{lost:?}"
    );
    std::fs::write(&object, content).unwrap();

    let kept = below_trees(&world, &format!("refs/sturdy/{session}")).remove(0);
    std::fs::remove_file(kept).unwrap();
    let unkept = tree_findings(&world).await;
    let expected = format!("session {session}: tree {tree} is named by a step and kept by nothing");
    assert!(unkept.contains(&expected), "{unkept:?}");
}
