//! Whether the events of the v2 API are numbered as they were told: from 1 on, without a gap, as often as each fact tells one.
//!
//! A client that was away names the last number it saw. A number that is wrong in the store shows it something twice, or never.

use sturdy_store::{LogEntry, told_before_it_was_counted};

/// The first entry of a session whose number is not what the facts lead to. `tells` is how many events each of them is.
///
/// Growth that was folded away, and what a later entry took the place of, told nothing that is numbered: it is not missed.
pub(super) fn first_wrong(entries: &[LogEntry], tells: &[u64]) -> Option<String> {
    // What is left of a session that was removed goes on behind the number of its removal.
    let first = entries.first()?;
    let mut last = if first.seq == 1 { 0 } else { first.told.saturating_sub(*tells.first()?) };
    // Entries that an earlier version wrote stand before all others.
    let mut is_older = true;
    for (entry, tells) in entries.iter().zip(tells) {
        let counted = last.saturating_add(*tells);
        is_older = is_older && entry.told == told_before_it_was_counted(entry.seq);
        if entry.told != counted && !is_older {
            let LogEntry { seq, told, .. } = entry;
            return Some(format!("entry {seq}: its last event has the number {told} and not {counted}"));
        }
        last = entry.told;
    }
    None
}
