//! The reading behind `verify`: in pages, each a short transaction, so that the write-ahead log can
//! be cut back meanwhile.

use super::{Progress, Report, Stage};
use crate::error::ReadError;
use crate::{blob, dialect, log};
use rusqlite::{Connection, OptionalExtension as _};
use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;
use sturdy_session::fact::Fact;
use sturdy_session::growth;

/// Entries, rows or blobs read at a time.
const PAGE: i64 = 500;
/// What may follow a hole: the removal that made it.
const REMOVED: &str = "session.removed.1";

const HEAD: &str = "SELECT position, horizon FROM head WHERE id = 1";
const UNFOLDED: &str = "SELECT session_id FROM log WHERE position < ?1 AND kind = ?2
    AND NOT EXISTS (SELECT 1 FROM part WHERE part.session_id = log.session_id AND part.is_open = 1
    AND part.position < log.position) GROUP BY session_id HAVING COUNT(*) > 1";
const OWNER: &str = "SELECT session_id FROM log WHERE position = ?1";
// Without what is left of a removed session, and will go.
const ENTRIES: &str =
    "SELECT position, session_id, seq, kind, at, data, blob, NULL, NULL, actor, packed, told FROM log
    WHERE position > ?1 AND (kind = ?3 OR NOT EXISTS (SELECT 1 FROM removal
    WHERE removal.session_id = log.session_id)) ORDER BY position LIMIT ?2";
const BLOBS: &str = "SELECT hash, size, data, is_packed FROM blob WHERE hash > ?1 ORDER BY hash LIMIT ?2";

/// Every kind of row: its name, its count, its pages (session, id, JSON, position, whether what it belongs to exists).
/// Parts that are left of a removed session, and will go, are passed over.
const ROWS: [(&str, &str, &str); 5] = [
    (
        "session",
        "SELECT COUNT(*) FROM session",
        "SELECT id, id, data, position, 1 FROM session WHERE (id, id) > (?1, ?2) ORDER BY id LIMIT ?3",
    ),
    (
        "message",
        "SELECT COUNT(*) FROM message",
        "SELECT session_id, id, data, position,
         EXISTS (SELECT 1 FROM session WHERE session.id = message.session_id)
         FROM message WHERE (session_id, id) > (?1, ?2) ORDER BY session_id, id LIMIT ?3",
    ),
    (
        "part",
        "SELECT COUNT(*) FROM part",
        "SELECT session_id, id, data, position, EXISTS (SELECT 1 FROM message
         WHERE message.session_id = part.session_id AND message.id = part.message_id)
         FROM part WHERE (session_id, id) > (?1, ?2)
         AND NOT EXISTS (SELECT 1 FROM removal WHERE removal.session_id = part.session_id) ORDER BY session_id, id LIMIT ?3",
    ),
    (
        "ask",
        "SELECT COUNT(*) FROM ask",
        "SELECT session_id, id, data, position, EXISTS (SELECT 1 FROM session WHERE session.id = ask.session_id)
         FROM ask WHERE (session_id, id) > (?1, ?2) ORDER BY session_id, id LIMIT ?3",
    ),
    (
        "todo",
        "SELECT COUNT(*) FROM todo",
        "SELECT session_id, session_id, data, position,
         EXISTS (SELECT 1 FROM session WHERE session.id = todo.session_id)
         FROM todo WHERE (session_id, session_id) > (?1, ?2) ORDER BY session_id LIMIT ?3",
    ),
];

type Tell<'a> = &'a mut dyn FnMut(Progress);

pub(super) fn everything(path: &Path, tell: Tell<'_>) -> Result<Report, ReadError> {
    let connection = dialect::open_reader(path)?;
    let mut report = Report::default();
    // A damaged page stops the stage that meets it; the others may still have something to say.
    for stage in [file, entries, rows, shares, blobs] {
        match stage(&connection, tell, &mut report) {
            Err(ReadError::Broken { what, place }) => report.found(place, what),
            Err(error) => return Err(error),
            Ok(()) => {}
        }
    }
    Ok(report)
}

fn shares(connection: &Connection, _: Tell<'_>, report: &mut Report) -> Result<(), ReadError> {
    super::shares::check(connection, report)
}

fn file(connection: &Connection, tell: Tell<'_>, report: &mut Report) -> Result<(), ReadError> {
    tell(Progress { stage: Stage::File, done: 0, total: 1 });
    for line in dialect::integrity(connection)? {
        report.found("the database", line);
    }
    tell(Progress { stage: Stage::File, done: 1, total: 1 });
    Ok(())
}

fn entries(connection: &Connection, tell: Tell<'_>, report: &mut Report) -> Result<(), ReadError> {
    let mut last: HashMap<String, (u64, u64)> = HashMap::new();
    let mut after = 0_i64;
    loop {
        // One moment for the head and the page: folding may go on between two pages.
        let moment = connection.unchecked_transaction()?;
        let (head, horizon): (i64, i64) = moment.query_row(HEAD, (), |row| Ok((row.get(0)?, row.get(1)?)))?;
        let mut statement = moment.prepare_cached(ENTRIES)?;
        let mut rows = statement.query((after, PAGE, REMOVED))?;
        let mut read = 0;
        while let Some(row) = rows.next()? {
            read += 1;
            after = row.get(0)?;
            report.entries += 1;
            match log::entry(&moment, row) {
                Ok(entry) => check_entry(&entry, horizon.cast_unsigned(), &mut last, report),
                Err(failure) => match ReadError::from(failure) {
                    ReadError::Broken { what, place } => report.found(place, what),
                    error @ ReadError::Unavailable(_) => return Err(error),
                },
            }
        }
        tell(Progress {
            stage: Stage::Entries,
            done: after.cast_unsigned(),
            total: head.max(after).cast_unsigned(),
        });
        if read < PAGE {
            // The last entry of the whole log is the last of its session, and that is never removed.
            if after != head {
                report.found("head", format!("it is at {head}, the log at {after}"));
            }
            check_horizon(connection, head, horizon, report)?;
            return Ok(());
        }
    }
}

