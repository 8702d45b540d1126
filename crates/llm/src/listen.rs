//! Sends a request and hands each event of the answer to a decoder.
//!
//! The same for all protocols: wait for headers, tell a stream from an error that came with
//! status 200, feed events, and decide what the end of the stream means. The decoder knows the
//! protocol and nothing of sockets.
//!
//! How it ends: the decoder says `Flow::Done`, or the provider closes, or the connection breaks.
//! A break after the decoder has heard the finish reason is no loss and counts as a close.

use crate::failure;
use crate::http::{self, Call, Timeouts};
use crate::limits::Limits;
use crate::secret::Redactor;
use crate::sse::Events;
use crate::{ModelError, http::earlier};
use ::http::header::CONTENT_TYPE;
use futures_util::stream::{self, BoxStream, StreamExt};
use serde_json::Value;
use sse_stream::Sse;
use std::collections::VecDeque;
use sturdy_session::talk::Said;
use sturdy_session::types::failure::Failure;
use tokio::time::Instant;

/// Whether the provider will say more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    More,
    Done,
}

/// What was decoded and not yet handed out.
pub(crate) type SaidQueue = VecDeque<Said>;

/// Turns the events of one answer into our words.
pub(crate) trait Decode: Send + 'static {
    fn event(&mut self, event: &Sse, out: &mut SaidQueue) -> Result<Flow, Failure>;

    /// The provider closed the stream. Says `Finished`, or why the answer cannot be used.
    fn closed(&mut self, out: &mut SaidQueue) -> Result<(), Failure>;

    /// The finish reason is known; nothing of the answer is missing.
    fn is_complete(&self) -> bool;
}

/// An answer in our words. Nothing is sent before the first poll.
pub(crate) fn answer(
    call: Result<Call, Failure>,
    decoder: impl Decode,
) -> BoxStream<'static, Result<Said, ModelError>> {
    let call = match call {
        Ok(call) => call,
        Err(failure) => return stream::iter([Err(ModelError::new(failure))]).boxed(),
    };
    let listening = Listening {
        redactor: call.redactor.clone(),
        timeouts: call.timeouts,
        phase: Phase::Asking(Box::new(call)),
        decoder,
        out: SaidQueue::new(),
        limits: Limits::default(),
    };
    stream::unfold(listening, Listening::next).boxed()
}

enum Phase {
    Asking(Box<Call>),
    Hearing(Box<Events>),
    Failed(Box<Failure>),
    Over,
}

struct Listening<D> {
    phase: Phase,
    decoder: D,
    out: SaidQueue,
    limits: Limits,
    redactor: Redactor,
    timeouts: Timeouts,
}

impl<D: Decode> Listening<D> {
    async fn next(mut self) -> Option<(Result<Said, ModelError>, Self)> {
        loop {
            // What was understood before a break comes out before the break.
            if let Some(said) = self.out.pop_front() {
                match self.limits.pass(said) {
                    Ok(said) => return Some((Ok(said), self)),
                    Err(failure) => {
                        self.out.clear();
                        self.fail(failure);
                        continue;
                    }
                }
            }
            match std::mem::replace(&mut self.phase, Phase::Over) {
                Phase::Asking(call) => {
                    let deadline = call.deadline();
                    match call.send(deadline).await {
                        Ok(response) => self.begin(response, deadline).await,
                        Err(error) => return Some((Err(error), self)),
                    }
                }
                Phase::Hearing(mut events) => match events.next().await {
                    Some(Ok(event)) => self.hear(&event, events),
                    Some(Err(_)) | None if self.decoder.is_complete() => self.close(),
                    Some(Err(failure)) => self.fail(failure),
                    None => self.close(),
                },
                Phase::Failed(failure) => {
                    let failure = self.redactor.failure(*failure);
                    return Some((Err(ModelError::new(failure)), self));
                }
                Phase::Over => return None,
            }
        }
    }

    /// The status said success. A body that is not an event stream is an error page.
    async fn begin(&mut self, response: reqwest::Response, deadline: Option<Instant>) {
        let kind =
            response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        if !kind.contains("json") && !kind.contains("html") {
            self.out.push_back(Said::Started);
            self.phase = Phase::Hearing(Box::new(Events::new(response, self.timeouts, deadline)));
            return;
        }
        let limit = earlier(self.timeouts.chunk_ms.map(http::after), deadline);
        let body = http::read_body(response, limit).await;
        self.fail(not_a_stream(&body));
    }

    fn hear(&mut self, event: &Sse, events: Box<Events>) {
        match self.decoder.event(event, &mut self.out) {
            Ok(Flow::More) => self.phase = Phase::Hearing(events),
            Ok(Flow::Done) => self.phase = Phase::Over,
            Err(failure) => self.fail(failure),
        }
    }

    fn close(&mut self) {
        if let Err(failure) = self.decoder.closed(&mut self.out) {
            self.fail(failure);
        }
    }

    fn fail(&mut self, failure: Failure) {
        self.phase = Phase::Failed(Box::new(failure));
    }
}

fn not_a_stream(body: &str) -> Failure {
    match serde_json::from_str::<Value>(body) {
        Ok(value) if !value["error"].is_null() => error_object(&value),
        _ => failure::bad_stream(format!("Provider sent no event stream but: {}", shorten(body))),
    }
}

/// `{"error": …}`, the form of errors that come in place of an answer.
pub(crate) fn error_object(value: &Value) -> Failure {
    failure::in_stream(&serde_json::json!({ "type": "error", "error": value["error"] }))
}

/// Enough of a text to recognise it.
pub(crate) fn shorten(text: &str) -> String {
    const SHOWN_CHARS: usize = 200;
    match text.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// An event's data as JSON of a shape. Lines that do not even look like JSON are skipped:
/// some gateways write words to keep the connection open. Damaged JSON is a broken stream,
/// because a piece of the answer is lost.
pub(crate) fn parse<'a, T: serde::Deserialize<'a>>(data: &'a str) -> Result<Option<T>, Failure> {
    if !data.trim_start().starts_with('{') {
        return Ok(None);
    }
    serde_json::from_str(data)
        .map(Some)
        .map_err(|error| failure::bad_stream(format!("Provider sent damaged JSON: {error}")))
}
