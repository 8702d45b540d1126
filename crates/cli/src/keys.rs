//! Keys out of sight of the programs of the same user, and memory that is given back.
//!
//! What a process was started with stands in `/proc/…/environ` as long as it lives, for every program of
//! the same user to read. So the program starts itself again, in the same process, without the variables
//! that look like keys, and hands them over in a file without a name, which it empties once it has read it.
//! Then it asks the system not to let others look into its memory. Every command does so before anything
//! else, because most of them serve when they find no server (`host.rs`).
//!
//! Not here: which variables a command is given. What was handed over is the user's environment like the rest
//! (`sturdy_worktree::process::keep_variables`), and a directory hides what its providers use.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::sync::OnceLock;
use sturdy_engine::Environment;
use sturdy_engine::keep_variables;

/// Settings of the C library's allocator, read when a process starts. Left to itself it keeps large buffers, the
/// larger the ones it has seen: after six prompts of 31 MB the server held 320 MB more than before. With this,
/// what is larger than a megabyte goes back to the system when it is free.
#[cfg(target_os = "linux")]
const ALLOCATOR: (&str, &str) =
    ("GLIBC_TUNABLES", "glibc.malloc.mmap_threshold=1048576:glibc.malloc.trim_threshold=1048576");

/// Says which open file the keys are in.
#[cfg(target_os = "linux")]
const HANDED_OVER: &str = "STURDY_KEYS_HANDED_OVER";

/// Names that end so look like keys, the server's or the user's own. The process is started again without them; those
/// that are the user's still reach commands.
const ENDINGS: [&str; 5] = ["_API_KEY", "_AUTH_TOKEN", "_SERVER_PASSWORD", "_CONFIG_CONTENT", "_SHARE_KEY"];
const OTHERS: [&str; 5] = [
    "AWS_BEARER_TOKEN_BEDROCK",
    "GOOGLE_APPLICATION_CREDENTIALS_JSON",
    "COPILOT_TOKEN",
    "OTEL_EXPORTER_OTLP_HEADERS",
    "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
];

static ENVIRONMENT: OnceLock<Environment> = OnceLock::new();

/// The environment of this process, keys included.
pub(crate) fn environment() -> Environment {
    ENVIRONMENT.get_or_init(Environment::of_process).clone()
}

/// Takes the keys out of sight. Starts the process again if there are any, so nothing may be done before.
pub(crate) fn hide() {
    let _ = ENVIRONMENT.set(hidden_environment());
}

fn hidden_environment() -> Environment {
    let variables = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let mut variables: HashMap<String, String> = variables.collect();
    #[cfg(target_os = "linux")]
    {
        match variables.remove(HANDED_OVER) {
            Some(file) => {
                let taken = linux::take(&file);
                let text = |(name, value): &(OsString, OsString)| {
                    Some((name.to_str()?.to_owned(), value.to_str()?.to_owned()))
                };
                variables.extend(taken.iter().filter_map(text));
                let mut kept: Vec<(OsString, Option<OsString>)> =
                    taken.into_iter().map(|(name, value)| (name, Some(value))).collect();
                kept.push((HANDED_OVER.into(), None));
                // Ours, and not for the commands that the server runs.
                if variables.get(ALLOCATOR.0).is_some_and(|value| value == ALLOCATOR.1) {
                    kept.push((ALLOCATOR.0.into(), None));
                }
                keep_variables(kept);
            }
            None => linux::hand_over(),
        }
        linux::close();
    }
    Environment::new(variables)
}

#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "nothing is hidden elsewhere"))]
fn is_key(name: &OsStr) -> bool {
    let name = name.to_string_lossy().to_ascii_uppercase();
    ENDINGS.iter().any(|end| name.ends_with(end)) || OTHERS.contains(&name.as_str())
}

#[cfg(target_os = "linux")]
mod linux {
    use super::{ALLOCATOR, HANDED_OVER, OsString, is_key};
    use crate::out;
    use std::fmt::Display;
    use std::fs::{File, OpenOptions};
    use std::io::{self, Read as _, Write as _};
    use std::os::fd::AsRawFd as _;
    use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
    use std::os::unix::process::CommandExt as _;
    use std::process::Command;

    /// Starts this process again without its keys, and with an allocator that gives back. Comes back if it cannot.
    pub(super) fn hand_over() {
        let keys: Vec<(OsString, OsString)> = std::env::vars_os().filter(|(name, _)| is_key(name)).collect();
        let (tunables, wanted) = ALLOCATOR;
        // Whoever has settings of their own keeps them; and what only asks a server needs none.
        let is_server = std::env::args_os().nth(1).is_some_and(|command| command == "serve");
        let is_tuned = cfg!(not(target_env = "gnu")) || !is_server || std::env::var_os(tunables).is_some();
        if keys.is_empty() && is_tuned {
            return;
        }
        let started = file_of(&keys).and_then(|file| {
            let mut again = Command::new(std::env::current_exe()?);
            let mut arguments = std::env::args_os();
            again.arg0(arguments.next().unwrap_or_default()).args(arguments);
            for (name, _) in &keys {
                again.env_remove(name);
            }
            if !is_tuned {
                again.env(tunables, wanted);
            }
            // Comes back only with an error.
            Err::<(), io::Error>(again.env(HANDED_OVER, file.as_raw_fd().to_string()).exec())
        });
        if let Err(cause) = started {
            warn("keys stay in the environment of the program, where commands may read them", &cause);
        }
    }

    /// The log is not open yet.
    fn warn(what: &str, cause: &dyn Display) {
        out::talk(&format!("warning: {what}: {cause}"));
    }

    fn file_of(keys: &[(OsString, OsString)]) -> io::Result<File> {
        // Stays open when the program starts itself again. Standard input may be the user's, so it is not used.
        let file = rustix::fs::memfd_create("keys", rustix::fs::MemfdFlags::empty())?;
        let mut file = File::from(file);
        for (name, value) in keys {
            file.write_all(name.as_bytes())?;
            file.write_all(b"=")?;
            file.write_all(value.as_bytes())?;
            file.write_all(b"\0")?;
        }
        Ok(file)
    }

    /// What was handed over in the open file of this number.
    pub(super) fn take(file: &str) -> Vec<(OsString, OsString)> {
        let mut text = Vec::new();
        // Whoever inherits the file finds nothing in it. The number is checked: it came from the environment.
        let read = file.parse::<u32>().map_err(io::Error::other).and_then(|number| {
            let mut file =
                OpenOptions::new().read(true).write(true).open(format!("/proc/self/fd/{number}"))?;
            file.read_to_end(&mut text)?;
            file.set_len(0)
        });
        if let Err(cause) = read {
            warn("the keys could not be passed to the restarted program", &cause);
        }
        let pair = |pair: &[u8]| {
            let at = pair.iter().position(|byte| *byte == b'=')?;
            let text = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
            Some((text(&pair[..at]), text(&pair[at + 1..])))
        };
        text.split(|byte| *byte == 0).filter_map(pair).collect()
    }

    /// Other processes of the user may not look into this one.
    pub(super) fn close() {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        if let Err(cause) = set_dumpable_behavior(DumpableBehavior::NotDumpable) {
            warn("the memory of the program is open to other programs of its user", &cause);
        }
    }
}
