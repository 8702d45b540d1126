//! Titles and slugs.

use proptest::prelude::*;
use std::collections::BTreeSet;
use sturdy_session::slug::slug;
use sturdy_session::stamp::Stamp;
use sturdy_session::title::{
    TITLE_BYTES_MAX, clean_generated_title, default_title, fork_title, is_default_title, iso_time, tidy_title,
};

#[test]
fn a_session_without_a_title_is_named_after_its_time() {
    let at = 1_794_770_276_253;

    assert_eq!(default_title(false, at), "New session - 2026-11-15T19:17:56.253Z");
    assert_eq!(default_title(true, at), "Child session - 2026-11-15T19:17:56.253Z");
}

#[test]
fn times_are_printed_in_utc_with_milliseconds() {
    let cases = [
        (0, "1970-01-01T00:00:00.000Z"),
        (951_782_399_999, "2000-02-28T23:59:59.999Z"),
        (951_782_400_000, "2000-02-29T00:00:00.000Z"),
        (951_868_800_000, "2000-03-01T00:00:00.000Z"),
        (1_704_067_200_000, "2024-01-01T00:00:00.000Z"),
        (1_709_164_800_000, "2024-02-29T00:00:00.000Z"),
        (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
        (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
    ];
    for (at, text) in cases {
        assert_eq!(iso_time(at), text);
    }
}

#[test]
fn only_the_exact_form_is_a_default_title() {
    for title in ["New session - 2026-11-15T19:17:56.253Z", "Child session - 0000-99-99T99:99:99.999Z"] {
        assert!(is_default_title(title), "{title}");
    }
    let others = [
        "",
        "New session - ",
        "New session",
        "new session - 2026-11-15T19:17:56.253Z",
        "New session - 2026-11-15T19:17:56.253Z ",
        " New session - 2026-11-15T19:17:56.253Z",
        "New session - 2026-11-15T19:17:56Z",
        "New session - 2026-11-15T19:17:56.253",
        "New session - 2026-11-15 19:17:56.253Z",
        "New session - 2026-11-15T19:17:56.25xZ",
        "New session - ２０26-11-15T19:17:56.253Z",
        "Child session - New session - 2026-11-15T19:17:56.253Z",
        "New session - 2026-11-15T19:17:56.253Z (fork #1)",
    ];
    for title in others {
        assert!(!is_default_title(title), "{title}");
    }
}

#[test]
fn a_fork_is_numbered_and_its_fork_counts_on() {
    let cases = [
        ("Origin", "Origin (fork #1)"),
        ("Origin (fork #1)", "Origin (fork #2)"),
        ("Origin (fork #9)", "Origin (fork #10)"),
        ("Origin (fork #1) (fork #41)", "Origin (fork #1) (fork #42)"),
        ("", " (fork #1)"),
        ("Origin (fork #x)", "Origin (fork #x) (fork #1)"),
        ("Origin (fork #)", "Origin (fork #) (fork #1)"),
        ("Origin (fork #+1)", "Origin (fork #+1) (fork #1)"),
        ("Origin (fork #-1)", "Origin (fork #-1) (fork #1)"),
        ("Origin(fork #1)", "Origin(fork #1) (fork #1)"),
        ("Origin (fork #1) ", "Origin (fork #1)  (fork #1)"),
        // Was: adding one to the largest number stopped the program.
        ("Origin (fork #18446744073709551615)", "Origin (fork #18446744073709551615) (fork #1)"),
        ("Origin (fork #99999999999999999999)", "Origin (fork #99999999999999999999) (fork #1)"),
    ];
    for (title, expected) in cases {
        assert_eq!(fork_title(title), expected);
    }
}

#[test]
fn a_generated_title_is_the_first_line_that_says_something() {
    let cases = [
        ("Fix the test", Some("Fix the test")),
        ("  Fix the test \n and more", Some("Fix the test")),
        ("\n \r\n\tTitle\r\nrest", Some("Title")),
        ("<think>hm\nhm</think>\n\nTitle", Some("Title")),
        ("<think>a</think> A <think>b</think> B", Some("A B")),
        ("Before <think>x</think>after", Some("Before after")),
        ("Title\n<think>never closed", Some("Title")),
        ("<think>never closed\nTitle", None),
        ("</think> odd", Some("</think> odd")),
        ("<think>only</think>", None),
        ("", None),
        (" \n ", None),
    ];
    for (answer, expected) in cases {
        assert_eq!(clean_generated_title(answer).as_deref(), expected, "{answer:?}");
    }
}

#[test]
fn a_generated_title_above_a_hundred_characters_is_cut_and_says_so() {
    let cut = |answer: String| clean_generated_title(&answer).unwrap();

    assert_eq!(cut("x".repeat(100)), "x".repeat(100));
    assert_eq!(cut("x".repeat(101)), format!("{}...", "x".repeat(97)));
    assert_eq!(cut("é".repeat(101)), format!("{}...", "é".repeat(97)));
    // Two UTF-16 units each: 50 fit, and the 49th would be cut in half.
    assert_eq!(cut("😀".repeat(50)), "😀".repeat(50));
    assert_eq!(cut("😀".repeat(51)), format!("{}...", "😀".repeat(48)));
}

#[test]
fn a_slug_is_an_adjective_and_a_noun_and_every_pair_turns_up() {
    let mut stamp = Stamp::fixed(1);
    let slugs: BTreeSet<String> = (0..20_000).map(|_| slug(&mut stamp)).collect();

    let (adjectives, nouns): (BTreeSet<&str>, BTreeSet<&str>) =
        slugs.iter().map(|slug| slug.split_once('-').unwrap()).unzip();
    assert_eq!((adjectives.len(), nouns.len(), slugs.len()), (29, 31, 29 * 31));
    assert_eq!(
        adjectives.into_iter().collect::<Vec<_>>().join(" "),
        "brave calm clever cosmic crisp curious eager gentle glowing happy hidden jolly kind lucky mighty misty neon \
         nimble playful proud quick quiet shiny silent stellar sunny swift tidy witty"
    );
    assert_eq!(
        nouns.into_iter().collect::<Vec<_>>().join(" "),
        "cabin cactus canyon circuit comet eagle engine falcon forest garden harbor island knight lagoon meadow moon \
         mountain nebula orchid otter panda pixel planet river rocket sailor squid star tiger wizard wolf"
    );
}

proptest! {
    #[test]
    fn every_default_title_is_recognised(at in 0_u64..253_402_300_800_000, has_parent in any::<bool>()) {
        prop_assert!(is_default_title(&default_title(has_parent, at)));
    }

    #[test]
    fn later_times_print_later(a in 0_u64..253_402_300_800_000, b in 0_u64..253_402_300_800_000) {
        prop_assert_eq!(a.cmp(&b), iso_time(a).cmp(&iso_time(b)));
    }

    /// Whatever a model answers, a title is one trimmed line of at most 100 units.
    #[test]
    fn a_title_is_one_short_line(answer in "(<think>|</think>|\\PC|\n| |😀){0,150}") {
        if let Some(title) = clean_generated_title(&answer) {
            prop_assert!(title.encode_utf16().count() <= 100);
            prop_assert!(!title.is_empty() && !title.contains('\n') && title.trim() == title);
        }
    }

    #[test]
    fn forking_twice_counts_to_two(title in "\\PC{0,40}") {
        prop_assume!(!title.ends_with(')'));
        prop_assert_eq!(fork_title(&fork_title(&title)), format!("{title} (fork #2)"));
    }
}

#[test]
fn a_title_is_one_line_of_letters() {
    assert_eq!(tidy_title("plain, ünïcode \u{1f600}"), "plain, ünïcode \u{1f600}");
    assert_eq!(tidy_title("a\u{0}b\u{1b}[31mc\u{9b}d\u{7f}\ne\tf"), "ab[31mcd e f");
    assert_eq!(clean_generated_title("\u{1b}[31m\u{0}Fix it\u{7}\nmore"), Some("[31mFix it".to_owned()));
    // Cut between letters.
    assert_eq!(tidy_title(&"ü".repeat(TITLE_BYTES_MAX)).len(), TITLE_BYTES_MAX);
    assert_eq!(tidy_title(&format!("x{}", "ü".repeat(TITLE_BYTES_MAX))).len(), TITLE_BYTES_MAX - 1);
}
