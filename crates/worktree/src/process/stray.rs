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
#[cfg(target_os = "linux")]
use std::io::Read as _;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::task::JoinHandle;

/// The variable that carries the mark.
pub(crate) const VARIABLE: &str = "STURDY_COMMAND";

/// The variable that names the store whose server started a command.
pub const STORE: &str = "STURDY_STORE";

/// How the last part of a terminal's mark begins.
const TERMINAL: char = 't';

/// How the last part of the mark of a person's own command begins.
const USER: char = 'u';

/// A daemon may fork while it is looked for; after this many rounds it is fleeing on purpose.
#[cfg(target_os = "linux")]
const ROUNDS_MAX: usize = 3;

/// In so short a time the numbers of processes do not come round.
#[cfg(target_os = "linux")]
const ROUND_AFTER: std::time::Duration = std::time::Duration::from_secs(10);

/// Numbers behind a command's that are asked for one by one. Where more were given meanwhile, all processes are listed.
#[cfg(target_os = "linux")]
const ASKED_MAX: i32 = 64;

/// One command's mark.
#[derive(Clone, Debug)]
pub(crate) struct Mark {
    text: String,
    #[cfg(target_os = "linux")]
    made: Made,
}

/// When a mark was made: before its command was started.
#[cfg(target_os = "linux")]
#[derive(Clone, Copy, Debug)]
struct Made {
    at: std::time::Instant,
    /// In ticks since the system was started, as processes tell when they were.
    ticks: u64,
}

