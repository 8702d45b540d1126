//! A provider on a loopback socket that says what it was told to, in the protocol it is asked in
//! (`dialect.rs`).
//!
//! Answers are taken from a queue. When it is empty, the fallback answers: a short text, so that a
//! request that no script expects (a title) does not hang a test.

use crate::dialect::{Dialect, Saying};
use crate::script::{Act, Answer, Refusal, answer};
use crate::without_delay;
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, Response, StatusCode};
use axum::routing::post;
use serde_json::Value;
use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio_stream::wrappers::ReceiverStream;

#[derive(Debug)]
pub struct Provider {
    address: SocketAddr,
    shared: Arc<Shared>,
    server: JoinHandle<()>,
}

#[derive(Debug)]
struct Shared {
    answers: Mutex<VecDeque<Answer>>,
    requests: Mutex<Vec<Value>>,
    /// Bodies are thrown away, and stand as null in `requests`.
    is_forgetful: AtomicBool,
    headers: Mutex<Vec<HeaderMap>>,
    count: watch::Sender<usize>,
    /// When each request had come in, and when the last byte of each answer had gone out.
    arrivals: Mutex<Vec<Instant>>,
    ends: Mutex<Vec<Instant>>,
    ended: watch::Sender<usize>,
}

impl Provider {
    /// Listens on a free port.
    pub async fn start() -> Self {
        let shared = Arc::new(Shared {
            answers: Mutex::default(),
            requests: Mutex::default(),
            is_forgetful: AtomicBool::new(false),
            headers: Mutex::default(),
            count: watch::Sender::new(0),
            arrivals: Mutex::default(),
            ends: Mutex::default(),
            ended: watch::Sender::new(0),
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let speaking = |dialect: Dialect| {
            post(async move |State(shared): State<Arc<Shared>>, headers: HeaderMap, body: Bytes| {
                complete(shared, dialect, headers, body)
            })
        };
        let router = Router::new()
            .route("/v1/chat/completions", speaking(Dialect::Chat))
            .route("/v1/messages", speaking(Dialect::Anthropic))
            .route("/v1/responses", speaking(Dialect::Responses))
            // `main:streamGenerateContent` is one segment.
            .route("/v1/models/{model}", speaking(Dialect::Gemini))
            // A long conversation is larger than axum's own limit.
            .layer(DefaultBodyLimit::disable())
            .with_state(shared.clone());
        let server = tokio::spawn(async move {
            let _ = axum::serve(without_delay(listener), router).await;
        });
        Self { address, shared, server }
    }

    /// What `options.baseURL` should be.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// The next answer, after those already scripted.
    pub fn will(&self, answer: Answer) -> &Self {
        self.shared.answers.lock().unwrap().push_back(answer);
        self
    }

    /// Throws away what was scripted and not said.
    pub fn forget_answers(&self) {
        self.shared.answers.lock().unwrap().clear();
    }

    /// From now on bodies are neither parsed nor kept: a thousand large ones do not fit into memory.
    pub fn keep_no_bodies(&self) {
        self.shared.is_forgetful.store(true, Ordering::Relaxed);
    }

    /// The bodies of all requests so far.
    #[must_use]
    pub fn requests(&self) -> Vec<Value> {
        self.shared.requests.lock().unwrap().clone()
    }

    /// A header of the request of this number, from 0.
    #[must_use]
    pub fn header(&self, request: usize, name: &str) -> Option<String> {
        let headers = self.shared.headers.lock().unwrap();
        headers.get(request)?.get(name)?.to_str().ok().map(str::to_owned)
    }

    /// Waits until this many requests have come in.
    pub async fn wait_for_requests(&self, count: usize) {
        let mut seen = self.shared.count.subscribe();
        let _ = seen.wait_for(|seen| *seen >= count).await;
    }

    /// When each request had come in, for whoever measures.
    #[must_use]
    pub fn arrivals(&self) -> Vec<Instant> {
        self.shared.arrivals.lock().unwrap().clone()
    }

    /// When each streamed answer had been given to the socket, in the order of their ends.
    #[must_use]
    pub fn ends(&self) -> Vec<Instant> {
        self.shared.ends.lock().unwrap().clone()
    }

    /// Waits until this many streamed answers have been given to the socket.
    pub async fn wait_for_ends(&self, count: usize) {
        let mut seen = self.shared.ended.subscribe();
        let _ = seen.wait_for(|seen| *seen >= count).await;
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.server.abort();
    }
}

fn complete(shared: Arc<Shared>, dialect: Dialect, headers: HeaderMap, body: Bytes) -> Response<Body> {
    shared.arrivals.lock().unwrap().push(Instant::now());
    let is_forgetful = shared.is_forgetful.load(Ordering::Relaxed);
    let request = if is_forgetful { None } else { serde_json::from_slice(&body).ok() };
    shared.requests.lock().unwrap().push(request.unwrap_or(Value::Null));
    shared.headers.lock().unwrap().push(headers);
    let scripted = shared.answers.lock().unwrap().pop_front();
    shared.count.send_modify(|count| *count += 1);
    let scripted = scripted.unwrap_or_else(|| answer().text("All right.").finish("stop"));
    if let Some(Refusal { status, headers, body }) = scripted.refusal {
        let mut response = Response::builder().status(StatusCode::from_u16(status).unwrap());
        response = response.header("content-type", "application/json");
        for (name, value) in headers {
            response = response.header(name, value);
        }
        return response.body(Body::from(body)).unwrap();
    }
    let (sender, receiver) = mpsc::channel(16);
    tokio::spawn(async move {
        perform(scripted.acts, dialect, sender).await;
        shared.ends.lock().unwrap().push(Instant::now());
        shared.ended.send_modify(|count| *count += 1);
    });
    Response::builder()
        .header("content-type", "text/event-stream")
        .body(Body::from_stream(ReceiverStream::new(receiver)))
        .unwrap()
}

async fn perform(acts: Vec<Act>, dialect: Dialect, wire: mpsc::Sender<Result<Bytes, io::Error>>) {
    let mut encoder = dialect.encoder();
    for act in acts {
        let sent = match act {
            Act::Send(chunk) => wire.send(Ok(Bytes::from(format!("data: {chunk}\n\n")))).await,
            Act::Say(saying) => wire.send(Ok(Bytes::from(encoder.say(&saying)))).await,
            Act::SendNow(number) => {
                let text = Saying::Text(format!("{} ", number()));
                wire.send(Ok(Bytes::from(encoder.say(&text)))).await
            }
            Act::Raw(text) => wire.send(Ok(Bytes::from(text))).await,
            Act::Gate(gate) => {
                gate.pass().await;
                Ok(())
            }
            Act::Pace(pause) => {
                tokio::time::sleep(pause).await;
                Ok(())
            }
            Act::BreakOff => {
                let _ = wire.send(Err(io::Error::from(io::ErrorKind::ConnectionReset))).await;
                return;
            }
            Act::Hang => {
                wire.closed().await;
                return;
            }
        };
        if sent.is_err() {
            return;
        }
    }
}
