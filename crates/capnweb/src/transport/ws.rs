//! A WebSocket client.
//!
//! Not here: a WebSocket server. A server has its own upgrade (axum's, for one) and gives its
//! frames to [`wire::drive`](crate::transport::wire::drive); the README shows how.

use std::{future::Future, pin::Pin};

use futures_util::{SinkExt, StreamExt};
use tokio_tungstenite::{
    connect_async_with_config,
    tungstenite::{
        self, Message, Utf8Bytes,
        client::IntoClientRequest,
        http::{HeaderName, HeaderValue},
        protocol::{CloseFrame, WebSocketConfig, frame::coding::CloseCode},
    },
};

use crate::{
    Connection, Ended, Handle, Options, Stub,
    transport::wire::{Incoming, Outgoing, READ_BUFFER_BYTES, drive},
};

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    #[error("a header or the address cannot be sent")]
    Request(#[source] Box<tungstenite::Error>),
    #[error("the server did not accept the connection")]
    Refused(#[source] Box<tungstenite::Error>),
}

/// A session over a WebSocket that is open.
pub struct Client {
    /// The server's main object.
    pub root: Stub,
    /// Watches and ends the session.
    pub handle: Handle,
    /// The connection itself: spawn it, or await it beside the calls.
    pub run: Pin<Box<dyn Future<Output = Ended> + Send>>,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").field("root", &self.root).finish_non_exhaustive()
    }
}

/// Connects to `url`, with extra request headers, serving `main` to the server if given.
pub async fn connect(
    url: &str,
    headers: &[(&str, &str)],
    main: Option<Stub>,
    options: Options,
) -> Result<Client, ConnectError> {
    let mut request = url.into_client_request().map_err(|reason| ConnectError::Request(Box::new(reason)))?;
    for (name, value) in headers {
        let refused = |reason: tungstenite::Error| ConnectError::Request(Box::new(reason));
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|reason| refused(reason.into()))?;
        let value = HeaderValue::from_str(value).map_err(|reason| refused(reason.into()))?;
        request.headers_mut().insert(name, value);
    }
    // A little above our own limit, so that a message over it gets our answer and not a torn line.
    let frame_max = options.limits.message_bytes_max + 64 * 1024;
    let config = WebSocketConfig::default()
        .read_buffer_size(READ_BUFFER_BYTES)
        .max_message_size(Some(frame_max))
        .max_frame_size(Some(frame_max));
    // On the heap: with TLS it is large, and would make every future that waits for it as large.
    let connecting = Box::pin(connect_async_with_config(request, Some(config), true));
    let (socket, _) = connecting.await.map_err(|reason| ConnectError::Refused(Box::new(reason)))?;

    let connection = Connection::new(main, options);
    let root = connection.remote();
    let handle = connection.handle();
    let socket = socket
        .map(|frame| frame.map(incoming))
        .with(|frame| std::future::ready(Ok::<_, tungstenite::Error>(outgoing(frame))));
    Ok(Client { root, handle, run: Box::pin(drive(connection, socket)) })
}

fn incoming(frame: Message) -> Incoming<Utf8Bytes> {
    match frame {
        Message::Text(text) => Incoming::Text(text),
        Message::Binary(_) => Incoming::Binary,
        Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => Incoming::Alive,
        Message::Close(None) => Incoming::Closed { code: 1005, reason: String::new() },
        Message::Close(Some(frame)) => {
            Incoming::Closed { code: frame.code.into(), reason: frame.reason.to_string() }
        }
    }
}

fn outgoing(frame: Outgoing) -> Message {
    match frame {
        Outgoing::Text(text) => Message::text(text),
        Outgoing::Ping => Message::Ping(Default::default()),
        Outgoing::Close { code, reason } => {
            Message::Close(Some(CloseFrame { code: CloseCode::from(code), reason: reason.into() }))
        }
    }
}
