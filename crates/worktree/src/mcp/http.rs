//! A server on the web: streamable HTTP, with bounds on what it answers.
//!
//! The SDK drives the protocol; this is the client it sends through. It is ours because the SDK's own
//! reads an answer to its end, however long that is.

use super::{ConnectError, MESSAGE_BYTES_MAX, content};
use futures_util::stream::{Stream, StreamExt, TryStream};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION, WWW_AUTHENTICATE};
use reqwest::{RequestBuilder, Response, StatusCode, Url};
use rmcp::model::{ClientJsonRpcMessage, JsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::common::client_side_sse::BoxedSseResponse;
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, HttpStatusError, InsufficientScopeError, SseError, StreamableHttpClient,
    StreamableHttpClientTransportConfig, StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::SseByteStream;
use std::collections::HashMap;
use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const SESSION_ID: &str = "mcp-session-id";
const LAST_EVENT_ID: &str = "last-event-id";
const EVENTS: &str = "text/event-stream";
const JSON: &str = "application/json";

/// Longest wait for a connection to stand.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const REDIRECTS_MAX: usize = 5;
/// What is read of an answer that only says no.
const REFUSAL_BYTES_MAX: usize = 64 * 1024;

/// An event as the SDK wants it.
type Event = <BoxedSseResponse as TryStream>::Ok;

pub(super) type Answered<T> = Result<T, StreamableHttpError<WebError>>;

/// Why a request got no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum WebError {
    #[error("{0}")]
    Lost(String),
    #[error("the answer is larger than {} MiB", MESSAGE_BYTES_MAX / 1024 / 1024)]
    TooLarge,
}

impl From<WebError> for StreamableHttpError<WebError> {
    fn from(cause: WebError) -> Self {
        Self::Client(cause)
    }
}

impl From<reqwest::Error> for WebError {
    fn from(cause: reqwest::Error) -> Self {
        // The innermost cause says what happened; the ones around it repeat the address.
        let cause = cause.without_url();
        let mut inner: &dyn Error = &cause;
        while let Some(next) = inner.source() {
            inner = next;
        }
        Self::Lost(inner.to_string())
    }
}

/// The way to a server. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct Web(reqwest::Client);

impl Web {
    pub(super) fn new() -> Result<Self, ConnectError> {
        let client = reqwest::Client::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            // A redirect could carry the login to somebody else; those of the same origin are followed by us.
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(concat!("sturdy/", env!("CARGO_PKG_VERSION")))
            .build();
        client.map(Self).map_err(|cause| ConnectError::Failed(cause.to_string()))
    }

