//! Waiting for a place, and stopping in the middle of a file.

use super::{SEARCHES_MAX, Stoppable, place};
use futures_util::FutureExt as _;
use std::io::{Read as _, repeat};
use tokio_util::sync::CancellationToken;

#[tokio::test]
async fn the_fifth_search_waits_for_one_of_the_four() {
    let mut held = Vec::new();
    for _ in 0..SEARCHES_MAX {
        held.push(place().await);
    }

    assert!(place().now_or_never().is_none());
    held.pop();
    assert!(place().now_or_never().is_some());
}

#[test]
fn a_file_without_end_is_left_when_the_search_is_stopped() {
    let stop = CancellationToken::new();
    let mut endless = Stoppable { inner: repeat(b'x'), stop: &stop };
    let mut some = [0; 8];
    endless.read_exact(&mut some).expect("there is more");

    stop.cancel();

    assert!(endless.read_exact(&mut some).is_err());
}
