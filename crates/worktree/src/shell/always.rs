//! What the answer "always" allows: what was shown, or its well-known beginning.
//!
//! A beginning is offered where the words after it cannot make it another thing: `git commit *`,
//! `npm run dev *`, `ls *`. A program that runs what it is given (`env`, `python3`, `find`, `sed`)
//! would make a beginning mean everything; there it is the exact text.

use super::arity::prefix;
use super::places::base_name;
use super::words::Word;

/// Programs that can be made to run or write anything by their arguments.
const RUN_ANYTHING: &str = ". asdf ash at awk bash batch builtin bun bundle bunx busybox bwrap cabal catchsegv cc cgexec choom chronic chroot chrt clang \
cmake command conda coproc cpulimit crontab cscript curl dash dbus-run-session dc dd deno direnv doas dotnet dumb-init ed elixir emacs \
entr env envdir erl escript eval ex exec expect fakeroot faketime fd fdfind find firejail fish flock g++ gawk gcc gdb ghc \
gmake gnuplot gosu groovy guile hg hyperfine i386 ionice irb java julia just kotlin ksh less linux32 linux64 lldb \
ltrace lua m4 make man mawk mise mksh more mysql nano nawk nc ncat nice ninja nix nix-shell node nodemon nodenv nohup npx nsenter \
numactl nvim nvm octave open osascript parallel patch perl php pip3 pipx pkexec powershell prlimit proxychains psql \
pwsh python python2 python3 R racket rbash rg rlwrap Rscript rsync ruby run0 runuser rustc sbcl scala scp screen \
script sed setarch setlock setpriv setsid sh socat sort source split sqlite3 ssh ssh-agent stdbuf strace su sudo swift \
systemd-run tar taskset tclsh tee time timeout tini tmux torsocks toybox trap ts-node tsx unbuffer unshare uv uvx \
valgrind vi view vim volta watch watchexec wget wish x86_64 xargs xdg-open xvfb-run zip zsh";

/// Subcommands that do the same.
const RUN_ANYTHING_BY: [(&str, &str); 20] = [
    ("brew", "install"),
    ("cargo", "install run"),
    ("composer", "require"),
    ("docker", "run exec compose"),
    ("gem", "install"),
    (
        "git",
        "am archive bisect clone config daemon difftool fetch filter-branch for-each-repo grep hook init instaweb \
         ls-remote mergetool notes p4 pull push rebase replace send-email submodule svn",
    ),
    ("go", "generate get install run tool"),
    ("ip", "netns vrf"),
    ("kubectl", "exec run"),
    ("npm", "add exec i init install x"),
    ("pip", "install"),
    ("pipenv", "run"),
    ("pnpm", "add dlx exec install"),
    ("podman", "run exec"),
    ("poetry", "run"),
    ("pyenv", "exec"),
    ("rbenv", "exec"),
    ("rustup", "run"),
    ("terraform", "console"),
    ("yarn", "add dlx exec"),
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
