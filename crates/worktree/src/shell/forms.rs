//! Other ways to say a command, for rules that forbid.
//!
//! `'rm' x`, `/bin/rm x`, `A=1 rm x`, `sudo rm x`, `xargs rm`, `sh -c "rm x"` and `git -C . push`
//! are what a rule about `rm *` or `git push *` means too. A form is the command without quotes,
//! assignments, redirections, the directory of its program, and its wrappers; what is not known of
//! a word is [`UNKNOWN`], which a rule may or may not match. A form that begins with it is a guess.

use super::places::base_name;
use super::statements::Walk;
use super::words::Word;
use sturdy_session::rules::UNKNOWN;

/// Programs that run the command in their arguments: the options that take a value, and how many
/// words stand before the command.
const WRAPPERS: [(&str, &str, usize); 74] = [
    ("asdf", "", 1),
    ("builtin", "", 0),
    ("busybox", "", 0),
    ("bwrap", "", 0),
    ("catchsegv", "", 0),
    ("cgexec", "-g", 0),
    ("choom", "-n --adjust", 0),
    ("chronic", "", 0),
    ("chroot", "", 1),
    ("chrt", "-T -P -D", 1),
    ("command", "", 0),
    ("coproc", "", 0),
    ("cpulimit", "-l -p -e --limit --pid --exe", 0),
    ("dbus-run-session", "--config-file --dbus-daemon", 0),
    ("doas", "-u -C", 0),
    ("dumb-init", "", 0),
    ("eatmydata", "", 0),
    ("entr", "", 0),
    ("env", "-u -C --unset --chdir -a --argv0", 0),
    ("envdir", "", 1),
    ("exec", "-a", 0),
    ("fakeroot", "-l -s -i -b", 0),
    ("faketime", "-f", 1),
    ("firejail", "", 0),
    ("flock", "-w -E --timeout --conflict-exit-code", 1),
    ("gosu", "", 1),
    ("hyperfine", "", 0),
    ("i386", "", 0),
    ("ionice", "-c -n -p -P -u --class --classdata", 0),
    ("ip", "-n -netns", 3),
    ("linux32", "", 0),
    ("linux64", "", 0),
    ("ltrace", "-e -o -p -s -u", 0),
    ("nice", "-n --adjustment", 0),
    ("nodemon", "-w -e -i -d --watch --ext --ignore --delay", 0),
    ("nodenv", "", 1),
    ("nohup", "", 0),
    ("nsenter", "-t -S -G --target", 0),
    ("numactl", "", 0),
    ("nvm", "", 2),
    ("parallel", "-j -a -I --jobs", 0),
    ("pkexec", "--user", 0),
    ("prlimit", "", 0),
    ("proxychains", "-f", 0),
    ("pyenv", "", 1),
    ("rbenv", "", 1),
    ("rlwrap", "", 0),
    ("run0", "", 0),
    ("runuser", "-u -g -G", 0),
    ("rustup", "", 2),
    ("setarch", "", 0),
    ("setlock", "", 1),
    ("setpriv", "", 0),
    ("setsid", "", 0),
    ("ssh-agent", "-a -P -t -E", 0),
    ("stdbuf", "-i -o -e --input --output --error", 0),
    ("strace", "-e -o -p -s -u -E -a -I -O -P", 0),
    ("sudo", "-u -g -h -p -C -r -t -D -T -U --user --group --chdir", 0),
    ("systemd-run", "-p -u --unit --property --slice", 0),
    ("taskset", "", 1),
    ("time", "-f -o --format --output", 0),
    ("timeout", "-s -k --signal --kill-after", 1),
    ("tini", "", 0),
    ("torsocks", "", 0),
    ("toybox", "", 0),
    ("unbuffer", "", 0),
    ("unshare", "", 0),
    ("valgrind", "", 0),
    ("volta", "", 1),
    ("watch", "-n --interval", 0),
    ("watchexec", "-w -e -f -i -d -s --watch --exts --filter --ignore --debounce --signal", 0),
    ("x86_64", "", 0),
    ("xargs", "-I -n -P -L -d -E -s -a -i --max-args --max-procs --replace --delimiter --arg-file", 0),
    ("xvfb-run", "-e -f -n -p -s -w", 0),
];

