//! What readers of a scrollback get.

use super::{BEHIND_UNITS_MAX, KEPT_BYTES_MAX, Scrollback, ScrollbackStart};
use std::sync::Arc;

async fn all(screen: &Arc<Scrollback>, from: ScrollbackStart) -> String {
    let mut reader = screen.reader(from);
    let mut text = String::new();
    while let Some(piece) = reader.next().await {
        text.push_str(&piece);
    }
    text
}

#[tokio::test]
async fn positions_are_counted_in_utf_16_units() {
    let screen = Arc::new(Scrollback::default());
    screen.push("aß");
    screen.push("🦀z");
    screen.close();

    assert_eq!(all(&screen, ScrollbackStart::Oldest).await, "aß🦀z");
    assert_eq!(all(&screen, ScrollbackStart::At(1)).await, "ß🦀z");
    assert_eq!(all(&screen, ScrollbackStart::At(4)).await, "z");
    // Inside a character: the rest of it is not shown.
    assert_eq!(all(&screen, ScrollbackStart::At(3)).await, "z");
    assert_eq!(all(&screen, ScrollbackStart::At(99)).await, "");
    assert_eq!(all(&screen, ScrollbackStart::Newest).await, "");
}

#[tokio::test]
async fn the_oldest_goes_and_the_newest_stays() {
    let screen = Arc::new(Scrollback::default());
    let line = "x".repeat(1023) + "\n";
    for _ in 0..4096 {
        screen.push(&line);
    }
    screen.push("the end");
    screen.close();

    let text = all(&screen, ScrollbackStart::At(0)).await;

    assert!(text.len() <= KEPT_BYTES_MAX && text.len() > KEPT_BYTES_MAX / 2, "{}", text.len());
    assert!(text.ends_with("\nthe end"));
}

#[tokio::test(start_paused = true)]
async fn a_terminal_waits_for_who_reads_and_lets_go_of_who_does_not() {
    let screen = Arc::new(Scrollback::default());
    let mut quick = screen.reader(ScrollbackStart::Newest);
    let mut stuck = screen.reader(ScrollbackStart::Newest);
    screen.push(&"x".repeat(BEHIND_UNITS_MAX as usize + 1));
    while quick.cursor < BEHIND_UNITS_MAX {
        quick.next().await.unwrap();
    }

    // Was: would wait for ever. Time is paused, so this passes at once.
    screen.wait_for_readers().await;

    screen.push("more");
    assert_eq!(quick.next().await.as_deref(), Some("more"));
    assert_eq!(stuck.next().await, None);
}
