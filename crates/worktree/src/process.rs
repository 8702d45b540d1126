//! Commands: spawn, read what they print, and leave nothing behind that nobody knows of.
//!
//! A command runs in a session of its own: no terminal, no input, its own process group. What it
//! prints, on either stream, comes through one pipe in the order it was written, and is pulled by
//! the caller: a command that prints faster than it is read waits. At the time limit, or when the
//! turn is stopped, the group is asked to end and, three seconds later, made to.
//!
//! When the command itself ends, what it left in the background ends too, unless somebody wants to keep
//! it ([`Running::keep_background`], `process/background.rs`): the group is killed, and whoever left the
//! group (a daemon) is found by a mark in its environment (`process/stray.rs`). What is stopped or runs
//! out of time ends whole. By the same mark the next server finds what a killed one could not end.

mod background;
pub(crate) mod environment;
mod peer;
mod sandbox;
mod service;
#[cfg(target_os = "linux")]
mod socket;
pub(crate) mod stray;

pub use background::{Leftover, Owner, Watched};
pub(crate) use environment::on_path;
pub use environment::{Inherited, keep_variables};
pub(crate) use peer::OwnTerminal;
pub use peer::is_own_command;
pub use sandbox::{Network, Sandbox, SandboxError, SandboxOffer, sandbox_offer};
pub(crate) use service::{Service, StartedService};
pub use stray::{STORE, kill_orphans};

use process_wrap::tokio::{ChildWrapper, CommandWrap, ProcessSession};
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

/// From "please" to "now".
const GRACE: Duration = Duration::from_secs(3);

/// After the end at most this much is still read: a pipe holds 64 KiB, anything beyond comes from
/// somebody who should be gone.
const REST_BYTES_MAX: usize = 1024 * 1024;

#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    #[error("cannot start {}", program.display())]
    Start {
        program: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
}

/// A command to be run.
#[derive(Clone, Debug)]
pub struct Command {
    pub program: PathBuf,
    pub arguments: Vec<OsString>,
    pub directory: PathBuf,
    pub inherited: Inherited,
    /// Beside what is inherited; see `process/environment.rs`.
    pub variables: Vec<(OsString, OsString)>,
    pub timeout: Duration,
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// By itself; without a code when a signal ended it.
    Exited(Option<i32>),
    TimedOut,
    Stopped,
}

/// A command that runs. Dropping it kills the whole group.
#[derive(Debug)]
pub struct Running {
    child: Box<dyn ChildWrapper>,
    output: pipe::Receiver,
    stop: CancellationToken,
    /// When the next, harder step is taken.
    deadline: Instant,
    group: Option<rustix::process::Pid>,
    mark: stray::Mark,
    phase: Phase,
    rest_bytes: usize,
    ended: Option<Ended>,
    /// Whose what it leaves behind is, if that is kept.
    keeps: Option<Owner>,
    /// Looks for whoever left the group.
    strays: Option<JoinHandle<()>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Running,
    /// Asked to end.
    Ending,
    /// Killed; only waiting for the system.
    Killed,
    /// Gone; reading what it had written.
    Gone,
    Over,
}

impl Command {
    pub fn start(self, stop: CancellationToken) -> Result<Running, ProcessError> {
        self.start_in(None, stop)
    }

    /// The same, behind a fence if there is one.
    pub fn start_in(
        self,
        sandbox: Option<&Sandbox>,
        stop: CancellationToken,
    ) -> Result<Running, ProcessError> {
        let mark = stray::Mark::new();
        let spawned = match sandbox {
            None => self.spawn(stop, mark),
            Some(sandbox) => sandbox.start(|| self.spawn(stop, mark))?,
        };
        spawned.map_err(|source| ProcessError::Start { program: self.program.clone(), source })
    }

    /// The same, started where nobody else waits: a program enters its directory while it is started, and that hangs if
    /// the directory's disk does.
    pub async fn start_apart(self, stop: CancellationToken) -> Result<Running, ProcessError> {
        let program = self.program.clone();
        let started = tokio::task::spawn_blocking(move || self.start(stop)).await;
        started.unwrap_or_else(|cause| Err(ProcessError::Start { program, source: io::Error::other(cause) }))
    }

    /// A person's own command: no fence, and what it leaves in the background is that person's.
    pub fn start_for_user(self, stop: CancellationToken) -> Result<Running, ProcessError> {
        let spawned = self.spawn(stop, stray::Mark::of_user());
        spawned.map_err(|source| ProcessError::Start { program: self.program.clone(), source })
    }

    fn spawn(&self, stop: CancellationToken, mark: stray::Mark) -> io::Result<Running> {
        let (reader, writer) = io::pipe()?;
        let second = writer.try_clone()?;
        let mut command = CommandWrap::with_new(&self.program, |command| {
            command
                .args(&self.arguments)
                .current_dir(&self.directory)
                .env_clear()
                .envs(self.inherited.of_command())
                .envs(self.variables.iter().map(|(name, value)| (name, value)))
                .env(stray::VARIABLE, mark.text())
                .stdin(Stdio::null())
                .stdout(writer)
                .stderr(second)
                .kill_on_drop(true);
        });
        let child = command.wrap(ProcessSession).spawn()?;
        // The command holds our ends of the pipe until it is gone, and with them the end of file.
        drop(command);
        let output = pipe::Receiver::from_owned_fd(OwnedFd::from(reader))?;
        let group = child.id().and_then(|id| rustix::process::Pid::from_raw(id as i32));
        Ok(Running {
            child,
            output,
            stop,
            deadline: Instant::now() + self.timeout,
            group,
            mark,
            phase: Phase::Running,
            rest_bytes: 0,
            ended: None,
            keeps: None,
            strays: None,
        })
    }
}

