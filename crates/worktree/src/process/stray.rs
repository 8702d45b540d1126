//! Finding what left its process group.
//!
//! A daemon makes itself a group of its own, so that killing the group of the command misses it.
//! Each command therefore carries a mark in its environment, which its children inherit. On Linux
//! the processes that are younger than the command are looked through for it; elsewhere the group
//! has to do.
//!
//! The mark names the server that started the command, and a second variable the store it serves. A
//! server that was killed ends nothing any more; the next one of the same store finds by them what it
//! left running.

use rustix::process::Pid;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// The variable that carries the mark.
pub(crate) const VARIABLE: &str = "STURDY_COMMAND";

/// The variable that names the store whose server started a command.
pub const STORE: &str = "STURDY_STORE";

/// How the last part of a terminal's mark begins.
const TERMINAL: char = 't';

/// A daemon may fork while it is looked for; after this many rounds it is fleeing on purpose.
#[cfg(target_os = "linux")]
const ROUNDS_MAX: usize = 3;

/// One command's mark.
#[derive(Clone, Debug)]
pub(crate) struct Mark(String);

impl Mark {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(format!("{}{}", server(), NEXT.fetch_add(1, Ordering::Relaxed)))
    }

    /// The mark of a person's own terminal: it is ended like a command, but it is not one.
    pub(crate) fn of_terminal() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(format!("{}{TERMINAL}{}", server(), NEXT.fetch_add(1, Ordering::Relaxed)))
    }

    pub(crate) fn text(&self) -> &str {
        &self.0
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn kill_strays(&self, _command: Option<Pid>) {}

    #[cfg(target_os = "linux")]
    pub(crate) fn kill_strays(&self, command: Option<Pid>) {
        let Some(command) = command else { return };
        for _ in 0..ROUNDS_MAX {
            let strays: Vec<Pid> = younger_than(command).filter(|pid| self.is_on(*pid)).collect();
            if strays.is_empty() {
                return;
            }
            strays.into_iter().for_each(|pid| self.kill(pid));
        }
    }

    #[cfg(target_os = "linux")]
    fn is_on(&self, pid: Pid) -> bool {
        variable(pid, VARIABLE).is_some_and(|mark| mark == self.0)
    }

    /// Held by a descriptor while it is looked at again, so that a number given to another process
    /// in between is not the one that dies.
    #[cfg(target_os = "linux")]
    fn kill(&self, pid: Pid) {
        use rustix::process::{PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
        match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(held) if self.is_on(pid) => {
                let _ = pidfd_send_signal(held, Signal::KILL);
            }
            Ok(_) => {}
            Err(_) => {
                let _ = rustix::process::kill_process(pid, Signal::KILL);
            }
        }
    }
}

/// How marks of this process begin: its number, and when it was started, because numbers are used again.
fn server() -> &'static str {
    static SERVER: LazyLock<String> = LazyLock::new(|| {
        let pid = std::process::id();
        let started = started(pid).unwrap_or_else(|| {
            // Elsewhere the time of the first command has to do.
            let now = std::time::UNIX_EPOCH.elapsed();
            now.map_or(0, |since| since.as_micros()).to_string()
        });
        format!("{pid}-{started}-")
    });
    &SERVER
}

/// Whether a process was started by a command of this server.
#[cfg(target_os = "linux")]
pub(super) fn is_marked_by_us(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let mark = pid.and_then(|pid| variable(pid, VARIABLE));
    let number = mark.as_deref().and_then(|mark| mark.strip_prefix(server()));
    number.is_some_and(|number| !number.starts_with(TERMINAL))
}

/// Ends what dead servers of this store left running; how many processes that were.
#[cfg(not(target_os = "linux"))]
pub fn kill_orphans(_store: &str) -> usize {
    0
}

/// Ends what dead servers of this store left running; how many processes that were.
///
/// Another live server of the same store cannot be: it holds the lock. One in another namespace of
/// process numbers can look dead from here, so only what shares ours is touched.
#[cfg(target_os = "linux")]
#[must_use]
pub fn kill_orphans(store: &str) -> usize {
    let own = namespace(rustix::process::getpid());
    let is_orphan = |pid: Pid| {
        let mark = variable(pid, VARIABLE).filter(|mark| !is_alive(mark))?;
        let is_ours = variable(pid, STORE).is_some_and(|found| found == store);
        (is_ours && namespace(pid) == own).then_some(Mark(mark))
    };
    let mut ended = std::collections::HashSet::new();
    for _ in 0..ROUNDS_MAX {
        let orphans: Vec<(Pid, Mark)> = all().filter_map(|pid| Some((pid, is_orphan(pid)?))).collect();
        // One that was killed may be seen dying; one that is new was forked meanwhile.
        let before = ended.len();
        ended.extend(orphans.iter().map(|(pid, _)| pid.as_raw_nonzero()));
        orphans.into_iter().for_each(|(pid, mark)| mark.kill(pid));
        if ended.len() == before {
            break;
        }
    }
    ended.len()
}

/// Whether the server that made a mark still runs. A mark of another form is not judged.
#[cfg(target_os = "linux")]
fn is_alive(mark: &str) -> bool {
    let mut fields = mark.split('-');
    let (Some(pid), Some(since)) = (fields.next().and_then(|pid| pid.parse().ok()), fields.next()) else {
        return true;
    };
    started(pid).is_some_and(|found| found == since)
}

/// When a process was started, in ticks since the system was.
#[cfg(target_os = "linux")]
fn started(pid: u32) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in brackets may hold anything; after it the fields are plain. The time is the 22nd.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace();
    // What is dead and not yet waited for runs nothing.
    let is_dead = fields.next()?.starts_with(['Z', 'X']);
    fields.nth(18).filter(|_| !is_dead).map(str::to_owned)
}

#[cfg(not(target_os = "linux"))]
fn started(_pid: u32) -> Option<String> {
    None
}

#[cfg(target_os = "linux")]
fn namespace(pid: Pid) -> Option<std::path::PathBuf> {
    std::fs::read_link(format!("/proc/{pid}/ns/pid")).ok()
}

/// A variable a process was started with.
#[cfg(target_os = "linux")]
fn variable(pid: Pid, name: &str) -> Option<String> {
    let variables = std::fs::read(format!("/proc/{pid}/environ")).ok()?;
    let start = format!("{name}=");
    let found = variables.split(|byte| *byte == 0).find_map(|one| one.strip_prefix(start.as_bytes()))?;
    Some(String::from_utf8_lossy(found).into_owned())
}

#[cfg(target_os = "linux")]
fn all() -> impl Iterator<Item = Pid> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok()).filter_map(Pid::from_raw)
}

#[cfg(target_os = "linux")]
fn younger_than(command: Pid) -> impl Iterator<Item = Pid> {
    all().filter(move |pid| pid.as_raw_nonzero() > command.as_raw_nonzero())
}
