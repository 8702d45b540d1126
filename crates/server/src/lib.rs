//! HTTP, server-sent events and Cap'n Web over the engine.
//!
//! A request passes `edge.rs` (who may ask, cross-origin rules, password, panics), finds its handler in `routes/`,
//! which reads it with the extractors of `extract.rs` and `instance.rs`, talks to the engine, and answers
//! with `reply.rs` or an `error.rs`. Shapes that differ from ours are translated in `wire/`. Rows leave
//! the store as text and are never parsed on their way out.
//!
//! Not here: what a session does (`sturdy-engine`), what it is (`sturdy-session`).

mod access;
mod app;
mod connections;
mod described;
mod edge;
mod error;
mod extract;
mod grants;
mod instance;
mod packed;
mod reply;
mod routes;
mod rpc;
mod serve;
mod share;
mod sse;
mod streams;
mod ui;
mod wire;

pub use access::auth::Password;
pub use app::{App, Offer, ServerOptions, ServiceLimits, ShareOptions};
#[cfg(feature = "describe")]
pub use routes::described_document;
pub use routes::document;
pub use serve::serve;

use axum::Router;

/// Whether this names the origin of a web page: scheme, host, maybe a port.
#[must_use]
pub fn is_origin(text: &str) -> bool {
    access::cors::Site::parse(text).is_some()
}

/// Everything that is offered.
pub fn router(app: &App) -> Router {
    let routes = match app.offer() {
        Offer::Everything => routes::all(),
        Offer::Shares => routes::of_shares(),
    };
    edge::around(routes.into_router(app), app)
}
