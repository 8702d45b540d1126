//! A session over a WebSocket: axum's frames to the protocol's and back.

use super::caller::{Caller, Transport};
use super::options;
use crate::access::caller::Caller as Asking;
use crate::app::App;
use crate::grants::standing::ended;
use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket};
use bytes::Bytes;
use futures_util::{SinkExt as _, StreamExt as _};
use std::future::ready;
use std::pin::pin;
use sturdy_capnweb::wire::{Incoming, Outgoing, drive};
use sturdy_capnweb::{Connection, ErrorValue, Stub};
use tracing::debug;

/// Talks until one side ends it. When the server closes, the peer is told why.
pub(super) async fn converse(app: App, socket: WebSocket, root: Stub, who: Asking) {
    let no_longer_admitted = ended(app.clone(), who.clone());
    let caller = Caller::new(who, Transport::Socket);
    debug!(caller = %caller.who, "an rpc connection is open");
    let connection = Connection::new(Some(root), options(caller));
    let handle = connection.handle();

    let socket = socket
        .map(|frame| frame.map(into_incoming))
        .with(|frame| ready(Ok::<_, axum::Error>(from_outgoing(frame))));
    let mut talk = pin!(drive(connection, socket));
    let ended = tokio::select! {
        ended = &mut talk => ended,
        why = no_longer_admitted => {
            handle.abort(ErrorValue::new(why.message).code(why.code));
            talk.await
        }
        () = app.closing().cancelled() => {
            handle.abort(ErrorValue::new("The server is shutting down.").code("ClosingError"));
            talk.await
        }
    };
    debug!(code = ended.close_code, "an rpc connection is over");
}

fn into_incoming(frame: Message) -> Incoming<Utf8Bytes> {
    match frame {
        Message::Text(text) => Incoming::Text(text),
        Message::Binary(_) => Incoming::Binary,
        Message::Ping(_) | Message::Pong(_) => Incoming::Alive,
        Message::Close(None) => Incoming::Closed { code: 1005, reason: String::new() },
        Message::Close(Some(close)) => {
            Incoming::Closed { code: close.code, reason: close.reason.to_string() }
        }
    }
}

fn from_outgoing(frame: Outgoing) -> Message {
    match frame {
        Outgoing::Text(text) => Message::Text(text.into()),
        Outgoing::Ping => Message::Ping(Bytes::new()),
        Outgoing::Close { code, reason } => Message::Close(Some(CloseFrame { code, reason: reason.into() })),
    }
}
