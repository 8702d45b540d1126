//! Requests that are made at once: each holds when it is decided, or is refused.

use futures_util::future::join_all;
use sturdy_engine::{EngineError, NewSession, PromptRequest};
use sturdy_session::id::{MessageId, PartId};
use sturdy_session::turn::Refusal;
use sturdy_session::types::part::{Part, PartBody, TextPart};
use sturdy_session::types::session::Session;
use sturdy_testkit::script::Gate;
use sturdy_testkit::world::prompt;
use sturdy_testkit::{Seen, World, answer};

fn message(name: &str) -> MessageId {
    MessageId::parse(&format!("msg_{name}")).unwrap()
}

fn silent(id: &MessageId, text: &str) -> PromptRequest {
    PromptRequest { message: Some(id.clone()), no_reply: true, ..prompt(text) }
}

#[tokio::test]
async fn of_prompts_with_one_id_that_come_at_once_one_is_taken() {
    let world = World::new().await;
    let session = world.session().await;
    for round in 0..20 {
        let id = message(&format!("same{round}"));

        let both = [silent(&id, "one"), silent(&id, "two"), silent(&id, "three")];
        let outcomes = join_all(both.map(|request| world.engine.prompt(&session.id, request))).await;

        // Was: 27 of 30 pairs were both taken, and the second stood in the place of the first.
        let taken = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
        assert_eq!(taken, 1, "{outcomes:?}");
        let refused = |outcome: &Result<MessageId, EngineError>| matches!(outcome, Err(EngineError::Refused(Refusal::MessageExists(taken))) if *taken == id);
        assert_eq!(outcomes.iter().filter(|outcome| refused(outcome)).count(), 2, "{outcomes:?}");
        assert_eq!(world.messages(&session.id).await.len(), round + 1);
    }
}

#[tokio::test]
async fn two_sessions_that_are_sent_the_same_ids_keep_what_is_theirs() {
    let world = World::new().await;
    let one = world.session().await;
    let two = world.session().await;
    let id = message("shared");
    let part = PartId::parse("prt_shared").unwrap();
    let with_part = |text: &str| {
        let body = PartBody::Text(TextPart { text: text.to_owned(), ..TextPart::default() });
        PromptRequest { parts: vec![(Some(part.clone()), body)], ..silent(&id, "") }
    };

    let (first, second) = tokio::join!(
        world.engine.prompt(&one.id, with_part("of one")),
        world.engine.prompt(&two.id, with_part("of two")),
    );

    assert_eq!((first.unwrap(), second.unwrap()), (id.clone(), id.clone()));
    for (session, text) in [(&one.id, "of one"), (&two.id, "of two")] {
        let messages = world.messages(session).await;
        assert_eq!(messages.len(), 1);
        let PartBody::Text(found) = &messages[0].parts[0].body else { panic!("no text") };
        assert_eq!(found.text, text);
    }
    assert!(world.engine.remove_message(&one.id, &id).await.unwrap());
    assert_eq!(world.messages(&two.id).await.len(), 1, "what one session removes is its own");
}