impl Running {
    /// The next bytes it printed; `None` when it has ended and all is read.
    pub async fn read<'a>(&mut self, buffer: &'a mut [u8]) -> Option<&'a [u8]> {
        let mut open = true;
        loop {
            let count = match self.phase {
                Phase::Over => return None,
                Phase::Gone => {
                    self.strays_are_gone().await;
                    self.read_rest(buffer)
                }
                Phase::Running | Phase::Ending | Phase::Killed => self.wait(buffer, &mut open).await,
            };
            if count > 0 {
                return Some(&buffer[..count]);
            }
        }
    }

    /// How it ended; once [`Running::read`] has said `None`.
    #[must_use]
    pub fn ended(&self) -> Ended {
        self.ended.unwrap_or(Ended::Stopped)
    }

    /// What it leaves in the background when it ends by itself is to be kept; see [`Running::leave`].
    pub fn keep_background(&mut self, owner: Owner) {
        self.keeps = Some(owner);
    }

    /// What it left running; once [`Running::read`] has said `None`. `None` if that is nothing.
    pub async fn leave(mut self) -> Option<Leftover> {
        let owner = self.keeps.take()?;
        let group = self.group?;
        // A descriptor of its own: ours closes with us.
        let output = self.output.as_fd().try_clone_to_owned().and_then(pipe::Receiver::from_owned_fd);
        Leftover::find(group, self.mark.clone(), owner, output.ok()).await
    }

    /// Waits for one thing to happen; the number of bytes read, if that was it.
    async fn wait(&mut self, buffer: &mut [u8], open: &mut bool) -> usize {
        let is_running = self.phase == Phase::Running;
        tokio::select! {
            biased;
            () = self.stop.cancelled(), if is_running => self.end(Ended::Stopped),
            () = sleep_until(self.deadline), if self.phase != Phase::Killed => match self.phase {
                Phase::Running => self.end(Ended::TimedOut),
                Phase::Ending | Phase::Killed | Phase::Gone | Phase::Over => self.kill(),
            },
            // The process alone: waiting for the group would wait for what it left behind.
            status = self.child.inner_mut().wait() => self.gone(status),
            count = self.output.read(buffer), if *open => match count {
                Ok(count) if count > 0 => return count,
                // Closed, though the command goes on: nothing more to read, still to be waited for.
                _ => *open = false,
            },
        }
        0
    }

    fn end(&mut self, ended: Ended) {
        self.ended = Some(ended);
        self.phase = Phase::Ending;
        self.deadline = Instant::now() + GRACE;
        self.signal(rustix::process::Signal::TERM);
    }

    fn kill(&mut self) {
        self.phase = Phase::Killed;
        self.signal(rustix::process::Signal::KILL);
        self.strays = Some(self.mark.kill_strays_apart(self.group));
    }

    async fn strays_are_gone(&mut self) {
        if let Some(looking) = &mut self.strays {
            // One that broke off has found what it found.
            let _ = looking.await;
        }
        self.strays = None;
    }

    fn gone(&mut self, status: io::Result<std::process::ExitStatus>) {
        let is_kept = self.keeps.is_some() && self.ended.is_none();
        if !is_kept {
            self.keeps = None;
            // The group, not the process: the children of a shell outlive the shell.
            self.signal(rustix::process::Signal::KILL);
            self.strays = Some(self.mark.kill_strays_apart(self.group));
        }
        let code = status.ok().and_then(|status| status.code());
        self.ended.get_or_insert(Ended::Exited(code));
        self.phase = Phase::Gone;
    }

    /// What stands in the pipe. Empty is enough: whatever the command wrote is in it by now.
    fn read_rest(&mut self, buffer: &mut [u8]) -> usize {
        // The system is asked, not the runtime: that may have heard of the end before the words.
        let count = rustix::io::retry_on_intr(|| rustix::io::read(&self.output, &mut *buffer)).unwrap_or(0);
        self.rest_bytes += count;
        if count == 0 || self.rest_bytes > REST_BYTES_MAX {
            self.phase = Phase::Over;
        }
        count
    }

    fn signal(&self, signal: rustix::process::Signal) {
        if let Some(group) = self.group {
            // Nobody left to hear it is what we wanted.
            let _ = rustix::process::kill_process_group(group, signal);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Kept, and nobody came for it: it ends like any other.
        if self.keeps.is_some() || matches!(self.phase, Phase::Running | Phase::Ending | Phase::Killed) {
            self.signal(rustix::process::Signal::KILL);
            self.mark.kill_strays(self.group);
        }
    }
}
