//! What the permission rules say.

use serde_json::json;
use sturdy_session::rules::{
    RuleError, Verdict, Wanted, action, approvals_of, approves, checkout_of, disabled_tools, from_config,
    from_tools, judge, judge_wanted, matches,
};
use sturdy_session::types::session::{Action, Rule};

const HOME: &str = "/home/u";

fn rule(permission: &str, pattern: &str, action: Action) -> Rule {
    Rule { permission: permission.to_owned(), pattern: pattern.to_owned(), action }
}

fn rules(config: serde_json::Value) -> Vec<Rule> {
    from_config(&config, HOME).expect("rules")
}

fn ask(patterns: &[&str], rules: &[Rule], approvals: &[Rule]) -> Verdict {
    let patterns: Vec<String> = patterns.iter().map(|one| (*one).to_owned()).collect();
    judge("bash", &patterns, rules, approvals)
}

#[test]
fn wildcards_match_as_written() {
    for (pattern, text, expected) in [
        ("*", "", true),
        ("*", "a/b\nc", true),
        ("a?c", "abc", true),
        ("a?c", "ac", false),
        ("*.env", "src/.env", true),
        ("*.env", "x.env.local", false),
        ("git *", "git", true),
        ("git *", "git push", true),
        ("git *", "gitk", false),
        ("git push *", "git pushx", false),
        ("git*", "gitk", true),
        ("src/*", "src\\a\\b", true),
        ("src\\*", "src/a", true),
        ("a.c", "abc", false),
        ("(a|b)[c]+$", "(a|b)[c]+$", true),
        ("A", "a", cfg!(windows)),
        ("ä*", "äö", true),
        ("*a*b*c*", "xxaxxbxxcxx", true),
        ("*a*b*c*", "xxaxxcxxbxx", false),
        ("", "", true),
        ("", "a", false),
        (" *", "", true),
    ] {
        assert_eq!(matches(pattern, text), expected, "{pattern:?} {text:?}");
    }
}

#[test]
fn a_long_pattern_of_stars_is_judged_quickly() {
    let pattern = "*a".repeat(200) + "b";
    assert!(!matches(&pattern, &"a".repeat(4000)));
}

#[test]
fn of_the_rules_that_match_the_last_wins() {
    let rules = rules(json!({ "bash": { "*": "ask", "git *": "allow", "git push *": "deny" } }));

    assert_eq!(action("bash", "git status", &rules), Action::Allow);
    assert_eq!(action("bash", "git push origin", &rules), Action::Deny);
    assert_eq!(action("bash", "ls", &rules), Action::Ask);
    assert_eq!(action("read", "x", &rules), Action::Ask, "no rule, so a person");
}

