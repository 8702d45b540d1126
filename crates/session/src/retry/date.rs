//! The date form of HTTP headers: `Sun, 06 Nov 1994 08:49:37 GMT`.
//!
//! Only that form; the two older ones have not been sent for decades. Written out here
//! because this crate has neither a clock nor a calendar, and four lines need neither.

use crate::stamp::Millis;

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Milliseconds since the epoch, or `None` when it is not such a date or lies before 1970.
#[must_use]
pub fn http_date(text: &str) -> Option<Millis> {
    let (_, date) = text.trim().split_once(", ")?;
    let mut fields = date.split(' ');
    let day = digits(fields.next()?, 2)?;
    let month_name = fields.next()?;
    let month = MONTHS.iter().position(|name| *name == month_name)? as u64 + 1;
    let year = digits(fields.next()?, 4)?;
    let (hour, minute, second) = time(fields.next()?)?;
    let is_over = fields.next() == Some("GMT") && fields.next().is_none();

    if !is_over || year < 1970 || day == 0 || day > days_in(month, year) {
        return None;
    }
    let seconds = days_before(year, month) * 86_400 + (day - 1) * 86_400 + hour * 3600 + minute * 60 + second;
    Some(seconds * 1000)
}

fn time(text: &str) -> Option<(u64, u64, u64)> {
    let mut fields = text.split(':');
    let hour = digits(fields.next()?, 2)?;
    let minute = digits(fields.next()?, 2)?;
    let second = digits(fields.next()?, 2)?;
    // 60 is a leap second.
    let is_valid = fields.next().is_none() && hour < 24 && minute < 60 && second <= 60;
    is_valid.then_some((hour, minute, second))
}

fn digits(text: &str, length: usize) -> Option<u64> {
    let is_number = text.len() == length && text.bytes().all(|byte| byte.is_ascii_digit());
    if is_number { text.parse().ok() } else { None }
}

/// Days from the epoch to the first of the month.
fn days_before(year: u64, month: u64) -> u64 {
    let leaps = |year: u64| year / 4 - year / 100 + year / 400;
    let of_years = (year - 1970) * 365 + leaps(year - 1) - leaps(1969);
    of_years + (1..month).map(|month| days_in(month, year)).sum::<u64>()
}

fn days_in(month: u64, year: u64) -> u64 {
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}
