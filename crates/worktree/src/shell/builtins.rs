//! Builtins of the shell that can do more than their text says.
//!
//! Some evaluate a *name* they are given (`printf -v 'a[$(…)]'`), some run what they are given as
//! text. The first are understood in their plain uses only; the second never, except those whose
//! text is read again (`shell/forms.rs`).

use super::conditions;
use super::is_name;
use super::statements::is_harmless_name;
use super::words::Word;

/// Never understood.
const NEVER: [&str; 21] = [
    "alias",
    "bind",
    "caller",
    "compgen",
    "complete",
    "compopt",
    "coproc",
    "declare",
    "disown",
    "enable",
    "fc",
    "getopts",
    "hash",
    "history",
    "let",
    "mapfile",
    "readarray",
    "shopt",
    "typeset",
    "unalias",
    "wait",
];

const SET_OPTIONS: [&str; 14] =
    ["-e", "-u", "-x", "-o", "-eu", "-ue", "-eo", "-ex", "-eux", "-euo", "-euxo", "-uo", "+e", "pipefail"];

/// Variables whose value a shell runs, or by which it finds what it runs.
const RUN: [&str; 14] = [
    "BASHOPTS",
    "BASH_ENV",
    "CDPATH",
    "ENV",
    "EXECIGNORE",
    "GLOBIGNORE",
    "IFS",
    "PATH",
    "PROMPT_COMMAND",
    "PS0",
    "PS1",
    "PS2",
    "PS4",
    "SHELLOPTS",
];

/// Whether a variable can be set without changing what the shell, or the loader of programs, runs.
pub(super) fn is_plain_variable(name: &str) -> bool {
    is_name(name) && !RUN.contains(&name) && !name.starts_with("LD_") && !name.starts_with("DYLD_")
}

/// Whether a command certainly does nothing but what its text says.
pub(super) fn check(words: &[Word]) -> Option<()> {
    let (name, arguments) = words.split_first()?;
    let name = name.value.as_deref()?;
    let is_understood = match name {
        _ if NEVER.contains(&name) => name == "wait" && arguments.is_empty(),
        "printf" => arguments.first().is_none_or(|format| !may_be_option(format)),
        "read" => arguments.iter().all(|word| {
            word.value.as_deref().is_some_and(|value| {
                value.is_empty()
                    || matches!(value, "-r" | "-s" | "-rs" | "-d" | "-rd")
                    || is_harmless_name(value)
            })
        }),
        "set" => arguments.iter().all(|word| {
            word.value
                .as_deref()
                .is_some_and(|value| SET_OPTIONS.contains(&value) || matches!(value, "errexit" | "nounset"))
        }),
        "test" => conditions::are_understood(arguments, false).is_some(),
        "jobs" => arguments.iter().all(|word| word.value.as_deref() == Some("-l")),
        "export" | "readonly" | "local" | "unset" => false,
        "builtin" => arguments.first().is_some_and(|word| word.value.is_some()) && check(arguments).is_some(),
        "command" => match arguments.first().and_then(|word| word.value.as_deref()) {
            Some("-v" | "-V") => true,
            Some("-p") => check(&arguments[1..]).is_some(),
            Some(_) => check(arguments).is_some(),
            None => arguments.is_empty(),
        },
        _ => true,
    };
    is_understood.then_some(())
}

/// An option, or a word that may be one.
fn may_be_option(word: &Word) -> bool {
    word.may_split || word.form.starts_with(['-', sturdy_session::rules::UNKNOWN])
}
