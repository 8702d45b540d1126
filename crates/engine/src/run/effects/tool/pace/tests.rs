//! What an hour of reports costs, counted and not timed.

use super::*;
use serde_json::{Map, Value};

fn printed(text: &str) -> Progress {
    let metadata = Map::from_iter([(OUTPUT.to_owned(), Value::String(text.to_owned()))]);
    Progress { title: None, metadata }
}

fn output(progress: &Progress) -> &str {
    progress.metadata[OUTPUT].as_str().unwrap()
}

/// Reports for so long; gives their number, their bytes, and the last.
fn run(hours: u32, text: &str) -> (u64, u64, Progress) {
    let mut pace = Pace::new();
    let mut age = Duration::ZERO;
    let mut count = 0;
    let mut bytes = 0;
    let mut last = printed("");
    while age < Duration::from_secs(3600) * hours {
        last = pace.spend(age, printed(text));
        count += 1;
        bytes += cost(&last);
        age += pace.pause();
    }
    (count, bytes, last)
}

#[test]
fn an_hour_of_a_flood_costs_less_than_a_megabyte() {
    // Letters of four bytes, thirty thousand of them, as a client is shown.
    let (count, bytes, last) = run(1, &"\u{1f4a7}".repeat(30_000));

    assert!(bytes <= 1024 * 1024, "{bytes} bytes in {count} reports");
    assert!(count > 100, "it was only seen {count} times");
    assert!(output(&last).starts_with(CUT) && output(&last).len() >= TAIL_BYTES as usize - 4);
}

#[test]
fn a_day_costs_no_more_an_hour_than_the_first() {
    let (_, day, _) = run(24, &"x".repeat(30_000));

    assert!(day <= 24 * 512 * 1024, "{day} bytes");
}

#[test]
fn what_is_short_is_reported_whole_and_as_often_as_may_be() {
    let mut pace = Pace::new();

    for second in 0..60 {
        let shown = pace.spend(Duration::from_secs(second), printed("one line\n"));
        assert_eq!((output(&shown), pace.pause()), ("one line\n", REPORT_INTERVAL_MIN));
    }
}

#[test]
fn what_is_cut_is_cut_between_letters() {
    let mut text = "é".repeat(3000);

    cut(&mut text, 2001);

    assert_eq!(text, format!("{CUT}{}", "é".repeat(1000)));
}
