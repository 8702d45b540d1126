//! A provider that says what a test tells it to, byte by byte, over a real socket.
//!
//! Each script answers one connection. The request is read whole and handed to the test.

use futures_util::StreamExt;
use serde_json::Value;
use std::sync::{Arc, LazyLock, Mutex};
use sturdy_llm::{Catalog, Http, Model, ModelError};
use sturdy_session::talk::{Request, Said, Turn, UserItem};
use sturdy_session::types::failure::{ApiFailure, Failure};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// What a connection does, in order.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    Send(Vec<u8>),
    /// Ends with a TCP reset instead of a close.
    Reset,
    Pause(std::time::Duration),
    /// Neither speaks nor closes.
    Hang,
}

/// A request as it arrived.
#[derive(Clone, Debug)]
pub(crate) struct Received {
    pub(crate) path: String,
    pub(crate) head: String,
    pub(crate) body: Value,
}

pub(crate) struct Server {
    pub(crate) url: String,
    received: Arc<Mutex<Vec<Received>>>,
}

impl Server {
    /// One script per connection; further connections get the last one.
    pub(crate) async fn start(scripts: Vec<Vec<Act>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let received = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&received);
        #[allow(clippy::disallowed_methods, reason = "the scripted server lives as long as the test")]
        tokio::spawn(async move {
            for turn in 0.. {
                let Ok((socket, _)) = listener.accept().await else { return };
                let script = scripts[turn.min(scripts.len() - 1)].clone();
                serve(socket, script, &log).await;
            }
        });
        Self { url, received }
    }

    pub(crate) fn received(&self) -> Vec<Received> {
        self.received.lock().unwrap().clone()
    }
}

async fn serve(mut socket: TcpStream, script: Vec<Act>, log: &Mutex<Vec<Received>>) {
    let Some(received) = read_request(&mut socket).await else { return };
    log.lock().unwrap().push(received);
    for act in script {
        match act {
            Act::Send(bytes) => {
                if socket.write_all(&bytes).await.is_err() || socket.flush().await.is_err() {
                    return;
                }
                // Gives the client a chance to read this piece alone; correctness does not need it.
                tokio::task::yield_now().await;
            }
            Act::Pause(time) => tokio::time::sleep(time).await,
            Act::Reset => {
                socket.set_zero_linger().unwrap();
                return;
            }
            Act::Hang => {
                // Until the client goes away.
                let mut rest = [0; 64];
                while matches!(socket.read(&mut rest).await, Ok(count) if count > 0) {}
                return;
            }
        }
    }
}

