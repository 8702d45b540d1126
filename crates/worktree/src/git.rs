//! Running the git program: arguments, environment, errors.
//!
//! The child sees a short list of variables and none of git's own, so that a server started
//! inside a hook or a rebase does not work on the wrong repository. Whatever a repository could
//! make git execute by its mere configuration (hooks, a file monitor, a pager) is switched off:
//! looking at a directory must not run its code. Output has a bound and a run has a time limit.
//!
//! Not here: what the answers mean (`project.rs`).

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;

/// Enough for every short answer; longer ones say so with [`Git::stdout_bytes_max`].
const STDOUT_BYTES_MAX: usize = 1024 * 1024;

/// What an error message keeps of git's own complaint.
const STDERR_BYTES_MAX: usize = 8 * 1024;

/// Longer than any local question takes on a cold disk.
const TIMEOUT: Duration = Duration::from_secs(60);

/// What git needs to find itself, its configuration and its temporary files.
const PASSED_ON: [&str; 8] =
    ["PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "XDG_CONFIG_HOME", "SYSTEMROOT", "GIT_EXEC_PATH"];

/// Settings of a repository that would make git run something.
const QUIET: [&str; 8] = [
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.pager=cat",
    "-c",
    "core.quotepath=false",
];

/// Why git gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// There is no git program, or it cannot be started.
    #[error("git cannot be started")]
    Missing(#[source] std::io::Error),

    /// git ran and refused.
    #[error("git {command} ended with {code:?}: {stderr}")]
    Refused { command: String, code: Option<i32>, stderr: String },

    /// The answer is longer than the caller is ready to hold.
    #[error("git {command} printed more than {bytes_max} bytes")]
    TooLong { command: String, bytes_max: usize },

    #[error("git {command} took longer than {} s", limit.as_secs())]
    TimedOut { command: String, limit: Duration },

    #[error("git {command}: pipe broke")]
    Pipe {
        command: String,
        #[source]
        source: std::io::Error,
    },
}

/// What git printed and how it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub code: Option<i32>,
    pub stdout: Vec<u8>,
    pub stderr: String,
}

impl Answer {
    /// The lines of the answer, without their ends.
    pub fn lines(&self) -> impl Iterator<Item = &[u8]> {
        self.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty())
    }
}

/// One run of git, being put together.
#[derive(Clone, Debug)]
pub struct Git {
    dir: PathBuf,
    arguments: Vec<OsString>,
    variables: Vec<(OsString, OsString)>,
    input: Option<Vec<u8>>,
    stdout_bytes_max: usize,
    timeout: Duration,
}

impl Git {
    /// A run with `dir` as its working directory.
    #[must_use]
    pub fn at(dir: &Path) -> Self {
        Self {
            dir: dir.to_owned(),
            arguments: Vec::new(),
            variables: Vec::new(),
            input: None,
            stdout_bytes_max: STDOUT_BYTES_MAX,
            timeout: TIMEOUT,
        }
    }

    #[must_use]
    pub fn args<I: IntoIterator<Item = S>, S: AsRef<OsStr>>(mut self, arguments: I) -> Self {
        self.arguments.extend(arguments.into_iter().map(|one| one.as_ref().to_owned()));
        self
    }

    /// A variable for this run only, such as `GIT_DIR`.
    #[must_use]
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.variables.push((name.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }

    #[must_use]
    pub fn input(mut self, bytes: Vec<u8>) -> Self {
        self.input = Some(bytes);
        self
    }

    #[must_use]
    pub fn stdout_bytes_max(mut self, bytes_max: usize) -> Self {
        self.stdout_bytes_max = bytes_max;
        self
    }

    #[must_use]
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.timeout = limit;
        self
    }

    /// Runs it; an exit code other than 0 is an error.
    pub async fn run(self) -> Result<Answer, GitError> {
        let command = self.name();
        let answer = self.answer().await?;
        if answer.code == Some(0) {
            return Ok(answer);
        }
        Err(GitError::Refused { command, code: answer.code, stderr: answer.stderr })
    }

    /// Runs it and reports whatever came, also from a run that was refused half-way.
    pub async fn answer(self) -> Result<Answer, GitError> {
        let command = self.name();
        let limit = self.timeout;
        // Dropping the future kills the child (`kill_on_drop`).
        match tokio::time::timeout(limit, self.spawn_and_read()).await {
            Ok(answer) => answer,
            Err(_) => Err(GitError::TimedOut { command, limit }),
        }
    }

    /// The subcommand alone: arguments may hold what a user wrote.
    fn name(&self) -> String {
        self.arguments.first().map(|one| one.to_string_lossy().into_owned()).unwrap_or_default()
    }

    async fn spawn_and_read(self) -> Result<Answer, GitError> {
        let command = self.name();
        let broke = |source| GitError::Pipe { command: command.clone(), source };

        let mut child = self.command().spawn().map_err(GitError::Missing)?;
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let input = self.input.unwrap_or_default();
        let write = async move {
            let Some(mut pipe) = stdin else { return };
            // A git that stops reading says why on stderr; that is the error worth reporting.
            let _ = pipe.write_all(&input).await;
        };
        let bytes_max = self.stdout_bytes_max;
        let ((), stdout, stderr) =
            tokio::join!(write, take(stdout, bytes_max + 1), take(stderr, STDERR_BYTES_MAX));
        let (stdout, stderr) = (stdout.map_err(broke)?, stderr.map_err(broke)?);
        if stdout.len() > bytes_max {
            return Err(GitError::TooLong { command, bytes_max });
        }

        let status = child.wait().await.map_err(broke)?;
        let stderr = String::from_utf8_lossy(&stderr).trim().to_owned();
        Ok(Answer { code: status.code(), stdout, stderr })
    }

    fn command(&self) -> Command {
        let mut command = Command::new("git");
        command.env_clear();
        for name in PASSED_ON {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        command
            .env("LC_ALL", "C")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .args(QUIET)
            .args(&self.arguments)
            .current_dir(&self.dir)
            .stdin(if self.input.is_some() { Stdio::piped() } else { Stdio::null() })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        command
    }
}

/// Keeps the first `bytes_max` bytes and reads the rest away, so that the writer can end.
async fn take<R: AsyncRead + Unpin>(source: Option<R>, bytes_max: usize) -> std::io::Result<Vec<u8>> {
    let mut kept = Vec::new();
    let Some(mut source) = source else { return Ok(kept) };
    (&mut source).take(bytes_max as u64).read_to_end(&mut kept).await?;
    tokio::io::copy(&mut source, &mut tokio::io::sink()).await?;
    Ok(kept)
}
