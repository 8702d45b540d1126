//! One HTTP client for all providers.
//!
//! Built when the first request leaves, not at start: certificates and TLS tables cost time and
//! memory that a server which only lists sessions never needs. Proxies come from the environment.
//!
//! There is no limit on the time of a whole answer unless the user sets one: a model may think
//! for an hour. Connecting is limited.

mod exchange;

pub(crate) mod sse;

pub use exchange::{Exchange, ExchangeAnswer, ExchangeMethod};

use crate::ModelError;
use crate::failure::{self, Broken, Refused};
use crate::secret::Redactor;
use ::http::{HeaderMap, HeaderName, HeaderValue, header};
use futures_util::StreamExt;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use std::{error, io};
use sturdy_session::types::failure::Failure;
use tokio::time::{Instant, timeout_at};
use url::Url;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);
const KEEP_ALIVE: Duration = Duration::from_secs(60);
const REDIRECTS_MAX: usize = 5;
/// Enough of an error to understand it; the rest is not read.
const ERROR_BODY_BYTES_MAX: usize = 256 * 1024;
/// As long as a "never" that can still be added to a clock.
const NEVER: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// The shared client. Clones share connections.
#[derive(Clone, Debug, Default)]
pub struct Http {
    client: Arc<OnceLock<reqwest::Client>>,
}

/// Limits a user may set, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timeouts {
    pub request_ms: Option<u64>,
    pub header_ms: Option<u64>,
    pub chunk_ms: Option<u64>,
}

/// One request, ready to leave.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) http: Http,
    pub(crate) provider: String,
    pub(crate) url: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
    pub(crate) timeouts: Timeouts,
    pub(crate) redactor: Redactor,
}

impl Http {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Builds the client ahead of the first request, which then leaves some milliseconds sooner.
    /// Blocks for as long; the certificates of the system are read.
    ///
    /// # Errors
    /// The same as a request would meet.
    pub fn prepare(&self) -> Result<(), Failure> {
        self.client().map(drop)
    }

    fn client(&self) -> Result<&reqwest::Client, Failure> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let client = reqwest::Client::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .tcp_keepalive(KEEP_ALIVE)
            .redirect(reqwest::redirect::Policy::custom(follow))
            .user_agent(concat!("sturdy/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| Failure::unknown(format!("HTTP client cannot start: {}", chain(&error))))?;
        Ok(self.client.get_or_init(|| client))
    }
}

/// A redirect to another host would take our key there.
fn follow(attempt: reqwest::redirect::Attempt<'_>) -> reqwest::redirect::Action {
    let same_place = attempt.previous().first().is_some_and(|first| first.origin() == attempt.url().origin());
    if same_place && attempt.previous().len() <= REDIRECTS_MAX { attempt.follow() } else { attempt.stop() }
}

impl Call {
    /// When the whole request must be over.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.timeouts.request_ms.map(after)
    }

    /// Sends, and waits for headers that say success.
    pub(crate) async fn send(mut self, deadline: Option<Instant>) -> Result<reqwest::Response, ModelError> {
        let sent = self.send_raw(deadline).await;
        sent.map_err(|failure| ModelError::new(self.redactor.failure(failure)))
    }

    async fn send_raw(&mut self, deadline: Option<Instant>) -> Result<reqwest::Response, Failure> {
        let url = Url::parse(&self.url).map_err(|error| {
            Failure::unknown(format!("provider {} has no usable address: {error}", self.provider))
        })?;
        let shown = shown_url(&url);
        let request = self
            .http
            .client()?
            .post(url)
            .headers(std::mem::take(&mut self.headers))
            .header(header::CONTENT_TYPE, "application/json")
            .body(std::mem::take(&mut self.body));

        let limit = earlier(self.timeouts.header_ms.map(after), deadline);
        let response = match timeout_at(limit.unwrap_or_else(never), request.send()).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(failure::broken(unreachable_by(error, shown))),
            Err(_) => return Err(failure::broken(self.timed_out(deadline))),
        };
        if response.status().is_success() {
            Ok(response)
        } else {
            Err(self.refusal(response, shown, limit).await)
        }
    }

    fn timed_out(&self, deadline: Option<Instant>) -> Broken {
        let whole_is_over = deadline.is_some_and(|deadline| Instant::now() >= deadline);
        match (self.timeouts.header_ms, self.timeouts.request_ms) {
            (Some(timeout_ms), _) if !whole_is_over => Broken::HeaderTimeout { timeout_ms },
            (_, request) => Broken::Timeout { timeout_ms: request.unwrap_or_default() },
        }
    }

    async fn refusal(&self, response: reqwest::Response, url: String, limit: Option<Instant>) -> Failure {
        let status = response.status().as_u16();
        let headers = shown_headers(response.headers());
        let body = read_body(response, limit).await;
        failure::refused(Refused { provider: &self.provider, url: Some(url), status, headers, body: &body })
    }
}

