//! Readers: a cursor and a hint. Nothing is missed, nothing comes twice.

use crate::turns::texts;
use serde_json::json;
use std::sync::Arc;
use sturdy_engine::PromptRequest;
use sturdy_engine::feed::{Page, Reader, Resync, Scope, Shown};
use sturdy_session::fact::Fact;
use sturdy_session::id::SessionId;
use sturdy_session::rows::KEYFRAME_EVERY;
use sturdy_session::turn::SessionPatch;
use sturdy_session::types::part::PartBody;
use sturdy_store::CrashPlan;
use sturdy_testkit::world::{Disk, prompt, scripted};
use sturdy_testkit::{Provider, Seen, World, answer};

/// Reads until the reader has reached a position.
async fn read_to(reader: &mut Reader, position: u64) -> Vec<Arc<Shown>> {
    let mut all = Vec::new();
    while reader.position() < position {
        match reader.next().await.unwrap() {
            Page::Entries(entries) => all.extend(entries),
            Page::Resync(why) => panic!("{why:?}"),
        }
    }
    all
}

/// What makes two shown entries the same to a client: all of it.
fn essence(shown: &[Arc<Shown>]) -> Vec<(u64, u64, String, String, Vec<String>)> {
    let text = |name: &Option<Arc<str>>| name.as_deref().unwrap_or_default().to_owned();
    let essence = |shown: &Arc<Shown>| {
        let events = shown.events.iter().map(|event| String::from_utf8(event.to_vec()).unwrap()).collect();
        Some((shown.position()?, shown.at, text(&shown.directory), text(&shown.project), events))
    };
    shown.iter().filter_map(essence).collect()
}

#[tokio::test]
async fn a_reader_that_was_away_is_shown_exactly_what_a_live_one_saw() {
    let world = World::new().await;
    let mut live = world.engine.feed().reader();
    let start = live.position();
    let session = world.session().await;
    for turn in 0..3 {
        world.provider.will(
            answer().reasoning("hm").text_in_chunks(&format!("answer {turn} ").repeat(9), 7).finish("stop"),
        );
        world.ask(&session.id, "go").await.unwrap();
    }
    let end = world.engine.store().head();
    let seen = read_to(&mut live, end).await;

    let world = world.reopen().await;
    let mut returning = world.engine.feed().reader_after(Scope::All, start);
    let replayed = read_to(&mut returning, end).await;

    assert_eq!(essence(&replayed), essence(&seen));
}

#[tokio::test]
async fn a_cursor_in_the_middle_gets_only_what_comes_after_it() {
    let world = World::new().await;
    let session = world.session().await;
    world.ask(&session.id, "one").await.unwrap();
    let middle = world.engine.store().head();
    world.ask(&session.id, "two").await.unwrap();
    let end = world.engine.store().head();

    for after in [middle, middle + 3, end - 1] {
        let mut reader = world.engine.feed().reader_after(Scope::All, after);
        let positions: Vec<_> =
            read_to(&mut reader, end).await.iter().filter_map(|shown| shown.position()).collect();
        assert_eq!(positions, ((after + 1)..=end).collect::<Vec<_>>());
    }
}

#[tokio::test]
async fn a_reader_far_behind_the_window_reads_the_log_and_joins_the_others() {
    let world = World::new().await;
    let mut slow = world.engine.feed().reader();
    let session = world.session().await;
    for _ in 0..12 {
        let long = "a long answer that fills the window soon ".repeat(3000);
        world.provider.will(answer().text_in_chunks(&long, 900).finish("stop"));
        world.ask(&session.id, "go on").await.unwrap();
    }
    let end = world.engine.store().head();

    let positions: Vec<_> =
        read_to(&mut slow, end).await.iter().filter_map(|shown| shown.position()).collect();

    let first = positions[0];
    assert_eq!(positions, (first..=end).collect::<Vec<_>>());
    let mut live = Seen::from_now(world.engine.feed());
    world.ask(&session.id, "and now").await.unwrap();
    let head = world.engine.store().head();
    live.until(|record| record.positions.last() == Some(&head)).await;
    let rest: Vec<_> = read_to(&mut slow, head).await.iter().filter_map(|shown| shown.position()).collect();
    assert_eq!(rest, ((end + 1)..=head).collect::<Vec<_>>());
}

