//! What an event looks like on a stream: its id, its envelope, its frame.
//!
//! Which events an entry shows is `sturdy_session::show`'s; here they get an id made of the entry's time and
//! place, so that a replay is byte for byte what was sent live. The text of an event is shared by all readers
//! and goes out in pieces: a frame is never put together whole.

use bytes::Bytes;
use serde::Serialize;
use serde_json::json;
use std::fmt::Write as _;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use sturdy_engine::feed::{Cursor, Resync, Shown};
use sturdy_session::id::{compose, time_word};
use sturdy_session::types::event::Event;

/// Directory of events that belong to none.
const WHOLE_SERVER: &str = "global";

/// The two forms a frame can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    /// `/event`: one directory, bare events.
    Instance,
    /// `/global/event`: all of them, each in an envelope.
    Global,
}

/// A frame in the three pieces it is made of; the middle one is shared.
#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) head: Bytes,
    pub(crate) event: Bytes,
    pub(crate) tail: &'static str,
}

impl Frame {
    /// One event of an entry, in the form its reader wants. Only what is stored can be asked for again, and has a cursor.
    pub(crate) fn new(
        shown: &Shown,
        index: usize,
        event: Bytes,
        cursor: Option<Cursor>,
        stream: Stream,
        epoch: &str,
    ) -> Self {
        let mut head = String::with_capacity(192);
        if let Some(cursor) = cursor {
            let _ = writeln!(head, "id: {}", cursor.text(epoch));
        }
        head.push_str("data: ");
        if stream == Stream::Global {
            head.push_str("{\"directory\":");
            push_json(&mut head, shown.directory.as_deref().unwrap_or(WHOLE_SERVER));
            if let Some(project) = &shown.project {
                head.push_str(",\"project\":");
                push_json(&mut head, project.as_ref());
            }
            head.push_str(",\"payload\":");
        }
        let _ = write!(head, "{{\"id\":\"{}\",", id_of(shown, index));
        let event = event.slice(1..);
        let tail = match stream {
            Stream::Instance => "\n\n",
            Stream::Global => "}\n\n",
        };
        Self { head: Bytes::from(head), event, tail }
    }

    pub(crate) fn len(&self) -> usize {
        self.head.len() + self.event.len() + self.tail.len()
    }
}

/// A frame the server itself sends: the first of a stream, with the place where it begins if the client does not
/// know it, and its heartbeat.
pub(crate) fn server_frame(stream: Stream, at: u64, event: &Event, cursor: Option<&str>) -> Bytes {
    let text = text_of(event);
    let random = u128::from(RandomState::new().build_hasher().finish());
    wrapped(stream, cursor, &format!("{{\"id\":\"{}\",{}", event_id(at, random), &text[1..]))
}

/// The first frame of the stream of the v2 API.
pub(crate) fn v2_connected(at: u64) -> Bytes {
    let id = event_id(at, u128::from(RandomState::new().build_hasher().finish()));
    Bytes::from(format!("data: {}\n\n", json!({ "id": id, "type": "server.connected", "data": {} })))
}

/// The id of one event of an entry.
pub(crate) fn entry_event_id(at: u64, position: u64, index: usize) -> String {
    event_id(at, (u128::from(position) << 22) | index as u128)
}

/// Tells a client that it cannot go on where it was: it reads everything anew, and goes on from here.
pub(crate) fn resync_frame(stream: Stream, at: u64, why: Resync, cursor: Cursor, epoch: &str) -> Bytes {
    let event = resync_event(at, why, cursor, epoch);
    wrapped(stream, Some(&cursor.text(epoch)), &event)
}

/// The same without a frame.
pub(crate) fn resync_event(at: u64, why: Resync, cursor: Cursor, epoch: &str) -> String {
    let event = Event::Resync { reason: why.word().to_owned(), cursor: cursor.text(epoch) };
    let id = event_id(at, u128::from(RandomState::new().build_hasher().finish()));
    format!("{{\"id\":\"{id}\",{}", &text_of(&event)[1..])
}

fn wrapped(stream: Stream, cursor: Option<&str>, event: &str) -> Bytes {
    let id = cursor.map(|cursor| format!("id: {cursor}\n")).unwrap_or_default();
    Bytes::from(match stream {
        Stream::Instance => format!("{id}data: {event}\n\n"),
        Stream::Global => format!("{id}data: {{\"payload\":{event}}}\n\n"),
    })
}

/// One event of an entry as JSON, with its id.
pub(crate) fn event(shown: &Shown, index: usize) -> String {
    let text = std::str::from_utf8(&shown.events[index]).expect("BUG: an event is always JSON");
    format!("{{\"id\":\"{}\",{}", id_of(shown, index), &text[1..])
}

/// The same on both streams and in every replay: made of the place in the log, or, for what is not stored,
/// of what it says.
fn id_of(shown: &Shown, index: usize) -> String {
    let place = match shown.position() {
        Some(position) => (u128::from(position) << 22) | index as u128,
        None => {
            let mut hasher = std::hash::DefaultHasher::new();
            hasher.write(&shown.events[index]);
            u128::from(hasher.finish())
        }
    };
    event_id(shown.at, place)
}

/// `evt_`, the time, and the place as 14 digits of base 62.
fn event_id(at: u64, place: u128) -> String {
    let mut digits = [0_u8; 14];
    let mut rest = place;
    for digit in digits.iter_mut().rev() {
        *digit = (rest % 62) as u8;
        rest /= 62;
    }
    compose("evt", time_word(at, 1), &digits)
}

fn push_json<T: Serialize + ?Sized>(out: &mut String, value: &T) {
    out.push_str(&text_of(value));
}

fn text_of<T: Serialize + ?Sized>(value: &T) -> String {
    serde_json::to_string(value).expect("BUG: an event is always JSON")
}
