//! What the window holds.

use super::*;
use sturdy_session::types::event::Nothing;

fn shown(bytes: usize) -> Shown {
    let events = vec![Bytes::from(vec![b'x'; bytes])];
    let body = Body::Told(Box::new(Event::ServerHeartbeat(Nothing {})));
    Shown { tick: 0, at: 0, directory: None, project: None, body, events }
}

// Was: neither facts nor events were counted, and it could hold gigabytes.
#[test]
fn the_window_holds_a_megabyte_however_large_or_small_its_entries_are() {
    for bytes in [1, 64, 1000, 100_000] {
        let mut window = Window::default();

        for _ in 0..5_000 {
            window.push(shown(bytes));
        }

        let held: usize = window.entries.iter().map(|shown| shown.bytes()).sum();
        assert_eq!(window.bytes, held, "what is counted is what is held");
        assert!(
            held <= WINDOW_BYTES && window.entries.len() <= WINDOW_ENTRIES,
            "{held} bytes of {bytes} each"
        );
        assert!(window.entries.iter().all(|shown| shown.bytes() > 2 * bytes), "the event and its text");
    }
}

#[test]
fn an_entry_that_is_larger_than_the_window_is_alone_in_it() {
    let mut window = Window::default();
    window.push(shown(10));

    window.push(shown(3 * WINDOW_BYTES));
    assert_eq!(window.entries.len(), 1);

    window.push(shown(10));
    assert_eq!((window.entries.len(), window.bytes), (1, shown(10).bytes()));
}
