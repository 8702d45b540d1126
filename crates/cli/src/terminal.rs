//! Asking the person at the terminal.
//!
//! Questions go to and answers come from the terminal itself, not from stdin and stdout: those may be pipes.
//! One thread reads its lines, because reading cannot be given up: an answer that came from elsewhere meanwhile
//! leaves it waiting.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, IsTerminal as _, Write as _};
use std::thread;
use tokio::sync::mpsc;

const TERMINAL: &str = "/dev/tty";
/// Lines typed ahead.
const LINES_MAX: usize = 16;

/// A person who can be asked.
pub(crate) struct Terminal {
    screen: File,
    lines: mpsc::Receiver<String>,
}

impl Terminal {
    /// None if nobody looks.
    pub(crate) fn open() -> Option<Self> {
        if !io::stderr().is_terminal() {
            return None;
        }
        let screen = OpenOptions::new().read(true).write(true).open(TERMINAL).ok()?;
        let keyboard = BufReader::new(screen.try_clone().ok()?);
        let (sender, lines) = mpsc::channel(LINES_MAX);
        let read = move || {
            for line in keyboard.lines().map_while(Result::ok) {
                if sender.blocking_send(line).is_err() {
                    return;
                }
            }
        };
        thread::Builder::new().name("terminal".to_owned()).spawn(read).ok()?;
        Some(Self { screen, lines })
    }

    /// Shows text; what a model wrote must have passed `table::printable`.
    pub(crate) fn show(&mut self, text: &str) {
        // A terminal that is gone does not answer either.
        let _ = self.screen.write_all(text.as_bytes()).and_then(|()| self.screen.flush());
    }

    /// The next line; None when the terminal is gone. May be given up and asked again.
    pub(crate) async fn line(&mut self) -> Option<String> {
        self.lines.recv().await.map(|line| line.trim().to_owned())
    }
}

/// Asks for something that must not be seen. None if there is no terminal.
pub(crate) fn ask_hidden(question: &str) -> io::Result<Option<String>> {
    use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};

    let Ok(mut screen) = OpenOptions::new().read(true).write(true).open(TERMINAL) else { return Ok(None) };
    let shown = tcgetattr(&screen)?;
    let mut hidden = shown.clone();
    hidden.local_modes.remove(LocalModes::ECHO);
    screen.write_all(question.as_bytes())?;
    tcsetattr(&screen, OptionalActions::Flush, &hidden)?;
    let mut line = String::new();
    let read = BufReader::new(screen.try_clone()?).read_line(&mut line);
    tcsetattr(&screen, OptionalActions::Now, &shown)?;
    screen.write_all(b"\n")?;
    read?;
    Ok(Some(line.trim().to_owned()))
}
