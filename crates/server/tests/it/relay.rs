//! A way between two servers on which things get lost. Its address stays when what is behind it is started anew.

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use std::sync::{Arc, Mutex};
use tokio::net::TcpListener;
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
    /// Nothing arrives.
    Down,
}

#[derive(Debug)]
struct Way {
    to: Mutex<String>,
    fault: Mutex<Fault>,
    client: reqwest::Client,
    /// Bodies of batches, in the order they came.
    batches: Mutex<Vec<Vec<u8>>>,
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
            client: reqwest::Client::builder().no_proxy().build().unwrap(),
            batches: Mutex::default(),
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

    pub(crate) fn batches(&self) -> Vec<Vec<u8>> {
        self.way.batches.lock().unwrap().clone()
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
            Fault::Down => Fault::Down,
            Fault::None | Fault::LoseRequests(_) | Fault::LoseAnswers(_) | Fault::Twice(_) => Fault::None,
        };
        now
    }
}

async fn pass(State(way): State<Arc<Way>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body: Bytes = axum::body::to_bytes(body, usize::MAX).await.unwrap();
    let path = parts.uri.path_and_query().unwrap().to_string();
    if path.ends_with("/ops") {
        way.batches.lock().unwrap().push(body.to_vec());
    }
    let lost = StatusCode::BAD_GATEWAY.into_response();
    let fault = way.next();
    if matches!(fault, Fault::Down | Fault::LoseRequests(_)) {
        return lost;
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
    if matches!(fault, Fault::LoseAnswers(_)) {
        return lost;
    }
    let mut response = Response::new(axum::body::Body::from(bytes));
    *response.status_mut() = status;
    for name in ["content-type", "x-sturdy-share", "retry-after"] {
        if let Some(value) = headers.get(name) {
            response.headers_mut().insert(http::HeaderName::from_static(name), value.clone());
        }
    }
    response
}
