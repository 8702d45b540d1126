//! Where a server listens, and what is said when it cannot.

use crate::failure::{Failure, UNMET, USAGE};
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd as _;
use tokio::net::TcpListener;

/// Where clients look first.
const USUAL_PORT: u16 = 4096;

/// An address as the resolver wants it.
pub(super) fn bare(host: &str) -> &str {
    host.trim_start_matches('[').trim_end_matches(']')
}

pub(super) async fn bind(host: &str, port: u16) -> Result<TcpListener, Failure> {
    let wanted = if port == 0 { USUAL_PORT } else { port };
    match listen(host, wanted).await {
        Ok(listener) => Ok(listener),
        Err(cause) if port == 0 && cause.kind() == io::ErrorKind::AddrInUse => {
            listen(host, 0).await.map_err(|cause| refused(host, 0, &cause))
        }
        Err(cause) => Err(refused(host, wanted, &cause)),
    }
}

/// The socket that a service manager has opened and passed as stdin. Connections that came before us wait in it.
pub(super) fn inherited() -> Result<TcpListener, Failure> {
    let wrong = |cause: io::Error| {
        Failure::new(USAGE, "stdin is not a socket that a server can listen on")
            .with("cause", cause)
            .with("try", "sturdy serve, without --listen-on-stdin")
    };
    let socket = io::stdin().as_fd().try_clone_to_owned().map_err(wrong)?;
    let listener = std::net::TcpListener::from(socket);
    listener.local_addr().map_err(wrong)?;
    listener.set_nonblocking(true).map_err(wrong)?;
    TcpListener::from_std(listener).map_err(wrong)
}

async fn listen(host: &str, port: u16) -> io::Result<TcpListener> {
    TcpListener::bind((bare(host), port)).await
}

pub(super) fn refused(host: &str, port: u16, cause: &io::Error) -> Failure {
    let place = format!("{host}:{port}");
    match cause.kind() {
        io::ErrorKind::AddrInUse => Failure::new(UNMET, "the port is in use")
            .with("address", place)
            .with("try", "sturdy serve --port 0   takes a free one"),
        io::ErrorKind::PermissionDenied => Failure::new(UNMET, "this port needs more rights than you have")
            .with("address", place)
            .with("try", "a port above 1023, as in: sturdy serve --port 4096"),
        io::ErrorKind::AddrNotAvailable => Failure::new(USAGE, "this machine does not have that address")
            .with("address", place)
            .with("try", "sturdy serve --hostname 127.0.0.1"),
        _ => Failure::new(UNMET, "the server cannot listen")
            .with("address", place)
            .with("cause", cause)
            .with("try", "sturdy serve --hostname 127.0.0.1 --port 0"),
    }
}

/// The address in the form a client can use.
pub(super) fn address(listener: &TcpListener, host: &str) -> String {
    let port = listener.local_addr().as_ref().map_or(0, SocketAddr::port);
    if host.contains(':') && !host.starts_with('[') {
        format!("http://[{host}]:{port}")
    } else {
        format!("http://{host}:{port}")
    }
}