#[test]
fn the_order_of_the_file_is_the_order_of_the_rules() {
    let config = json!({ "edit": "deny", "*": "allow", "bash": { "z": "ask", "a": "allow" } });

    let found = rules(config);

    let expected = [
        rule("edit", "*", Action::Deny),
        rule("*", "*", Action::Allow),
        rule("bash", "z", Action::Ask),
        rule("bash", "a", Action::Allow),
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_single_action_is_a_rule_for_every_permission() {
    assert_eq!(rules(json!("allow")), [rule("*", "*", Action::Allow)]);
    assert_eq!(rules(json!(null)), []);
}

#[test]
fn the_home_directory_has_three_spellings() {
    let config = json!({ "external_directory": { "~/x/*": "allow", "$HOME/y": "allow", "~": "deny", "~other": "ask" } });

    let patterns: Vec<String> = rules(config).into_iter().map(|rule| rule.pattern).collect();

    assert_eq!(patterns, ["/home/u/x/*", "/home/u/y", "/home/u", "~other"]);
}

#[test]
fn a_misspelt_action_is_an_error_with_its_place() {
    let found = from_config(&json!({ "bash": { "rm *": "dney" } }), HOME);

    let expected =
        RuleError::NotAnAction { at: "permission.bash.rm *".to_owned(), found: "\"dney\"".to_owned() };
    assert_eq!(found, Err(expected));
    assert!(from_config(&json!({ "bash": 3 }), HOME).is_err());
    assert!(from_config(&json!([]), HOME).is_err());
}

#[test]
fn a_deny_decides_even_after_an_ask() {
    let rules = rules(json!({ "*": "allow", "bash": { "*": "ask", "rm *": "deny" }, "edit": "deny" }));

    let verdict = ask(&["ls", "rm -rf x"], &rules, &[]);

    let about_bash =
        [rule("*", "*", Action::Allow), rule("bash", "*", Action::Ask), rule("bash", "rm *", Action::Deny)];
    assert_eq!(verdict, Verdict::Deny(about_bash.to_vec()));
}

#[test]
fn all_patterns_must_be_allowed() {
    let rules = rules(json!({ "bash": { "ls *": "allow" } }));

    assert_eq!(ask(&["ls", "ls -la"], &rules, &[]), Verdict::Allow);
    assert_eq!(ask(&["ls", "cat x"], &rules, &[]), Verdict::Ask);
    assert_eq!(ask(&[], &rules, &[]), Verdict::Allow);
}

#[test]
fn an_approval_answers_an_ask_and_never_a_deny() {
    let rules = rules(json!({ "bash": { "*": "ask", "git push *": "deny" } }));
    let approvals = approvals_of("bash", &["git *".to_owned()]);

    assert_eq!(ask(&["git status"], &rules, &approvals), Verdict::Allow);
    assert!(matches!(ask(&["git push"], &rules, &approvals), Verdict::Deny(_)));
    assert_eq!(ask(&["ls"], &rules, &approvals), Verdict::Ask);
}

#[test]
fn a_tool_is_hidden_when_all_of_it_is_denied() {
    let tools = ["bash", "edit", "write", "apply_patch", "read"];

    assert_eq!(disabled_tools(tools, &rules(json!({ "edit": "deny" }))), ["edit", "write", "apply_patch"]);
    assert_eq!(disabled_tools(tools, &rules(json!({ "*": "deny", "read": "allow" }))).len(), 4);
    let plan = rules(json!({ "edit": { "*": "deny", "plans/*": "allow" } }));
    assert_eq!(disabled_tools(tools, &plan), [""; 0], "some edits are allowed");
    let specific = rules(json!({ "edit": { "*": "allow", "secret": "deny" } }));
    assert_eq!(disabled_tools(tools, &specific), [""; 0]);
}

#[test]
fn the_older_switches_are_rules_too() {
    let found = from_tools([("write", false), ("bash", true)]);

    assert_eq!(found, [rule("edit", "*", Action::Deny), rule("bash", "*", Action::Allow)]);
}

fn wanted(patterns: &[&str], forms: &[&str], unclear: bool) -> Wanted {
    let owned = |list: &[&str]| list.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>();
    Wanted { permission: "bash".to_owned(), patterns: owned(patterns), forms: owned(forms), unclear }
}

/// The verdict in a word.
fn judged(wanted: &Wanted, config: serde_json::Value, approvals: &[Rule]) -> &'static str {
    match judge_wanted(wanted, &rules(json!({ "bash": config })), approvals) {
        Verdict::Allow => "allow",
        Verdict::Ask => "ask",
        Verdict::Deny(_) => "deny",
    }
}

#[test]
fn a_rule_that_forbids_sees_other_ways_to_say_it() {
    let command = wanted(&["sudo 'rm' x"], &["sudo rm x", "rm x"], false);

    assert_eq!(judged(&command, json!({ "*": "allow", "rm *": "deny" }), &[]), "deny");
    assert_eq!(judged(&command, json!({ "*": "allow", "rm *": "ask" }), &[]), "ask");
    assert_eq!(judged(&command, json!({ "rm *": "deny", "*": "allow" }), &[]), "allow", "the last rule wins");
    assert_eq!(judged(&command, json!({ "*": "deny", "sudo *": "allow" }), &[]), "allow");
    assert_eq!(judged(&command, json!({ "*": "ask", "rm *": "allow" }), &[]), "ask", "forms allow nothing");
}

#[test]
fn a_word_that_is_not_known_may_be_what_a_rule_is_about() {
    let command = wanted(&["git $x"], &["git \0"], false);

    assert_eq!(judged(&command, json!({ "*": "allow", "git push *": "deny" }), &[]), "ask");
    assert_eq!(judged(&command, json!({ "*": "allow", "git *": "deny" }), &[]), "deny");
    assert_eq!(judged(&command, json!({ "*": "allow", "rm *": "deny" }), &[]), "allow");
    let anything = wanted(&["bash"], &["bash", "\0"], false);
    assert_eq!(judged(&anything, json!({ "*": "allow", "rm *": "deny" }), &[]), "ask");
    assert_eq!(judged(&anything, json!({ "*": "allow" }), &[]), "allow");
}

#[test]
fn what_is_not_understood_is_judged_by_the_rule_for_everything() {
    let command = wanted(&["echo ${x@P}"], &[], true);

    assert_eq!(judged(&command, json!({ "*": "allow" }), &[]), "allow");
    assert_eq!(judged(&command, json!({ "*": "allow", "rm *": "deny" }), &[]), "ask");
    assert_eq!(judged(&command, json!({ "*": "ask", "echo *": "allow" }), &[]), "ask");
    assert_eq!(judged(&command, json!({ "*": "deny", "echo *": "allow" }), &[]), "deny");
    assert_eq!(judged(&command, json!({ "rm *": "deny", "*": "allow" }), &[]), "allow");
    let shown = approvals_of("bash", &["echo ${x@P}".to_owned()]);
    assert_eq!(
        judged(&command, json!({ "*": "ask" }), &shown),
        "allow",
        "exactly this was allowed for always"
    );
}

#[test]
fn an_approval_covers_what_was_shown() {
    for (approval, pattern, expected) in [
        ("git commit *", "git commit -m x", true),
        ("git commit *", "git commit", true),
        ("git commit *", "git commit-tree x", false),
        ("echo * > x", "echo * > x", true),
        ("echo * > x", "echo a; rm b > x", false),
        ("rm ?", "rm a", false),
        ("*", "anything", true),
        ("/a/*", "/a/*", true),
        ("/a/*", "/a/b", true),
        ("/a/*", "/a/b/*", false),
        ("/a/*", "/ab", false),
        ("docs/a.md", "docs/a.md", true),
    ] {
        assert_eq!(approves(approval, pattern), expected, "{approval} covers {pattern}");
    }
}

#[test]
fn approvals_count_for_the_checkout_by_its_path() {
    let at = |directory: &str, path: Option<&str>| {
        let mut info = *crate::bench::Bench::new().state.into_info().expect("it was created");
        info.directory = directory.to_owned();
        info.path = path.map(str::to_owned);
        checkout_of(&info).to_owned()
    };

    assert_eq!(at("/a/b", None), "/a/b");
    assert_eq!(at("/a/b", Some("")), "/a/b");
    assert_eq!(at("/a/b/c", Some("b/c")), "/a");
    assert_eq!(at("/a/xb", Some("b")), "/a/xb", "only whole names");
}
