//! `sturdy du` and `sturdy gc`.

use super::{DataDir, ServerChoice};
use clap::Args;

/// Show the disk space that sessions use
///
/// The database, outputs that were too long for a model, and for each worktree the captured trees that undo needs.
/// Reads the data directory; a server may run or not.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sturdy du
  sturdy du --json | jq .total")]
pub(crate) struct Du {
    #[command(flatten)]
    pub(crate) data: DataDir,

    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

/// Free the disk space of removed sessions, and remove old sessions if you ask for it
///
/// Without --yes it only shows what would be removed. What an undo still needs is never removed.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sturdy gc                          what would be given back
  sturdy gc --yes
  sturdy gc --older-than 90d         with sessions that nobody touched for 90 days")]
pub(crate) struct Gc {
    /// Also remove sessions, of all projects, that have not changed for this long: 12h, 90d, 8w
    #[arg(long, value_name = "AGE", value_parser = age_ms)]
    pub(crate) older_than: Option<u64>,

    /// Remove; without this, only show what would be removed
    #[arg(long)]
    pub(crate) yes: bool,

    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) server: ServerChoice,
}

/// Milliseconds of a text such as `90d`.
fn age_ms(text: &str) -> Result<u64, String> {
    const HOUR_MS: u64 = 60 * 60 * 1000;
    let bad = || "a number and h, d or w, such as 90d".to_owned();
    let unit = match text.chars().next_back() {
        Some('h') => HOUR_MS,
        Some('d') => 24 * HOUR_MS,
        Some('w') => 7 * 24 * HOUR_MS,
        _ => return Err(bad()),
    };
    let count: u64 = text[..text.len() - 1].parse().map_err(|_| bad())?;
    count.checked_mul(unit).filter(|age| *age > 0).ok_or_else(bad)
}

#[cfg(test)]
mod tests {
    use super::age_ms;

    #[test]
    fn an_age_is_a_number_and_a_unit() {
        assert_eq!(age_ms("12h"), Ok(12 * 3_600_000));
        assert_eq!(age_ms("90d"), Ok(90 * 86_400_000));
        assert_eq!(age_ms("2w"), Ok(14 * 86_400_000));
        for bad in
            ["", "d", "0d", "-1d", "90", "1.5d", "99999999999999999999d", "18446744073709551615w", "90д"]
        {
            assert!(age_ms(bad).is_err(), "{bad:?}");
        }
    }
}
