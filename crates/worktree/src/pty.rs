//! Terminals: a program that believes a person sits in front of it.
//!
//! A terminal has a task that reads what the program prints into a bounded scrollback and writes what people type.
//! Whoever looks reads the scrollback at their own pace (`pty/scrollback.rs`). A program that prints faster than
//! the slowest of them reads is made to wait, as by a real terminal; nobody looks: it is not.
//!
//! The program runs in a session of its own, whose controlling terminal this is. It ends when it is told to, with
//! the server, and, if the server is killed, by the hang-up the system sends when the terminal goes away.
//!
//! Not here: who may look (`sturdy-server`).

mod scrollback;

pub use scrollback::{ScrollbackReader, ScrollbackStart};

use crate::process::{Inherited, OwnTerminal, stray};
use bytes::Bytes;
use encoding_rs::{Decoder, UTF_8};
use pty_process::{OwnedReadPty, OwnedWritePty, Pts, Pty, Size};
use rustix::process::{Pid, Signal};
use scrollback::Scrollback;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Child;
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

/// What is read at once; a terminal of the system holds 4 KiB.
const READ_BYTES: usize = 16 * 1024;
/// Pieces of input that wait for the program. Behind them the sender waits.
const INPUT_MAX: usize = 64;
/// From "please" to "now".
const GRACE: Duration = Duration::from_secs(2);
/// A program that is gone has printed everything; what comes later is from somebody it left behind.
const REST_PATIENCE: Duration = Duration::from_millis(50);
const REST_BYTES_MAX: usize = 1024 * 1024;

const ROWS: u16 = 24;
const COLUMNS: u16 = 80;
/// What a program is told about the terminal.
const SETTINGS: [(&str, &str); 2] = [("TERM", "xterm-256color"), ("COLORTERM", "truecolor")];

/// A program to be run in a terminal.
#[derive(Clone, Debug)]
pub struct NewTerminal {
    pub program: String,
    pub arguments: Vec<String>,
    pub directory: PathBuf,
    pub inherited: Inherited,
    /// Beside what is inherited; see `process/environment.rs`.
    pub variables: Vec<(String, String)>,
}

#[derive(Debug, thiserror::Error)]
#[error("cannot start {program} in a terminal")]
pub struct TerminalError {
    program: String,
    #[source]
    source: TerminalCause,
}

#[derive(Debug, thiserror::Error)]
enum TerminalCause {
    #[error("the directory does not exist")]
    NoDirectory,
    #[error(transparent)]
    Pty(#[from] pty_process::Error),
}

/// A terminal. Dropping it ends what runs in it.
#[derive(Debug)]
pub struct Terminal {
    pub pid: u32,
    screen: Arc<Scrollback>,
    input: mpsc::Sender<Bytes>,
    size: watch::Sender<(u16, u16)>,
    ended: watch::Receiver<Option<u32>>,
    stop: CancellationToken,
}

impl Terminal {
    /// Starts the program. The second value is the terminal's task: it must be run for anything to happen, and ends
    /// behind the program.
    pub fn start(
        new: &NewTerminal,
    ) -> Result<(Self, impl Future<Output = ()> + Send + use<>), TerminalError> {
        let refused = |source| TerminalError { program: new.program.clone(), source };
        if !new.directory.is_dir() {
            return Err(refused(TerminalCause::NoDirectory));
        }
        let mark = stray::Mark::of_terminal();
        let (pty, child) = spawn(new, &mark).map_err(|cause| refused(cause.into()))?;
        let pid = child.id().unwrap_or_default();
        let screen = Arc::new(Scrollback::default());
        let (input, inputs) = mpsc::channel(INPUT_MAX);
        let (size, sizes) = watch::channel((ROWS, COLUMNS));
        let (exit, ended) = watch::channel(None);
        let stop = CancellationToken::new();
        let running = Running {
            child,
            group: i32::try_from(pid).ok().and_then(Pid::from_raw),
            mark,
            own: OwnTerminal::new(pid),
            screen: screen.clone(),
            stop: stop.clone(),
            exit,
        };
        let task = running.run(pty, inputs, sizes);
        Ok((Self { pid, screen, input, size, ended, stop }, task))
    }

    /// Someone who looks, from this place on.
    #[must_use]
    pub fn reader(&self, from: ScrollbackStart) -> ScrollbackReader {
        self.screen.reader(from)
    }

    /// Where what is typed goes. Waits while the program does not read.
    #[must_use]
    pub fn keyboard(&self) -> mpsc::Sender<Bytes> {
        self.input.clone()
    }

    pub fn resize(&self, rows: u16, columns: u16) {
        self.size.send_replace((rows, columns));
    }

    /// The program's exit code, once it has one.
    #[must_use]
    pub fn ended(&self) -> watch::Receiver<Option<u32>> {
        self.ended.clone()
    }

