//! Copies of conversations, changes to what was said, and prompts that wait.

use crate::turns::{assistant, texts};
use crate::verify::findings;
use futures_util::future::{Either, select};
use serde_json::{Value, json};
use sturdy_engine::{EngineError, PromptRequest};
use sturdy_session::fact::Fact;
use sturdy_session::id::{MessageId, PartId, SessionId};
use sturdy_session::oracle;
use sturdy_session::turn::Refusal;
use sturdy_session::types::message::MessageWithParts;
use sturdy_session::types::part::{Part, PartBody, TextPart};
use sturdy_session::types::session::Session;
use sturdy_store::{CrashPlan, SessionQuery};
use sturdy_testkit::script::Gate;
use sturdy_testkit::world::Disk;
use sturdy_testkit::{Provider, Seen, World, answer};

async fn record(world: &World, id: &SessionId) -> Session {
    serde_json::from_str(&world.engine.session_record(id).await.unwrap()).unwrap()
}

/// A session with two answered prompts.
async fn talked(world: &World) -> Session {
    let session = world.session().await;
    for text in ["One.", "Two."] {
        world.provider.will(answer().text(text).finish("stop"));
        world.ask(&session.id, text).await.unwrap();
    }
    session
}

fn said(messages: &[MessageWithParts]) -> Vec<String> {
    messages.iter().flat_map(texts).map(str::to_owned).collect()
}

#[tokio::test]
async fn a_fork_says_where_it_left_its_origin() {
    let world = World::new().await;
    let session = talked(&world).await;
    let second = world.messages(&session.id).await[2].info.id().clone();

    let fork = world.engine.fork(&session.id, Some(&second)).await.unwrap();
    let whole = world.engine.fork(&fork.id, None).await.unwrap();

    let origin = |session: Session| session.metadata.unwrap()["sturdy.fork"].clone();
    let of_fork = origin(record(&world, &fork.id).await);
    assert_eq!(of_fork, json!({ "sessionID": session.id, "messageID": second }));
    assert_eq!(origin(record(&world, &whole.id).await), json!({ "sessionID": fork.id }));
    assert_eq!(record(&world, &session.id).await.metadata, None);
}

#[tokio::test]
async fn a_fork_is_a_session_of_its_own_with_the_same_words() {
    let world = World::new().await;
    let session = talked(&world).await;

    let fork = world.engine.fork(&session.id, None).await.unwrap();

    assert_eq!((fork.title.as_str(), fork.cost.0, &fork.parent_id), ("A test (fork #1)", 0.0, &None));
    let old = world.messages(&session.id).await;
    let new = world.messages(&fork.id).await;
    assert_eq!(said(&old), said(&new));
    assert_eq!(assistant(&new[3]).parent_id, *new[2].info.id());
    let ids =
        |messages: &[MessageWithParts]| messages.iter().map(|one| one.info.id().clone()).collect::<Vec<_>>();
    assert!(ids(&old).iter().all(|id| !ids(&new).contains(id)));
    let of_old = record(&world, &session.id).await;
    let of_new = record(&world, &fork.id).await;
    assert_eq!((of_new.cost, of_new.tokens), (of_old.cost, of_old.tokens));
    let again = world.engine.fork(&fork.id, None).await.unwrap();
    assert_eq!(again.title, "A test (fork #2)");

    world.provider.will(answer().text("Three.").finish("stop"));
    world.ask(&fork.id, "go on").await.unwrap();
    let sent = world.provider.requests().last().unwrap()["messages"].to_string();
    assert!(sent.contains("One.") && sent.contains("Two."), "{sent}");
    assert_eq!(world.messages(&session.id).await.len(), 4);
    oracle::check(&world.log(&fork.id).await).unwrap();
}

#[tokio::test]
async fn a_fork_ends_before_a_message_and_an_unknown_one_ends_nothing() {
    let world = World::new().await;
    let session = talked(&world).await;
    let messages = world.messages(&session.id).await;

    let half = world.engine.fork(&session.id, Some(messages[2].info.id())).await.unwrap();
    let none = world.engine.fork(&session.id, Some(messages[0].info.id())).await.unwrap();
    let unknown = MessageId::parse("msg_unknown").unwrap();
    let all = world.engine.fork(&session.id, Some(&unknown)).await.unwrap();

    let mut counts = Vec::new();
    for id in [&half.id, &none.id, &all.id] {
        counts.push(world.messages(id).await.len());
    }
    assert_eq!(counts, [2, 0, 4]);
    assert_eq!(record(&world, &half.id).await.cost.0, 0.000114);
    let gone = world.engine.fork(&SessionId::parse("ses_gone").unwrap(), None).await;
    assert!(matches!(gone, Err(EngineError::NoSession(_))), "{gone:?}");
}

