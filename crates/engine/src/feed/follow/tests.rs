//! A follower that drops what it holds and reads it again.

use super::*;
use crate::feed::Stored;
use bytes::Bytes;
use sturdy_session::id::SessionId;
use sturdy_store::{Options, Store};

fn entry(position: u64, events: usize) -> Shown {
    let session = SessionId::parse("ses_0123456789abABCDEFGHIJKLMN").unwrap();
    let body = Body::Entry(Stored { position, session, is_removal: false });
    let events = vec![Bytes::from(vec![b'x'; HELD_BYTES_MAX]); events];
    Shown { tick: 0, at: 0, directory: None, project: None, body, events }
}

// Was: an entry of a removed session is not in the log any more and still in the window. A reader that had passed over
// it in the one found it in the other: it was sent behind what follows it, and that was sent a second time.
#[tokio::test]
async fn an_entry_that_was_skipped_is_not_sent_after_a_later_one() {
    let directory = tempfile::tempdir().unwrap();
    let feed = Feed::new(Store::open(Options::new(directory.path())).await.unwrap());
    for (position, events) in [(1, 1), (2, 1), (3, 4)] {
        feed.lock().push(entry(position, events));
    }
    let mut follower = Follower::new(&feed, Scope::All, None, None);
    // As the log has it: the second is gone.
    follower.position = 1;
    follower.held.push_back(Arc::new(entry(3, 4)));
    let next = |follower: &mut Follower| match follower.ready() {
        Some(Step::Event { cursor, .. }) => cursor.map(|cursor| (cursor.position, cursor.seen)),
        _ => None,
    };
    assert_eq!(next(&mut follower), Some((3, Some(1))));
    assert_eq!(next(&mut follower), Some((3, Some(2))));

    follower.let_go();
    assert_eq!(follower.held.len(), 0);
    follower.fill().await.unwrap();

    assert_eq!(next(&mut follower), Some((3, Some(3))));
    assert_eq!(next(&mut follower), Some((3, Some(4))));
    assert_eq!(next(&mut follower), None);
}