    /// Tells a server something, at the address it named.
    pub(super) async fn tell(
        &self,
        endpoint: Url,
        message: &ClientJsonRpcMessage,
        token: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Answered<Response> {
        Self::send(self.0.post(endpoint).json(message), token, headers, None).await
    }

    /// Sends a request, and sends it again wherever the server says within its own origin.
    async fn follow(request: RequestBuilder) -> Result<Response, WebError> {
        let (client, request) = request.build_split();
        let mut request = request?;
        for _ in 0..REDIRECTS_MAX {
            let again = request.try_clone();
            let response = client.execute(request).await?;
            match again.zip(redirected(&response)) {
                Some((mut again, to)) => {
                    *again.url_mut() = to;
                    request = again;
                }
                None => return Ok(response),
            }
        }
        Err(WebError::Lost(format!("it leads on to other addresses more than {REDIRECTS_MAX} times")))
    }

    async fn send(
        request: RequestBuilder,
        token: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
        session: Option<&str>,
    ) -> Answered<Response> {
        let mut request = request.headers(headers.into_iter().collect::<HeaderMap>());
        if let Some(session) = session {
            request = request.header(SESSION_ID, session);
        }
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        let response = Self::follow(request).await?;
        let challenge = response.headers().get(WWW_AUTHENTICATE);
        let challenge = challenge.and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
        match response.status() {
            StatusCode::UNAUTHORIZED => {
                Err(StreamableHttpError::AuthRequired(AuthRequiredError::new(challenge)))
            }
            StatusCode::FORBIDDEN if !challenge.is_empty() => {
                Err(StreamableHttpError::InsufficientScope(InsufficientScopeError::new(challenge, None)))
            }
            _ => Ok(response),
        }
    }
}

/// The address and what goes with every request.
pub(super) fn config(
    server: &str,
    url: &str,
    headers: &[(String, String)],
) -> Result<StreamableHttpClientTransportConfig, ConnectError> {
    let parsed = Url::parse(url).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
    let Some(parsed) = parsed else {
        return Err(ConnectError::Failed(format!("The url of {server:?} is no http or https address")));
    };
    let mut known = HashMap::new();
    for (name, value) in headers {
        let pair = HeaderName::from_bytes(name.as_bytes()).ok().zip(HeaderValue::from_str(value).ok());
        let Some((header, mut value)) = pair else {
            return Err(ConnectError::Failed(format!("The header {name:?} of {server:?} cannot be sent")));
        };
        value.set_sensitive(true);
        known.insert(header, value);
    }
    Ok(StreamableHttpClientTransportConfig::with_uri(parsed.as_str())
        .custom_headers(known)
        .max_sse_event_size(MESSAGE_BYTES_MAX)
        .reinit_on_expired_session(true))
}

impl StreamableHttpClient for Web {
    type Error = WebError;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Answered<StreamableHttpPostResponse> {
        let request = self.0.post(&*uri).header(ACCEPT, format!("{EVENTS}, {JSON}")).json(&message);
        let response = Self::send(request, token, headers, session.as_deref()).await?;
        let status = response.status();
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if status == StatusCode::NOT_FOUND && session.is_some() {
            return Err(StreamableHttpError::SessionExpired);
        }
        if !status.is_success() {
            return refused(response).await;
        }
        let given = response.headers().get(SESSION_ID).and_then(|id| id.to_str().ok()).map(str::to_owned);
        if is_of(&response, EVENTS) {
            return Ok(StreamableHttpPostResponse::Sse(events(response), given));
        }
        let wants_answer = matches!(message, JsonRpcMessage::Request(_));
        let kind = content_type(&response);
        let body = body(response, MESSAGE_BYTES_MAX).await?;
        if let Some(Ok(refusal)) = content::instead_of_deep(&body) {
            return Ok(StreamableHttpPostResponse::Json(refusal, given));
        }
        match serde_json::from_slice::<ServerJsonRpcMessage>(&body) {
            Ok(answer) => Ok(StreamableHttpPostResponse::Json(answer, given)),
            // Some servers say something where nothing is expected.
            Err(_) if !wants_answer => Ok(StreamableHttpPostResponse::Accepted),
            Err(_) if !kind.starts_with(JSON) => Err(StreamableHttpError::UnexpectedContentType(Some(kind))),
            Err(cause) => Err(cause.into()),
        }
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        token: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Answered<()> {
        // A server that does not end sessions forgets them by itself.
        Self::send(self.0.delete(&*uri), token, headers, Some(&*session)).await.map(|_| ())
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last: Option<String>,
        token: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Answered<BoxedSseResponse> {
        let mut request = self.0.get(&*uri).header(ACCEPT, EVENTS);
        if let Some(last) = last {
            request = request.header(LAST_EVENT_ID, last);
        }
        let response = Self::send(request, token, headers, session.as_deref()).await?;
        match response.status() {
            StatusCode::METHOD_NOT_ALLOWED => Err(StreamableHttpError::ServerDoesNotSupportSse),
            status if !status.is_success() => Err(HttpStatusError::new(status.as_u16(), None).into()),
            _ if is_of(&response, EVENTS) => Ok(events(response)),
            _ => Err(StreamableHttpError::UnexpectedContentType(Some(content_type(&response)))),
        }
    }
}

/// Where an answer leads, if that is of the same origin.
fn redirected(response: &Response) -> Option<Url> {
    // The same is to be said there; the other ways to redirect ask for something else.
    const SAME_AGAIN: [StatusCode; 4] = [
        StatusCode::MOVED_PERMANENTLY,
        StatusCode::FOUND,
        StatusCode::TEMPORARY_REDIRECT,
        StatusCode::PERMANENT_REDIRECT,
    ];
    if !SAME_AGAIN.contains(&response.status()) {
        return None;
    }
    let to = response.headers().get(LOCATION)?.to_str().ok()?;
    let to = response.url().join(to).ok()?;
    (to.origin() == response.url().origin()).then_some(to)
}

/// An answer that says no: in the words of the protocol, if it has them.
async fn refused(response: Response) -> Answered<StreamableHttpPostResponse> {
    let status = response.status();
    if is_of(&response, JSON) {
        let body = body(response, REFUSAL_BYTES_MAX).await?;
        if let Ok(message @ JsonRpcMessage::Error(_)) = serde_json::from_slice::<ServerJsonRpcMessage>(&body)
        {
            return Ok(StreamableHttpPostResponse::Json(message, None));
        }
    }
    Err(HttpStatusError::new(status.as_u16(), None).into())
}

fn content_type(response: &Response) -> String {
    let value = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    value.unwrap_or_default().to_ascii_lowercase()
}

fn is_of(response: &Response, kind: &str) -> bool {
    content_type(response).starts_with(kind)
}

async fn body(mut response: Response, bytes_max: usize) -> Result<Vec<u8>, WebError> {
    let mut body = Vec::new();
    // Counted as it comes, after decompression: a small answer may unpack to anything.
    while let Some(chunk) = response.chunk().await? {
        if body.len() + chunk.len() > bytes_max {
            return Err(WebError::TooLarge);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// The events of an answer, each of a bounded size.
fn events(response: Response) -> BoxedSseResponse {
    // Bytes since the last complete event: counted below the parser, cleared above it.
    let pending = Arc::new(AtomicUsize::new(0));
    let counted = counted(response.bytes_stream(), pending.clone());
    let events = SseByteStream::new(counted.boxed()).map(move |event| {
        pending.store(0, Ordering::Relaxed);
        let event = event.map_err(|cause| SseError::Body(Box::new(WebError::Lost(cause.to_string()))))?;
        let deep = event.data.as_deref().and_then(|data| content::instead_of_deep(data.as_bytes()));
        let refusal = deep.and_then(Result::ok).map(|refusal| serde_json::to_string(&refusal).ok());
        let mut passed_on = Event::default();
        // The type of an event has no name here, so its fields are set one by one.
        let data = refusal.unwrap_or(event.data);
        passed_on.event = event.event;
        passed_on.data = data;
        passed_on.id = event.id;
        passed_on.retry = event.retry;
        Ok(passed_on)
    });
    events.boxed()
}

fn counted(
    chunks: impl Stream<Item = Result<bytes::Bytes, reqwest::Error>> + Send + 'static,
    pending: Arc<AtomicUsize>,
) -> impl Stream<Item = Result<bytes::Bytes, WebError>> + Send + 'static {
    chunks.map(move |chunk| {
        let chunk = chunk?;
        match pending.fetch_add(chunk.len(), Ordering::Relaxed) + chunk.len() {
            sum if sum > MESSAGE_BYTES_MAX + chunk.len() => Err(WebError::TooLarge),
            _ => Ok(chunk),
        }
    })
}

/// Whether a server answers as those do that speak the older transport: it takes no messages at this address.
pub(super) fn may_be_older(cause: &(dyn Error + 'static)) -> bool {
    let status = match cause.downcast_ref::<StreamableHttpError<WebError>>() {
        Some(StreamableHttpError::HttpStatus(status)) => status.status,
        _ => return false,
    };
    matches!(status, 400 | 404 | 405)
}

/// What a person is told of a request that failed.
pub(super) fn words(cause: &(dyn Error + 'static)) -> String {
    if let Some(cause) = cause.downcast_ref::<StreamableHttpError<WebError>>() {
        return match cause {
            StreamableHttpError::Client(WebError::Lost(why)) => {
                format!("The server cannot be reached: {why}")
            }
            StreamableHttpError::Client(WebError::TooLarge) => WebError::TooLarge.to_string(),
            StreamableHttpError::HttpStatus(status) => {
                format!("The server answered with status {}", status.status)
            }
            StreamableHttpError::UnexpectedContentType(_) | StreamableHttpError::Deserialize(_) => {
                "The address answers, but not as an MCP server does".to_owned()
            }
            other => other.to_string(),
        };
    }
    cause.to_string()
}

/// Whether nobody is there any more, or nobody we may talk to: another connection has to be made.
pub(super) fn is_lost(cause: &(dyn Error + 'static)) -> bool {
    use StreamableHttpError as Failed;
    matches!(
        cause.downcast_ref::<Failed<WebError>>(),
        Some(
            Failed::Client(WebError::Lost(_))
                | Failed::AuthRequired(_)
                | Failed::SessionExpired
                | Failed::TransportChannelClosed
                | Failed::ReinitializationFailed(_)
        )
    )
}
