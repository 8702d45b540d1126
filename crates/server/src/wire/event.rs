//! What a fact looks like on a stream.
//!
//! Every fact shows itself as at most one wire event. Its id is made of the fact's time and position,
//! so that a replay is byte for byte what was sent live. A frame is built once, by the first reader
//! that needs it, and shared by all.
//!
//! Rows come from the store as text and go out as text.

use bytes::Bytes;
use serde::Serialize;
use std::fmt::Write as _;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use sturdy_engine::feed::{Body, Shown, ShownFact};
use sturdy_session::fact::Fact;
use sturdy_session::id::{compose, time_word};
use sturdy_session::types::event::{Event, PermissionReplied, QuestionRejected, QuestionReplied};

/// Directory of events that belong to none.
const WHOLE_SERVER: &str = "global";

/// The two forms a frame can have; also the place of each among the frames of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    /// `/event`: one directory, bare events.
    Instance = 0,
    /// `/global/event`: all of them, each in an envelope.
    Global = 1,
}

/// The frame of an entry; empty when it shows nothing.
pub(crate) fn frame(shown: &Shown, stream: Stream) -> Bytes {
    shown.frames[stream as usize].get_or_init(|| build(shown, stream)).clone()
}

fn build(shown: &Shown, stream: Stream) -> Bytes {
    let Some(event) = event(shown) else { return Bytes::new() };
    let mut out = String::with_capacity(event.len() + 160);
    if let Some(position) = shown.position() {
        // Only what is stored can be asked for again.
        let _ = writeln!(out, "id: {position}");
    }
    out.push_str("data: ");
    match stream {
        Stream::Instance => out.push_str(&event),
        Stream::Global => {
            out.push_str("{\"directory\":");
            push_json(&mut out, shown.directory.as_deref().unwrap_or(WHOLE_SERVER));
            if let Some(project) = &shown.project {
                out.push_str(",\"project\":");
                push_json(&mut out, project.as_ref());
            }
            out.push_str(",\"payload\":");
            out.push_str(&event);
            out.push('}');
        }
    }
    out.push_str("\n\n");
    Bytes::from(out)
}

/// A frame the server itself sends: the first of a stream, and its heartbeat.
pub(crate) fn server_frame(stream: Stream, at: u64, event: &Event) -> Bytes {
    let event = told(at, event, RandomState::new().build_hasher().finish());
    Bytes::from(match stream {
        Stream::Instance => format!("data: {event}\n\n"),
        Stream::Global => format!("data: {{\"payload\":{event}}}\n\n"),
    })
}

/// The event of an entry as JSON; none when it shows nothing.
pub(crate) fn event(shown: &Shown) -> Option<String> {
    match &shown.body {
        Body::Fact(fact) => of_fact(shown.at, fact),
        Body::Event(event) => Some(told(shown.at, event, fingerprint(event))),
    }
}

/// An event that is not stored. The same on both streams, so its id is made of what it says.
fn told(at: u64, event: &Event, mark: u64) -> String {
    let text = json(event);
    format!("{{\"id\":\"{}\",{}", event_id(at, mark), &text[1..])
}

fn fingerprint(event: &Event) -> u64 {
    let mut hasher = std::hash::DefaultHasher::new();
    hasher.write(json(event).as_bytes());
    hasher.finish()
}

/// `evt_`, the time, and the place in the log as 14 digits of base 62.
fn event_id(at: u64, place: u64) -> String {
    let mut digits = [0_u8; 14];
    let mut rest = place;
    for digit in digits.iter_mut().rev() {
        *digit = (rest % 62) as u8;
        rest /= 62;
    }
    compose("evt", time_word(at, 1), &digits)
}

