//! Tables, times and amounts for eyes.
//!
//! Columns are as wide as what stands in them. If a terminal is narrower than that, one column, the flexible
//! one, is shortened; in a pipe nothing is. What a model or a user wrote loses its control characters, so
//! that a title cannot move the cursor.

use crate::out;
use console::{measure_text_width, pad_str, truncate_str};
use std::borrow::Cow;

const GAP: usize = 2;
/// A column that is shortened keeps at least this much.
const FLEXIBLE_MIN: usize = 12;

pub(crate) struct Table {
    heads: &'static [&'static str],
    flexible: usize,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// `flexible` is the column that may be shortened.
    pub(crate) fn new(heads: &'static [&'static str], flexible: usize) -> Self {
        Self { heads, flexible, rows: Vec::new() }
    }

    pub(crate) fn row(&mut self, cells: Vec<String>) {
        let cells = cells.into_iter().map(|cell| printable(&cell.replace('\n', " ")).into_owned());
        self.rows.push(cells.collect());
    }

    pub(crate) fn print(&self) {
        let is_seen = console::user_attended();
        let width = is_seen.then(|| usize::from(console::Term::stdout().size().1));
        for line in self.lines(width) {
            out::data(&line);
        }
    }

    fn lines(&self, width_max: Option<usize>) -> Vec<String> {
        let mut widths: Vec<usize> = self.heads.iter().map(|head| measure_text_width(head)).collect();
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(measure_text_width(cell));
            }
        }
        let total = widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1);
        if let Some(width_max) = width_max.filter(|width_max| total > *width_max) {
            let flexible = &mut widths[self.flexible];
            *flexible = flexible.saturating_sub(total - width_max).max(FLEXIBLE_MIN);
        }
        let heads: Vec<Cow<'_, str>> = self.heads.iter().map(|head| Cow::from(*head)).collect();
        let rows = self.rows.iter().map(|row| row.iter().map(Cow::from).collect());
        std::iter::once(heads).chain(rows).map(|cells: Vec<Cow<'_, str>>| line(&cells, &widths)).collect()
    }
}

fn line(cells: &[Cow<'_, str>], widths: &[usize]) -> String {
    let mut line = String::new();
    for (cell, width) in cells.iter().zip(widths) {
        let cell = truncate_str(cell, *width, "…");
        line.push_str(&pad_str(&cell, *width + GAP, console::Alignment::Left, None));
    }
    line.truncate(line.trim_end().len());
    line
}

/// Without control characters, except line breaks and tabs.
pub(crate) fn printable(text: &str) -> Cow<'_, str> {
    let is_bad = |c: char| c.is_control() && c != '\n' && c != '\t';
    if text.contains(is_bad) { Cow::from(text.replace(is_bad, "\u{fffd}")) } else { Cow::from(text) }
}

/// How long ago, in the largest unit that fits.
pub(crate) fn ago(now_ms: i64, then_ms: i64) -> String {
    const MINUTE: i64 = 60;
    const HOUR: i64 = 60 * MINUTE;
    const DAY: i64 = 24 * HOUR;
    let seconds = (now_ms - then_ms).max(0) / 1000;
    match seconds {
        ..MINUTE => "just now".to_owned(),
        MINUTE..HOUR => format!("{} min ago", seconds / MINUTE),
        HOUR..DAY => format!("{} h ago", seconds / HOUR),
        _ if seconds < 2 * DAY => "yesterday".to_owned(),
        _ if seconds < 30 * DAY => format!("{} days ago", seconds / DAY),
        _ => jiff::Timestamp::from_millisecond(then_ms)
            .map_or_else(|_| "long ago".to_owned(), |time| time.strftime("%Y-%m-%d").to_string()),
    }
}

/// A size in the largest unit that fits.
pub(crate) fn bytes(count: u64) -> String {
    const KILO: u64 = 1000;
    let units = [("GB", KILO * KILO * KILO), ("MB", KILO * KILO), ("kB", KILO)];
    match units.into_iter().find(|(_, unit)| count >= *unit) {
        Some((name, unit)) if count < 10 * unit => {
            format!("{}.{} {name}", count / unit, count % unit * 10 / unit)
        }
        Some((name, unit)) => format!("{} {name}", count / unit),
        None => format!("{count} B"),
    }
}

/// Dollars, with as many places as are needed to see something.
pub(crate) fn dollars(amount: f64) -> String {
    if amount == 0.0 {
        "–".to_owned()
    } else if amount < 0.01 {
        format!("${amount:.4}")
    } else {
        format!("${amount:.2}")
    }
}

#[cfg(test)]
mod tests;