#[tokio::test]
async fn a_fork_of_a_busy_session_has_nothing_open() {
    let world = World::new().await;
    let session = world.session().await;
    let mut seen = Seen::from_now(world.engine.feed());
    let gate = Gate::new();
    world.provider.will(answer().text("Half an ans").gate(&gate).text("wer").finish("stop"));
    let asked = world.prompt(&session.id, "go").await.unwrap();
    seen.until(|record| record.texts.values().any(|text| text == "Half an ans")).await;

    let fork = world.engine.fork(&session.id, None).await.unwrap();

    let copies = world.messages(&fork.id).await;
    assert_eq!(said(&copies), ["go", "Half an ans"]);
    assert!(assistant(&copies[1]).time.completed.is_some() && assistant(&copies[1]).error.is_some());
    gate.open();
    world.engine.answer(&session.id, &asked).await.unwrap();
    assert_eq!(said(&world.messages(&session.id).await), ["go", "Half an answer"]);
}

#[tokio::test]
async fn a_crash_leaves_a_whole_copy_or_none() {
    for plan in [CrashPlan::BeforeCommit as fn(u64) -> CrashPlan, CrashPlan::AfterCommit] {
        let world = World::open(Disk::new(), Provider::start().await, CrashPlan::Never).await;
        let session = talked(&world).await;
        let World { engine, disk, provider } = world;
        engine.close().await;
        drop(engine);
        let mut outcomes = Vec::new();
        let mut world = World::open(disk, provider, CrashPlan::Never).await;
        for n in 1..=3 {
            let World { engine, disk, provider } = world;
            engine.close().await;
            drop(engine);
            let dying = World::open(disk, provider, plan(n)).await;
            let before = forks(&dying).await;
            let forked = dying.engine.fork(&session.id, None).await;
            world = dying.reopen().await;
            let after = forks(&world).await;
            outcomes.push((forked.is_ok(), after.len() - before.len()));
            for fork in &after {
                assert_eq!(world.messages(fork).await.len(), 4, "half a copy");
                oracle::check(&world.log(fork).await).unwrap();
            }
        }
        assert!(outcomes.iter().all(|(ok, made)| *made == 1 || (!ok && *made == 0)), "{outcomes:?}");
    }
}

/// A conversation of several slices. One of its messages has two slices in it.
pub(crate) async fn long(world: &World) -> Session {
    let session = world.session().await;
    for (name, parts) in [("a", 1), ("b", 1), ("c", 4), ("d", 1)] {
        let text =
            |part: usize| TextPart { text: format!("{name}{part}").repeat(100_000), ..TextPart::default() };
        let parts = (0..parts).map(|part| (None, PartBody::Text(text(part)))).collect();
        let request = PromptRequest { parts, no_reply: true, ..PromptRequest::default() };
        world.engine.prompt(&session.id, request).await.unwrap();
    }
    world.provider.will(answer().text("That is long.").finish("stop"));
    world.ask(&session.id, "Well?").await.unwrap();
    session
}

#[tokio::test]
async fn a_long_copy_is_made_in_slices_and_a_crash_leaves_all_of_it_or_nothing() {
    for plan in [CrashPlan::BeforeCommit as fn(u64) -> CrashPlan, CrashPlan::AfterCommit] {
        let mut world = World::new().await;
        let session = long(&world).await;
        let whole = said(&world.messages(&session.id).await);
        let totals = record(&world, &session.id).await.tokens;
        for n in 1.. {
            let World { engine, disk, provider } = world;
            engine.close().await;
            drop(engine);
            let dying = World::open(disk, provider, plan(n)).await;
            let before = forks(&dying).await.len();
            let forked = dying.engine.fork(&session.id, None).await;
            let has_died = dying.engine.store().was_crashed();
            world = dying.reopen().await;
            let after = forks(&world).await;

            assert!(forked.is_err() || after.len() == before + 1, "an acknowledged copy is gone");
            for fork in &after {
                assert!(said(&world.messages(fork).await) == whole, "half a copy");
                assert_eq!(record(&world, fork).await.tokens, totals);
                assert!(oracle::check(&world.log(fork).await).unwrap().waiting.is_empty());
            }
            if !has_died {
                // Each commit is at most a slice, so that others get their turn between two of them.
                assert!(n > 4, "it was made in {n} commits");
                break;
            }
        }
        assert_eq!(findings(&world).await, [""; 0]);
        world.provider.will(answer().text("Here.").finish("stop"));
        let copy = forks(&world).await.pop().unwrap();
        assert_eq!(texts(&world.ask(&copy, "There?").await.unwrap()), ["Here."]);
    }
}

#[tokio::test]
async fn a_copy_that_nobody_waits_for_any_more_is_made_all_the_same() {
    let world = World::new().await;
    let session = long(&world).await;
    let whole = said(&world.messages(&session.id).await);
    let mut seen = Seen::from_now(world.engine.feed());

    let copying = Box::pin(world.engine.fork(&session.id, None));
    let begun = seen.until(|record| record.facts.iter().any(|fact| matches!(fact, Fact::CopyStarted)));
    let (_dropped, _record) = match select(copying, Box::pin(begun)).await {
        Either::Left(_) => panic!("it was made before anybody saw that it is"),
        Either::Right((record, copying)) => (drop(copying), record),
    };

    seen.until(|record| record.facts.iter().any(|fact| matches!(fact, Fact::CopyFinished))).await;
    let fork = forks(&world).await.pop().unwrap();
    assert!(said(&world.messages(&fork).await) == whole);
}