fn of_fact(at: u64, fact: &ShownFact) -> Option<String> {
    let open = |kind: &str| Writer::open(at, fact, kind);
    let row = || fact.row.as_deref();
    Some(
        match &fact.fact {
            Fact::SessionCreated { .. } => open("session.created").row("info", row()?),
            Fact::SessionEdited { .. } => open("session.updated").row("info", row()?),
            Fact::SessionRemoved { .. } => open("session.deleted").row("info", row()?),
            Fact::MessageAdded { .. }
            | Fact::MessageCopied { .. }
            | Fact::StepStarted { .. }
            | Fact::StepFinished { .. }
            | Fact::StepEnded { .. }
            | Fact::TurnSummarised { .. }
            | Fact::TurnDiffed { .. } => open("message.updated").row("info", row()?),
            Fact::PartWritten { .. }
            | Fact::TextStarted { .. }
            | Fact::TextEnded { .. }
            | Fact::ToolCalled { .. }
            | Fact::ToolStarted { .. }
            | Fact::ToolProgressed { .. }
            | Fact::ToolEnded { .. }
            | Fact::ToolCompacted { .. } => {
                open("message.part.updated").row("part", row()?).field("time", &at)
            }
            Fact::TextGrew { message, part, delta } => open("message.part.delta")
                .field("messageID", message)
                .field("partID", part)
                .field("field", "text")
                .field("delta", delta),
            Fact::MessageRemoved { message, .. } => open("message.removed").field("messageID", message),
            Fact::PartRemoved { message, part, .. } => {
                open("message.part.removed").field("messageID", message).field("partID", part)
            }
            Fact::SessionFailed { error } => open("session.error").field("error", error),
            Fact::StatusChanged { status } => open("session.status").field("status", status),
            Fact::SessionIdled => open("session.idle"),
            Fact::SessionDiffed { diff } => open("session.diff").field("diff", diff),
            Fact::SessionCompacted => open("session.compacted"),
            Fact::TodoSet { todos } => open("todo.updated").field("todos", todos),
            Fact::PermissionAsked { request } => Writer::whole(at, fact, "permission.asked", request),
            Fact::PermissionReplied { request, reply, .. } => {
                let (session_id, request_id) = (fact.session.clone(), request.clone());
                let replied = PermissionReplied { session_id, request_id, reply: *reply };
                Writer::whole(at, fact, "permission.replied", &replied)
            }
            Fact::QuestionAsked { request } => Writer::whole(at, fact, "question.asked", request),
            Fact::QuestionReplied { request, answers } => {
                let (session_id, request_id) = (fact.session.clone(), request.clone());
                let replied = QuestionReplied { session_id, request_id, answers: answers.clone() };
                Writer::whole(at, fact, "question.replied", &replied)
            }
            Fact::QuestionRejected { request } => {
                let rejected =
                    QuestionRejected { session_id: fact.session.clone(), request_id: request.clone() };
                Writer::whole(at, fact, "question.rejected", &rejected)
            }
            Fact::CommandExecuted { name, arguments, message } => {
                let (name, session_id) = (name.clone(), fact.session.clone());
                let (arguments, message_id) = (arguments.clone(), message.clone());
                return Some(told(
                    at,
                    &Event::CommandExecuted { name, session_id, arguments, message_id },
                    fact.position,
                ));
            }
            Fact::PromptAdmitted { .. }
            | Fact::PromptPromoted { .. }
            | Fact::PromptWithdrawn { .. }
            | Fact::CompactionWanted { .. }
            | Fact::ModelFinished { .. }
            | Fact::FilesChanged { .. }
            | Fact::TurnStopping => return None,
        }
        .close(),
    )
}

/// `{"id":…,"type":…,"properties":{"sessionID":…` and so on.
struct Writer {
    out: String,
    /// What closes the properties and the event.
    end: &'static str,
}

impl Writer {
    fn open(at: u64, fact: &ShownFact, kind: &str) -> Self {
        let (row, growth) = match &fact.fact {
            Fact::TextGrew { delta, .. } => (0, delta.len()),
            _ => (fact.row.as_ref().map_or(0, String::len), 0),
        };
        let mut out = String::with_capacity(row + growth + 256);
        let id = event_id(at, fact.position);
        let _ = write!(out, "{{\"id\":\"{id}\",\"type\":\"{kind}\",\"properties\":{{\"sessionID\":");
        push_json(&mut out, &fact.session);
        Self { out, end: "}}" }
    }

    /// An event whose properties are one record.
    fn whole<T: Serialize>(at: u64, fact: &ShownFact, kind: &str, properties: &T) -> Self {
        let (id, properties) = (event_id(at, fact.position), json(properties));
        let out = format!("{{\"id\":\"{id}\",\"type\":\"{kind}\",\"properties\":{properties}");
        Self { out, end: "}" }
    }

    fn row(mut self, name: &str, json: &str) -> Self {
        let _ = write!(self.out, ",\"{name}\":{json}");
        self
    }

    fn field<T: Serialize + ?Sized>(mut self, name: &str, value: &T) -> Self {
        let _ = write!(self.out, ",\"{name}\":");
        push_json(&mut self.out, value);
        self
    }

    fn close(mut self) -> String {
        self.out.push_str(self.end);
        self.out
    }
}

fn push_json<T: Serialize + ?Sized>(out: &mut String, value: &T) {
    out.push_str(&json(value));
}

fn json<T: Serialize + ?Sized>(value: &T) -> String {
    serde_json::to_string(value).expect("BUG: an event is always JSON")
}