/// As much of a body as an error needs; what cannot be read is left out.
pub(crate) async fn read_body(response: reqwest::Response, limit: Option<Instant>) -> String {
    let limit = limit.unwrap_or_else(|| Instant::now() + CONNECT_TIMEOUT);
    let mut bytes = Vec::new();
    let mut chunks = response.bytes_stream();
    while let Ok(Some(Ok(chunk))) = timeout_at(limit, chunks.next()).await {
        let room = ERROR_BODY_BYTES_MAX - bytes.len();
        bytes.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if bytes.len() == ERROR_BODY_BYTES_MAX {
            break;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Names and values as headers; what cannot be one is refused, with its name only.
pub(crate) fn add_header(headers: &mut HeaderMap, name: &str, value: &str) -> Result<(), Failure> {
    let bad = || {
        Failure::unknown(format!("header {name:?} cannot be sent: its name or value is not allowed in HTTP"))
    };
    let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad())?;
    let mut value = HeaderValue::from_str(value).map_err(|_| bad())?;
    value.set_sensitive(crate::secret::is_sensitive(name.as_str()));
    headers.insert(name, value);
    Ok(())
}

/// The lower-case headers of an answer, without cookies.
pub(crate) fn shown_headers(headers: &HeaderMap) -> BTreeMap<String, String> {
    headers
        .iter()
        .filter(|(name, _)| **name != header::SET_COOKIE)
        .map(|(name, value)| {
            (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
        })
        .collect()
}

/// An address without a password in it. Some services take a key in the query.
fn shown_url(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    if !url.username().is_empty() || url.password().is_some() {
        // Neither fails for an address that could carry them in the first place.
        let _ = url.set_username("");
        let _ = url.set_password(None);
    }
    url.to_string()
}

fn unreachable_by(error: reqwest::Error, url: String) -> Broken {
    if is_reset(&error) {
        return Broken::Reset { message: chain(&error.without_url()) };
    }
    Broken::Unreachable { message: chain(&error.without_url()), url: Some(url) }
}

/// What a break in the middle of a body means.
pub(crate) fn broken_by(error: reqwest::Error) -> Broken {
    let is_reset = is_reset(&error);
    let is_garbled =
        has_io_kind(&error, |kind| matches!(kind, io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput));
    let message = chain(&error.without_url());
    if is_reset {
        Broken::Reset { message }
    } else if is_garbled {
        Broken::Decompression { message }
    } else {
        Broken::Stream { message: format!("Provider connection lost: {message}") }
    }
}

fn is_reset(error: &(dyn error::Error + 'static)) -> bool {
    has_io_kind(error, |kind| kind == io::ErrorKind::ConnectionReset)
}

fn has_io_kind(error: &(dyn error::Error + 'static), wanted: impl Fn(io::ErrorKind) -> bool) -> bool {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if error.downcast_ref::<io::Error>().is_some_and(|error| wanted(error.kind())) {
            return true;
        }
        cause = error.source();
    }
    false
}

/// An error and its causes in one line, none twice.
fn chain(error: &(dyn error::Error + '_)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let line = error.to_string();
        if !text.contains(&line) {
            text.push_str(": ");
            text.push_str(&line);
        }
        cause = error.source();
    }
    text
}

pub(crate) fn after(limit_ms: u64) -> Instant {
    Instant::now() + Duration::from_millis(limit_ms).min(NEVER)
}

fn never() -> Instant {
    Instant::now() + NEVER
}

pub(crate) fn earlier(a: Option<Instant>, b: Option<Instant>) -> Option<Instant> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}