/// A session that was asked, renamed, edited, and of which something was removed.
async fn eventful(world: &World) -> SessionId {
    let session = world.session().await;
    for turn in 0..40 {
        world.provider.will(answer().text(&format!("answer {turn}")).finish("stop"));
        world.ask(&session.id, "go").await.unwrap();
    }
    let title = SessionPatch { title: Some("renamed".to_owned()), ..SessionPatch::default() };
    world.engine.edit_session(&session.id, title).await.unwrap();
    let messages = world.messages(&session.id).await;
    let mut part = messages[0].parts[0].clone();
    if let PartBody::Text(text) = &mut part.body {
        "changed".clone_into(&mut text.text);
    }
    world.engine.write_part(&session.id, messages[0].info.id(), part).await.unwrap();
    assert!(world.engine.remove_message(&session.id, messages[3].info.id()).await.unwrap());
    session.id
}

#[tokio::test]
async fn a_long_session_is_shown_again_from_the_keyframe_before_the_cursor() {
    let world = World::new().await;
    let mut live = world.engine.feed().reader();
    let first = live.position();
    eventful(&world).await;
    let end = world.engine.store().head();
    let seen = essence(&read_to(&mut live, end).await);
    assert!(end > 2 * KEYFRAME_EVERY, "{end} entries have too few keyframes");

    let world = world.reopen().await;
    for after in (first..end).step_by(37) {
        let mut returning = world.engine.feed().reader_after(Scope::All, after);
        let replayed = essence(&read_to(&mut returning, end).await);
        let missed: Vec<_> = seen.iter().filter(|shown| shown.0 > after).cloned().collect();
        assert_eq!(replayed, missed, "after {after}");
    }
}

// Was: whoever came back read all of them at once, to show what came behind.
#[tokio::test]
async fn large_prompts_before_a_cursor_are_not_read_again() {
    let world = World::new().await;
    let session = world.session().await;
    for _ in 0..4 {
        let large = PromptRequest { no_reply: true, ..prompt(&"x".repeat(1024 * 1024)) };
        world.engine.prompt(&session.id, large).await.unwrap();
    }
    let end = world.engine.store().head();
    let title = SessionPatch { title: Some("renamed".to_owned()), ..SessionPatch::default() };
    world.engine.edit_session(&session.id, title).await.unwrap();

    let page = world.engine.store().log_page(end, Scope::All, Vec::new(), 10).await.unwrap();

    assert_eq!((page.entries.len(), page.origins.len()), (1, 1));
    let read: usize = page.origins[0].entries.iter().map(|entry| entry.data.len()).sum();
    let keyframe = page.origins[0].keyframe.as_ref().map_or(0, String::len);
    assert!(read + keyframe < 256 * 1024, "{read} bytes of entries and {keyframe} of a keyframe");
}

#[tokio::test]
async fn a_removed_session_is_shown_again_with_its_directory_and_project() {
    // Was: `project` was missing, for it was looked up in the session's row.
    let world = World::new().await;
    let session = eventful(&world).await;
    let mut live = world.engine.feed().reader();
    let start = live.position();
    world.engine.remove_session(&session).await.unwrap();
    let end = world.engine.store().head();
    let seen = essence(&read_to(&mut live, end).await);

    let world = world.reopen().await;
    let mut returning = world.engine.feed().reader_after(Scope::All, start);
    assert_eq!(essence(&read_to(&mut returning, end).await), seen);
    let mut here = world.engine.feed().reader_after(Scope::Directory(seen[0].2.clone()), start);
    assert_eq!(essence(&read_to(&mut here, end).await), seen);
}

#[tokio::test]
async fn a_message_read_while_it_streams_has_the_text_so_far() {
    let world = World::new().await;
    let session = world.session().await;
    let mut seen = Seen::from_now(world.engine.feed());
    world.provider.will(answer().text("So far").hang());
    world.prompt(&session.id, "go").await.unwrap();
    seen.until(|record| record.texts.values().any(|text| text == "So far")).await;

    let messages = world.messages(&session.id).await;

    assert_eq!(texts(&messages[1]), ["So far"]);
    let PartBody::Text(text) = &messages[1].parts[1].body else { panic!("no text") };
    assert!(text.time.unwrap().end.is_none());
}

#[tokio::test]
async fn who_comes_back_from_a_restart_without_a_cursor_is_shown_how_it_ended_what_was_open() {
    let world = World::new().await;
    let session = world.session().await;
    world.provider.will(answer().text("Cut off").hang());
    let mut seen = Seen::from_now(world.engine.feed());
    world.prompt(&session.id, "go").await.unwrap();
    seen.until(|record| record.texts.values().any(|text| text == "Cut off")).await;
    let before = world.engine.store().head();

    let world = world.reopen().await;
    let now = world.engine.clock().now();
    let mut back = world.engine.feed().newcomer(Scope::All, now);
    let later = world.engine.feed().newcomer(Scope::All, now + 3_600_000);

    let end = world.engine.store().head();
    assert_eq!((back.position(), later.position()), (before, end));
    world.session().await;
    let after_something_else = world.engine.feed().newcomer(Scope::All, now);
    assert_eq!(after_something_else.position(), world.engine.store().head());
    let shown = format!("{:?}", essence(&read_to(&mut back, end).await));
    assert!(shown.contains("Cut off") && shown.contains("MessageAbortedError"), "{shown}");
}

