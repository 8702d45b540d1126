//! Reading a request: ids in the path, the body. What does not fit is refused in the
//! wire's words, with its place.

use crate::app::App;
use crate::error::{ApiError, Kind};
use crate::wire::schema;
use axum::body::{Body, BodyDataStream, HttpBody as _};
use axum::extract::{FromRequest, FromRequestParts, RawPathParams, Request};
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt as _;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http::request::Parts;
use serde::de::DeserializeOwned;
use std::time::Duration;
use sturdy_session::id::{IdError, MessageId, SessionId};
use tokio::time::Instant;

/// A sender may be slow to begin, and silent for a while; then it has to get on.
const HEAD_START: Duration = Duration::from_secs(10);
const SILENCE_MAX: Duration = Duration::from_secs(15);
const BYTES_PER_SECOND_MIN: u64 = 8 * 1024;

/// What is read away of a body that was refused.
const DRAIN_BYTES_MAX: usize = 128 * 1024 * 1024;
const DRAIN_PATIENCE: Duration = Duration::from_secs(10);

/// Enough for everything but prompts, which carry files.
pub(crate) const BODY_BYTES_MAX: usize = 1024 * 1024;
pub(crate) const PROMPT_BYTES_MAX: usize = 32 * 1024 * 1024;

/// A JSON body.
#[derive(Debug)]
pub(crate) struct Payload<T, const BYTES_MAX: usize = BODY_BYTES_MAX>(pub(crate) T);

impl<T: DeserializeOwned, const BYTES_MAX: usize> FromRequest<App> for Payload<T, BYTES_MAX> {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &App) -> Result<Self, ApiError> {
        let (parts, body) = request.into_parts();
        expect_json(&parts, &body)?;
        let bytes = receive(app, &parts, body, BYTES_MAX).await?;
        schema::parse(&bytes).map(Self)
    }
}

/// A JSON body that may be left out, of whatever type an empty one claims to be.
#[derive(Debug)]
pub(crate) struct Optional<T>(pub(crate) T);

impl<T: DeserializeOwned + Default> FromRequest<App> for Optional<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &App) -> Result<Self, ApiError> {
        let Some(bytes) = optional(request, app).await? else { return Ok(Self(T::default())) };
        // Clients know a body without words for these routes.
        schema::parse(&bytes).map(Self).map_err(|_| ApiError::Handler)
    }
}

/// The same where a body that does not fit is told why.
#[derive(Debug)]
pub(crate) struct OptionalPayload<T>(pub(crate) T);

impl<T: DeserializeOwned + Default> FromRequest<App> for OptionalPayload<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &App) -> Result<Self, ApiError> {
        match optional(request, app).await? {
            Some(bytes) => schema::parse(&bytes).map(Self),
            None => Ok(Self(T::default())),
        }
    }
}

/// A body, unless there is none.
async fn optional(request: Request, app: &App) -> Result<Option<Bytes>, ApiError> {
    let (parts, body) = request.into_parts();
    let said = expect_json(&parts, &body);
    let bytes = receive(app, &parts, body, BODY_BYTES_MAX).await?;
    if bytes.trim_ascii().is_empty() {
        return Ok(None);
    }
    said?;
    Ok(Some(bytes))
}

/// A body says that it is JSON, or is not read. A page of another origin can send text without asking
/// first, also text of no type at all; it cannot send JSON.
fn expect_json(parts: &Parts, body: &Body) -> Result<(), ApiError> {
    let Some(kind) = parts.headers.get(CONTENT_TYPE) else {
        return if body.is_end_stream() { Ok(()) } else { Err(ApiError::NoContentType) };
    };
    let text = String::from_utf8_lossy(kind.as_bytes());
    let essence = text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if essence == "application/json" {
        return Ok(());
    }
    Err(ApiError::ContentType(text.chars().take(100).collect()))
}

/// Receives a body, if there is room for one of its size.
async fn receive(app: &App, parts: &Parts, body: Body, bytes_max: usize) -> Result<Bytes, ApiError> {
    let is_large = bytes_max > BODY_BYTES_MAX && announced(parts).is_none_or(|bytes| bytes > BODY_BYTES_MAX);
    let _place = match is_large.then(|| app.upload()) {
        Some(None) => {
            let why = "Too many large request bodies are being received. Try again in a moment.";
            return Err(ApiError::Overloaded(why.to_owned()));
        }
        place => place,
    };
    read(parts, body, bytes_max).await.map_err(|unread| unread.refuse(app))
}

