//! Asks the model and passes on what it says.
//!
//! The request is built from the store as it stands when the step starts. What the model says is
//! gathered while the last of it becomes durable (`coalesce.rs`); a session that cannot keep up makes
//! the provider wait.

use super::InputSender;
use crate::error::EngineError;
use crate::extension::{Extensions, Moment};
use crate::run::Sessions;
use crate::run::coalesce::{FLOOR, Gathered};
use crate::run::kept::KeptHistory;
use crate::run::reading::StepReading;
use crate::run::request;
use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;
use sturdy_llm::ModelError;
use sturdy_session::depth::{LEVELS_MAX, is_deeper};
use sturdy_session::id::{MessageId, SessionId};
use sturdy_session::json::Map;
use sturdy_session::talk::{CallInput, Said};
use sturdy_session::turn::{Input, Tools};
use sturdy_session::types::failure::{ApiFailure, Failure};
use sturdy_session::types::part::{Part, PartBody};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;
use tracing::{Span, info};

/// Which answer is wanted.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) session: SessionId,
    pub(crate) step: MessageId,
    pub(crate) user: MessageId,
    pub(crate) attempt: u32,
    pub(crate) tools: Tools,
    /// Not an answer: a summary, asked for with this text.
    pub(crate) summary: Option<Arc<str>>,
    /// What the session sent last.
    pub(crate) kept: Arc<KeptHistory>,
    /// What was read for the request, and may be used if it is still so.
    pub(crate) reading: Option<Arc<StepReading>>,
}

pub(crate) async fn run(sessions: Arc<Sessions>, call: Call, back: InputSender, stop: CancellationToken) {
    // Dropping the stream ends the request; what was received and not sent would be dropped as stale anyway.
    tokio::select! {
        () = stop.cancelled() => {}
        () = talk(&sessions, &call, &back) => {}
    }
}

async fn talk(sessions: &Arc<Sessions>, call: &Call, back: &InputSender) {
    let failure = match request::for_step(sessions, call).await {
        Ok((model, mut request)) => {
            let moment = Moment { session: &call.session, message: &call.step };
            sessions.extensions.before_request(moment, &mut request).await;
            Span::current().record("model", request.model.as_str());
            info!("model called");
            let texts = Texts::new(&sessions.extensions, call);
            match said_before(sessions, call).await {
                Ok(before) => {
                    let panics = sessions.panics.clone();
                    let stream = model.stream(request).inspect(move |_| panics.come_true("stream")).boxed();
                    pump(stream, call, texts, before, back).await
                }
                Err(cause) => Some(Failure::unknown(cause.to_string())),
            }
        }
        Err(failure) => Some(failure),
    };
    if let Some(failure) = failure {
        let step = call.step.clone();
        let attempt = call.attempt;
        back.say(Input::Failed { step, attempt, failure }).await;
    }
}

/// What earlier attempts of this step have said; it is set aside as soon as this one is heard.
async fn said_before(sessions: &Arc<Sessions>, call: &Call) -> Result<Option<Input>, EngineError> {
    if call.attempt == 0 {
        return Ok(None);
    }
    let parts = request::message(sessions, &call.session, &call.step).await?.parts;
    let is_said = |part: &Part| matches!(part.body, PartBody::Text(_) | PartBody::Reasoning(_));
    let parts: Vec<_> = parts.into_iter().filter(is_said).collect();
    let step = call.step.clone();
    let attempt = call.attempt;
    Ok((!parts.is_empty()).then_some(Input::SetAside { step, attempt, parts }))
}

