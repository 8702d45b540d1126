//! A program that is spoken to: both its ends are pipes, and it lives until it is dropped.
//!
//! It runs as commands do: in a session of its own, without our keys, and marked, so that nothing of
//! it stays behind.

use super::{Inherited, stray};
use process_wrap::tokio::{ChildWrapper, CommandWrap, ProcessSession};
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::Stdio;
use tokio::process::{ChildStdin, ChildStdout};

/// The process of a service. Dropping it kills the whole group.
#[derive(Debug)]
pub(crate) struct Service {
    child: Box<dyn ChildWrapper>,
    group: Option<rustix::process::Pid>,
    mark: stray::Mark,
}

/// A program and its ends: what it reads, what it says.
pub(crate) type StartedService = (Service, ChildStdin, ChildStdout);

impl Service {
    /// Starts a program; its ends are its standard input and output. What it complains of is not read.
    pub(crate) fn start(
        command: &[String],
        directory: &Path,
        inherited: &Inherited,
        variables: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> io::Result<StartedService> {
        let [program, arguments @ ..] = command else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "the command is empty"));
        };
        let mark = stray::Mark::new();
        let mut command = CommandWrap::with_new(program, |command| {
            command
                .args(arguments)
                .current_dir(directory)
                .env_clear()
                .envs(inherited.of_command())
                .envs(variables)
                .env(stray::VARIABLE, mark.text())
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .kill_on_drop(true);
        });
        let mut child = command.wrap(ProcessSession).spawn()?;
        let input = child.stdin().take();
        let output = child.stdout().take();
        let group = child.id().and_then(|id| rustix::process::Pid::from_raw(id as i32));
        let service = Self { child, group, mark };
        match (input, output) {
            (Some(input), Some(output)) => Ok((service, input, output)),
            _ => Err(io::Error::other("the program has no ends to speak to")),
        }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        if let Some(group) = self.group {
            // Nobody left to hear it is what we wanted.
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
        self.mark.kill_strays(self.group);
        // Collected now if it is gone already, else by the runtime.
        let _ = self.child.try_wait();
    }
}
