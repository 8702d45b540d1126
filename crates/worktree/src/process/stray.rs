//! Finding what left its process group.
//!
//! A daemon makes itself a group of its own, so that killing the group of the command misses it.
//! Each command therefore carries a mark in its environment, which its children inherit. On Linux
//! the processes that are younger than the command are looked through for it; elsewhere the group
//! has to do.

use rustix::process::Pid;
use std::sync::atomic::{AtomicU64, Ordering};

/// The variable that carries the mark.
pub(crate) const VARIABLE: &str = "STURDY_COMMAND";

/// A daemon may fork while it is looked for; after this many rounds it is fleeing on purpose.
#[cfg(target_os = "linux")]
const ROUNDS_MAX: usize = 3;

/// One command's mark.
#[derive(Clone, Debug)]
pub(crate) struct Mark(String);

impl Mark {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let boot = std::time::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_micros());
        Self(format!("{}-{boot}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)))
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
        let Ok(variables) = std::fs::read(format!("/proc/{pid}/environ")) else { return false };
        let wanted = format!("{VARIABLE}={}", self.0);
        variables.split(|byte| *byte == 0).any(|one| one == wanted.as_bytes())
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

#[cfg(target_os = "linux")]
fn younger_than(command: Pid) -> impl Iterator<Item = Pid> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    numbers.filter(move |number| *number > command.as_raw_nonzero().get()).filter_map(Pid::from_raw)
}
