//! Ways around the rules, each judged and, where it is allowed, really run: no marker may appear.
//!
//! `tricks/allowed.txt` holds ways to hide a command behind others that are allowed,
//! `tricks/forbidden.txt` ways to say a command that is forbidden. New ones are added at the end.

use crate::bench::Bench;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use sturdy_session::rules::{Verdict, from_config, judge_wanted};
use sturdy_session::types::session::Rule;
use sturdy_worktree::shell::read;
use sturdy_worktree::tool::ToolFailure;
use sturdy_worktree::tools::command_asks;

const ALLOWED: &str = include_str!("tricks/allowed.txt");
const FORBIDDEN: &str = include_str!("tricks/forbidden.txt");

/// Programs that are not everywhere, or need more rights than a test has.
const NOT_EVERYWHERE: [&str; 44] = [
    "/lib64/ld-linux-x86-64.so.2",
    "asdf",
    "busybox",
    "choom",
    "chronic",
    "chroot",
    "chrt",
    "cpulimit",
    "dbus-run-session",
    "dumb-init",
    "entr",
    "envdir",
    "fish",
    "flock",
    "ionice",
    "ip",
    "ksh",
    "linux64",
    "nice",
    "nodemon",
    "nodenv",
    "nvm",
    "parallel",
    "prlimit",
    "pyenv",
    "rbenv",
    "runuser",
    "rustup",
    "script",
    "setarch",
    "setlock",
    "setpriv",
    "setsid",
    "ssh-agent",
    "strace",
    "su",
    "sudo",
    "taskset",
    "tini",
    "unshare",
    "volta",
    "watch",
    "watchexec",
    "zsh",
];

fn tricks(corpus: &str) -> Vec<String> {
    let entries = corpus.split("\n%%\n").skip(1).filter(|entry| !entry.trim().is_empty());
    entries.map(str::to_owned).collect()
}

/// Only these commands, and no file may be written.
fn few_commands() -> Vec<Rule> {
    let names =
        ["echo", "cat", "printf", "ls", "test", "read", "wait", "cd", "set", "export", "[", "[[", "(("];
    let mut bash = serde_json::Map::from_iter([("*".to_owned(), json!("deny"))]);
    bash.extend(names.map(|name| (format!("{name} *"), json!("allow"))));
    for exact in
        ["true", "false", "x='*'", "y='*'", "x=abc", "y=abc", "x=-v", "x=touch", "t=tou", "git status"]
    {
        bash.insert(exact.to_owned(), json!("allow"));
    }
    rules(json!({ "*": "deny", "bash": bash }))
}

/// Everything but one command.
fn all_but_touch() -> Vec<Rule> {
    rules(json!({ "*": "allow", "bash": { "*": "allow", "touch *": "deny" } }))
}

fn rules(config: Value) -> Vec<Rule> {
    from_config(&config, "/home/u").unwrap()
}

/// A worktree in which every ask is judged by the rules; nobody is there to answer.
fn judged_by(rules: Vec<Rule>) -> Bench {
    let mut bench = Bench::new();
    bench.world.handles.ask = Arc::new(move |ask| {
        let verdict = judge_wanted(&ask.wanted(), &rules, &[]);
        Box::pin(async move {
            match verdict {
                Verdict::Allow => Ok(()),
                Verdict::Ask | Verdict::Deny(_) => Err(ToolFailure::rejected(None)),
            }
        })
    });
    bench
}

/// Runs a trick if it is allowed. True if it did what it should not.
async fn gets_through(bench: &Bench, trick: &str) -> bool {
    let marker = marker(bench);
    let command = trick.replace("MARK", marker.to_str().unwrap());
    let _ = bench.run("bash", json!({ "command": command, "timeout": 5000 })).await;
    let exists = marker.exists();
    let _ = std::fs::remove_file(marker);
    exists
}

fn marker(bench: &Bench) -> PathBuf {
    bench.dir.join("marker")
}

async fn getting_through(rules: Vec<Rule>, corpus: &str) -> Vec<String> {
    let bench = judged_by(rules);
    let mut through = Vec::new();
    for trick in tricks(corpus) {
        if gets_through(&bench, &trick).await {
            through.push(trick);
        }
    }
    through
}

#[test]
fn there_are_many_tricks_and_each_is_another() {
    let mut all = tricks(ALLOWED);
    all.extend(tricks(FORBIDDEN));
    let count = all.len();
    assert!(count >= 400, "{count}");
}

