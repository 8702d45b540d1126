//! Guessing, with time as a value.

use super::{ADDRESSES_MAX, Attempts, FREE, MEMORY, PAUSE, Turn, WAITING_MAX};
use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, Instant};

const AT_ONCE: Turn = Turn::After(Duration::ZERO);

fn address(last: u8) -> Option<IpAddr> {
    Some(Ipv4Addr::new(10, 0, 0, last).into())
}

fn guessed_too_often(now: Instant) -> Attempts {
    let attempts = Attempts::default();
    for count in 1..=FREE {
        assert_eq!(attempts.turn(address(1), now), AT_ONCE);
        assert_eq!(attempts.wrong(address(1), now), count);
    }
    attempts
}

#[test]
fn after_a_few_mistakes_every_try_waits_for_its_turn() {
    let now = Instant::now();
    let attempts = guessed_too_often(now);

    for turn in 0..=WAITING_MAX {
        assert_eq!(attempts.turn(address(1), now), Turn::After(PAUSE * turn));
    }
    assert_eq!(attempts.turn(address(1), now), Turn::Never);

    // Nobody else waits.
    assert_eq!(attempts.turn(address(2), now), AT_ONCE);
    // And the places become free again.
    assert_eq!(attempts.turn(address(1), now + PAUSE * 2), Turn::After(PAUSE * (WAITING_MAX - 1)));
}

#[test]
fn a_right_password_and_time_end_it() {
    let now = Instant::now();
    let attempts = guessed_too_often(now);
    attempts.right(address(1));
    assert_eq!(attempts.turn(address(1), now), AT_ONCE);

    let attempts = guessed_too_often(now);
    attempts.wrong(address(2), now + MEMORY);
    for _ in 0..3 {
        assert_eq!(attempts.turn(address(1), now + MEMORY), AT_ONCE);
    }
}

#[test]
fn a_guesser_with_many_addresses_is_slowed_down_as_one() {
    let now = Instant::now();
    let attempts = Attempts::default();
    let many = |number: usize| Some(IpAddr::from(u32::try_from(number).expect("few").to_be_bytes()));
    for number in 0..ADDRESSES_MAX {
        attempts.wrong(many(number), now);
    }

    for number in 0..FREE as usize {
        attempts.wrong(many(ADDRESSES_MAX + number), now);
    }

    assert_eq!(attempts.turn(address(9), now), AT_ONCE);
    assert_eq!(attempts.turn(address(9), now), Turn::After(PAUSE));
    assert_eq!(attempts.known.lock().expect("not poisoned").len(), ADDRESSES_MAX + 1);
}
