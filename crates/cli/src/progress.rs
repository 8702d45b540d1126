//! Progress of long commands, on stderr.
//!
//! On a terminal one line shows what is done now and how far it is, once it has taken a quarter of a second; it goes when
//! the work ends, because the last line of a command says what came of it. In a pipe there is one line for each finished
//! stage of a command that has several.

use crate::out;
use indicatif::{ProgressBar, ProgressState, ProgressStyle};
use std::fmt;
use std::io::IsTerminal as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// What is shorter is not noticed.
const QUIET: Duration = Duration::from_millis(250);
/// How often the line is drawn, and how fast dots come where nobody knows how far it is.
const TICK: Duration = Duration::from_millis(120);
const DOT: Duration = Duration::from_millis(400);
const NAME_WIDTH: usize = 18;
const BAR_WIDTH: u64 = 38;

/// Whether a pipe is told about finished stages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Piped {
    /// The command has several.
    Told,
    /// It has one, and its result says that it is finished.
    Silent,
}

/// What a command is doing. Cheap to clone; all clones are one line.
#[derive(Clone, Debug)]
pub(crate) struct Progress {
    /// None where nobody looks. It draws itself from time to time.
    line: Option<ProgressBar>,
    piped: Piped,
    stage: Arc<Mutex<Option<Stage>>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stage {
    name: &'static str,
    done: u64,
    /// Zero if nobody knows.
    total: u64,
}

impl Progress {
    /// For work of several stages.
    pub(crate) fn of_stages() -> Self {
        Self::start(Piped::Told)
    }

    /// For one thing of unknown length.
    pub(crate) fn of(what: &'static str) -> Self {
        let progress = Self::start(Piped::Silent);
        progress.at(what, 0, 0);
        progress
    }

    fn start(piped: Piped) -> Self {
        let stage = Arc::new(Mutex::new(None));
        let line = std::io::stderr().is_terminal().then(|| moving_line(stage.clone()));
        Self { line, piped, stage }
    }

    /// How far a stage is; another name ends the one before.
    pub(crate) fn at(&self, name: &'static str, done: u64, total: u64) {
        let before = replace(&self.stage, Some(Stage { name, done, total }));
        if let Some(before) = before.filter(|before| before.name != name) {
            self.tell(before);
        }
    }

    /// Prints something without leaving pieces of the line on the screen.
    pub(crate) fn while_hidden(&self, print: impl FnOnce()) {
        match &self.line {
            Some(line) => line.suspend(print),
            None => print(),
        }
    }

    /// The work has ended, well or not.
    pub(crate) fn end(&self) {
        if let Some(last) = replace(&self.stage, None) {
            self.tell(last);
        }
        if let Some(line) = &self.line {
            line.finish_and_clear();
        }
    }

    fn tell(&self, stage: Stage) {
        if self.line.is_none() && self.piped == Piped::Told && stage.total > 0 {
            out::talk(&format!("{:<NAME_WIDTH$}{}/{}", stage.name, stage.done, stage.total));
        }
    }
}

fn replace(stage: &Mutex<Option<Stage>>, with: Option<Stage>) -> Option<Stage> {
    std::mem::replace(&mut *stage.lock().unwrap_or_else(PoisonError::into_inner), with)
}

/// Nothing at first, then the stage and how far it is.
fn moving_line(stage: Arc<Mutex<Option<Stage>>>) -> ProgressBar {
    let begun = Instant::now();
    let line = move |_: &ProgressState, out: &mut dyn fmt::Write| {
        let stage = *stage.lock().unwrap_or_else(PoisonError::into_inner);
        let took = begun.elapsed();
        if let Some(stage) = stage.filter(|_| took >= QUIET) {
            // A line that cannot be drawn is not worth an error.
            let _ = out.write_str(&drawn(stage, took));
        }
    };
    let style = ProgressStyle::with_template("{line}").expect("BUG: the template names one key");
    let bar = ProgressBar::new_spinner().with_style(style.with_key("line", line));
    bar.enable_steady_tick(TICK);
    bar
}

fn drawn(stage: Stage, took: Duration) -> String {
    let Stage { name, done, total } = stage;
    if total == 0 {
        let dots = (took.as_millis() / DOT.as_millis()) as usize % 4;
        return format!("{name}{}", ".".repeat(dots));
    }
    let filled = (done.min(total) * BAR_WIDTH / total) as usize;
    let rest = BAR_WIDTH as usize - filled;
    format!("{name:<NAME_WIDTH$}{}{} {done}/{total}", "━".repeat(filled), " ".repeat(rest))
}

#[cfg(test)]
mod tests;
