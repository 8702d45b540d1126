//! Requests to a server, and what its refusals mean to a person.

use crate::failure::{Failure, NO_SERVER, UNMET, USAGE};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use futures_util::{Stream, StreamExt as _};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Response, StatusCode};
use serde_json::Value;
use sse_stream::SseStream;
use std::path::Path;
use std::pin::Pin;
use std::time::Duration;
use url::Url;

/// A server on the same machine answers at once; one far away gets a moment.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const DIRECTORY: HeaderName = HeaderName::from_static("x-opencode-directory");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

/// One event of the server's stream.
#[derive(Debug)]
pub(crate) struct ServerEvent {
    /// Where a stream that broke off goes on.
    pub(crate) id: Option<String>,
    pub(crate) kind: String,
    pub(crate) properties: Value,
}

pub(crate) type Events = Pin<Box<dyn Stream<Item = Result<ServerEvent, Failure>> + Send>>;

/// Cheap to clone.
#[derive(Clone)]
pub(crate) struct Client {
    http: reqwest::Client,
    base: Url,
    credentials: Option<(String, String)>,
    pub(crate) directory: String,
}

impl Client {
    pub(crate) fn new(
        base: Url,
        credentials: Option<(String, String)>,
        directory: &Path,
    ) -> Result<Self, Failure> {
        let authorization = match &credentials {
            Some((user, secret)) => {
                let token = BASE64_STANDARD.encode(format!("{user}:{secret}"));
                Some(format!("Basic {token}"))
            }
            None => None,
        };
        Self::build(base, authorization, credentials, directory)
    }

    /// For a service that is shown a right and not a password.
    pub(crate) fn with_right(base: &str, right: &str) -> Result<Self, Failure> {
        let base = Url::parse(base)
            .map_err(|_| Failure::new(UNMET, "this is not the URL of a service").with("url", base))?;
        Self::build(base, Some(format!("Bearer {right}")), None, Path::new("/"))
    }