/// A person wraps a command in one or two others; so many are looked through, and a command that has
/// more is not understood.
pub(super) const WRAPPED_MAX: usize = 16;

/// The command of a wrapper is looked for among its first words.
const GUESSES_MAX: usize = 16;

const SHELLS: [&str; 9] = ["sh", "bash", "dash", "zsh", "ksh", "ash", "mksh", "rbash", "fish"];

/// Options of git itself that take a value; they stand before the subcommand.
const GIT_OPTIONS: [&str; 9] = [
    "-C",
    "-c",
    "--git-dir",
    "--work-tree",
    "--namespace",
    "--exec-path",
    "--config-env",
    "--super-prefix",
    "--attr-source",
];

/// Adds the forms of a command and of those it runs, as [`peeled`] found them.
pub(super) fn add(walk: &mut Walk<'_>, commands: &[Vec<Word>]) {
    for (at, words) in commands.iter().enumerate() {
        walk.reading.add_form(joined(words));
        if let Some(plain) = without_git_options(words) {
            walk.reading.add_form(plain);
        }
        if at == 0 && is_wrapper(words) {
            // In case the options were counted wrongly: each of the words could be the command.
            for from in 1..words.len().min(GUESSES_MAX) {
                walk.reading.add_form(format!("{UNKNOWN}{}", joined(&words[from..])));
            }
        }
        for text in texts_run_by(words) {
            add_nested(walk, text);
        }
    }
}

/// A text that a shell is given.
fn add_nested(walk: &mut Walk<'_>, text: Option<String>) {
    let Some(text) = text else {
        // It could be anything.
        return walk.reading.add_form(UNKNOWN.to_string());
    };
    let inner = super::read_nested(&text, walk.nested + 1);
    if inner.unclear {
        walk.reading.add_form(UNKNOWN.to_string());
    }
    for form in inner.patterns.into_iter().chain(inner.forms) {
        walk.reading.add_form(form);
    }
    for write in inner.writes {
        walk.reading.add_write(write.path, write.by);
    }
    inner.places.into_iter().for_each(|place| walk.reading.add_place(place));
}

/// The command, and those it runs by a wrapper or `find -exec`, outermost first.
pub(super) fn peeled(words: &[Word]) -> Vec<Vec<Word>> {
    let mut all = vec![words.to_vec()];
    let mut at = 0;
    while at < all.len() && all.len() < WRAPPED_MAX {
        let found = inner_commands(&all[at]);
        all.extend(found);
        at += 1;
    }
    all
}

