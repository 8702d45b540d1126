//! What the answer "always" allows: what was shown, or its well-known beginning.
//!
//! A beginning is offered where the words after it cannot make it another thing: `git commit *`,
//! `npm run dev *`, `ls *`. A program that runs what it is given (`env`, `python3`, `find`, `sed`)
//! would make a beginning mean everything; there it is the exact text.

use super::arity::prefix;
use super::places::base_name;
use super::words::Word;

/// Programs that can be made to run or write anything by their arguments.
const RUN_ANYTHING: &str = ". ash awk bash builtin bun bunx busybox chroot chrt command coproc cscript dash dd \
deno doas ed emacs env eval ex exec expect fakeroot fd fdfind find firejail fish flock gawk gdb gosu ionice irb java \
julia ksh less lldb lua make man mawk mksh more mysql nano nawk nc ncat nice node nohup npx nsenter osascript \
parallel perl php pipx powershell proxychains psql pwsh python python2 python3 R rbash rsync ruby runuser scp \
screen script sed setpriv setsid sh socat source sqlite3 ssh stdbuf strace su sudo swift systemd-run tar taskset \
tclsh tee time timeout tmux toybox trap tsx ts-node unbuffer unshare uv uvx vi view vim watch wget wish xargs \
xvfb-run zip zsh";

/// Subcommands that do the same.
const RUN_ANYTHING_BY: [(&str, &str); 13] = [
    ("cargo", "run"),
    ("docker", "run exec compose"),
    (
        "git",
        "archive bisect clone config difftool fetch filter-branch ls-remote mergetool pull push rebase submodule",
    ),
    ("go", "generate run tool"),
    ("kubectl", "exec run"),
    ("npm", "exec init x"),
    ("pip", "install"),
    ("pipenv", "run"),
    ("pnpm", "dlx exec"),
    ("podman", "run exec"),
    ("poetry", "run"),
    ("terraform", "console"),
    ("yarn", "dlx exec"),
];

/// For one command, written as `source`.
pub(super) fn of(words: &[Word], source: &str) -> Option<String> {
    let tokens: Option<Vec<String>> =
        words.iter().map(|word| word.value.clone().filter(|value| *value == word.source)).collect();
    // Quotes or expansions behind the beginning do not matter; inside of it they do.
    let count = prefix(&words.iter().map(|word| word.source.clone()).collect::<Vec<_>>()).len();
    let start: Option<Vec<String>> = match tokens {
        Some(tokens) => Some(tokens[..count].to_vec()),
        None => words[..count]
            .iter()
            .map(|word| word.value.clone().filter(|value| *value == word.source))
            .collect(),
    };
    match start {
        Some(start) if is_telling(&start) => Some(format!("{} *", start.join(" "))),
        _ => exact(source),
    }
}

fn is_telling(start: &[String]) -> bool {
    let Some(name) = start.first() else { return false };
    let lists = |list: &str, word: &str| list.split_whitespace().any(|one| one == word);
    let is_versioned = |program: &str| {
        let bare = program.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
        lists(RUN_ANYTHING, bare)
    };
    if lists(RUN_ANYTHING, base_name(name)) || is_versioned(base_name(name)) || name.contains('/') {
        return false;
    }
    if start[1..].iter().any(|word| word.starts_with('-')) {
        return false;
    }
    let runs = |(program, subcommands): &(&str, &str)| {
        program == name && start.get(1).is_some_and(|second| lists(subcommands, second))
    };
    !RUN_ANYTHING_BY.iter().any(runs)
}

/// The text itself. `None` when it would be read as a pattern: a star at its end means "and more".
pub(super) fn exact(source: &str) -> Option<String> {
    let is_pattern = source == "*" || source.ends_with(" *") || source.ends_with("/*");
    (!source.is_empty() && !is_pattern).then(|| source.to_owned())
}