/// Passes a stream on until it ends; gives back how it broke, if it did.
async fn pump(
    mut stream: BoxStream<'static, Result<Said, ModelError>>,
    call: &Call,
    mut texts: Texts<'_>,
    mut before: Option<Input>,
    back: &InputSender,
) -> Option<Failure> {
    let mut gathered = Gathered::default();
    let mut in_flight: Option<BoxFuture<'_, bool>> = None;
    let mut not_before = Instant::now();
    let mut ended = false;
    let mut broke = None;
    let mut finished = false;
    loop {
        if in_flight.is_none() && !gathered.is_empty() && (ended || Instant::now() >= not_before) {
            let said = gathered.take().into_iter().map(|said| heard(call, said));
            let said = before.take().into_iter().chain(said).collect();
            in_flight = Some(Box::pin(back.say_all(said)));
            not_before = Instant::now() + FLOOR;
        }
        if ended && in_flight.is_none() {
            break;
        }
        tokio::select! {
            is_heard = async { in_flight.as_mut().expect("BUG: polled only while in flight").await },
                if in_flight.is_some() =>
            {
                in_flight = None;
                if !is_heard {
                    // The session is gone or cannot be written: nobody wants the rest.
                    return None;
                }
            }
            item = stream.next(), if !ended && !gathered.is_full() => match item {
                Some(Ok(said)) => {
                    finished |= matches!(said, Said::Finished { .. });
                    gathered.push(texts.hear(flat_enough(said)).await);
                }
                Some(Err(error)) => (ended, broke) = (true, Some(error.into_failure())),
                None => ended = true,
            },
            () = sleep_until(not_before), if in_flight.is_none() && !gathered.is_empty() => {}
        }
    }
    match broke {
        None if !finished => Some(cut_off()),
        broke => broke,
    }
}

/// The texts that are open, for extensions to look at when they are complete.
struct Texts<'a> {
    extensions: &'a Extensions,
    call: &'a Call,
    open: HashMap<String, String>,
}

impl<'a> Texts<'a> {
    fn new(extensions: &'a Extensions, call: &'a Call) -> Self {
        Self { extensions, call, open: HashMap::new() }
    }

    /// What is passed on of what was said: the same, or another text at its end.
    async fn hear(&mut self, said: Said) -> Said {
        if self.extensions.is_empty() {
            return said;
        }
        match said {
            Said::TextGrew { block, text } => {
                self.open.entry(block.clone()).or_default().push_str(&text);
                Said::TextGrew { block, text }
            }
            Said::TextEnded { block, metadata } => {
                let said = self.open.remove(&block).unwrap_or_default();
                let mut text = said.clone();
                let moment = Moment { session: &self.call.session, message: &self.call.step };
                self.extensions.after_text(moment, &mut text).await;
                if text == said {
                    return Said::TextEnded { block, metadata };
                }
                Said::TextReplaced { block, text, metadata }
            }
            other => other,
        }
    }
}

/// What a model says, without what is too deep to be stored. Arguments that are too deep are malformed, and
/// the model is told so.
fn flat_enough(mut said: Said) -> Said {
    match &mut said {
        Said::ToolCalled { input, metadata, .. } => {
            if let CallInput::Json(value) = input
                && is_deeper(value, LEVELS_MAX)
            {
                let error = format!("lists and objects nest deeper than {LEVELS_MAX} levels");
                *input = CallInput::Malformed { text: value.to_string(), error };
            }
            drop_deep(metadata);
        }
        Said::ToolReturned { output, .. } => {
            if is_deeper(output, LEVELS_MAX) {
                *output = Value::String(output.to_string());
            }
        }
        Said::TextStarted { metadata, .. }
        | Said::TextEnded { metadata, .. }
        | Said::TextReplaced { metadata, .. }
        | Said::ReasoningStarted { metadata, .. }
        | Said::ReasoningGrew { metadata, .. }
        | Said::ReasoningEnded { metadata, .. }
        | Said::Finished { metadata, .. } => drop_deep(metadata),
        Said::Started
        | Said::TextGrew { .. }
        | Said::ToolInputStarted { .. }
        | Said::ToolInputGrew { .. } => {}
    }
    said
}

/// What a provider wants back for its own use is flat; anything else is not kept.
fn drop_deep(metadata: &mut Option<Map>) {
    if metadata.as_ref().is_some_and(|map| map.values().any(|value| is_deeper(value, LEVELS_MAX - 1))) {
        *metadata = None;
    }
}

fn heard(call: &Call, said: Said) -> Input {
    Input::Said { step: call.step.clone(), attempt: call.attempt, said }
}

fn cut_off() -> Failure {
    let message = "The provider's stream ended in the middle of an answer".to_owned();
    Failure::Api(ApiFailure { message, is_retryable: true, ..ApiFailure::default() })
}
