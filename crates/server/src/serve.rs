//! Accepting connections, and ending.
//!
//! A connection has small buffers, so that a client that does not read costs little. When there is no
//! room, an idle connection has to go (`connections.rs`) or the newcomer is told so. At the end no
//! new connection is taken, streams are ended, and what is being answered gets a moment to finish.

use crate::access::door::Ends;
use crate::app::App;
use crate::connections::Connection;
use axum::Router;
use http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;
use tower::ServiceExt as _;
use tracing::{debug, info, warn};

/// What is said when every connection is busy.
const FULL: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nretry-after: 1\r\n\
connection: close\r\ncontent-length: 104\r\n\r\n\
{\"name\":\"OverloadedError\",\"data\":{\"message\":\"Every connection is busy. Close one, or try again later.\"}}";
/// Newcomers that are told so at once; more are closed without a word.
const REFUSALS_MAX: usize = 64;
const REFUSAL_PATIENCE: Duration = Duration::from_secs(1);
/// Longest wait for the head of a request, also on a connection that is kept open for the next one.
const HEAD_TIMEOUT: Duration = Duration::from_secs(75);
/// What hyper holds of one connection, each way. Also the longest head.
const BUFFER_BYTES_MAX: usize = 32 * 1024;
/// Requests that are being answered when the server stops get this long.
const GRACE: Duration = Duration::from_secs(3);
/// After an accept that failed: out of files, most likely, and they come back.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves until `app.closing()` is cancelled.
pub async fn serve(listener: TcpListener, app: App) {
    let router = crate::router(&app);
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT).max_buf_size(BUFFER_BYTES_MAX);
    let connections = TaskTracker::new();
    let turns = Arc::new(Semaphore::new(REFUSALS_MAX));

    loop {
        let accepted = tokio::select! {
            biased;
            () = app.closing().cancelled() => break,
            accepted = listener.accept() => accepted,
        };
        let (socket, ends) = match accepted.and_then(|(socket, theirs)| {
            let ends = Ends::new(socket.local_addr()?, theirs);
            Ok((socket, ends))
        }) {
            Ok(accepted) => accepted,
            Err(cause) => {
                warn!(%cause, "a connection could not be accepted");
                app.connections().close_one();
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        // A delta is small and should not wait for the next one.
        if let Err(cause) = socket.set_nodelay(true) {
            debug!(%cause, "a socket is gone already");
        }
        let Some(place) = app.connections().open() else {
            if let Ok(turn) = turns.clone().try_acquire_owned() {
                let refusing = async move {
                    let _ = tokio::time::timeout(REFUSAL_PATIENCE, refuse(socket)).await;
                    drop(turn);
                };
                app.engine().tasks().spawn("refusal", refusing);
            }
            continue;
        };
        let answering = answer(app.clone(), http.clone(), router.clone(), socket, ends, place);
        app.engine().tasks().spawn("connection", connections.track_future(answering));
    }

    drop(listener);
    connections.close();
    info!("no new connections; waiting for running requests");
    if tokio::time::timeout(GRACE, connections.wait()).await.is_err() {
        info!("some requests were still running");
    }
}

/// Answers the requests of one connection.
async fn answer(
    app: App,
    http: http1::Builder,
    router: Router,
    socket: TcpStream,
    ends: Ends,
    place: Connection,
) {
    let service = service_fn(|mut request: Request<Incoming>| {
        request.extensions_mut().insert(ends.clone());
        let answering = app.connections().answering(&place);
        let router = router.clone();
        async move {
            let response = router.oneshot(request).await?;
            Ok::<_, Infallible>(response.map(|body| answering.hold(body)))
        }
    });
    let mut connection = pin!(http.serve_connection(TokioIo::new(socket), service).with_upgrades());
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = app.closing().cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
        () = place.closed() => {
            if place.is_idle() {
                debug!("an idle connection made room for another");
                return;
            }
            // It was just given something to do.
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(cause) = ended {
        debug!(%cause, "a connection broke");
    }
}

/// Says that there is no room, without reading what is asked.
async fn refuse(mut socket: TcpStream) -> io::Result<()> {
    socket.write_all(FULL).await?;
    socket.shutdown().await?;
    // Closed with something unread, the system would take the answer back.
    let mut unread = [0; 4096];
    while socket.read(&mut unread).await? > 0 {}
    Ok(())
}