fn inner_commands(words: &[Word]) -> Vec<Vec<Word>> {
    let Some(name) = words.first().map(|word| base_name(&word.form).to_owned()) else { return Vec::new() };
    if name == "find" || name == "fd" || name == "fdfind" {
        let is_exec =
            |word: &Word| matches!(word.form.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir" | "-x" | "-X");
        let starts = (1..words.len()).filter(|at| is_exec(&words[at - 1]));
        return starts
            .take(WRAPPED_MAX)
            .map(|at| until_semicolon(&words[at..]))
            .filter(|found| !found.is_empty())
            .collect();
    }
    let Some((options, before)) = wrapper(&name) else { return Vec::new() };
    let takes_value = |word: &str| options.split_whitespace().any(|one| one == word);
    let is_assignment = |word: &str| word.split_once('=').is_some_and(|(name, _)| super::is_name(name));
    let mut at = 1;
    while let Some(word) = words.get(at) {
        match word.form.as_str() {
            "--" => {
                at += 1;
                break;
            }
            option if takes_value(option) => at += 2,
            option if option.starts_with('-') => at += 1,
            assignment if is_assignment(assignment) => at += 1,
            _ => break,
        }
    }
    at += before;
    words.get(at..).filter(|rest| !rest.is_empty()).map(<[Word]>::to_vec).into_iter().collect()
}

/// How a program takes the command that it runs. The loader of programs is called differently on every machine.
fn wrapper(name: &str) -> Option<(&'static str, usize)> {
    let is_loader = name.starts_with("ld-") && name.contains(".so");
    let listed = || WRAPPERS.iter().find(|(wrapper, ..)| *wrapper == name);
    let found = listed().map(|(_, options, before)| (*options, *before));
    found.or_else(|| is_loader.then_some(("--library-path --preload --argv0 --audit", 0)))
}

fn until_semicolon(words: &[Word]) -> Vec<Word> {
    let end = words.iter().position(|word| matches!(word.form.as_str(), ";" | "+")).unwrap_or(words.len());
    words[..end].to_vec()
}

fn is_wrapper(words: &[Word]) -> bool {
    let Some(name) = words.first().map(|word| base_name(&word.form)) else { return false };
    wrapper(name).is_some() || matches!(name, "ssh" | "su" | "script" | "npx" | "find")
}

/// Texts that this command gives to a shell; `None` for one that is not known.
fn texts_run_by(words: &[Word]) -> Vec<Option<String>> {
    let Some((name, arguments)) = words.split_first() else { return Vec::new() };
    let name = base_name(&name.form);
    if name == "eval" {
        let values: Option<Vec<&str>> =
            arguments.iter().map(|word| word.value.as_deref().filter(|_| !word.is_wild)).collect();
        return vec![values.map(|values| values.join(" "))];
    }
    if name == "trap" {
        let code = arguments.iter().find(|word| !word.form.starts_with('-'));
        return code.map(|word| word.value.clone()).into_iter().collect();
    }
    let is_code_option = |word: &Word| match name {
        "env" => word.form.starts_with("-S") || word.form.starts_with("--split-string"),
        "su" | "script" | "runuser" => matches!(word.form.as_str(), "-c" | "--command"),
        _ if SHELLS.contains(&name) => {
            word.form.starts_with('-') && !word.form.starts_with("--") && word.form.contains('c')
        }
        _ => false,
    };
    let Some(at) = arguments.iter().position(is_code_option) else { return unread_text(name, arguments) };
    let attached =
        arguments[at].form.strip_prefix("-S").or_else(|| arguments[at].form.strip_prefix("--split-string="));
    if name == "env"
        && let Some(text) = attached.filter(|text| !text.is_empty())
    {
        return vec![Some(text.to_owned())];
    }
    // Further options may stand between `-c` and the text.
    let code = arguments[at + 1..].iter().find(|word| !word.form.starts_with('-'));
    vec![code.and_then(|word| word.value.clone())]
}

/// A text that a shell reads from a pipe, where we do not see it.
fn unread_text(name: &str, arguments: &[Word]) -> Vec<Option<String>> {
    let script = arguments.iter().find(|word| !word.form.starts_with('-'));
    let is_unseen = match name {
        "source" | "." => script.is_none_or(|word| word.is_process || word.form.starts_with("/dev/")),
        _ => {
            SHELLS.contains(&name)
                && script.is_none_or(|word| word.is_process || word.form.starts_with("/dev/"))
        }
    };
    if is_unseen { vec![None] } else { Vec::new() }
}

fn without_git_options(words: &[Word]) -> Option<String> {
    let (name, arguments) = words.split_first()?;
    if base_name(&name.form) != "git" || !arguments.first()?.form.starts_with('-') {
        return None;
    }
    let mut at = 0;
    while let Some(word) = arguments.get(at) {
        match word.form.as_str() {
            option if GIT_OPTIONS.contains(&option) => at += 2,
            option if option.starts_with('-') => at += 1,
            _ => break,
        }
    }
    let rest: Vec<&str> = arguments.get(at..)?.iter().map(|word| word.form.as_str()).collect();
    Some(["git"].into_iter().chain(rest).collect::<Vec<_>>().join(" "))
}

fn joined(words: &[Word]) -> String {
    let name = words.first().map(|word| base_name(&word.form)).unwrap_or_default();
    let rest = words.iter().skip(1).map(|word| word.form.as_str());
    [name].into_iter().chain(rest).collect::<Vec<_>>().join(" ")
}
