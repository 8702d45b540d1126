//! A subscriber whose line breaks, or whose server does, misses nothing and gets nothing twice.

use super::*;

/// Lines that are cut before the session is read to its end.
const CUTS_MAX: usize = 400;

#[tokio::test]
async fn a_line_cut_in_the_middle_costs_no_event_and_repeats_none() {
    let world = World::new().await;
    let mut stream = Stream::open(&world, "/event").await;
    let id = world.session().await;
    world.send("POST", &format!("/session/{id}/prompt_async"), &prompt("/demo long 60")).await;

    let mut all = Vec::new();
    let mut last = beginning(&world);
    for cut in 0..CUTS_MAX {
        let line = connect(&world).await;
        let mut sink = sink();
        let _handle = subscribe(&session_of(&line, &id).await, last.clone(), &sink.stub).await;
        // A few more each time, so that the cuts fall everywhere.
        for _ in 0..=cut {
            let (event, cursor) = sink.next().await;
            last = cursor.clone().into();
            all.push((event, cursor));
            if all.last().unwrap().0["type"] == "session.idle" {
                break;
            }
        }
        // Torn, without a word: whatever else was on its way is lost.
        line.over.abort();
        if all.last().unwrap().0["type"] == "session.idle" {
            break;
        }
    }

    let frames = stream.until(Frame::is_idle).await;
    assert_eq!(all, of_session(&frames, &id));
}

#[tokio::test]
async fn a_cursor_is_good_after_the_server_was_started_anew() {
    let world = World::new().await;
    let id = world.session().await;
    let line = connect(&world).await;
    let mut before = sink();
    let _handle = subscribe(&session_of(&line, &id).await, beginning(&world), &before.stub).await;
    world.ask(&id, "one").await;
    let mut all = before.turn().await;
    // Half of what was seen is forgotten, as by a client that had not stored it yet.
    all.truncate(all.len() / 2);
    let last = all.last().unwrap().1.clone();

    let world = world.reopened().await;
    world.ask(&id, "two").await;
    let line = connect(&world).await;
    let session = session_of(&line, &id).await;
    let mut again = sink();
    let _again = subscribe(&session, last.into(), &again.stub).await;
    all.extend(again.turn().await);
    all.extend(again.turn().await);

    let mut whole = sink();
    let _whole = subscribe(&session, beginning(&world), &whole.stub).await;
    let mut replayed = whole.turn().await;
    replayed.extend(whole.turn().await);
    assert_eq!(all, replayed);
    assert!(ascend(all.iter().map(|(_, cursor)| cursor)));
}
