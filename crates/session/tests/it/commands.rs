//! Command templates and mentions.

use proptest::prelude::*;
use sturdy_session::command::{Snippet, expand, fill, hints, snippets, words};
use sturdy_session::mention::{Mention, MentionedPath, agent_note, mentions};

#[test]
fn arguments_are_split_at_spaces_but_not_inside_quotes() {
    assert_eq!(words(""), [] as [&str; 0]);
    assert_eq!(words("  a\tb\nc  "), ["a", "b", "c"]);
    assert_eq!(words(r#"one "two words" 'three more words'"#), ["one", "two words", "three more words"]);
    assert_eq!(words(r#""it's" 'say "hi"' """#), ["it's", r#"say "hi""#, ""]);
    assert_eq!(words(r#"a"b c"d"#), ["a", "b c", "d"]);
}

#[test]
fn an_image_is_one_argument() {
    assert_eq!(
        words("see [Image 1] [image  22]x [Image] [Image x]"),
        ["see", "[Image 1]", "[image  22]", "x", "[Image]", "[Image", "x]"]
    );
}

#[test]
fn a_quote_that_nothing_closes_is_left_out() {
    assert_eq!(words(r#"don't "stop now"#), ["don", "t", "stop", "now"]);
    assert_eq!(words("ünï [Imagé 1]"), ["ünï", "[Imagé", "1]"]);
}

#[test]
fn the_highest_number_takes_the_rest() {
    assert_eq!(expand("$1 then $2", "a b c d"), "a then b c d");
    assert_eq!(expand("$2 and $1 and $2", "a b c"), "b c and a and b c");
    assert_eq!(expand("only $1", r#"a "b c""#), "only a b c");
    assert_eq!(expand("$1-$3", "a b c d"), "a-c d");
}

#[test]
fn a_missing_argument_is_empty() {
    assert_eq!(expand("<$1><$2><$3>", "a"), "<a><><>");
    assert_eq!(expand("<$0>", "a"), "<>");
    assert_eq!(expand("<$99999999999999999999999>", "a"), "<>");
}

#[test]
fn all_arguments_stand_as_they_were_typed() {
    assert_eq!(expand("do: $ARGUMENTS, yes $ARGUMENTS", r#"a  "b""#), r#"do: a  "b", yes a  "b""#);
    assert_eq!(expand("$1 of $ARGUMENTS", "a b"), "a b of a b");
    assert_eq!(expand("$ARGUMENTS", ""), "");
}

#[test]
fn what_an_argument_contains_is_not_expanded_again() {
    assert_eq!(expand("$ARGUMENTS", "cost $1 $ARGUMENTS"), "cost $1 $ARGUMENTS");
    assert_eq!(expand("$1", "$ARGUMENTS"), "$ARGUMENTS");
}

#[test]
fn arguments_without_a_place_stand_behind_the_template() {
    assert_eq!(expand("Review this.", "src/main.rs  now"), "Review this.\n\nsrc/main.rs  now");
    assert_eq!(expand("Review this.", "  "), "Review this.");
    assert_eq!(expand("It costs $ and $x", "1"), "It costs $ and $x\n\n1");
}

#[test]
fn hints_are_the_places_each_once() {
    assert_eq!(hints("$2 $1 $2 $ARGUMENTS $x $ARGUMENTS"), ["$1", "$2", "$ARGUMENTS"]);
    assert_eq!(hints("nothing"), [] as [&str; 0]);
}

#[test]
fn shell_snippets_are_found_and_filled() {
    let text = "Status:\n!`git status`\nand !`git log -1`!\n";

    let found = snippets(text);

    assert_eq!(
        found,
        [
            Snippet { at: 8..21, command: "git status".to_owned() },
            Snippet { at: 26..39, command: "git log -1".to_owned() },
        ]
    );
    assert_eq!(fill(text, &found, &["clean\n".to_owned(), "abc".to_owned()]), "Status:\nclean\n\nand abc!");
    assert_eq!(fill(text, &found, &[]), "Status:\n\nand !");
    assert_eq!(fill("  x  ", &[], &[]), "x");
}

#[test]
fn code_and_empty_snippets_are_not_run() {
    assert_eq!(snippets("`ls` ! `ls` !`` !`open"), []);
    assert_eq!(snippets("!``!`ls`").len(), 1);
}

fn named(text: &str) -> Vec<String> {
    mentions(text).into_iter().map(|mention| mention.name).collect()
}

#[test]
fn a_mention_begins_with_an_at_and_ends_at_a_space_backtick_or_comma() {
    assert_eq!(named("see @src/main.rs and @general, then @a`b"), ["src/main.rs", "general", "a"]);
    assert_eq!(named("(@x) \"@y\""), ["x)", "y\""]);
    assert_eq!(mentions("é @~/n.md"), [Mention { name: "~/n.md".to_owned(), at: 3..10 }]);
}

#[test]
fn a_dot_may_stand_inside_but_not_at_the_end() {
    assert_eq!(named("Look at @README.md. Then @../x/.env..."), ["README.md", "../x/.env"]);
    assert_eq!(named("@. @.. @...,"), [] as [&str; 0]);
    assert_eq!(named("@.github @./a"), [".github", "./a"]);
}

#[test]
fn addresses_and_code_are_not_mentions() {
    assert_eq!(named("me@example.org `@decorator` a_@b 1@c @ @,"), [] as [&str; 0]);
}

#[test]
fn each_name_is_mentioned_once_where_it_stands_first() {
    assert_eq!(
        mentions("@a @b @a"),
        [Mention { name: "a".to_owned(), at: 0..2 }, Mention { name: "b".to_owned(), at: 3..5 },]
    );
}

#[test]
fn a_mentioned_agent_is_handed_to_the_task_tool() {
    let note = agent_note("explore", false);

    assert!(note.contains("\"explore\"") && note.contains("task tool"));
    assert!(agent_note("explore", true).starts_with(&note));
    assert!(agent_note("explore", true).contains("may be used"));
}

#[test]
fn a_tilde_is_the_home_directory() {
    let places = mentions("@~/notes.md @docs/~/x @~x");

    assert_eq!(places[0].place(), MentionedPath::Home("notes.md"));
    assert_eq!(places[1].place(), MentionedPath::Worktree("docs/~/x"));
    assert_eq!(places[2].place(), MentionedPath::Worktree("~x"));
}

proptest! {
    /// No text makes the scanners panic, and what they find is where they say.
    #[test]
    fn whatever_is_typed_is_found_where_it_stands(text in "[@$!`\"'\\[\\]a-c1-3 .,é~/]{0,60}", arguments in "[@$!`\"'\\[Image1\\] é]{0,40}") {
        for mention in mentions(&text) {
            prop_assert_eq!(&text[mention.at.clone()], format!("@{}", mention.name));
        }
        let found = snippets(&text);
        for snippet in &found {
            prop_assert_eq!(&text[snippet.at.clone()], format!("!`{}`", snippet.command));
        }
        prop_assert!(fill(&text, &found, &[]).len() <= text.len());
        prop_assert!(hints(&text).iter().all(|hint| text.contains(hint)));
        prop_assert!(hints(&text).is_empty() || expand(&text, "").len() < text.len());
        prop_assert!(!hints(&text).is_empty() || expand(&text, &arguments).starts_with(&text));
    }

    /// Quoting an argument keeps it whole.
    #[test]
    fn a_quoted_argument_stays_whole(argument in "[a-z ]{1,20}") {
        prop_assert_eq!(words(&format!("x '{argument}' y")), ["x".to_owned(), argument, "y".to_owned()]);
    }
}
