//! What carries a session: one request (`batch`, `http`), a socket (`wire`, `ws`), or nothing at all (`pair`).

pub mod batch;
#[cfg(feature = "http")]
pub mod http;
pub mod pair;
#[cfg(feature = "tokio")]
pub mod wire;
#[cfg(feature = "ws")]
pub mod ws;
