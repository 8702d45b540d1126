//! A machine's clock that was wrong.

use super::{AHEAD_MAX, Clock, wall};
use sturdy_session::stamp::Stamp;

#[test]
fn a_clock_that_was_once_years_ahead_is_not_believed() {
    let now = wall();
    let years = 3 * 365 * 24 * 60 * 60 * 1000;

    let clock = Clock::new(now + years);

    // Was: every entry of the next three years carried the same time.
    assert!(clock.now() < now + AHEAD_MAX);
    assert!(clock.believed(now + years) < now + AHEAD_MAX);
    let little = now + AHEAD_MAX / 2;
    assert_eq!(Clock::new(little).now(), little, "a clock that was set back a little changes nothing");
}

#[test]
fn ids_ascend_while_the_clock_is_behind() {
    let clock = Clock::new(wall() + AHEAD_MAX / 2);

    let ids: Vec<_> = (0..100).map(|_| clock.id(Stamp::message_id)).collect();

    assert!(ids.is_sorted_by(|a, b| a.as_str() < b.as_str()), "{ids:?}");
}

#[test]
fn a_clock_that_is_years_ahead_for_a_moment_does_not_stay_so_until_the_next_start() {
    let now = wall();
    let years = 3 * 365 * 24 * 60 * 60 * 1000;
    let clock = Clock::new(now);
    let mut session = clock.stamp();
    clock.now_at(now + years);
    clock.ids.lock().unwrap().tick(now + years);
    session.tick(now + years);

    clock.tick(&mut session);
    let id = clock.id(Stamp::message_id);

    // Was: until the process ended every time was that of the moment.
    assert!(clock.now() < now + AHEAD_MAX);
    assert!(session.now() < now + AHEAD_MAX);
    let later = Clock::new(now + AHEAD_MAX).id(Stamp::message_id);
    assert!(id.as_str() < later.as_str(), "{id} {later}");

    let hours = now + 5 * 60 * 60 * 1000;
    clock.now_at(hours);
    assert!(clock.now() >= hours, "a clock that was set back by hours changes nothing while the server runs");
}