    fn build(
        base: Url,
        authorization: Option<String>,
        credentials: Option<(String, String)>,
        directory: &Path,
    ) -> Result<Self, Failure> {
        let directory = directory.to_string_lossy().into_owned();
        let mut headers = HeaderMap::new();
        let encoded = utf8_percent_encode(&directory, NON_ALPHANUMERIC).to_string();
        headers.insert(DIRECTORY, HeaderValue::from_str(&encoded).map_err(|_| bad_header())?);
        if let Some(authorization) = &authorization {
            let mut value = HeaderValue::from_str(authorization).map_err(|_| bad_header())?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        let mut builder = reqwest::Client::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .default_headers(headers)
            .redirect(reqwest::redirect::Policy::none());
        if base.scheme() == "http" {
            // Reading the certificates of the system takes longer than everything else `sturdy session list` does.
            builder = builder.no_proxy().tls_certs_only([]);
        }
        let http = builder
            .build()
            .map_err(|cause| Failure::new(UNMET, "the program cannot make requests").with("cause", cause))?;
        Ok(Self { http, base, credentials, directory })
    }

    /// The server's URL, as a person would write it.
    pub(crate) fn url(&self) -> &str {
        self.base.as_str().trim_end_matches('/')
    }

    /// User and password, for another program that talks to the same server.
    pub(crate) fn credentials(&self) -> Option<&(String, String)> {
        self.credentials.as_ref()
    }

    /// Whether a server of this kind answers there.
    pub(crate) async fn check(&self) -> Result<(), Failure> {
        let health = self.get("/global/health", &[]).await?;
        if health["healthy"] == true {
            return Ok(());
        }
        Err(Failure::new(NO_SERVER, "something else answers at this URL").with("url", self.url()))
    }

    pub(crate) async fn get(&self, path: &str, query: &[(&str, &str)]) -> Result<Value, Failure> {
        self.send(Method::GET, path, query, None).await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Result<Value, Failure> {
        self.send(Method::POST, path, &[], Some(body)).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Result<Value, Failure> {
        self.send(Method::DELETE, path, &[], None).await
    }

    /// The answer's JSON; null for an answer without a body.
    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        query: &[(&str, &str)],
        body: Option<&Value>,
    ) -> Result<Value, Failure> {
        let mut request = self.http.request(method, self.at(path, query));
        if let Some(body) = body {
            request = request.json(body);
        }
        let answer = self.accepted(request.send().await).await?;
        let text = answer.bytes().await.map_err(|cause| self.lost(&cause))?;
        if text.is_empty() {
            return Ok(Value::Null);
        }
        serde_json::from_slice(&text).map_err(|_| {
            Failure::new(NO_SERVER, "something else answers at this URL").with("url", self.url())
        })
    }

    /// The answer as it is.
    pub(crate) async fn text(&self, path: &str, query: &[(&str, &str)]) -> Result<String, Failure> {
        let answer = self.accepted(self.http.get(self.at(path, query)).send().await).await?;
        answer.text().await.map_err(|cause| self.lost(&cause))
    }

    /// Everything that happens in the directory, from `after` on.
    pub(crate) async fn events(&self, after: Option<&str>) -> Result<Events, Failure> {
        let mut request = self.http.get(self.at("/event", &[("directory", &self.directory)]));
        if let Some(after) = after {
            request = request.header(LAST_EVENT, after);
        }
        let answer = self.accepted(request.send().await).await?;
        let url = self.url().to_owned();
        let events = SseStream::from_bytes_stream(answer.bytes_stream()).filter_map(move |event| {
            let event = match event {
                Ok(event) => parse(event.id, event.data.as_deref().unwrap_or_default()).map(Ok),
                Err(_) => Some(Err(gone(&url))),
            };
            std::future::ready(event)
        });
        Ok(Box::pin(events))
    }

    fn at(&self, path: &str, query: &[(&str, &str)]) -> Url {
        let mut url = self.base.clone();
        url.set_path(&format!("{}{path}", self.base.path().trim_end_matches('/')));
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        url
    }

    async fn accepted(&self, answer: Result<Response, reqwest::Error>) -> Result<Response, Failure> {
        let answer = answer.map_err(|cause| self.lost(&cause))?;
        let status = answer.status();
        if status.is_success() {
            return Ok(answer);
        }
        let body: Value = answer.json().await.unwrap_or_default();
        Err(self.refused(status, &body))
    }

    fn refused(&self, status: StatusCode, body: &Value) -> Failure {
        // The share service has a form of its own.
        if let Some(message) = body["error"]["message"].as_str() {
            return Failure::new(UNMET, message).with("service", self.url());
        }
        if let Some(failure) = misconfigured(body) {
            return failure;
        }
        let message = [&body["data"]["message"], &body["message"], &body["name"]];
        let message = message.into_iter().find_map(Value::as_str);
        match status {
            StatusCode::UNAUTHORIZED => Failure::new(USAGE, "the server asks for a password")
                .with("server", self.url())
                .with("try", "set STURDY_SERVER_PASSWORD to the one it was started with"),
            StatusCode::NOT_FOUND => {
                let failure = Failure::new(UNMET, message.unwrap_or("the server does not know this"));
                match message.and_then(way_on) {
                    Some(way) => failure.with("try", way),
                    None => failure,
                }
            }
            _ => Failure::new(UNMET, message.unwrap_or("the server refused"))
                .with("server", format!("{} answered {status}", self.url())),
        }
    }

    fn lost(&self, cause: &reqwest::Error) -> Failure {
        let failure = gone(self.url());
        // The innermost: the others say only that a request failed.
        let mut innermost = std::error::Error::source(cause);
        while let Some(source) = innermost.and_then(std::error::Error::source) {
            innermost = Some(source);
        }
        match innermost {
            Some(source) => failure.with("cause", source),
            None => failure,
        }
    }
}

/// A configuration that the server cannot use: which file, and what is wrong where.
fn misconfigured(body: &Value) -> Option<Failure> {
    let name = body["name"].as_str()?;
    let path = body["data"]["path"].as_str().filter(|_| name.starts_with("Config"))?;
    let mut failure = Failure::new(USAGE, "the configuration cannot be used").with("where", path);
    for issue in body["data"]["issues"].as_array().into_iter().flatten() {
        let keys = issue["path"].as_array().into_iter().flatten();
        let keys: Vec<String> =
            keys.map(|key| key.as_str().map_or_else(|| key.to_string(), str::to_owned)).collect();
        let message = issue["message"].as_str().unwrap_or_default();
        failure = match keys.join(".") {
            place if place.is_empty() => failure.with("what", message),
            place => failure.with("what", format!("{place}: {message}")),
        };
    }
    if let Some(message) = body["data"]["message"].as_str() {
        failure = failure.with("what", message);
    }
    Some(failure.with("try", "correct it there, then: sturdy doctor"))
}

/// What lists the things of which one is not there.
fn way_on(message: &str) -> Option<&'static str> {
    let lists = [
        ("Session not found", "sturdy session list --all"),
        ("Message not found", "sturdy session show SESSION --json"),
        ("MCP server not found", "sturdy mcp list"),
    ];
    lists.into_iter().find(|(what, _)| message.starts_with(what)).map(|(_, way)| way)
}

fn gone(url: &str) -> Failure {
    Failure::new(NO_SERVER, "no server answered").with("url", url).with("try", "sturdy serve")
}

fn bad_header() -> Failure {
    Failure::new(USAGE, "the user name or password cannot be sent").with("try", "one without line breaks")
}

/// `None` for a comment or an unknown event.
fn parse(id: Option<String>, data: &str) -> Option<ServerEvent> {
    let mut event: Value = serde_json::from_str(data).ok()?;
    let kind = event["type"].as_str()?.to_owned();
    Some(ServerEvent { id, kind, properties: event["properties"].take() })
}