#[tokio::test]
async fn every_trick_works_where_nothing_is_judged() {
    let bench = judged_by(rules(json!("allow")));
    let mut idle = Vec::new();
    for trick in tricks(ALLOWED).into_iter().chain(tricks(FORBIDDEN)) {
        // Nobody waits for what stands behind a pipe that is written to.
        let needs_more =
            trick.split_whitespace().any(|word| NOT_EVERYWHERE.contains(&word)) || trick.contains(">(");
        if !needs_more && !gets_through(&bench, &trick).await {
            idle.push(trick);
        }
    }
    assert_eq!(idle, Vec::<String>::new(), "these show nothing");
}

#[tokio::test]
async fn no_trick_hides_a_command_behind_an_allowed_one() {
    assert_eq!(getting_through(few_commands(), ALLOWED).await, Vec::<String>::new());
}

#[tokio::test]
async fn no_trick_says_a_forbidden_command_in_another_way() {
    assert_eq!(getting_through(all_but_touch(), FORBIDDEN).await, Vec::<String>::new());
}

/// A wrapper that is not installed here leaves no marker, whatever is judged; so the judgement itself is looked at.
#[test]
fn a_forbidden_command_is_seen_behind_wrappers_that_are_not_installed() {
    let rules = all_but_touch();
    let tricks = tricks(FORBIDDEN);
    let wrapped =
        tricks.iter().filter(|trick| trick.split_whitespace().any(|word| NOT_EVERYWHERE.contains(&word)));
    let allowed: Vec<&String> = wrapped
        .filter(|trick| {
            let reading = read(trick);
            let wanted = sturdy_session::rules::Wanted {
                permission: "bash".to_owned(),
                patterns: reading.patterns,
                forms: reading.forms,
                unclear: reading.unclear,
            };
            judge_wanted(&wanted, &rules, &[]) == Verdict::Allow
        })
        .collect();

    assert_eq!(allowed, Vec::<&String>::new());
}

#[tokio::test]
async fn nothing_runs_where_everything_is_forbidden() {
    let all: Vec<String> = tricks(ALLOWED).into_iter().chain(tricks(FORBIDDEN)).collect();
    let forbid = rules(json!({ "bash": { "*": "deny" } }));
    for trick in all {
        let reading = read(&trick);
        assert!(!reading.patterns.is_empty(), "{trick}");
        let wanted = sturdy_session::rules::Wanted {
            permission: "bash".to_owned(),
            patterns: reading.patterns,
            forms: reading.forms,
            unclear: reading.unclear,
        };
        assert!(matches!(judge_wanted(&wanted, &forbid, &[]), Verdict::Deny(_)), "{trick}");
    }
}

/// Pieces that bash gives a meaning to.
fn piece() -> impl Strategy<Value = String> {
    let pieces = [
        "echo",
        "cat",
        "printf",
        "test",
        "read",
        "x",
        "$x",
        "${x}",
        "\"$x\"",
        "'a b'",
        "\"a b\"",
        "$(",
        ")",
        "`",
        "\"",
        "'",
        "\\",
        "\n",
        ";",
        "&&",
        "||",
        "|",
        "&",
        "{",
        "}",
        "(",
        "((",
        "))",
        "[[",
        "]]",
        "[",
        "]",
        "<",
        ">",
        ">>",
        "<<",
        "<<<",
        "<<E",
        "\nE\n",
        "$((",
        "${x:-",
        "${x@P}",
        "${!x}",
        "a[",
        "$'",
        "\\'",
        "#",
        "!",
        "if",
        "then",
        "fi",
        "for x in a",
        "do",
        "done",
        "case a in a)",
        ";;",
        "esac",
        "x=",
        "-v",
        "=",
        "eval",
        "touch MARK",
        "$(touch MARK)",
        "`touch MARK`",
        " ",
        " ",
        " ",
        "\t",
        "\\\n",
        "2>&1",
        "/dev/null",
        "f()",
        "time",
        "exec",
        "set --",
        "$@",
        "*",
        "~",
        "%s",
    ];
    proptest::sample::select(pieces.to_vec()).prop_map(str::to_owned)
}

fn text() -> impl Strategy<Value = String> {
    proptest::collection::vec(piece(), 1..14).prop_map(|pieces| pieces.concat())
}

