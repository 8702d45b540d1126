//! One route on axum: POST is a batch, an upgrade is a WebSocket, anything else is refused.

use std::{
    io::Read,
    process::ExitCode,
    sync::{Arc, OnceLock},
};

use axum::{
    Router,
    body::Bytes,
    extract::{
        DefaultBodyLimit, Query, State, WebSocketUpgrade,
        ws::{self, WebSocket, WebSocketUpgrade as Upgrade},
    },
    http::{StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};
use futures_util::{FutureExt, SinkExt, StreamExt};
use sturdy_capnweb::{
    Connection, ErrorValue, Handle, Limits, Options, Stub, batch,
    wire::{Incoming, Outgoing, READ_BUFFER_BYTES, drive},
};

use crate::service::{Service, SessionSlot};

/// Which behaviour a test asks for, by query.
#[derive(Clone, Default, serde::Deserialize)]
struct Wanted {
    #[serde(default)]
    hook: String,
    #[serde(default)]
    limits: String,
}

/// Sessions that are open, for tests that look for leaks.
type Sessions = Arc<std::sync::Mutex<Vec<Handle>>>;

pub(crate) async fn run() -> ExitCode {
    let sessions = Sessions::default();
    let app = Router::new()
        .route("/rpc", get(upgrade).post(post).fallback(refuse))
        .route("/json", axum::routing::post(json_alone))
        .route("/nothing", get(nothing))
        .route("/sessions", get(sessions_open))
        .layer(DefaultBodyLimit::max(Limits::default().batch_bytes_max + 1))
        .with_state(sessions);
    let listener = match tokio::net::TcpListener::bind(("127.0.0.1", 0)).await {
        Ok(listener) => listener,
        Err(reason) => {
            eprintln!("error: no port on the loopback interface: {reason}");
            return ExitCode::FAILURE;
        }
    };
    let port = listener.local_addr().map_or(0, |address| address.port());
    println!("{port}");
    let (stop, stopped) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        let _ = stop.send(());
    });
    tokio::select! {
        _ = axum::serve(axum::serve::ListenerExt::tap_io(listener, |socket| {
            let _ = socket.set_nodelay(true);
        }), app) => ExitCode::FAILURE,
        _ = stopped => ExitCode::SUCCESS,
    }
}

fn options(wanted: &Wanted) -> (Options, Arc<SessionSlot>) {
    let slot = Arc::new(SessionSlot(OnceLock::new()));
    let mut options = Options::default().with_context(Arc::clone(&slot));
    if wanted.hook == "stack" {
        options = options.with_error_hook(|mut error: ErrorValue| {
            error.stack = Some("STACK".to_owned());
            error
        });
    }
    if wanted.limits == "small" {
        options.limits = Limits {
            table_entries_max: 50,
            pipes_max: 2,
            map_evaluations_max: 10,
            map_instructions_max: 4,
            batch_messages_max: 10,
            batch_bytes_max: 1000,
            path_elements_max: 4,
            ..Limits::default()
        };
    }
    (options, slot)
}

/// Not POST and not an upgrade: 405, as the npm package answers.
async fn refuse() -> Response {
    (StatusCode::METHOD_NOT_ALLOWED, "this endpoint takes POST and WebSocket").into_response()
}

async fn post(Query(wanted): Query<Wanted>, body: Bytes) -> Response {
    let (options, _) = options(&wanted);
    match batch::serve(Service::root(), &body, options).await {
        Ok(answer) => ([(header::CONTENT_TYPE, batch::CONTENT_TYPE)], answer).into_response(),
        Err(refused) => {
            let status = StatusCode::from_u16(refused.status()).unwrap_or(StatusCode::BAD_REQUEST);
            (status, refused.to_string()).into_response()
        }
    }
}