#[tokio::test]
async fn a_reader_that_meets_damage_is_told_and_goes_on() {
    let damages = [
        "UPDATE log SET data = '{' WHERE position = (SELECT MIN(position) FROM log WHERE kind = 'text.grew.1')",
        "UPDATE log SET blob = 'gone' WHERE position = (SELECT MIN(position) FROM log WHERE kind = 'text.ended.1')",
    ];
    for damage in damages {
        let world = World::new().await;
        let start = world.engine.store().head();
        let session = world.session().await;
        for turn in ["one", "two"] {
            world.provider.will(answer().text_in_chunks(&format!("answer {turn}"), 4).finish("stop"));
            world.ask(&session.id, turn).await.unwrap();
        }
        let world = world.reopen_damaged(damage).await;
        let end = world.engine.store().head();

        let mut reader = world.engine.feed().reader_after(Scope::All, start);
        let mut shown = Vec::new();
        let mut told = Vec::new();
        while reader.position() < end || told.is_empty() {
            // Was: a missing blob ended the stream, and again whenever the reader came back.
            match reader.next().await.unwrap() {
                Page::Entries(entries) => shown.extend(entries),
                Page::Resync(why) => told.push(why),
            }
        }

        assert_eq!(told, [Resync::Damaged], "{damage}");
        let last = shown.last().and_then(|shown| shown.position());
        assert_eq!(last, Some(end), "what comes behind the damage is shown: {damage}");
        let events: Vec<u8> = shown.iter().flat_map(|shown| shown.events.concat()).collect();
        assert!(String::from_utf8(events).unwrap().contains("two"), "{damage}");
    }
}

/// Reads to a position, and says what the reader was told besides.
async fn told_on_the_way(reader: &mut Reader, position: u64) -> Vec<Resync> {
    let mut told = Vec::new();
    while reader.position() < position || told.is_empty() {
        if let Page::Resync(why) = reader.next().await.unwrap() {
            told.push(why);
        }
    }
    told
}

#[tokio::test]
async fn a_reader_whose_session_has_a_damaged_keyframe_is_told() {
    let world = World::new().await;
    eventful(&world).await;
    let end = world.engine.store().head();

    let world = world.reopen_damaged("UPDATE keyframe SET data = '{'").await;
    let mut reader = world.engine.feed().reader_after(Scope::All, end - 2);

    // Was: it was shown nothing, and was not told that there was something.
    assert_eq!(told_on_the_way(&mut reader, end).await, [Resync::Damaged]);
}

#[tokio::test]
async fn a_reader_goes_on_behind_a_pruned_call_whose_beginning_is_damaged() {
    let disk = Disk::new();
    let world = World::open(disk, Provider::start().await, CrashPlan::Never).await;
    let mut config = scripted(&world.provider.url());
    config["compaction"] = json!({ "prune": true });
    world.disk.configure(&config);
    world.engine.dispose_all();
    let session = world.session().await;
    let mut seen = Seen::from_now(world.engine.feed());
    let command = json!({ "command": "head -c 45000 /dev/zero | tr '\\0' x" }).to_string();
    for turn in 0..7 {
        world.provider.will(answer().call(0, &format!("call_{turn}"), "bash", &command).finish("tool_calls"));
        world.provider.will(answer().text("Done.").finish("stop"));
        world.ask(&session.id, "go").await.unwrap();
    }
    seen.until(|record| record.facts.iter().any(|fact| matches!(fact, Fact::ToolCompacted { .. }))).await;
    let end = world.engine.store().head();
    let first = "(SELECT MIN(position) FROM log WHERE subject IN (SELECT subject FROM log WHERE kind = 'tool.compacted.1'))";

    let world = world.reopen_damaged(&format!("UPDATE log SET blob = 'gone' WHERE position = {first}")).await;
    let compacted = "SELECT MIN(position) FROM log WHERE kind = 'tool.compacted.1'";
    let after = world.disk.number(compacted) - 1;
    let mut reader = world.engine.feed().reader_after(Scope::All, after);

    // Was: the read failed, and again whenever the reader came back.
    assert_eq!(told_on_the_way(&mut reader, end).await, [Resync::Damaged]);
}
