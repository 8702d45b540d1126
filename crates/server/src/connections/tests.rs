//! Places, taken and given away.

use super::Connections;

#[test]
fn the_one_that_has_been_idle_longest_goes_first() {
    let connections = Connections::new(3);
    let first = connections.open().expect("room");
    let second = connections.open().expect("room");
    let third = connections.open().expect("room");
    let busy = connections.answering(&first);
    drop(connections.answering(&second));

    let fourth = connections.open().expect("the third was idle longest");
    assert!(third.state.closing.is_cancelled());
    let fifth = connections.open().expect("the second is idle too");
    assert!(second.state.closing.is_cancelled() && !first.state.closing.is_cancelled());

    drop(busy);
    let _sixth = connections.open().expect("one of them is idle");
    assert!(!fifth.state.closing.is_cancelled() || !fourth.state.closing.is_cancelled());
}

#[test]
fn a_connection_that_is_being_answered_is_not_closed_for_a_new_one() {
    let connections = Connections::new(2);
    let first = connections.open().expect("room");
    let second = connections.open().expect("room");
    let _answering = [connections.answering(&first), connections.answering(&second)];

    assert!(connections.open().is_none());
    drop(first);
    assert!(connections.open().is_some());
}