/// A body that was not read to its end.
#[derive(Debug)]
pub(crate) struct Unread {
    why: ApiError,
    rest: Option<BodyDataStream>,
}

impl Unread {
    /// Refuses it. The answer goes out now; what is still coming is read away behind it, because a sender
    /// that is cut off while it writes sees a broken pipe and never reads why.
    pub(crate) fn refuse(self, app: &App) -> ApiError {
        if let Some(rest) = self.rest {
            let reading = tokio::time::timeout(DRAIN_PATIENCE, read_away(rest));
            app.engine().tasks().spawn("unread body", async {
                let _ = reading.await;
            });
        }
        self.why
    }
}

fn announced(parts: &Parts) -> Option<usize> {
    parts.headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok())
}

/// Reads a body of at most this size, from a sender that gets on.
pub(crate) async fn read(parts: &Parts, body: Body, bytes_max: usize) -> Result<Bytes, Unread> {
    let mut chunks = body.into_data_stream();
    // Refused before it is sent, where the sender says how much it is.
    if announced(parts).is_some_and(|length| length > bytes_max) {
        return Err(Unread { why: ApiError::TooLarge { bytes_max }, rest: Some(chunks) });
    }
    let begun = Instant::now();
    let mut bytes = BytesMut::new();
    loop {
        let earned = Duration::from_secs(bytes.len() as u64 / BYTES_PER_SECOND_MIN);
        let deadline = (begun + HEAD_START + earned).min(Instant::now() + SILENCE_MAX);
        let Ok(chunk) = tokio::time::timeout_at(deadline, chunks.next()).await else {
            return Err(Unread { why: ApiError::TooSlow, rest: None });
        };
        match chunk {
            None => return Ok(bytes.freeze()),
            Some(Ok(chunk)) if bytes.len() + chunk.len() > bytes_max => {
                return Err(Unread { why: ApiError::TooLarge { bytes_max }, rest: Some(chunks) });
            }
            Some(Ok(chunk)) => bytes.extend_from_slice(&chunk),
            Some(Err(_)) => {
                let why = ApiError::schema(Kind::Body, "The body ended before it was complete");
                return Err(Unread { why, rest: None });
            }
        }
    }
}

/// Reads on for a while and keeps nothing.
async fn read_away(mut chunks: BodyDataStream) {
    let mut read = 0;
    while let Some(Ok(chunk)) = chunks.next().await {
        read += chunk.len();
        if read > DRAIN_BYTES_MAX {
            return;
        }
    }
}

/// `/session/{sessionID}`
#[derive(Clone, Debug)]
pub(crate) struct OfSession(pub(crate) SessionId);

/// `/session/{sessionID}/message/{messageID}`
#[derive(Clone, Debug)]
pub(crate) struct OfMessage(pub(crate) SessionId, pub(crate) MessageId);

impl<S: Sync + Send> FromRequestParts<S> for OfSession {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let params = Params::of(parts, state).await?;
        Ok(Self(params.id("sessionID", SessionId::parse)?))
    }
}

impl<S: Sync + Send> FromRequestParts<S> for OfMessage {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let params = Params::of(parts, state).await?;
        Ok(Self(params.id("sessionID", SessionId::parse)?, params.id("messageID", MessageId::parse)?))
    }
}

/// What the pattern of a route captured.
#[derive(Clone, Debug)]
pub(crate) struct Params(Vec<(String, String)>);

impl<S: Sync + Send> FromRequestParts<S> for Params {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        Self::of(parts, state).await
    }
}

impl Params {
    async fn of<S: Sync + Send>(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let raw = RawPathParams::from_request_parts(parts, state).await;
        let raw = raw.map_err(|_| ApiError::schema(Kind::Params, "The path is not valid UTF-8"))?;
        Ok(Self(raw.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()))
    }

    pub(crate) fn get(&self, name: &str) -> &str {
        self.0.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }

    pub(crate) fn id<T>(&self, name: &str, parse: fn(&str) -> Result<T, IdError>) -> Result<T, ApiError> {
        parse(self.get(name))
            .map_err(|cause| ApiError::schema(Kind::Params, format!("{cause}\n  at [\"{name}\"]")))
    }
}

#[cfg(test)]
mod tests;