#[tokio::test]
async fn two_removals_of_one_message_at_once_subtract_its_usage_once() {
    let world = World::new().await;
    let session = world.session().await;
    for text in ["one", "two"] {
        let usage = serde_json::json!({ "prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110 });
        world.provider.will(answer().text(text).finish_with("stop", usage));
        world.ask(&session.id, text).await.unwrap();
    }
    let totals = || async {
        let record = world.engine.session_record(&session.id).await.unwrap();
        serde_json::from_str::<Session>(&record).unwrap().tokens
    };
    let both = totals().await;
    let last = world.messages(&session.id).await.last().unwrap().info.id().clone();

    let removals = (0..4).map(|_| world.engine.remove_message(&session.id, &last));
    let outcomes = join_all(removals).await;

    // Was: every one of them subtracted.
    let removed = outcomes.into_iter().filter(|outcome| *outcome.as_ref().unwrap()).count();
    assert_eq!(removed, 1);
    assert_eq!((both.input.count(), totals().await.input.count()), (200, 100));
}

#[tokio::test]
async fn a_part_that_is_written_while_its_message_is_removed_does_not_outlive_it() {
    let world = World::new().await;
    let session = world.session().await;
    for round in 0..10 {
        let id = message(&format!("gone{round}"));
        world.engine.prompt(&session.id, silent(&id, "text")).await.unwrap();
        let body = PartBody::Text(TextPart { text: "late".to_owned(), ..TextPart::default() });
        let part = Part {
            id: PartId::parse(&format!("prt_late{round}")).unwrap(),
            session_id: session.id.clone(),
            message_id: id.clone(),
            body,
        };

        let (removed, written) = tokio::join!(
            world.engine.remove_message(&session.id, &id),
            world.engine.write_part(&session.id, &id, part),
        );

        assert!(removed.unwrap());
        assert!(matches!(written, Ok(()) | Err(EngineError::Unknown(_))), "{written:?}");
        let rows = world.engine.store().rows_of_session(&session.id).await.unwrap();
        assert_eq!((rows.messages.len(), rows.parts.len()), (0, 0));
    }
}

#[tokio::test]
async fn prompts_that_wait_have_a_bound() {
    const WAITING_MAX: usize = 64;
    let world = World::new().await;
    let session = world.session().await;
    let gate = Gate::new();
    world.provider.will(answer().text("Wait.").gate(&gate).finish("stop"));
    let mut seen = Seen::from_now(world.engine.feed());
    world.prompt(&session.id, "first").await.unwrap();
    // Before that, whatever comes is answered together.
    seen.until(|record| record.texts.values().any(|text| text == "Wait.")).await;
    for n in 0..WAITING_MAX {
        world.prompt(&session.id, &format!("waits {n}")).await.unwrap();
    }

    let refused = world.prompt(&session.id, "one too many").await;

    assert!(matches!(refused, Err(EngineError::QueueFull(_))), "{refused:?}");
    let waiting = world.engine.waiting(&session.id).await.unwrap();
    assert_eq!(waiting.len(), WAITING_MAX);
    world.engine.withdraw(&session.id, &waiting.last().unwrap().id).await.unwrap();
    world.prompt(&session.id, "fits again").await.unwrap();
}

#[tokio::test]
async fn prompts_that_wait_have_a_bound_in_bytes() {
    let world = World::new().await;
    let session = world.session().await;
    let gate = Gate::new();
    world.provider.will(answer().text("Wait.").gate(&gate).finish("stop"));
    let mut seen = Seen::from_now(world.engine.feed());
    world.prompt(&session.id, "first").await.unwrap();
    seen.until(|record| record.texts.values().any(|text| text == "Wait.")).await;
    let large = "x".repeat(22 * 1024 * 1024);
    for _ in 0..3 {
        world.prompt(&session.id, &large).await.unwrap();
    }

    let refused = world.prompt(&session.id, "small").await;

    assert!(matches!(refused, Err(EngineError::QueueFull(_))), "{refused:?}");
    let waiting = world.engine.waiting(&session.id).await.unwrap();
    assert_eq!(waiting.len(), 3, "66 MiB wait; 64 are the most that another one joins");
    world.engine.withdraw(&session.id, &waiting.last().unwrap().id).await.unwrap();
    world.prompt(&session.id, "fits again").await.unwrap();
}

#[tokio::test]
async fn a_session_that_sleeps_is_not_created_again_under_its_id() {
    let world = World::new().await;
    let session = world.session().await;
    world.engine.prompt(&session.id, silent(&message("kept"), "text")).await.unwrap();
    let world = world.reopen().await;
    assert_eq!(world.engine.awake(), 0);

    let instance = world.engine.instance(&world.directory()).await.unwrap();
    let again = NewSession { id: Some(session.id.clone()), ..NewSession::default() };
    let refused = world.engine.create_session(&instance, again).await;

    // Was: only a session that was awake was noticed; another's record was overwritten.
    assert!(matches!(refused, Err(EngineError::Refused(Refusal::Exists))), "{refused:?}");
    assert_eq!(world.messages(&session.id).await.len(), 1);
    let record = world.engine.session_record(&session.id).await.unwrap();
    assert!(record.contains("A test"), "{record}");
}

#[tokio::test]
async fn a_child_that_is_created_while_its_parent_is_removed_is_not_left_behind() {
    let world = World::new().await;
    let instance = world.engine.instance(&world.directory()).await.unwrap();
    for _ in 0..20 {
        let parent = world.session().await.id;
        let child = || NewSession { parent: Some(parent.clone()), ..NewSession::default() };
        let creates = (0..6).map(|_| world.engine.create_session(&instance, child()));

        let (removed, created) = tokio::join!(world.engine.remove_session(&parent), join_all(creates));

        // Was: those that were created after the children were listed stayed, below a parent that was gone.
        removed.unwrap();
        for outcome in created {
            match outcome {
                Ok(child) => {
                    let record = world.engine.session_record(&child.id).await;
                    assert!(matches!(record, Err(EngineError::NoSession(_))), "{record:?}");
                }
                Err(EngineError::NoSession(gone)) => assert_eq!(gone, parent),
                Err(other) => panic!("{other:?}"),
            }
        }
    }
}

#[tokio::test]
async fn a_removal_that_a_crash_cut_off_before_the_children_is_ended_by_the_next_start() {
    let world = World::new().await;
    let child = world.session().await.id;
    let grandchild = world.session().await.id;
    let parent = world.session().await.id;
    world.engine.remove_session(&parent).await.unwrap();
    let later = world.session().await.id;

    let statement = format!(
        "UPDATE session SET parent_id = CASE id WHEN '{child}' THEN '{parent}' WHEN '{grandchild}' THEN '{child}'
         WHEN '{later}' THEN '{parent}' END"
    );
    let world = world.reopen_damaged(&statement).await;

    for gone in [&child, &grandchild] {
        let record = world.engine.session_record(gone).await;
        assert!(matches!(record, Err(EngineError::NoSession(_))), "{record:?}");
    }
    world.engine.session_record(&later).await.expect("what never had this parent while it was there");
}