/// A socket that answers every pull and understands nothing: what the clients of a benchmark reach
/// against a server that costs as good as nothing.
async fn nothing(upgrade: WebSocketUpgrade) -> Response {
    upgrade.read_buffer_size(READ_BUFFER_BYTES).on_upgrade(|mut socket| async move {
        while let Some(Ok(frame)) = socket.next().await {
            let mut next = Some(frame);
            // All that is there is answered before anything is flushed, as by `drive`.
            while let Some(frame) = next.take() {
                if let ws::Message::Text(text) = &frame
                    && let Some(id) = text.strip_prefix("[\"pull\",").and_then(|rest| rest.strip_suffix(']'))
                {
                    let answer = ws::Message::Text(format!("[\"resolve\",{id},0]").into());
                    if socket.feed(answer).await.is_err() {
                        return;
                    }
                }
                next = socket.next().now_or_never().flatten().and_then(Result::ok);
            }
            if socket.flush().await.is_err() {
                return;
            }
        }
    })
}

/// What a batch costs without its meaning: the same lines, read and written as JSON.
async fn json_alone(body: Bytes) -> Response {
    let lines = body.split(|byte| *byte == b'\n').map(|line| {
        let tree: serde_json::Value = serde_json::from_slice(line).unwrap_or_default();
        tree.to_string()
    });
    lines.collect::<Vec<_>>().join("\n").into_response()
}

/// Open sessions, and why the last ones ended.
async fn sessions_open(State(sessions): State<Sessions>) -> Response {
    let known: Vec<Handle> = sessions.lock().map(|known| known.clone()).unwrap_or_default();
    let ended: Vec<String> =
        known.iter().filter_map(Handle::ended).map(|ended| ended.reason.message()).collect();
    let open = known.len() - ended.len();
    axum::Json(serde_json::json!({ "open": open, "ended": ended })).into_response()
}

async fn upgrade(
    State(sessions): State<Sessions>,
    Query(wanted): Query<Wanted>,
    upgrade: Result<WebSocketUpgrade, ws::rejection::WebSocketUpgradeRejection>,
) -> Response {
    let Ok(upgrade): Result<Upgrade, _> = upgrade else { return refuse().await };
    let frame_max = Limits::default().message_bytes_max + 64 * 1024;
    upgrade
        .read_buffer_size(READ_BUFFER_BYTES)
        .max_message_size(frame_max)
        .max_frame_size(frame_max)
        .on_upgrade(move |socket| converse(socket, Service::root(), wanted, sessions))
}

async fn converse(socket: WebSocket, root: Stub, wanted: Wanted, sessions: Sessions) {
    let (options, slot) = options(&wanted);
    let connection = Connection::new(Some(root), options);
    let handle = connection.handle();
    let _ = slot.0.set(handle.clone());
    if let Ok(mut open) = sessions.lock() {
        // The last hundred are remembered after their end.
        let old = open.len().saturating_sub(100);
        let mut at = 0;
        open.retain(|session| {
            at += 1;
            at > old || session.ended().is_none()
        });
        open.push(handle);
    }
    let socket = socket
        .map(|frame| frame.map(into_incoming))
        .with(|frame| std::future::ready(Ok::<_, axum::Error>(from_outgoing(frame))));
    drive(connection, socket).await;
}

fn into_incoming(frame: ws::Message) -> Incoming<ws::Utf8Bytes> {
    match frame {
        ws::Message::Text(text) => Incoming::Text(text),
        ws::Message::Binary(_) => Incoming::Binary,
        ws::Message::Ping(_) | ws::Message::Pong(_) => Incoming::Alive,
        ws::Message::Close(None) => Incoming::Closed { code: 1005, reason: String::new() },
        ws::Message::Close(Some(close)) => {
            Incoming::Closed { code: close.code, reason: close.reason.to_string() }
        }
    }
}

fn from_outgoing(frame: Outgoing) -> ws::Message {
    match frame {
        Outgoing::Text(text) => ws::Message::Text(text.into()),
        Outgoing::Ping => ws::Message::Ping(Bytes::new()),
        Outgoing::Close { code, reason } => {
            ws::Message::Close(Some(ws::CloseFrame { code, reason: reason.into() }))
        }
    }
}
