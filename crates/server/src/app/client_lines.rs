//! How many lines of clients go into the server's log: a page that fails again and again must not fill a disk.

use std::sync::{Mutex, PoisonError};

/// More than clients say when something is wrong once.
const LINES_PER_MINUTE: u32 = 120;
const MINUTE_MS: u64 = 60_000;

/// What becomes of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClientLine {
    Written,
    /// It is the first that is too many: the log says once that lines are missing.
    FirstLeftOut,
    LeftOut,
}

#[derive(Debug, Default)]
pub(crate) struct ClientLines(Mutex<Minute>);

#[derive(Debug, Default)]
struct Minute {
    number: u64,
    lines: u32,
}

impl ClientLines {
    pub(crate) fn count(&self, now: u64) -> ClientLine {
        let mut minute = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if minute.number != now / MINUTE_MS {
            *minute = Minute { number: now / MINUTE_MS, lines: 0 };
        }
        minute.lines = minute.lines.saturating_add(1);
        match minute.lines {
            ..=LINES_PER_MINUTE => ClientLine::Written,
            lines if lines == LINES_PER_MINUTE + 1 => ClientLine::FirstLeftOut,
            _ => ClientLine::LeftOut,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ClientLine, ClientLines, LINES_PER_MINUTE, MINUTE_MS};

    #[test]
    fn lines_beyond_those_of_a_minute_are_left_out_until_the_next() {
        let lines = ClientLines::default();

        for _ in 0..LINES_PER_MINUTE {
            assert_eq!(lines.count(5), ClientLine::Written);
        }
        assert_eq!(lines.count(6), ClientLine::FirstLeftOut);
        assert_eq!(lines.count(MINUTE_MS - 1), ClientLine::LeftOut);

        assert_eq!(lines.count(MINUTE_MS), ClientLine::Written);
    }
}