impl Mark {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self::with_text(format!("{}{}", server(), NEXT.fetch_add(1, Ordering::Relaxed)))
    }

    /// The mark of a person's own command: what it leaves in the background is that person's.
    pub(crate) fn of_user() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self::with_text(format!("{}{USER}{}", server(), NEXT.fetch_add(1, Ordering::Relaxed)))
    }

    /// The mark of a person's own terminal: it is ended like a command, but it is not one.
    pub(crate) fn of_terminal() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self::with_text(format!("{}{TERMINAL}{}", server(), NEXT.fetch_add(1, Ordering::Relaxed)))
    }

    fn with_text(text: String) -> Self {
        #[cfg(target_os = "linux")]
        let made = Made { at: std::time::Instant::now(), ticks: ticks_now() };
        Self {
            text,
            #[cfg(target_os = "linux")]
            made,
        }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Looks for them where nobody else waits: every younger process of the machine is looked at, and one that hangs can
    /// hold up whoever looks.
    pub(crate) fn kill_strays_apart(&self, command: Option<Pid>) -> JoinHandle<()> {
        let mark = self.clone();
        tokio::task::spawn_blocking(move || mark.kill_strays(command))
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn kill_strays(&self, _command: Option<Pid>) {}

    #[cfg(target_os = "linux")]
    pub(crate) fn kill_strays(&self, command: Option<Pid>) {
        let Some(command) = command else { return };
        for _ in 0..ROUNDS_MAX {
            let strays: Vec<Pid> =
                self.younger_than(command).map(|(pid, _)| pid).filter(|pid| self.is_on(*pid)).collect();
            if strays.is_empty() {
                return;
            }
            strays.into_iter().for_each(|pid| self.kill(pid));
        }
    }

    #[cfg(target_os = "linux")]
    fn is_on(&self, pid: Pid) -> bool {
        variable(pid, VARIABLE).is_some_and(|mark| mark == self.text)
    }

    /// The processes of a command that run: those in its group, and those with its mark.
    #[cfg(target_os = "linux")]
    pub(super) fn members(&self, command: Pid) -> Vec<Pid> {
        let younger = self.younger_than(command);
        let is_member = |(pid, group): &(Pid, Option<Pid>)| *group == Some(command) || self.is_on(*pid);
        younger.filter(is_member).map(|(pid, _)| pid).collect()
    }

    /// The processes that may have been started by the command, each with its group: those that were started behind the
    /// mark. Those with a lower number are looked at only after a while, when the numbers may have come round.
    #[cfg(target_os = "linux")]
    fn younger_than(&self, command: Pid) -> impl Iterator<Item = (Pid, Option<Pid>)> {
        let Made { at, ticks } = self.made;
        let newest = newest_number().unwrap_or(i32::MAX);
        let is_round = at.elapsed() > ROUND_AFTER || newest < command.as_raw_nonzero().get();
        let is_looked_at = move |pid: &Pid| is_round || pid.as_raw_nonzero() > command.as_raw_nonzero();
        all().filter(is_looked_at).filter_map(move |pid| {
            let stat = stat(pid.as_raw_nonzero().get().unsigned_abs())?;
            (!stat.is_dead && stat.started >= ticks).then(|| (pid, number(stat.group)))
        })
    }

    /// Whether surely nothing of a command runs, found out at once: the few processes that were started behind it are gone.
    /// Nothing is asked that may hang, so a process that may be another's is left to a closer look.
    #[cfg(target_os = "linux")]
    pub(super) fn has_no_members(&self, command: Pid) -> bool {
        let Made { at, ticks } = self.made;
        let is_gone = |pid: i32| {
            let pid = pid.unsigned_abs();
            let is_older = |stat: Stat| stat.is_dead || stat.started < ticks;
            stat(pid).is_none_or(is_older) || is_own_thread(pid)
        };
        let command = command.as_raw_nonzero().get();
        let mut asked = command;
        while let Some(newest) = newest_number() {
            if at.elapsed() > ROUND_AFTER || newest < asked || newest - command > ASKED_MAX {
                return false;
            }
            if newest == asked {
                // Since the last look nobody was started.
                return true;
            }
            if !(asked + 1..=newest).all(is_gone) {
                return false;
            }
            asked = newest;
        }
        false
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn has_no_members(&self, command: Pid) -> bool {
        !self.is_member(command, command)
    }

    /// Whether a process is one of them still. A dead one that nobody waited for is not.
    #[cfg(target_os = "linux")]
    pub(super) fn is_member(&self, pid: Pid, command: Pid) -> bool {
        let number = pid.as_raw_nonzero().get().unsigned_abs();
        started(number).is_some() && (group_of(pid) == Some(command) || self.is_on(pid))
    }

    /// Elsewhere the group has to do; it is known by the number of its first process.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn members(&self, command: Pid) -> Vec<Pid> {
        if self.is_member(command, command) { vec![command] } else { Vec::new() }
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn is_member(&self, _pid: Pid, command: Pid) -> bool {
        rustix::process::test_kill_process_group(command).is_ok()
    }

    #[cfg(target_os = "linux")]
    fn kill(&self, pid: Pid) {
        send(pid, rustix::process::Signal::KILL, || self.is_on(pid));
    }

    /// Signals a process if it is still one of the command's.
    #[cfg(target_os = "linux")]
    pub(super) fn signal(&self, pid: Pid, command: Pid, signal: rustix::process::Signal) {
        send(pid, signal, || self.is_member(pid, command));
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn signal(&self, _pid: Pid, _command: Pid, _signal: rustix::process::Signal) {}
}

/// Signals a process that is held by a descriptor while it is looked at again, so that a number given
/// to another process in between is not the one that is meant.
#[cfg(target_os = "linux")]
fn send(pid: Pid, signal: rustix::process::Signal, is_meant: impl FnOnce() -> bool) {
    use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};
    match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(held) if is_meant() => {
            let _ = pidfd_send_signal(held, signal);
        }
        Ok(_) => {}
        Err(_) => {
            let _ = rustix::process::kill_process(pid, signal);
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
    let mark = number(pid).and_then(|pid| variable(pid, VARIABLE));
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
        let is_meant = is_ours && namespace(pid) == own && !is_users_background(pid, &mark);
        is_meant.then(|| Mark::with_text(mark))
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

/// Whether a process was left in the background by a person's own command: the shell that began its session is
/// gone. While the shell runs, the command was cut off and ends like any other.
#[cfg(target_os = "linux")]
fn is_users_background(pid: Pid, mark: &str) -> bool {
    let is_users = mark.rsplit('-').next().is_some_and(|number| number.starts_with(USER));
    let shell = running(pid.as_raw_nonzero().get().unsigned_abs()).and_then(|stat| number(stat.session));
    is_users && shell.is_none_or(|shell| variable(shell, VARIABLE).is_none_or(|found| found != mark))
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
    running(pid).map(|stat| stat.started.to_string())
}

/// The group of a process that runs.
#[cfg(target_os = "linux")]
pub(super) fn group_of(pid: Pid) -> Option<Pid> {
    running(pid.as_raw_nonzero().get().unsigned_abs()).and_then(|stat| number(stat.group))
}

#[cfg(not(target_os = "linux"))]
pub(super) fn group_of(pid: Pid) -> Option<Pid> {
    rustix::process::getpgid(Some(pid)).ok()
}

/// What the system says of a process.
#[cfg(target_os = "linux")]
#[derive(Clone, Copy, Debug)]
pub(super) struct Stat {
    pub(super) parent: u32,
    group: u32,
    pub(super) session: u32,
    /// In ticks since the system was started.
    pub(super) started: u64,
    /// It runs nothing and was not waited for yet.
    is_dead: bool,
}

#[cfg(target_os = "linux")]
pub(super) fn stat(pid: u32) -> Option<Stat> {
    /// More than all its fields can have. Read at once: every process of the machine may be looked at.
    const BYTES_MAX: usize = 2048;
    let mut text = [0; BYTES_MAX];
    let bytes = std::fs::File::open(format!("/proc/{pid}/stat")).ok()?.read(&mut text).ok()?;
    // The name in brackets may hold anything; after it the fields are plain.
    let behind_name = text[..bytes].iter().rposition(|byte| *byte == b')')? + 1;
    let mut fields = std::str::from_utf8(&text[behind_name..bytes]).ok()?.split_ascii_whitespace();
    let is_dead = fields.next()?.starts_with(['Z', 'X']);
    let parent = fields.next()?.parse().ok()?;
    let group = fields.next()?.parse().ok()?;
    let session = fields.next()?.parse().ok()?;
    // The twenty-second of all.
    let started = fields.nth(15)?.parse().ok()?;
    Some(Stat { parent, group, session, started, is_dead })
}

/// The same of one that is not dead.
#[cfg(target_os = "linux")]
fn running(pid: u32) -> Option<Stat> {
    stat(pid).filter(|stat| !stat.is_dead)
}

/// Threads have numbers as processes do.
#[cfg(target_os = "linux")]
fn is_own_thread(number: u32) -> bool {
    std::fs::symlink_metadata(format!("/proc/self/task/{number}")).is_ok()
}

/// A process by its number. Some that belong to the system have none here.
#[cfg(target_os = "linux")]
fn number(pid: u32) -> Option<Pid> {
    i32::try_from(pid).ok().and_then(Pid::from_raw)
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
    // Its size is not told beforehand: room for most of them, so that they are read at once.
    let mut variables = Vec::with_capacity(16 * 1024);
    std::fs::File::open(format!("/proc/{pid}/environ")).ok()?.read_to_end(&mut variables).ok()?;
    let start = format!("{name}=");
    let found = variables.split(|byte| *byte == 0).find_map(|one| one.strip_prefix(start.as_bytes()))?;
    Some(String::from_utf8_lossy(found).into_owned())
}

#[cfg(target_os = "linux")]
fn all() -> impl Iterator<Item = Pid> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok()).filter_map(Pid::from_raw)
}

/// The time since the system was started, in ticks, and never too late: a process of this moment is not older.
#[cfg(target_os = "linux")]
fn ticks_now() -> u64 {
    // Linux tells its programs of a hundred ticks a second, whatever it counts itself.
    const TICKS_PER_SECOND: f64 = 100.0;
    let uptime = std::fs::read_to_string("/proc/uptime").unwrap_or_default();
    let seconds = uptime.split_ascii_whitespace().next().and_then(|seconds| seconds.parse::<f64>().ok());
    seconds.map_or(0, |seconds| ((seconds * TICKS_PER_SECOND) as u64).saturating_sub(1))
}

/// The number that a process was given last.
#[cfg(target_os = "linux")]
fn newest_number() -> Option<i32> {
    let load = std::fs::read_to_string("/proc/loadavg").ok()?;
    load.split_ascii_whitespace().next_back()?.parse().ok()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::{Made, Mark, Pid};
    use std::time::{Duration, Instant};

    /// This process, as if its number had come round since a command with a higher one was started.
    fn is_found(mark: &Mark) -> bool {
        let own = rustix::process::getpid();
        let command = Pid::from_raw(i32::MAX).expect("a number above zero");
        mark.younger_than(command).any(|(pid, _)| pid == own)
    }

    #[test]
    fn a_process_with_a_lower_number_is_found_by_when_it_was_started() {
        // Was: numbers were compared, so what a command left was lost when they came round.
        let long_ago = Instant::now().checked_sub(Duration::from_secs(60)).unwrap();
        let mark = Mark { made: Made { at: long_ago, ticks: 0 }, ..Mark::new() };

        assert!(is_found(&mark));
    }

    #[test]
    fn a_process_that_is_older_than_the_command_is_not_looked_at() {
        let mark = Mark { made: Made { at: Instant::now(), ticks: u64::MAX }, ..Mark::new() };

        assert!(!is_found(&mark));
    }

    #[test]
    fn a_process_that_was_started_behind_the_command_is_not_overlooked() {
        let mark = Mark::new();
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let number = i32::try_from(child.id()).unwrap();
        // As if it had been started by the one before it, which is gone.
        let command = Pid::from_raw(number - 1).unwrap();

        let is_overlooked = mark.has_no_members(command);

        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!is_overlooked);
    }

    #[test]
    fn a_mark_is_not_younger_than_what_is_started_behind_it() {
        let mark = Mark::new();
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();

        let started: u64 = super::started(child.id()).unwrap().parse().unwrap();

        child.kill().unwrap();
        child.wait().unwrap();
        assert!(mark.made.ticks <= started, "{mark:?} {started}");
    }
}
