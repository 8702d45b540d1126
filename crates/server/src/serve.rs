//! Accepting connections, and ending.
//!
//! A connection has small buffers, so that a client that does not read costs little. At the end no
//! new connection is taken, streams are ended, and what is being answered gets a moment to finish.

use crate::app::App;
use crate::door::Ends;
use http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;
use tower::ServiceExt as _;
use tracing::{debug, info, warn};

/// Connections at once. More wait in the listener's own queue.
const CONNECTIONS_MAX: usize = 1024;
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
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));

    loop {
        let accepted = async {
            let place = places.clone().acquire_owned().await;
            (place, listener.accept().await)
        };
        let (place, accepted) = tokio::select! {
            biased;
            () = app.closing().cancelled() => break,
            accepted = accepted => accepted,
        };
        let (socket, ends) = match accepted.and_then(|(socket, theirs)| {
            let ends = Ends { ours: socket.local_addr()?, theirs };
            Ok((socket, ends))
        }) {
            Ok(accepted) => accepted,
            Err(cause) => {
                warn!(%cause, "a connection could not be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        // A delta is small and should not wait for the next one.
        if let Err(cause) = socket.set_nodelay(true) {
            debug!(%cause, "a socket is gone already");
        }
        let service = router.clone().map_request(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(ends);
            request
        });
        let service = TowerToHyperService::new(service);
        let connection = http.serve_connection(TokioIo::new(socket), service).with_upgrades();
        let closing = app.closing().clone();
        let answering = connections.track_future(async move {
            let mut connection = pin!(connection);
            let ended = tokio::select! {
                ended = connection.as_mut() => ended,
                () = closing.cancelled() => {
                    connection.as_mut().graceful_shutdown();
                    connection.await
                }
            };
            if let Err(cause) = ended {
                debug!(%cause, "a connection broke");
            }
            drop(place);
        });
        app.engine().tasks().spawn("connection", answering);
    }

    drop(listener);
    connections.close();
    info!("no new connections; waiting for running requests");
    if tokio::time::timeout(GRACE, connections.wait()).await.is_err() {
        info!("some requests were still running");
    }
}
