//! A way between two servers on which things get lost. Its address stays when what is behind it is started anew.

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use axum::{Json, Router};
use futures_util::stream;
use http::StatusCode;
use serde_json::{Value, json};
use std::io;
use std::sync::{Arc, Mutex};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

/// What happens to the next requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    /// So many requests do not arrive.
    LoseRequests(u32),
    /// So many requests arrive, and their answers do not.
    LoseAnswers(u32),
    /// So many requests arrive twice.
    Twice(u32),
    /// So many requests arrive, and their answers break off.
    CutAnswers(u32),
    /// So many requests are answered with this status and do not arrive.
    Refuse(u16, u32),
    /// Nothing arrives, and everybody is asked to come back in so many seconds.
    Busy(u32),
    /// So many requests arrive, and the way answers with this status for the server.
    RefuseAfter(u16, u32),
    /// So many answers come a byte at a time.
    Drip(u32),
    /// So many requests are refused in the words of the service, with this status and code.
    Code(u16, &'static str, u32),
    /// One request arrives, and its answer is kept back until `release`.
    Hold,
    /// So many connections end without an answer, after the request has arrived.
    Reset(u32),
    /// Nothing arrives.
    Down,
}

/// How `/rpc/share` is answered when it is shut, as by a proxy before the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Closed {
    Status(u16),
    /// Success, with a page that is about something else.
    Page,
}

#[derive(Debug)]
struct Way {
    to: Mutex<String>,
    fault: Mutex<Fault>,
    rpc: Mutex<Option<Closed>>,
    /// Paths that were asked for, in the order they came.
    paths: Mutex<Vec<String>>,
    /// The last body of Cap'n Web.
    calls: Mutex<Vec<Value>>,
    client: reqwest::Client,
    /// Batches, in the order they came, whichever way.
    batches: Mutex<Vec<Value>>,
    /// Ids of shares that the service has made, also those whose answers were lost.
    created: Mutex<Vec<String>>,
    /// An answer is kept back; it may go.
    held: Semaphore,
    released: Semaphore,
}

pub(crate) struct Relay {
    pub(crate) url: String,
    way: Arc<Way>,
    serving: JoinHandle<()>,
}

