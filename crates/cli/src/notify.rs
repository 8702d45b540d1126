//! Reports the state of the server to a service manager, with systemd's notification protocol.
//!
//! The manager names a socket in `NOTIFY_SOCKET`; without one there is nobody to tell. Nothing depends on being heard.

use std::os::unix::net::{SocketAddr, UnixDatagram};
use sturdy_engine::Environment;
use tracing::debug;

/// The server answers.
pub(crate) fn ready(environment: &Environment, address: &str) {
    tell(environment, &format!("READY=1\nSTATUS=listening on {address}"));
}

/// The server ends.
pub(crate) fn stopping(environment: &Environment) {
    tell(environment, "STOPPING=1");
}

fn tell(environment: &Environment, state: &str) {
    let Some(name) = environment.filled("NOTIFY_SOCKET") else { return };
    let told =
        socket(name).and_then(|manager| UnixDatagram::unbound()?.send_to_addr(state.as_bytes(), &manager));
    if let Err(cause) = told {
        debug!(%cause, "the service manager cannot be notified");
    }
}

/// A path, or behind an `@` a name that only Linux knows.
fn socket(name: &str) -> std::io::Result<SocketAddr> {
    #[cfg(target_os = "linux")]
    if let Some(name) = name.strip_prefix('@') {
        return <SocketAddr as std::os::linux::net::SocketAddrExt>::from_abstract_name(name);
    }
    SocketAddr::from_pathname(name)
}
