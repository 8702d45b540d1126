//! What a command left running when it ended: a dev server, a build daemon.
//!
//! A command that ends by itself may leave processes behind, in its group or, as a daemon, outside of it;
//! both carry its mark (`stray.rs`). [`Leftover`] holds them and the pipe they may still print into, so that
//! they neither block nor die of a closed pipe. Whoever keeps it runs [`Leftover::watch`], which reads what
//! they print, notices when the last of them is gone, and ends them when it is told to.
//!
//! Dropping a leftover of a model ends it; one of a person's own command is left alone.
//!
//! Not here: whose they are, and how many there may be (the engine).

use super::{GRACE, REST_BYTES_MAX, stray};
use rustix::process::{Pid, Signal};
use std::time::Duration;
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout_at};
use tokio_util::sync::CancellationToken;

/// How often it is looked whether anything of it still runs.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// The same, once it was asked to end: somebody waits for it.
const LOOK_EVERY_ENDING: Duration = Duration::from_millis(20);

/// The end of a pipeline may outlive its shell by a moment: that is not a background process.
const SETTLING: Duration = Duration::from_millis(60);

/// As much as a pipe holds.
const CHUNK_BYTES: usize = 64 * 1024;

/// Processes of one command that outlive it.
#[derive(Debug)]
pub struct Leftover {
    output: Option<pipe::Receiver>,
    group: Pid,
    mark: stray::Mark,
    /// Those that were found when it was last looked.
    known: Vec<Pid>,
    owner: Owner,
}

/// Whose command it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    Model,
    /// It is not ended unless somebody says so.
    User,
}

/// Why nothing of a leftover is watched any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watched {
    /// The last of its processes ended by itself.
    Gone,
    /// They were ended.
    Stopped,
}

impl Leftover {
    /// What of a command still runs; `None` if nothing does. Unless that is plain it is looked for off the workers: there may
    /// be many processes, and one that hangs can hold up whoever looks at it.
    pub(super) async fn find(
        group: Pid,
        mark: stray::Mark,
        owner: Owner,
        output: Option<pipe::Receiver>,
    ) -> Option<Self> {
        if mark.has_no_members(group) {
            return None;
        }
        let look = move || {
            let known = mark.members(group);
            // Made only if there is something to hold: whoever drops one looks again.
            (!known.is_empty()).then(|| Self { output, group, mark, known, owner })
        };
        // A look that panicked has dropped what it held, and so ended it.
        tokio::task::spawn_blocking(look).await.ok().flatten()
    }

    /// Gives what is ending anyway a moment to do so; `None` if nothing goes on.
    pub async fn settled(self) -> Option<Self> {
        let deadline = Instant::now() + SETTLING;
        let mut left = self;
        while Instant::now() < deadline {
            tokio::time::sleep(LOOK_EVERY_ENDING).await;
            let mut looked_at = left;
            let look = move || looked_at.is_running().then_some(looked_at);
            left = tokio::task::spawn_blocking(look).await.ok().flatten()?;
        }
        Some(left)
    }

    /// The numbers of its processes, as far as they are known.
    #[must_use]
    pub fn processes(&self) -> Vec<u32> {
        self.known.iter().map(|pid| pid.as_raw_nonzero().get().unsigned_abs()).collect()
    }

    #[must_use]
    pub fn owner(&self) -> Owner {
        self.owner
    }

    /// Reads what it prints until nothing of it runs, or ends it when `stop` is said. May be dropped at any time.
    pub async fn watch(&mut self, stop: &CancellationToken, mut printed: impl FnMut(&[u8])) -> Watched {
        let mut buffer = vec![0; CHUNK_BYTES];
        let mut look = interval(LOOK_EVERY);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let read = async {
                match &mut self.output {
                    Some(output) => output.read(&mut buffer).await.unwrap_or(0),
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = stop.cancelled() => {
                    self.end().await;
                    return Watched::Stopped;
                }
                count = read => match count {
                    0 => self.output = None,
                    count => printed(&buffer[..count]),
                },
                _ = look.tick() => {
                    if !self.is_running() {
                        // What it printed last may still stand in the pipe.
                        self.read_rest(&mut buffer, &mut printed);
                        return Watched::Gone;
                    }
                }
            }
        }
    }

    /// No more than a pipe can hold by then: who has shaken off the mark may go on printing into it for ever.
    fn read_rest(&self, buffer: &mut [u8], printed: &mut impl FnMut(&[u8])) {
        let Some(output) = &self.output else { return };
        let mut rest_bytes = 0;
        while let Ok(count @ 1..) = rustix::io::retry_on_intr(|| rustix::io::read(output, &mut *buffer)) {
            printed(&buffer[..count]);
            rest_bytes += count;
            if rest_bytes > REST_BYTES_MAX {
                return;
            }
        }
    }

    /// Asks them to end and, after a moment, makes them.
    async fn end(&mut self) {
        self.signal(Signal::TERM);
        let deadline = Instant::now() + GRACE;
        let gone = async {
            while self.is_running() {
                tokio::time::sleep(LOOK_EVERY_ENDING).await;
            }
        };
        if timeout_at(deadline, gone).await.is_err() {
            self.kill();
        }
    }

    fn is_running(&mut self) -> bool {
        // Looking at those that are known is cheap; only when they are gone it is looked for others.
        self.known.retain(|pid| self.mark.is_member(*pid, self.group));
        if self.known.is_empty() {
            self.known = self.mark.members(self.group);
        }
        !self.known.is_empty()
    }

    fn signal(&self, signal: Signal) {
        let members = self.mark.members(self.group);
        // The number of a group that is empty may be another's by now.
        if members.iter().any(|pid| stray::group_of(*pid) == Some(self.group)) {
            // Nobody left to hear it is what we wanted.
            let _ = rustix::process::kill_process_group(self.group, signal);
        }
        for pid in members {
            self.mark.signal(pid, self.group, signal);
        }
    }

    fn kill(&self) {
        self.signal(Signal::KILL);
        self.mark.kill_strays(Some(self.group));
    }
}

impl Drop for Leftover {
    fn drop(&mut self) {
        if self.owner == Owner::Model && self.is_running() {
            self.kill();
        }
    }
}
