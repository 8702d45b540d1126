//! What tests share: a scripted provider on a real socket, and worlds that can crash.
//!
//! Nothing here is a stand-in for our own code. The one thing that cannot be had in a test is a model on
//! the internet; `provider` speaks its true protocol over a loopback socket, and says what a `script` tells it.

#![allow(clippy::disallowed_methods, reason = "a test's own server may spawn")]
#![allow(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

pub mod dialect;
pub mod mcp;
pub mod provider;
pub mod script;
pub mod seen;
pub mod world;

pub use dialect::Dialect;
pub use provider::Provider;
pub use script::{Answer, answer};
pub use seen::Seen;
pub use world::World;

use axum::serve::{Listener, ListenerExt as _};
use tokio::net::{TcpListener, TcpStream};

/// Sends each piece when it is written, as a provider does; otherwise it waits for the one before to be acknowledged.
pub(crate) fn without_delay(
    listener: TcpListener,
) -> impl Listener<Io = TcpStream, Addr = std::net::SocketAddr> {
    listener.tap_io(|socket| {
        let _ = socket.set_nodelay(true);
    })
}