impl Relay {
    pub(crate) async fn to(url: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let own = format!("http://{}", listener.local_addr().unwrap());
        let way = Arc::new(Way {
            to: Mutex::new(url.to_owned()),
            fault: Mutex::new(Fault::None),
            rpc: Mutex::new(None),
            paths: Mutex::default(),
            calls: Mutex::default(),
            client: reqwest::Client::builder().no_proxy().build().unwrap(),
            batches: Mutex::default(),
            created: Mutex::default(),
            held: Semaphore::new(0),
            released: Semaphore::new(0),
        });
        let router = Router::new().fallback(pass).with_state(way.clone());
        #[allow(clippy::disallowed_methods, reason = "a test has no engine to spawn for it")]
        let serving = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url: own, way, serving }
    }

    /// From now on it leads here.
    pub(crate) fn lead_to(&self, url: &str) {
        url.clone_into(&mut self.way.to.lock().unwrap());
    }

    pub(crate) fn fail(&self, fault: Fault) {
        *self.way.fault.lock().unwrap() = fault;
    }

    /// Shares that the service has made, in the order it made them.
    pub(crate) fn created(&self) -> Vec<String> {
        self.way.created.lock().unwrap().clone()
    }

    /// Waits until an answer is kept back.
    pub(crate) async fn held(&self) {
        self.way.held.acquire().await.unwrap().forget();
    }

    pub(crate) fn release(&self) {
        self.way.released.add_permits(1);
    }

    pub(crate) fn batches(&self) -> Vec<Value> {
        self.way.batches.lock().unwrap().clone()
    }

    /// Shuts `/rpc/share`, or opens it.
    pub(crate) fn close_rpc(&self, closed: Option<Closed>) {
        *self.way.rpc.lock().unwrap() = closed;
    }

    pub(crate) fn paths(&self) -> Vec<String> {
        self.way.paths.lock().unwrap().clone()
    }

    /// The messages of the last request over Cap'n Web.
    pub(crate) fn last_calls(&self) -> Vec<Value> {
        self.way.calls.lock().unwrap().clone()
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Way {
    /// What happens to this request; a fault that is used up is over.
    fn next(&self) -> Fault {
        let mut fault = self.fault.lock().unwrap();
        let now = *fault;
        *fault = match now {
            Fault::LoseRequests(n) if n > 1 => Fault::LoseRequests(n - 1),
            Fault::LoseAnswers(n) if n > 1 => Fault::LoseAnswers(n - 1),
            Fault::Twice(n) if n > 1 => Fault::Twice(n - 1),
            Fault::CutAnswers(n) if n > 1 => Fault::CutAnswers(n - 1),
            Fault::Refuse(status, n) if n > 1 => Fault::Refuse(status, n - 1),
            Fault::RefuseAfter(status, n) if n > 1 => Fault::RefuseAfter(status, n - 1),
            Fault::Drip(n) if n > 1 => Fault::Drip(n - 1),
            Fault::Code(status, code, n) if n > 1 => Fault::Code(status, code, n - 1),
            Fault::Reset(n) if n > 1 => Fault::Reset(n - 1),
            Fault::Down | Fault::Busy(_) => now,
            Fault::None
            | Fault::LoseRequests(_)
            | Fault::LoseAnswers(_)
            | Fault::Twice(_)
            | Fault::CutAnswers(_)
            | Fault::Refuse(..)
            | Fault::RefuseAfter(..)
            | Fault::Drip(_)
            | Fault::Code(..)
            | Fault::Hold
            | Fault::Reset(_) => Fault::None,
        };
        now
    }
}

impl Way {
    fn note(&self, path: &str, body: &[u8]) {
        self.paths.lock().unwrap().push(path.to_owned());
        if path.ends_with("/ops") {
            self.batches.lock().unwrap().push(serde_json::from_slice(body).unwrap());
        }
        if path == "/rpc/share" {
            let lines = std::str::from_utf8(body).unwrap().lines();
            let calls: Vec<Value> = lines.map(|line| serde_json::from_str(line).unwrap()).collect();
            let appended = calls.iter().filter(|call| call[1][2] == json!(["share", "appendOps"]));
            self.batches.lock().unwrap().extend(appended.map(|call| plain(&call[1][3][0])));
            *self.calls.lock().unwrap() = calls;
        }
    }
}

/// A value of Cap'n Web as JSON: there an array stands in another one, so that it is no instruction.
fn plain(value: &Value) -> Value {
    match value {
        Value::Array(outer) => match outer.as_slice() {
            [Value::Array(items)] => items.iter().map(plain).collect(),
            _ => value.clone(),
        },
        Value::Object(fields) => fields.iter().map(|(name, field)| (name.clone(), plain(field))).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

async fn pass(State(way): State<Arc<Way>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body: Bytes = axum::body::to_bytes(body, usize::MAX).await.unwrap();
    let path = parts.uri.path_and_query().unwrap().to_string();
    way.note(&path, &body);
    let closed = way.rpc.lock().unwrap().filter(|_| path == "/rpc/share");
    match closed {
        Some(Closed::Status(status)) => return StatusCode::from_u16(status).unwrap().into_response(),
        Some(Closed::Page) => return "<h1>welcome</h1>".into_response(),
        None => {}
    }
    let lost = StatusCode::BAD_GATEWAY.into_response();
    let fault = way.next();
    if matches!(fault, Fault::Down | Fault::LoseRequests(_)) {
        return lost;
    }
    if let Fault::Busy(seconds) = fault {
        let wait = [(http::header::RETRY_AFTER, seconds.to_string())];
        return (StatusCode::TOO_MANY_REQUESTS, wait).into_response();
    }
    let refusal = |status| StatusCode::from_u16(status).unwrap().into_response();
    if let Fault::Refuse(status, _) = fault {
        return refusal(status);
    }
    if let Fault::Code(status, code, _) = fault {
        let body = json!({ "error": { "code": code, "message": "not now", "retryable": false } });
        return (StatusCode::from_u16(status).unwrap(), Json(body)).into_response();
    }
    let url = format!("{}{path}", way.to.lock().unwrap());
    let mut headers = parts.headers;
    headers.remove(http::header::HOST);
    headers.remove(http::header::CONTENT_LENGTH);
    let once = || way.client.request(parts.method.clone(), &url).headers(headers.clone()).body(body.clone());
    if matches!(fault, Fault::Twice(_)) {
        let _ = once().send().await;
    }
    let Ok(answer) = once().send().await else { return lost };
    let status = answer.status();
    let headers = answer.headers().clone();
    let Ok(bytes) = answer.bytes().await else { return lost };
    if path == "/api/share"
        && let Ok(made) = serde_json::from_slice::<Value>(&bytes)
        && let Some(id) = made["id"].as_str()
    {
        let mut created = way.created.lock().unwrap();
        if !created.iter().any(|known| known == id) {
            created.push(id.to_owned());
        }
    }
    if matches!(fault, Fault::LoseAnswers(_)) {
        return lost;
    }
    if fault == Fault::Hold {
        way.held.add_permits(1);
        way.released.acquire().await.unwrap().forget();
    }
    if let Fault::RefuseAfter(status, _) = fault {
        return refusal(status);
    }
    let mut response = Response::new(match fault {
        Fault::CutAnswers(_) => broken_off(&bytes),
        Fault::Reset(_) => Body::from_stream(stream::iter([Err::<Bytes, _>(io::Error::other("reset"))])),
        Fault::Drip(_) => dripping(bytes),
        _ => Body::from(bytes),
    });
    *response.status_mut() = status;
    for name in ["content-type", "x-sturdy-share", "x-sturdy-share-viewers", "retry-after"] {
        if let Some(value) = headers.get(name) {
            response.headers_mut().insert(http::HeaderName::from_static(name), value.clone());
        }
    }
    response
}

/// Half of an answer, then the connection breaks.
fn broken_off(bytes: &Bytes) -> Body {
    let half = Ok(bytes.slice(..bytes.len() / 2));
    Body::from_stream(stream::iter([half, Err(io::Error::other("cut"))]))
}

fn dripping(bytes: Bytes) -> Body {
    let drops = (0..bytes.len()).map(move |place| Ok::<_, io::Error>(bytes.slice(place..=place)));
    Body::from_stream(stream::iter(drops))
}
