//! A session that is awake keeps what it sent last. Whatever happened since, its next request is the one that a
//! session which was just started would send.

use serde_json::{Value, json};
use sturdy_engine::RevertRequest;
use sturdy_session::id::SessionId;
use sturdy_session::types::part::PartBody;
use sturdy_testkit::{World, answer};

/// What happens to the conversation. Numbers choose among the messages and parts that there are.
#[derive(Clone, Copy, Debug)]
enum Event {
    Talk(u32),
    Call(u32),
    CallTwice(u32),
    Edit(usize),
    RemoveMessage(usize),
    RemovePart(usize),
    Undo(usize),
    UndoAndRedo(usize),
    Summarise,
}

/// Numbers in no order; the same each time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides
    }

    fn event(&mut self, number: u32) -> Event {
        let which = self.roll(64);
        match self.roll(11) {
            0..=2 => Event::Talk(number),
            3 => Event::Call(number),
            4 => Event::CallTwice(number),
            5 => Event::Edit(which),
            6 => Event::RemoveMessage(which),
            7 => Event::RemovePart(which),
            8 => Event::Undo(which),
            9 => Event::UndoAndRedo(which),
            _ => Event::Summarise,
        }
    }
}

async fn play(world: &World, session: &SessionId, event: Event) {
    let engine = &world.engine;
    let messages = world.messages(session).await;
    let message = |which: usize| messages[which % messages.len()].info.id().clone();
    match event {
        Event::Talk(number) => talk(world, session, number).await,
        Event::Call(number) => {
            world.provider.will(runs(number, 1));
            talk(world, session, number).await;
        }
        Event::CallTwice(number) => {
            world.provider.will(runs(number, 2));
            world.provider.will(runs(number + 1000, 1));
            talk(world, session, number).await;
        }
        Event::Edit(which) => {
            let parts = messages.iter().flat_map(|message| &message.parts);
            let texts: Vec<_> = parts.filter(|part| matches!(part.body, PartBody::Text(_))).collect();
            if texts.is_empty() {
                return;
            }
            let mut part = texts[which % texts.len()].clone();
            let PartBody::Text(text) = &mut part.body else { unreachable!("chosen among texts") };
            text.text = format!("edited {which}");
            engine.write_part(session, &part.message_id.clone(), part).await.unwrap();
        }
        Event::RemoveMessage(which) => {
            engine.remove_message(session, &message(which)).await.unwrap();
        }
        Event::RemovePart(which) => {
            let parts: Vec<_> = messages.iter().flat_map(|message| &message.parts).collect();
            if let Some(part) = parts.get(which % parts.len().max(1)) {
                // The account of a step cannot be removed; both worlds say so.
                let _ = engine.remove_part(session, &part.message_id, &part.id).await;
            }
        }
        Event::Undo(which) => undo(world, session, message(which)).await,
        Event::UndoAndRedo(which) => {
            undo(world, session, message(which)).await;
            engine.unrevert(session).await.unwrap();
        }
        Event::Summarise => {
            world.provider.will(answer().text("## Objective\nThe story so far.").finish("stop"));
            engine.summarize(session, "acme", "main").await.unwrap();
            engine.session(session).await.unwrap().idle().await;
        }
    }
}

async fn undo(world: &World, session: &SessionId, message: sturdy_session::id::MessageId) {
    let request = RevertRequest { message: Some(message), ..RevertRequest::default() };
    world.engine.revert(session, request).await.unwrap();
}

fn runs(number: u32, calls: u32) -> sturdy_testkit::Answer {
    let call = |said: sturdy_testkit::Answer, index: u32| {
        let arguments = json!({ "command": format!("echo {number} {index}") });
        said.call(index, &format!("call_{number}_{index}"), "bash", &arguments.to_string())
    };
    (0..calls).fold(answer().text("I look."), call).finish("tool_calls")
}

async fn talk(world: &World, session: &SessionId, number: u32) {
    world.provider.will(answer().text(&format!("Answer {number}.")).finish("stop"));
    world.ask(session, &format!("question {number}")).await.unwrap();
}

/// What was sent, without the system text, which names directories.
fn sent(world: &World) -> Vec<Vec<Value>> {
    let is_said = |message: &&Value| message["role"] != "system";
    let messages = |request: &Value| {
        request["messages"].as_array().unwrap().iter().filter(is_said).cloned().collect::<Vec<_>>()
    };
    world.provider.requests().iter().map(messages).collect()
}

async fn awake_and_restarted_send_the_same(seed: u64) {
    let awake = World::new().await;
    let mut restarted = World::new().await;
    let session = awake.session().await.id;
    let other = restarted.session().await.id;
    let mut dice = Dice(seed);
    let mut played = Vec::new();
    for number in 0..24 {
        let is_empty = awake.messages(&session).await.is_empty();
        let event = if is_empty { Event::Talk(number) } else { dice.event(number) };
        played.push(event);
        restarted = restarted.reopen().await;

        play(&awake, &session, event).await;
        play(&restarted, &other, event).await;

        assert_eq!(sent(&awake), sent(&restarted), "{played:?}");
    }
    talk(&awake, &session, 99).await;
    talk(&restarted, &other, 99).await;
    assert_eq!(sent(&awake), sent(&restarted), "{played:?}");
}

#[tokio::test]
async fn an_awake_session_sends_what_one_that_was_just_started_sends() {
    awake_and_restarted_send_the_same(1).await;
}

#[tokio::test]
async fn an_awake_session_sends_the_same_whatever_was_edited_undone_or_summarised() {
    for seed in [7, 42] {
        awake_and_restarted_send_the_same(seed).await;
    }
}

#[tokio::test]
async fn an_edited_message_is_sent_as_it_is_now() {
    // The plain case, which says at once what is wrong when the property above fails.
    let world = World::new().await;
    let session = world.session().await.id;
    talk(&world, &session, 1).await;
    talk(&world, &session, 2).await;

    play(&world, &session, Event::Edit(0)).await;
    talk(&world, &session, 3).await;

    let last = sent(&world).pop().unwrap();
    let said: Vec<&str> = last.iter().filter_map(|message| message["content"].as_str()).collect();
    assert_eq!(said, ["edited 0", "Answer 1.", "question 2", "Answer 2.", "question 3"]);
}