/// A trick of the corpus with a piece put into it somewhere, or cut.
fn bent_trick() -> impl Strategy<Value = String> {
    let all: Vec<String> = tricks(ALLOWED);
    (proptest::sample::select(all), any::<proptest::sample::Index>(), piece()).prop_map(
        |(trick, at, piece)| {
            let letters: Vec<char> = trick.chars().collect();
            let at = at.index(letters.len() + 1);
            letters[..at]
                .iter()
                .chain(piece.chars().collect::<Vec<_>>().iter())
                .chain(&letters[at..])
                .collect()
        },
    )
}

/// Ways to put a text (`@`) into another, in which bash may run it.
const LAYERS: [&str; 44] = [
    "$(@)",
    "`@`",
    "\"$(@)\"",
    "\"`@`\"",
    "'$(@)'",
    "echo $(@)",
    "echo \"@\"",
    "echo '@'",
    "echo @",
    "echo ${x:-@}",
    "echo \"${x:-@}\"",
    "echo ${x/a/@}",
    "echo $((@))",
    "echo $[@]",
    "echo a{b,@}",
    "cat <<E\n@\nE",
    "cat <<'E'\n@\nE",
    "cat <<-E\n\t@\n\tE\n",
    "cat <<E && echo\n@\nE",
    "cat <<< @",
    "cat < <(@)",
    "cat <(@)",
    "[[ -n @ ]]",
    "[[ @ -eq 1 ]]",
    "[ -n @ ]",
    "test -n @",
    "for x in @; do echo $x; done",
    "for x in 'a[@]'; do export y=([x]=1); done",
    "for x in 'a[@]'; do echo $((x)); done",
    "case @ in *) echo;; esac",
    "case a in @) echo;; *) @;; esac",
    "if @; then echo; fi",
    "while @; do break; done",
    "export y=@",
    "export y=(@)",
    "read x <<< @; echo $x",
    "printf %s @",
    "set -x; @",
    "{ @; }",
    "( @ )",
    "echo a\\\n@",
    "echo a #@\n",
    "cd @",
    "echo x | cat @",
];

/// The marker's command, or a substitution of it, inside of one layer after the other; then lines that go on.
fn layered() -> impl Strategy<Value = String> {
    let core =
        proptest::sample::select(vec!["touch MARK", "$(touch MARK)", "`touch MARK`", "$\\\n(touch MARK)"]);
    let layers = proptest::collection::vec(proptest::sample::select(LAYERS.to_vec()), 1..5);
    let cut = proptest::option::weighted(0.2, any::<proptest::sample::Index>());
    (core, layers, cut).prop_map(|(core, layers, cut)| {
        let whole = layers.iter().fold(core.to_owned(), |text, layer| layer.replace('@', &text));
        let Some(cut) = cut else { return whole };
        let letters: Vec<char> = whole.chars().collect();
        let at = cut.index(letters.len() + 1);
        let before: String = letters[..at].iter().collect();
        let after: String = letters[at..].iter().collect();
        format!("{before}\\\n{after}")
    })
}

/// More for whoever looks for a hole: `TRICKS_CASES=5000`.
fn cases() -> u32 {
    std::env::var("TRICKS_CASES").ok().and_then(|count| count.parse().ok()).unwrap_or(48)
}

fn run_all(texts: &[String], rules: Vec<Rule>) -> Vec<String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let bench = judged_by(rules);
        let mut through = Vec::new();
        for text in texts {
            if gets_through(&bench, text).await {
                through.push(text.clone());
            }
        }
        through
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever the text, under "deny everything" nothing is run, and a few allowed commands do not help.
    #[test]
    fn no_text_makes_a_marker(texts in proptest::collection::vec(prop_oneof![text(), bent_trick()], 16)) {
        prop_assert_eq!(run_all(&texts, rules(json!({ "bash": { "*": "deny" } }))), Vec::<String>::new());
        prop_assert_eq!(run_all(&texts, few_commands()), Vec::<String>::new());
    }

    /// Whatever the text, its asks are denied where all commands are: none is without one.
    #[test]
    fn every_text_is_denied_where_everything_is(
        texts in proptest::collection::vec(prop_oneof![text(), layered(), any::<String>(), "[ -~\\n\\t]{0,60}"], 64)
    ) {
        let bench = Bench::new();
        let rules = rules(json!({ "bash": { "*": "deny" } }));
        for text in texts {
            // What cannot be planned is not run.
            let Ok(asks) = command_asks(&bench.world.roots, &text) else { continue };
            let is_denied = asks.iter().any(|ask| {
                matches!(judge_wanted(&ask.wanted(), &rules, &[]), Verdict::Deny(_))
            });
            prop_assert!(is_denied, "{:?}: {:?}", text, asks);
        }
    }

    /// The same for texts inside of texts.
    #[test]
    fn no_nesting_makes_a_marker(texts in proptest::collection::vec(layered(), 16)) {
        prop_assert_eq!(run_all(&texts, few_commands()), Vec::<String>::new());
    }
}

