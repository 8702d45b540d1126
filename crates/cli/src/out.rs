//! Printing. A reader that went away ends nothing: `sturdy … | head` is done when `head` is.

use crate::traces::Spans;
use indicatif::ProgressBar;
use std::io::{IsTerminal as _, Write as _};
use std::time::Duration;
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::args::{LogFormat, LogLevel};

/// How fast a sign of life moves.
const SPIN: Duration = Duration::from_millis(120);

/// A line of data.
pub(crate) fn data(line: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// A document for programs.
pub(crate) fn json(document: &impl serde::Serialize) {
    data(&serde_json::to_string_pretty(document).expect("BUG: what we print is JSON"));
}

/// Text as it comes, without a line break behind it.
pub(crate) fn piece(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Something said to whoever looks.
pub(crate) fn talk(line: &str) {
    let mut out = std::io::stderr().lock();
    let _ = writeln!(out, "{}", line.trim_end());
}

/// Logs go to stderr. Of other people's crates only warnings: their details may hold what a user wrote.
pub(crate) fn start_log(level: LogLevel, format: LogFormat) {
    start_log_and(level, format, None);
}

/// The same, with spans told to a collector.
pub(crate) fn start_log_and(level: LogLevel, format: LogFormat, spans: Option<Spans>) {
    let level = match level {
        LogLevel::Off => LevelFilter::OFF,
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    };
    let filter = Targets::new().with_default(level.min(LevelFilter::WARN)).with_target("sturdy", level);
    let is_seen = std::io::stderr().is_terminal();
    let lines =
        tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(is_seen).with_target(false);
    let lines = match format {
        LogFormat::Text => lines.boxed(),
        LogFormat::Json => lines.json().boxed(),
    };
    let spans = spans.map(|spans| spans.with_filter(Targets::new().with_target("sturdy", LevelFilter::INFO)));
    tracing_subscriber::registry().with(lines.with_filter(filter)).with(spans).init();
}

/// A sign of life for what takes long: on a terminal a line that moves, in a pipe one line.
pub(crate) fn waiting(what: &'static str) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        talk(what);
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new_spinner().with_message(what);
    bar.enable_steady_tick(SPIN);
    bar
}
