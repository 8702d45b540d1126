//! Identifiers: their form, their order, and what is said about wrong ones.

use proptest::prelude::*;
use sturdy_session::id::{
    EventId, ID_BYTES_MAX, IdError, MessageId, PartId, PermissionId, PtyId, QuestionId, SessionId,
    WorkspaceId, compose, descending, time_word,
};
use sturdy_session::stamp::Stamp;

/// One turn of the 48-bit word, in milliseconds.
const WRAP_MS: u64 = 1 << 36;
const NOW: u64 = 1_794_770_276_512;

fn word_of(id: &str) -> u64 {
    let (_, rest) = id.split_once('_').unwrap();
    u64::from_str_radix(&rest[..12], 16).unwrap()
}

#[test]
fn the_time_word_is_that_of_the_vectors() {
    assert_eq!(format!("{:012x}", time_word(NOW, 1)), "1e0a510a0001");
    assert_eq!(format!("{:012x}", descending(time_word(1_794_770_276_253, 1))), "e1f5af062ffe");
}

#[test]
fn ids_of_one_millisecond_count_from_one() {
    let mut stamp = Stamp::fixed(1_794_770_473_675);

    let words: Vec<String> = (0..7).map(|_| stamp.part_id().as_str()[..16].to_owned()).collect();

    let expected: Vec<String> = (1..=7).map(|n| format!("prt_1e0a812cb00{n}")).collect();
    assert_eq!(words, expected);
}

#[test]
fn a_session_id_counts_downwards() {
    let mut stamp = Stamp::fixed(1_794_770_276_253);

    let first = stamp.session_id();
    let second = stamp.session_id();

    assert!(first.as_str().starts_with("ses_e1f5af062ffe"), "{first}");
    assert!(second < first, "newest first: {second} {first}");
}

#[test]
fn random_bytes_become_letters_by_their_remainder() {
    let bytes = [0, 9, 10, 35, 36, 61, 62, 123, 124, 255, 1, 2, 3, 4];

    let id = compose("prt", 0xabc, &bytes);

    assert_eq!(id, "prt_000000000abc09AZaz0z071234");
}

#[test]
fn one_counter_serves_every_prefix() {
    let mut stamp = Stamp::fixed(NOW);

    let ids = [
        stamp.message_id().to_string(),
        stamp.part_id().to_string(),
        stamp.event_id().to_string(),
        stamp.permission_id().to_string(),
        stamp.question_id().to_string(),
        stamp.pty_id().to_string(),
    ];

    let starts: Vec<&str> = ids.iter().map(|id| &id[..16]).collect();
    let expected = ["msg", "prt", "evt", "per", "que", "pty"].into_iter().zip(1..);
    let expected: Vec<String> = expected.map(|(prefix, n)| format!("{prefix}_1e0a510a000{n}")).collect();
    assert_eq!(starts, expected);
    assert!(ids.iter().all(|id| id.len() == 30 && id[4..].bytes().all(|byte| byte.is_ascii_alphanumeric())));
}

#[test]
fn a_fixed_stamp_repeats_itself_and_another_seed_does_not() {
    let ids = |stamp: &mut Stamp| (stamp.message_id(), stamp.session_id(), stamp.ulid());

    assert_eq!(ids(&mut Stamp::fixed(NOW)), ids(&mut Stamp::fixed(NOW)));
    assert_ne!(ids(&mut Stamp::new(NOW, [1; 32])), ids(&mut Stamp::new(NOW, [2; 32])));
}