    /// Tells the program to end, and makes it if it does not.
    pub fn end(&self) {
        self.stop.cancel();
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

fn spawn(new: &NewTerminal, mark: &stray::Mark) -> Result<(Pty, Child), pty_process::Error> {
    let (pty, pts): (Pty, Pts) = pty_process::open()?;
    pty.resize(Size::new(ROWS, COLUMNS))?;
    let command = pty_process::Command::new(&new.program)
        .args(&new.arguments)
        .current_dir(&new.directory)
        .env_clear()
        .envs(new.inherited.of_user())
        .envs(SETTINGS)
        .envs(new.variables.iter().map(|(name, value)| (name, value)))
        .env(stray::VARIABLE, mark.text())
        .kill_on_drop(true);
    let child = command.spawn(pts)?;
    Ok((pty, child))
}

/// The task's side.
struct Running {
    child: Child,
    group: Option<Pid>,
    mark: stray::Mark,
    own: OwnTerminal,
    screen: Arc<Scrollback>,
    stop: CancellationToken,
    exit: watch::Sender<Option<u32>>,
}

impl Running {
    async fn run(mut self, pty: Pty, inputs: mpsc::Receiver<Bytes>, sizes: watch::Receiver<(u16, u16)>) {
        let (mut output, input) = pty.into_split();
        let mut decoder = UTF_8.new_decoder_without_bom_handling();
        let status = {
            let screen = self.screen.clone();
            let reading = read_all(&mut output, &screen, &mut decoder);
            let typing = write_all(input, inputs, sizes);
            let ending = end(&mut self.child, self.group, &self.stop);
            tokio::select! {
                status = ending => status,
                // Both go on until the program has ended.
                never = async { tokio::join!(reading, typing).0 } => never,
            }
        };
        // Its number may be given to another process from now on.
        drop(self.own);
        read_rest(&mut output, &self.screen, &mut decoder).await;
        // The group, not the process: the children of a shell outlive the shell.
        signal(self.group, Signal::KILL);
        // A look that broke off has found what it found.
        let _ = self.mark.kill_strays_apart(self.group).await;
        self.exit.send_replace(Some(code(status.as_ref())));
        self.screen.close();
    }
}

/// Waits for the program's end; once told to stop, sees to it.
async fn end(child: &mut Child, group: Option<Pid>, stop: &CancellationToken) -> Option<ExitStatus> {
    tokio::select! {
        status = child.wait() => return status.ok(),
        () = stop.cancelled() => signal(group, Signal::HUP),
    }
    if let Ok(status) = timeout(GRACE, child.wait()).await {
        return status.ok();
    }
    signal(group, Signal::KILL);
    child.wait().await.ok()
}

/// As a shell tells it: a program that a signal ended has 128 and the signal's number.
fn code(status: Option<&ExitStatus>) -> u32 {
    let code = status.and_then(ExitStatus::code);
    let signal = status.and_then(ExitStatusExt::signal).map(|signal| 128 + signal);
    code.or(signal).and_then(|code| u32::try_from(code).ok()).unwrap_or(1)
}

fn signal(group: Option<Pid>, signal: Signal) {
    if let Some(group) = group {
        // Nobody left to hear it is what we wanted.
        let _ = rustix::process::kill_process_group(group, signal);
    }
}

/// Never ends by itself: a terminal that cannot be read any more belongs to a program that is about to be gone.
async fn read_all(
    output: &mut OwnedReadPty,
    screen: &Scrollback,
    decoder: &mut Decoder,
) -> Option<ExitStatus> {
    let mut buffer = vec![0; READ_BYTES];
    while let Ok(count @ 1..) = output.read(&mut buffer).await {
        show(screen, decoder, &buffer[..count]);
        screen.wait_for_readers().await;
    }
    std::future::pending().await
}

async fn read_rest(output: &mut OwnedReadPty, screen: &Scrollback, decoder: &mut Decoder) {
    let mut buffer = vec![0; READ_BYTES];
    let mut rest_bytes = 0;
    while let Ok(Ok(count @ 1..)) = timeout(REST_PATIENCE, output.read(&mut buffer)).await {
        show(screen, decoder, &buffer[..count]);
        rest_bytes += count;
        if rest_bytes > REST_BYTES_MAX {
            return;
        }
    }
}

/// A character may be cut in two by the end of a read; what is not text is shown as a replacement character.
fn show(screen: &Scrollback, decoder: &mut Decoder, bytes: &[u8]) {
    let room = decoder.max_utf8_buffer_length(bytes.len()).unwrap_or(bytes.len() * 3);
    let mut text = String::with_capacity(room);
    let _ = decoder.decode_to_string(bytes, &mut text, false);
    screen.push(&text);
}

async fn write_all(
    mut input: OwnedWritePty,
    mut inputs: mpsc::Receiver<Bytes>,
    mut sizes: watch::Receiver<(u16, u16)>,
) {
    let mut waiting = Bytes::new();
    loop {
        tokio::select! {
            Ok(()) = sizes.changed() => {
                let (rows, columns) = *sizes.borrow_and_update();
                // A terminal that is gone has no size.
                let _ = input.resize(Size::new(rows, columns));
            }
            piece = inputs.recv(), if waiting.is_empty() => match piece {
                Some(piece) => waiting = piece,
                None => return,
            },
            written = write_some(&mut input, &waiting), if !waiting.is_empty() => match written {
                Ok(count) => waiting = waiting.slice(count..),
                Err(_) => return,
            },
        }
    }
}

/// May be given up: then nothing was written.
async fn write_some(input: &mut OwnedWritePty, bytes: &[u8]) -> io::Result<usize> {
    input.write(bytes).await
}
