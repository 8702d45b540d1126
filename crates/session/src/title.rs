//! Titles: the default one, the generated one, and that of a fork.

pub mod slug;

use crate::json::{utf16_len, utf16_prefix};
use crate::stamp::Millis;

const NEW: &str = "New session - ";
const CHILD: &str = "Child session - ";
const LENGTH_MAX: usize = 100;

/// Longest title that anybody may give.
pub const TITLE_BYTES_MAX: usize = 1024;

/// A title as it is kept: one line, without anything that a terminal or a store would take for more
/// than a letter.
#[must_use]
pub fn tidy_title(title: &str) -> String {
    let letter = |letter: char| match letter {
        '\n' | '\r' | '\t' => Some(' '),
        control if control.is_control() => None,
        letter => Some(letter),
    };
    let mut tidy: String = title.chars().filter_map(letter).collect();
    tidy.truncate(tidy.floor_char_boundary(TITLE_BYTES_MAX));
    tidy
}

/// The title of a session created without one.
#[must_use]
pub fn default_title(has_parent: bool, at: Millis) -> String {
    format!("{}{}", if has_parent { CHILD } else { NEW }, iso_time(at))
}

/// Whether the title is still the default one, and so may be replaced by a generated one.
#[must_use]
pub fn is_default_title(title: &str) -> bool {
    let Some(time) = title.strip_prefix(NEW).or_else(|| title.strip_prefix(CHILD)) else { return false };
    let pattern = b"0000-00-00T00:00:00.000Z";
    time.len() == pattern.len()
        && time.bytes().zip(pattern).all(|(byte, want)| match want {
            b'0' => byte.is_ascii_digit(),
            other => byte == *other,
        })
}

/// What is kept of the model's answer: its first line that says something, without thinking aloud.
#[must_use]
pub fn clean_generated_title(answer: &str) -> Option<String> {
    let spoken = without_thinking(answer);
    let line =
        spoken.lines().map(tidy_title).map(|line| line.trim().to_owned()).find(|line| !line.is_empty())?;
    if utf16_len(&line) <= LENGTH_MAX {
        return Some(line);
    }
    Some(format!("{}...", utf16_prefix(&line, LENGTH_MAX - 3)))
}

/// The title of a copy.
#[must_use]
pub fn fork_title(title: &str) -> String {
    let numbered = title.strip_suffix(')').and_then(|rest| {
        let (name, number) = rest.rsplit_once(" (fork #")?;
        // Digits alone: `parse` would take a sign as well.
        let next = number.bytes().all(|byte| byte.is_ascii_digit()).then(|| number.parse::<u64>().ok())??;
        Some(format!("{name} (fork #{})", next.checked_add(1)?))
    });
    numbered.unwrap_or_else(|| format!("{title} (fork #1)"))
}

fn without_thinking(answer: &str) -> String {
    let mut spoken = String::with_capacity(answer.len());
    let mut rest = answer;
    while let Some((before, after)) = rest.split_once("<think>") {
        spoken.push_str(before);
        let Some((_, after)) = after.split_once("</think>") else { return spoken };
        rest = after.trim_start();
    }
    spoken.push_str(rest);
    spoken
}

/// UTC, ISO 8601, milliseconds, `Z`: the form clients test for.
#[must_use]
pub fn iso_time(at: Millis) -> String {
    let days = at / 86_400_000;
    let of_day = at % 86_400_000;
    let (year, month, day) = civil_date(days as i64);
    let hour = of_day / 3_600_000;
    let minute = of_day / 60_000 % 60;
    let second = of_day / 1000 % 60;
    let milli = of_day % 1000;
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
}

/// Days since 1970-01-01 to a date, by counting 400-year eras from the first of March.
fn civil_date(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}