#[test]
fn an_id_with_another_prefix_is_refused_in_the_words_of_the_wire() {
    let error = MessageId::parse("abc").unwrap_err();

    assert_eq!(error, IdError::Prefix { prefix: "msg", got: "abc".to_owned() });
    assert_eq!(error.to_string(), r#"Expected a string starting with "msg", got "abc""#);
    let said = |result: Result<String, IdError>| result.unwrap_err().to_string();
    let cases = [
        (said(SessionId::parse("msg_1").map(|id| id.to_string())), r#""ses", got "msg_1""#),
        (said(PartId::parse("").map(|id| id.to_string())), r#""prt", got """#),
        (said(PermissionId::parse("pe").map(|id| id.to_string())), r#""per", got "pe""#),
        (said(QuestionId::parse("Que_1").map(|id| id.to_string())), r#""que", got "Que_1""#),
        (said(PtyId::parse(" pty").map(|id| id.to_string())), r#""pty", got " pty""#),
        (said(WorkspaceId::parse("w\"\n\u{1}é").map(|id| id.to_string())), r#""wrk", got "w\"\n\u0001é""#),
        (said(EventId::parse("evt1").map(|id| id.to_string())), r#""evt_", got "evt1""#),
    ];
    for (said, tail) in cases {
        assert_eq!(said, format!("Expected a string starting with {tail}"));
    }
}

#[test]
fn an_id_from_outside_is_kept_as_it_is() {
    for text in ["ses", "ses_1", "sesame", "ses_e1f5af062ffe6Bs8TEBEesrWzP", "ses/\u{e9} x"] {
        assert_eq!(SessionId::parse(text).unwrap().as_str(), text);
        assert_eq!(serde_json::to_value(SessionId::parse(text).unwrap()).unwrap(), text);
    }
    let longest = format!("ses_{}", "x".repeat(ID_BYTES_MAX - 4));
    assert_eq!(SessionId::parse(&longest).unwrap().as_str(), longest);
}

#[test]
fn an_id_as_long_as_a_document_is_refused_and_not_repeated() {
    let right = SessionId::parse(&format!("ses_{}", "x".repeat(ID_BYTES_MAX - 3))).unwrap_err();
    let wrong = SessionId::parse(&"é".repeat(100_000)).unwrap_err();

    assert_eq!(right.to_string(), "Expected an id of at most 256 bytes, got 257");
    assert_eq!(
        wrong.to_string(),
        format!(r#"Expected a string starting with "ses", got "{}""#, "é".repeat(64))
    );
}

#[test]
fn a_wrong_id_inside_json_says_what_was_expected() {
    let error = serde_json::from_str::<MessageId>(r#""abc""#).unwrap_err().to_string();

    assert!(error.starts_with(r#"Expected a string starting with "msg", got "abc""#), "{error}");
}

#[test]
fn ten_thousand_ids_in_one_millisecond_ascend() {
    let mut stamp = Stamp::fixed(NOW);

    let ids: Vec<PartId> = (0..10_000).map(|_| stamp.part_id()).collect();

    assert!(ids.windows(2).all(|pair| pair[0] < pair[1]));
    assert!(ids.windows(2).all(|pair| word_of(pair[0].as_str()) < word_of(pair[1].as_str())));
    assert_eq!(stamp.now(), NOW, "borrowing is for ids, not for times");
    assert_eq!(word_of(ids[4094].as_str()), time_word(NOW, 4095));
    assert_eq!(word_of(ids[4095].as_str()), time_word(NOW + 1, 1));
}

#[test]
fn a_borrowed_millisecond_is_not_given_out_again() {
    let mut stamp = Stamp::fixed(NOW);
    let borrowed = (0..4097).map(|_| stamp.part_id()).last().unwrap();

    stamp.tick(NOW + 1);
    let next = stamp.part_id();

    assert_eq!(word_of(borrowed.as_str()), time_word(NOW + 1, 2));
    assert_eq!(word_of(next.as_str()), time_word(NOW + 1, 3));
}

#[test]
fn a_clock_set_back_moves_neither_time_nor_ids() {
    let mut stamp = Stamp::fixed(NOW);
    let before = stamp.message_id();

    let told = stamp.tick(NOW - 3_600_000);
    let after = stamp.message_id();

    assert_eq!((told, stamp.now()), (NOW, NOW));
    assert!(before < after);
}

#[test]
fn a_clock_set_forward_and_back_stays_where_it_was_highest() {
    let mut stamp = Stamp::fixed(NOW);
    stamp.tick(NOW + 3_600_000);
    let ahead = stamp.message_id();

    stamp.tick(NOW + 5);
    let after = stamp.message_id();

    assert_eq!(stamp.now(), NOW + 3_600_000);
    assert!(ahead < after);
}

#[test]
fn after_a_restart_ids_go_on_above_the_floor_even_with_the_clock_behind() {
    let mut before = Stamp::fixed(NOW);
    // Was: the first ids after a restart repeated the time words of the last millisecond.
    let last = (0..5_000).map(|_| before.part_id()).last().unwrap();

    let mut after = Stamp::new(NOW - 60_000, [1; 32]);
    after.go_on_after(before.now());
    after.tick(NOW - 59_000);
    let first = after.part_id();

    assert!(after.now() > NOW, "so that a second restart has a higher floor");
    assert!(last < first, "{last} {first}");
}

#[test]
fn a_restart_long_after_changes_nothing_about_the_time() {
    let mut stamp = Stamp::new(NOW, [1; 32]);

    stamp.go_on_after(NOW - 2);

    assert_eq!(stamp.now(), NOW);
    assert_eq!(word_of(stamp.part_id().as_str()), time_word(NOW, 1));
}

#[test]
fn the_word_wraps_after_795_days_and_starts_again_from_zero() {
    let boundary = 27 * WRAP_MS;
    let mut stamp = Stamp::fixed(boundary - 1);
    let last = stamp.message_id();

    stamp.tick(boundary);
    let first = stamp.message_id();

    assert_eq!(&last.as_str()[..16], "msg_fffffffff001");
    assert_eq!(&first.as_str()[..16], "msg_000000000001");
    assert!(first < last, "no order is taken from ids across a wrap");
    assert_eq!(descending(word_of(first.as_str())), 0xffff_ffff_fffe);
}

#[test]
fn the_wraps_are_on_the_days_the_spec_names() {
    use sturdy_session::title::iso_time;
    assert_eq!(iso_time(25 * WRAP_MS), "2024-06-10T02:35:18.400Z");
    assert_eq!(iso_time(26 * WRAP_MS), "2026-08-14T11:19:55.136Z");
    assert_eq!(iso_time(27 * WRAP_MS), "2028-10-17T20:04:31.872Z");
    assert!((24..28).all(|turn| time_word(turn * WRAP_MS, 0) == 0));
}

#[test]
fn a_call_of_our_own_has_a_ulid() {
    let mut stamp = Stamp::fixed(1_469_918_176_385);

    let one = stamp.ulid();
    let other = stamp.ulid();

    assert_eq!((one.len(), &one[..10], &other[..10]), (26, "01ARYZ6S41", "01ARYZ6S41"));
    assert_ne!(one, other);
    let crockford = |letter: char| "0123456789ABCDEFGHJKMNPQRSTVWXYZ".contains(letter);
    assert!(one.chars().all(crockford), "{one}");
}

#[test]
fn a_fraction_is_below_one_and_a_choice_below_its_count() {
    let mut stamp = Stamp::fixed(NOW);

    for _ in 0..1_000 {
        assert!((0.0..1.0).contains(&stamp.fraction()));
        assert!(stamp.choice(3) < 3);
    }
}

proptest! {
    /// However the clock jumps, and wherever the process starts again, part ids ascend.
    #[test]
    fn ids_ascend_across_clock_steps_and_restarts(
        steps in prop::collection::vec((-5_000_i64..5_000, 1_usize..40, any::<bool>()), 1..60),
    ) {
        let mut wall = 1_800_000_000_000_u64;
        let mut stamp = Stamp::fixed(wall);
        let mut last: Option<PartId> = None;
        for (jump, count, restart) in steps {
            wall = wall.saturating_add_signed(jump);
            if restart {
                let last = stamp.now();
                stamp = Stamp::new(wall, [count as u8; 32]);
                stamp.go_on_after(last);
            }
            let now = stamp.tick(wall);
            prop_assert!(now >= wall);
            for _ in 0..count {
                let id = stamp.part_id();
                prop_assert!(last.as_ref().is_none_or(|last| *last < id), "{last:?} {id}");
                last = Some(id);
            }
        }
    }

    /// Descending words sort the other way round, within one turn of the word.
    #[test]
    fn the_complement_turns_the_order_round(a in 0..WRAP_MS, b in 0..WRAP_MS, counter in 1_u64..4096) {
        let a = time_word(a, counter);
        let b = time_word(b, counter);
        prop_assert_eq!(a < b, descending(b) < descending(a));
        prop_assert_eq!(descending(descending(a)), a);
    }

    /// Every composed id has 12 hex digits and 14 letters, and is taken back.
    #[test]
    fn a_composed_id_has_its_form(ms in any::<u64>(), counter in 0_u64..5_000, random in any::<[u8; 14]>()) {
        let word = time_word(ms, counter);
        let id = compose("msg", word, &random);
        prop_assert_eq!(id.len(), 30);
        prop_assert_eq!(word_of(&id), word);
        prop_assert!(id[16..].bytes().all(|byte| byte.is_ascii_alphanumeric()));
        prop_assert_eq!(MessageId::parse(&id).unwrap().to_string(), id);
    }

    /// A string is an id exactly when it has the prefix and is not too long.
    #[test]
    fn parsing_never_panics(text in any::<String>()) {
        let is_id = text.starts_with("ses") && text.len() <= ID_BYTES_MAX;
        prop_assert_eq!(SessionId::parse(&text).is_ok(), is_id);
        let prefixed = format!("ses{text}");
        prop_assert_eq!(SessionId::parse(&prefixed).is_ok(), prefixed.len() <= ID_BYTES_MAX);
    }
}
