//! Limits of sharing: each is read, bounded, and reaches what it bounds.

use super::{KNOWN, parse, sharing};

#[test]
fn every_limit_takes_its_least_and_its_most_and_nothing_beyond() {
    for known in &KNOWN {
        let given = |value: u64| parse(&format!("{}={value}", known.name));
        assert!(given(known.least).is_ok() && given(known.most).is_ok(), "{}", known.name);
        assert!(given(known.most + 1).is_err(), "{}", known.name);
        assert!(known.least == 0 || given(known.least - 1).is_err(), "{}", known.name);
    }
}

#[test]
fn a_limit_reaches_what_it_bounds_and_the_last_of_one_name_counts() {
    let given: Vec<_> = ["writers=8", "writers=16", "log-days=2", "total-mib=3", "gather-ms=50", "op-kib=64"]
        .into_iter()
        .map(|text| parse(text).unwrap())
        .collect();

    let all = sharing(&given);

    assert_eq!(all.service.share.writers, 16);
    assert_eq!(all.service.share.log_kept_ms, 2 * 24 * 60 * 60 * 1000);
    assert_eq!(all.service.budget.bytes, 3 * 1024 * 1024);
    assert_eq!(all.service.share.op_bytes, 65_536);
    assert_eq!(all.pace.gather.as_millis(), 50);
    assert_eq!(all.service.viewers, 4096, "what is not given stays as it is");
}

#[test]
fn every_limit_changes_something() {
    let usual = format!("{:?}", sharing(&[]));
    for known in &KNOWN {
        let least = sharing(&[parse(&format!("{}={}", known.name, known.least)).unwrap()]);
        let most = sharing(&[parse(&format!("{}={}", known.name, known.most)).unwrap()]);
        let is_set = format!("{least:?}") != usual || format!("{most:?}") != usual;
        assert!(is_set, "{}", known.name);
    }
}

#[test]
fn a_wrong_limit_is_told_what_would_be_right() {
    assert_eq!(parse("writers").unwrap_err(), "expected NAME=VALUE, as in writers=16");
    assert_eq!(parse("writers=none").unwrap_err(), "writers is a whole number from 1 to 1024");
    assert!(
        parse("witers=3").unwrap_err().starts_with("there is no limit \"witers\"; there are: batch-ops, ")
    );
}