async fn forks(world: &World) -> Vec<SessionId> {
    let records = world.engine.store().sessions(SessionQuery::default()).await.unwrap();
    let sessions = records.iter().map(|text| serde_json::from_str::<Session>(text).unwrap());
    sessions.filter(|session| session.title.contains("fork")).map(|session| session.id).collect()
}

#[tokio::test]
async fn a_removed_message_takes_its_cost_with_it() {
    let world = World::new().await;
    let session = talked(&world).await;
    let messages = world.messages(&session.id).await;
    let whole = record(&world, &session.id).await;

    assert!(world.engine.remove_message(&session.id, messages[3].info.id()).await.unwrap());
    assert!(!world.engine.remove_message(&session.id, messages[3].info.id()).await.unwrap());

    assert_eq!(world.messages(&session.id).await.len(), 3);
    let rest = record(&world, &session.id).await;
    assert_eq!((rest.cost.0, rest.tokens.input.0), (whole.cost.0 / 2.0, 100.0));
}

#[tokio::test]
async fn a_message_is_not_removed_while_the_session_is_busy() {
    let world = World::new().await;
    let session = talked(&world).await;
    let gate = Gate::new();
    world.provider.will(answer().gate(&gate).text("Late").finish("stop"));
    let asked = world.prompt(&session.id, "go").await.unwrap();
    let first = world.messages(&session.id).await[0].info.id().clone();

    let refused = world.engine.remove_message(&session.id, &first).await;

    assert!(matches!(refused, Err(EngineError::Refused(Refusal::Busy))), "{refused:?}");
    gate.open();
    world.engine.answer(&session.id, &asked).await.unwrap();
}

#[tokio::test]
async fn a_part_is_rewritten_and_removed_and_ids_must_fit() {
    let world = World::new().await;
    let session = talked(&world).await;
    let messages = world.messages(&session.id).await;
    let message = messages[0].info.id().clone();
    let other = messages[2].info.id().clone();
    let mut part: Part = messages[0].parts[0].clone();
    let PartBody::Text(text) = &mut part.body else { panic!("not a text") };
    text.text = "rewritten".to_owned();

    world.engine.write_part(&session.id, &message, part.clone()).await.unwrap();

    assert_eq!(texts(&world.messages(&session.id).await[0]), ["rewritten"]);
    let stranger = Part { message_id: other.clone(), ..part.clone() };
    for (at, wrong) in [(&other, part.clone()), (&other, stranger)] {
        let refused = world.engine.write_part(&session.id, at, wrong).await;
        assert!(matches!(refused, Err(EngineError::Bad(_))), "{refused:?}");
    }
    let account = messages[1].parts.last().unwrap().clone();
    let mut forged = serde_json::to_value(&account).unwrap();
    forged["cost"] = Value::from(0);
    let forged: Part = serde_json::from_value(forged).unwrap();
    let refused = world.engine.write_part(&session.id, messages[1].info.id(), forged).await;
    assert!(matches!(refused, Err(EngineError::Bad(_))), "{refused:?}");

    assert!(world.engine.remove_part(&session.id, &message, &part.id).await.unwrap());
    assert!(!world.engine.remove_part(&session.id, &message, &part.id).await.unwrap());
    assert!(
        !world.engine.remove_part(&session.id, &message, &PartId::parse("prt_none").unwrap()).await.unwrap()
    );
    assert!(world.messages(&session.id).await[0].parts.is_empty());
}

#[tokio::test]
async fn waiting_prompts_are_listed_withdrawn_and_survive_abort_and_restart() {
    let world = World::new().await;
    let session = world.session().await;
    world.provider.will(answer().text("Slow").hang());
    world.prompt(&session.id, "first").await.unwrap();
    world.provider.wait_for_requests(1).await;
    let mut waiting = Vec::new();
    for text in ["second", "third", "fourth"] {
        waiting.push(world.prompt(&session.id, text).await.unwrap());
    }

    world.engine.withdraw(&session.id, &waiting[1]).await.unwrap();
    world.engine.abort(&session.id).await.unwrap();
    let world = world.reopen().await;

    let listed = world.engine.waiting(&session.id).await.unwrap();
    let ids: Vec<_> = listed.iter().map(|raw| raw.id.clone()).collect();
    assert_eq!(ids, [waiting[0].clone(), waiting[2].clone()]);
    let unknown = world.engine.withdraw(&session.id, &waiting[1]).await;
    assert!(matches!(unknown, Err(EngineError::Refused(Refusal::UnknownPrompt(_)))), "{unknown:?}");
    world.provider.will(answer().text("Both.").finish("stop"));
    world.engine.resume(&session.id).await.unwrap();
    let raw = world.engine.answer(&session.id, &waiting[2]).await.unwrap();
    assert!(raw.parts.iter().any(|part| part.contains("Both.")));
    assert!(world.engine.waiting(&session.id).await.unwrap().is_empty());
    oracle::check(&world.log(&session.id).await).unwrap();
}