/// Below the horizon there is no growth, except what was once the last entry of its session, and that of a part
/// which a quarantined session has open.
fn check_horizon(
    connection: &Connection,
    head: i64,
    horizon: i64,
    report: &mut Report,
) -> Result<(), ReadError> {
    if horizon > head + 1 {
        report.found("horizon", format!("it is at {horizon}, the log ends at {head}"));
    }
    let mut statement = connection.prepare_cached(UNFOLDED)?;
    let mut rows = statement.query((horizon, growth::KIND))?;
    while let Some(row) = rows.next()? {
        let session: String = row.get(0)?;
        report.found("horizon", format!("it is at {horizon}, and {session} has growth before it"));
    }
    Ok(())
}

fn check_entry(
    entry: &log::LogEntry,
    horizon: u64,
    last: &mut HashMap<String, (u64, u64)>,
    report: &mut Report,
) {
    let place = || format!("log entry {} ({} {})", entry.position, entry.session, entry.seq);
    match last.get(entry.session.as_str()) {
        Some((seq, _)) if entry.seq <= *seq => report.found(place(), format!("follows seq {seq}")),
        // What is missing stood after `position`; folding removes nothing from the horizon on.
        Some((seq, position)) if entry.seq != seq + 1 && position + 1 >= horizon && entry.kind != REMOVED => {
            report.found(place(), format!("follows seq {seq}"));
        }
        Some(_) => {}
        None if entry.seq != 1 && entry.kind != REMOVED => {
            report.found(place(), "is the first of its session");
        }
        None => {}
    }
    last.insert(entry.session.as_str().to_owned(), (entry.seq, entry.position));
    if let Err(error) = Fact::parse(&entry.kind, &entry.data) {
        report.found(place(), error.to_string());
    }
}

fn rows(connection: &Connection, tell: Tell<'_>, report: &mut Report) -> Result<(), ReadError> {
    let mut total = 0;
    for (_, count, _) in ROWS {
        total += connection.query_row(count, (), |row| row.get::<_, i64>(0))?.cast_unsigned();
    }
    for (name, _, page) in ROWS {
        let mut after = (String::new(), String::new());
        loop {
            let mut statement = connection.prepare_cached(page)?;
            let mut rows = statement.query((&after.0, &after.1, PAGE))?;
            let mut read = 0;
            while let Some(row) = rows.next()? {
                read += 1;
                report.rows += 1;
                after = (row.get(0)?, row.get(1)?);
                let place = format!("{name} {}", after.1);
                let data: String = row.get(2)?;
                if let Err(error) = serde_json::from_str::<serde::de::IgnoredAny>(&data) {
                    report.found(&place, error.to_string());
                }
                let position: i64 = row.get(3)?;
                check_position(connection, name, &after.0, position, &place, report)?;
                if row.get::<_, i64>(4)? == 0 {
                    report.found(&place, "what it belongs to is missing");
                }
            }
            tell(Progress { stage: Stage::Rows, done: report.rows, total: total.max(report.rows) });
            if read < PAGE {
                break;
            }
        }
    }
    Ok(())
}

/// A row names the entry that wrote it. It may be folded away or lie before a removal, but what stands at that
/// position is of the same session, and the position is not beyond the end.
fn check_position(
    connection: &Connection,
    name: &str,
    session: &str,
    position: i64,
    place: &str,
    report: &mut Report,
) -> Result<(), ReadError> {
    let owner: Option<String> =
        connection.prepare_cached(OWNER)?.query_row([position], |row| row.get(0)).optional()?;
    let head: i64 = connection.prepare_cached(HEAD)?.query_row((), |row| row.get(0))?;
    match owner {
        Some(owner) if owner != session => {
            report.found(place, format!("its position {position} is that of an entry of {owner}"));
        }
        // Only growth is folded away, and growth writes no row.
        None => report.found(place, format!("the entry {position} that wrote this {name} is missing")),
        Some(_) if position > head => {
            report.found(place, format!("its position {position} is not in the log"));
        }
        Some(_) => {}
    }
    Ok(())
}

fn blobs(connection: &Connection, tell: Tell<'_>, report: &mut Report) -> Result<(), ReadError> {
    let total =
        connection.query_row("SELECT COUNT(*) FROM blob", (), |row| row.get::<_, i64>(0))?.cast_unsigned();
    let mut after = String::new();
    loop {
        let mut statement = connection.prepare_cached(BLOBS)?;
        // Few at a time: a blob can be large, and this holds one of them.
        let mut rows = statement.query((&after, PAGE))?;
        let mut read = 0;
        while let Some(row) = rows.next()? {
            read += 1;
            report.blobs += 1;
            after = row.get(0)?;
            let size: i64 = row.get(1)?;
            let stored = row.get_ref(2)?.as_blob().unwrap_or_default();
            let bytes = match row.get::<_, i64>(3)? {
                // What cannot be unpacked is not what its hash says either.
                1 => blob::content(stored, size, &after).map(Cow::Owned).unwrap_or_default(),
                _ => Cow::Borrowed(stored),
            };
            if blake3::hash(&bytes).to_hex().as_str() != after || bytes.len() as i64 != size {
                report.found(format!("blob {after}"), "its bytes are not those of its hash");
            }
        }
        tell(Progress { stage: Stage::Blobs, done: report.blobs, total: total.max(report.blobs) });
        if read < PAGE {
            return Ok(());
        }
    }
}
