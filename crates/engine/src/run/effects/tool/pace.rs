//! How much of what a running call reports is stored.
//!
//! A report is shown to everybody at once and so stored first, and what a command prints has no end. So each call
//! has an allowance of bytes, which is spent by what it reports and grows slowly: what is short is reported as
//! often as it changes, a flood is seen at ever longer intervals and then only with its last lines. In an hour a
//! call spends at most the first allowance and an hour's growth of it; the rest of a megabyte is left for what
//! each entry costs besides.

use std::time::Duration;
use sturdy_worktree::tool::Progress;

/// What a call may spend at once.
const FIRST_BYTES: u64 = 256 * 1024;
/// And what is added to it: 450 KiB in an hour.
const BYTES_PER_SECOND: u64 = 128;
/// What an entry costs, whatever it says.
const ENTRY_BYTES: u64 = 512;
/// A report is not cut shorter than this: the last lines of what a command printed.
const TAIL_BYTES: u64 = 2 * 1024;
/// Reports are not sent more often: faster changes cannot be seen and are not worth a log entry.
const REPORT_INTERVAL_MIN: Duration = Duration::from_millis(200);

const OUTPUT: &str = "output";
/// What clients know for what is missing before a text.
const CUT: &str = "...\n\n";

#[derive(Debug)]
pub(super) struct Pace {
    /// Bytes that may be spent, as of `at`.
    left: u64,
    at: Duration,
}

impl Pace {
    pub(super) fn new() -> Self {
        Self { left: FIRST_BYTES, at: Duration::ZERO }
    }

    /// What is reported now, `age` after the call began, in what room there is.
    pub(super) fn spend(&mut self, age: Duration, mut progress: Progress) -> Progress {
        self.earn(age);
        let room = self.left.saturating_sub(ENTRY_BYTES).max(TAIL_BYTES);
        if let Some(serde_json::Value::String(output)) = progress.metadata.get_mut(OUTPUT) {
            cut(output, usize::try_from(room).unwrap_or(usize::MAX));
        }
        self.left = self.left.saturating_sub(cost(&progress));
        progress
    }

    /// How long to wait before the next report.
    pub(super) fn pause(&self) -> Duration {
        let missing = (TAIL_BYTES + ENTRY_BYTES).saturating_sub(self.left);
        REPORT_INTERVAL_MIN.max(Duration::from_millis(missing * 1000 / BYTES_PER_SECOND))
    }

    fn earn(&mut self, age: Duration) {
        let earned = (age.saturating_sub(self.at)).as_millis() as u64 * BYTES_PER_SECOND / 1000;
        if earned > 0 {
            self.left = (self.left + earned).min(FIRST_BYTES);
            self.at = age;
        }
    }
}

/// What a report takes in the log.
fn cost(progress: &Progress) -> u64 {
    let metadata = serde_json::to_string(&progress.metadata).map_or(0, |text| text.len());
    ENTRY_BYTES + (metadata + progress.title.as_deref().map_or(0, str::len)) as u64
}

/// Keeps the last lines, as much as fits.
fn cut(output: &mut String, bytes_max: usize) {
    if output.len() <= bytes_max {
        return;
    }
    let mut from = output.len() - bytes_max;
    while !output.is_char_boundary(from) {
        from += 1;
    }
    *output = format!("{CUT}{}", &output[from..]);
}

#[cfg(test)]
mod tests;
