//! The titles of all sessions in memory, so that a search of them reads no rows: people search with every key press, and
//! a text that no title holds would otherwise be looked for in each of them.
//!
//! What is kept here only says which sessions *may* match. The statement that lists sessions compares their titles again,
//! so a title that was changed since, or belongs to a session that is gone, is not found by mistake. The other way
//! round, every search first takes in the sessions that were written since the last one, within its own transaction.
//!
//! Not here: the statement (`sessions.rs`).

use memchr::memmem;
use rusqlite::Connection;
use std::collections::HashMap;
use std::ops::Range;

/// More sessions than this are searched in the database: in memory they would be some 50 MB.
const SESSIONS_MAX: usize = 500_000;
/// More candidates than this say nothing worth knowing: the list finds them soon enough by itself.
const CANDIDATES_MAX: usize = 200;
/// Titles that nobody has any more are dropped when they are this much of the text and more than half of it.
const STALE_BYTES_MIN: usize = 64 * 1024;
/// Between two titles. No title holds it: see `committer/write.rs`.
const BETWEEN: u8 = 0;

const CHANGED: &str = "SELECT id, title, position FROM session WHERE position > ?1";

#[derive(Debug)]
pub(crate) struct Titles {
    /// All titles in lower case, one behind the other.
    text: Vec<u8>,
    /// Where each title in `text` ends, and whose it is, in the order of `text`.
    ends: Vec<(usize, String)>,
    /// Where in `text` the title of a session stands now.
    now: HashMap<String, Range<usize>>,
    /// Bytes of `text` that are not in `now`.
    stale: usize,
    /// Of the newest session row that was taken in.
    position: i64,
}

impl Default for Titles {
    fn default() -> Self {
        Self { text: Vec::new(), ends: Vec::new(), now: HashMap::new(), stale: 0, position: -1 }
    }
}

impl Titles {
    /// The sessions whose titles may contain this, which is in lower case. None: too many, or too many sessions.
    pub(crate) fn candidates(
        &mut self,
        connection: &Connection,
        search: &str,
    ) -> rusqlite::Result<Option<Vec<String>>> {
        if self.stale > STALE_BYTES_MIN && self.stale * 2 > self.text.len() {
            *self = Self::default();
        }
        self.take_in_changes(connection)?;
        if search.is_empty() || self.now.len() > SESSIONS_MAX {
            return Ok(None);
        }
        let mut found: Vec<String> = Vec::new();
        for place in memmem::find_iter(&self.text, search.as_bytes()) {
            let index = self.ends.partition_point(|(end, _)| *end <= place);
            let Some((_, id)) = self.ends.get(index) else { break };
            // A title may hold it several times, and a session may have had several such titles.
            if !found.contains(id) {
                found.push(id.clone());
            }
            if found.len() > CANDIDATES_MAX {
                return Ok(None);
            }
        }
        Ok(Some(found))
    }

    fn take_in_changes(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        let mut statement = connection.prepare_cached(CHANGED)?;
        let mut rows = statement.query([self.position])?;
        let mut newest = self.position;
        while let Some(row) = rows.next()? {
            let title: String = row.get(1)?;
            self.put(row.get(0)?, &title.to_ascii_lowercase());
            newest = newest.max(row.get(2)?);
        }
        self.position = newest;
        Ok(())
    }

    fn put(&mut self, id: String, title: &str) {
        if let Some(known) = self.now.get(&id) {
            // Most changes of a session are not of its title.
            if &self.text[known.clone()] == title.as_bytes() {
                return;
            }
            self.stale += known.len();
        }
        let start = self.text.len();
        self.text.extend_from_slice(title.as_bytes());
        self.now.insert(id.clone(), start..self.text.len());
        self.text.push(BETWEEN);
        self.ends.push((self.text.len(), id));
    }
}