// Was: the grammar's scanner read memory that is not its own, and the server died of a letter behind a brace.
#[test]
fn a_letter_behind_a_brace_does_not_end_the_process() {
    for letter in ['é', '字', '😀', '\u{e000}', '\u{10ffff}'] {
        for text in [
            "echo {L",
            "echo {L,b}",
            "echo {1L",
            "echo {1..L}",
            "echo {1..9L}",
            "{L; }",
            "x=$(echo {L})",
            "${L}",
        ] {
            let text = text.replace('L', &letter.to_string());
            assert!(read(&text).unclear, "{text}");
        }
        // Elsewhere it is a letter like any other.
        let text = format!("git commit -m \"{letter} {{a,b}}\"");
        assert_eq!((read(&text).unclear, read(&text).patterns), (false, vec![text]));
    }
}

/// What people and models write every day is understood, so that rules about its parts settle it.
#[test]
fn everyday_commands_are_understood() {
    let everyday = [
        "ls -la",
        "git status",
        "cargo test 2>&1 | tail -20",
        "cargo build && cargo test",
        "cd src && ls -la",
        "for f in a b c; do cat $f; done",
        "for f in *.rs; do wc -l \"$f\"; done",
        "git commit -m \"$(cat <<'EOF'\nA subject with `code` and $(no) substitution\n\nA body.\nEOF\n)\"",
        "git log --oneline -5 --format=\"%h %s\"",
        "grep -rn \"foo(bar)\" src | head -5",
        "npm run build > /dev/null 2>&1",
        "RUST_BACKTRACE=1 cargo test -p x",
        "[ -f Cargo.toml ] && echo yes",
        "test -f x || echo no",
        "[[ -d src ]] && ls src",
        "if [ -d x ]; then ls x; else echo none; fi",
        "find . -name '*.rs' -not -path './target/*' | xargs grep -l foo",
        "echo \"$HOME\" ${USER} $?",
        "mkdir -p a/b && touch a/b/c",
        "sed -n '1,10p' file.txt",
        "awk '{ print $1 }' file | sort | uniq -c | sort -rn",
        "python3 - <<'E'\nprint(`1`)\nE",
        "cat <<EOF > out.txt\nhello $USER\nEOF",
        "while read -r line; do echo \"$line\"; done < file",
        "x=$(git rev-parse HEAD); echo ${x}",
        "echo ${name:-none} ${path%.rs} ${#list}",
        "rm -rf target/{debug,release}",
        "curl -s http://localhost:8080/a | jq '.items[0].name'",
        "time cargo build",
        "set -euo pipefail\ncargo build",
        "make -j4 || exit 1",
        "# a comment\nls # another",
        "git diff HEAD~1 -- src/ | cat",
        "ls; pwd",
        "(cd sub && make)",
        "echo $((1 + 2))",
        "kill %1; sleep 1 & wait",
        "docker compose up -d",
        "printf '%s\\n' \"$x\"",
        "diff <(sort a) <(sort b)",
        "command -v rg",
        "echo a \\\n  b",
    ];
    let unclear: Vec<&str> = everyday.into_iter().filter(|text| read(text).unclear).collect();
    assert_eq!(unclear, Vec::<&str>::new());
}

#[test]
fn a_small_test_or_move_needs_no_rule_of_its_own() {
    let patterns = |text: &str| read(text).patterns;
    assert_eq!(patterns("[ -f x ] && cd sub && ls"), ["ls"]);
    assert_eq!(patterns("[ -f x ]"), ["[ -f x ]"], "alone it is judged by its text");
    assert_eq!(patterns("cd sub"), ["cd sub"]);
    assert_eq!(patterns("cd \"$x\" && ls"), ["cd \"$x\"", "ls"]);
    assert_eq!(patterns("> out"), ["> out"]);
}
