//! A session's entries shown again, page by page, for whoever looks at its past.
//!
//! Unlike a reader, nobody waits here and nothing is resumed: a page is read from the log, forward from the nearest
//! place where the session's state is known. Below the horizon growth may be gone; texts then appear whole.

use super::reader::{begin, fetch};
use super::text_of;
use crate::records::large::LargeValues;
use bytes::Bytes;
use sturdy_session::id::SessionId;
use sturdy_session::show::Replay;
use sturdy_session::stamp::Millis;
use sturdy_store::{ReadError, Scope, Store};

/// A page ends when it holds this much.
const PAGE_BYTES_MAX: usize = 2 * 1024 * 1024;

/// One entry and what clients were told of it.
#[derive(Clone, Debug)]
pub struct PastEntry {
    pub position: u64,
    pub at: Millis,
    /// On whose behalf; empty: the session itself.
    pub actor: String,
    /// As JSON, in order: `{"type":…,"properties":…}` each.
    pub events: Vec<Bytes>,
}

#[derive(Clone, Debug)]
pub struct PastPage {
    pub entries: Vec<PastEntry>,
    /// Where to read on; none when this was the end of the log.
    pub next: Option<u64>,
    /// Growth before this position may be gone.
    pub horizon: u64,
}

/// Entries of one session after a position, about `limit` of them.
pub(crate) async fn past(
    store: &Store,
    session: &SessionId,
    after: u64,
    limit: usize,
    large: LargeValues,
) -> Result<PastPage, ReadError> {
    let mut replay: Option<Replay> = None;
    let mut page = PastPage { entries: Vec::new(), next: None, horizon: 0 };
    let mut position = after;
    let mut bytes = 0;
    while page.entries.len() < limit && bytes < PAGE_BYTES_MAX {
        let known = replay.iter().map(|_| session.clone()).collect();
        let fetched = fetch(store.clone(), position, Scope::Session(session.clone()), known).await?;
        page.horizon = fetched.horizon;
        // A page of which nothing could be read is not the end.
        if fetched.facts.is_empty() && !fetched.has_gap {
            page.next = None;
            return Ok(page);
        }
        for origin in fetched.origins {
            replay = Some(begin(origin).0);
        }
        let state = replay.get_or_insert_default();
        for (entry, fact) in fetched.facts {
            let events = state.show(&fact, entry.at);
            let events: Vec<Bytes> = events.iter().map(|event| large.event(text_of(event))).collect();
            bytes += events.iter().map(Bytes::len).sum::<usize>();
            page.entries.push(PastEntry {
                position: entry.position,
                at: entry.at,
                actor: entry.actor,
                events,
            });
        }
        position = fetched.reached;
        page.next = Some(position);
    }
    Ok(page)
}