async fn read_request(socket: &mut TcpStream) -> Option<Received> {
    let mut bytes = Vec::new();
    let head_end = loop {
        if let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break at + 4;
        }
        if socket.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8_lossy(&bytes[..head_end]).to_lowercase();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "))
        .map_or(0, |n| n.trim().parse().unwrap());
    while bytes.len() < head_end + length {
        if socket.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    let first = String::from_utf8_lossy(&bytes[..head_end]).lines().next().unwrap_or_default().to_owned();
    let path = first.split(' ').nth(1).unwrap_or_default().to_owned();
    Some(Received { path, head, body: serde_json::from_slice(&bytes[head_end..]).unwrap_or(Value::Null) })
}

/// Status line and headers of a stream that ends with the connection.
pub(crate) fn stream_head() -> Act {
    Act::Send(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n".to_vec())
}

/// The head of a stream whose end is announced, so that a break can be told from an end.
pub(crate) fn chunked_head() -> Act {
    Act::Send(
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n".to_vec(),
    )
}

pub(crate) fn chunk(text: &str) -> Act {
    Act::Send(format!("{:x}\r\n{text}\r\n", text.len()).into_bytes())
}

/// A whole answer that is not a stream.
pub(crate) fn whole(status: &str, headers: &str, body: &str) -> Vec<Act> {
    let length = body.len();
    vec![Act::Send(
        format!("HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n{body}")
            .into_bytes(),
    )]
}

pub(crate) fn sse(text: impl Into<String>) -> Vec<Act> {
    vec![stream_head(), Act::Send(text.into().into_bytes())]
}

/// `data:` lines of these values, and the end mark of chat completions.
pub(crate) fn data(events: &[Value]) -> String {
    events.iter().map(|event| format!("data: {event}\n\n")).collect()
}

/// Reading the system's certificates takes longer than most tests.
static HTTP: LazyLock<Http> = LazyLock::new(Http::new);

/// A catalog that knows one provider `acme` with one model `main`.
pub(crate) fn catalog(url: &str, npm: &str, options: Value, model: Value) -> Catalog {
    let mut options = options;
    options["baseURL"] = Value::from(url);
    if options.get("apiKey").is_none() {
        options["apiKey"] = Value::from("sk-secret-123456");
    }
    let config =
        serde_json::json!({ "acme": { "npm": npm, "options": options, "models": { "main": model } } });
    Catalog::build(&sturdy_llm::catalog::Sources {
        redirected: &[],
        cached: &Value::Null,
        config: &config,
        enabled: None,
        disabled: &[],
        env: &|_| None,
        credentials: &sturdy_llm::auth::Credentials::default(),
        http: HTTP.clone(),
    })
}

pub(crate) fn connect(url: &str, npm: &str, options: Value, model: Value) -> Arc<dyn Model> {
    catalog(url, npm, options, model).model("acme", "main").unwrap().connect().unwrap()
}

pub(crate) fn prompt(text: &str) -> Request {
    Request {
        model: "main".to_owned(),
        messages: vec![Turn::User(vec![UserItem::Text(text.to_owned())])],
        session: "ses_1".to_owned(),
        ..Request::default()
    }
}

/// Everything a model says, and how it ended.
pub(crate) async fn hear(model: &dyn Model, request: Request) -> (Vec<Said>, Option<ModelError>) {
    let mut said = Vec::new();
    let mut answer = model.stream(request);
    while let Some(item) = answer.next().await {
        match item {
            Ok(word) => said.push(word),
            Err(error) => {
                assert!(answer.next().await.is_none(), "an error is the last item");
                return (said, Some(error));
            }
        }
    }
    (said, None)
}

pub(crate) async fn hear_well(model: &dyn Model, request: Request) -> Vec<Said> {
    let (said, error) = hear(model, request).await;
    assert_eq!(error, None);
    said
}

/// The failure of an answer, which must have one.
pub(crate) async fn fail(model: &dyn Model, request: Request) -> Failure {
    hear(model, request).await.1.expect("the answer fails").into_failure()
}

pub(crate) fn api(failure: Failure) -> ApiFailure {
    match failure {
        Failure::Api(api) => api,
        other => panic!("an APIError is expected, not {other:?}"),
    }
}

/// One short line per word, for comparing whole answers.
pub(crate) fn lines(said: &[Said]) -> Vec<String> {
    said.iter().map(line).collect()
}

fn line(said: &Said) -> String {
    use sturdy_session::talk::CallInput;
    let meta = |metadata: &Option<serde_json::Map<String, Value>>| {
        metadata.as_ref().map(|map| format!(" {}", Value::Object(map.clone()))).unwrap_or_default()
    };
    match said {
        Said::Started => "started".to_owned(),
        Said::TextStarted { block, metadata } => format!("text+ {block}{}", meta(metadata)),
        Said::TextGrew { block, text } => format!("text {block} {text:?}"),
        Said::TextEnded { block, metadata } => format!("text- {block}{}", meta(metadata)),
        Said::TextReplaced { block, text, metadata } => format!("text= {block} {text:?}{}", meta(metadata)),
        Said::ReasoningStarted { block, metadata } => format!("reason+ {block}{}", meta(metadata)),
        Said::ReasoningGrew { block, text, metadata } => format!("reason {block} {text:?}{}", meta(metadata)),
        Said::ReasoningEnded { block, metadata } => format!("reason- {block}{}", meta(metadata)),
        Said::ToolInputStarted { call, name } => format!("call+ {call} {name}"),
        Said::ToolInputGrew { call, json } => format!("call {call} {json}"),
        Said::ToolCalled { call, name, input, metadata, by_provider } => {
            let input = match input {
                CallInput::Json(value) => value.to_string(),
                CallInput::Malformed { text, .. } => format!("malformed {text:?}"),
            };
            let who = if *by_provider { " by provider" } else { "" };
            format!("call! {call} {name} {input}{who}{}", meta(metadata))
        }
        Said::ToolReturned { call, output, is_error } => format!("returned {call} {output} {is_error}"),
        Said::Finished { reason, usage, metadata } => {
            let count = |value: Option<u64>| value.map_or("-".to_owned(), |value| value.to_string());
            format!(
                "finished {} in {} out {} think {} read {} write {} total {}{}",
                reason.as_str(),
                count(usage.input),
                count(usage.output),
                count(usage.reasoning),
                count(usage.cache_read),
                count(usage.cache_write),
                count(usage.total),
                meta(metadata)
            )
        }
    }
}
