//! An open part is its row plus its growth.
//!
//! The row of a streaming part is written when it opens and when it closes. Whoever reads it in
//! between gets the growth that follows the row added. What growth is, and how it is added, the
//! store is told by `sturdy_session::growth`: it only finds the entries.

use crate::error::Failure;
use crate::log::{Columns, text_of, text_or_empty};
use rusqlite::{Connection, Row};
use std::collections::HashMap;
use sturdy_session::growth;

/// The columns of a part that `Part::from_row` reads.
pub(crate) const PART_COLUMNS: &str = "id, session_id, is_open, data, position";

// By seq, because that is what the index orders; by position, because the row's own entry may be folded away.
const GREW: &str = "SELECT position, data, blob, packed FROM log WHERE session_id = ?1
    AND seq > COALESCE((SELECT seq FROM log WHERE position = ?2), 0) AND position > ?2 AND kind = ?3 ORDER BY seq";

/// What stands in a text for a piece of it that cannot be read.
const MISSING: &str = "\n[A piece of this text is damaged and cannot be read.]\n";

/// What to do about growth that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Damage {
    /// Somebody wants to read what there is: a sentence stands in its place.
    Shown,
    /// Somebody wants to go on with it: nothing is given.
    Refused,
}

/// A part as its row has it.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) id: String,
    pub(crate) session: String,
    pub(crate) is_open: bool,
    pub(crate) data: String,
    pub(crate) position: i64,
}

impl Part {
    pub(crate) fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            id: row.get(0)?,
            session: row.get(1)?,
            is_open: row.get::<_, i64>(2)? != 0,
            data: text_or_empty(row, 3)?,
            position: row.get(4)?,
        })
    }
}

/// Adds to the open ones among `parts` what they have grown by. One pass over the log for each session.
pub(crate) fn add_growth(connection: &Connection, parts: &mut [Part]) -> Result<(), Failure> {
    add_growth_or(connection, parts, Damage::Shown)
}

pub(crate) fn add_growth_or(
    connection: &Connection,
    parts: &mut [Part],
    damage: Damage,
) -> Result<(), Failure> {
    let mut open: HashMap<String, Vec<usize>> = HashMap::new();
    for (index, part) in parts.iter().enumerate().filter(|(_, part)| part.is_open) {
        open.entry(part.session.clone()).or_default().push(index);
    }
    for (session, indexes) in open {
        add_growth_of_session(connection, &session, &indexes, parts, damage)?;
    }
    Ok(())
}

fn add_growth_of_session(
    connection: &Connection,
    session: &str,
    indexes: &[usize],
    parts: &mut [Part],
    damage: Damage,
) -> Result<(), Failure> {
    let from = indexes.iter().map(|index| parts[*index].position).min().unwrap_or(0);
    let mut grown: HashMap<&str, (i64, String)> = indexes
        .iter()
        .map(|index| (parts[*index].id.as_str(), (parts[*index].position, String::new())))
        .collect();

    let mut statement = connection.prepare_cached(GREW)?;
    let mut rows = statement.query((session, from, growth::KIND))?;
    while let Some(row) = rows.next()? {
        let position: i64 = row.get(0)?;
        let read = text_of(connection, row, Columns { position: 0, data: 1, blob: 2, packed: 3 });
        let broken = |error| Failure::broken(format!("log entry {position}"), error);
        let grew = match &read {
            Ok(data) => growth::read(data).map_err(broken),
            Err(failure) => Err(failure.clone()),
        };
        match (&grew, damage) {
            (Ok(grew), _) => {
                if let Some((since, text)) = grown.get_mut(&*grew.part)
                    && position > *since
                {
                    text.push_str(&grew.delta);
                }
            }
            // Whose it was cannot be read either: each that was open then may miss something.
            (Err(Failure::Broken { .. }), Damage::Shown) => {
                for (_, text) in grown.values_mut().filter(|(since, _)| *since < position) {
                    text.push_str(MISSING);
                }
            }
            (Err(failure), _) => return Err(failure.clone()),
        }
    }

    let mut grown: HashMap<usize, String> = indexes
        .iter()
        .filter_map(|index| grown.remove(parts[*index].id.as_str()).map(|(_, text)| (*index, text)))
        .collect();
    for (index, text) in grown.drain().filter(|(_, text)| !text.is_empty()) {
        let part = &mut parts[index];
        match (growth::add(&part.data, &text), damage) {
            (Ok(grown), _) => part.data = grown,
            // Whoever looks at the row sees that it cannot be read.
            (Err(_), Damage::Shown) => {}
            (Err(error), Damage::Refused) => return Err(Failure::broken(format!("part {}", part.id), error)),
        }
    }
    Ok(())
}
