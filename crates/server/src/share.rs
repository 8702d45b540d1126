//! The share service: receives sessions that are shared, and shows them.
//!
//! Off unless asked for. The core is the store's (`sturdy_store::share`): everything here is a thin adapter that
//! reads a request, makes the random values, calls the store once, and wakes viewers when something was
//! applied. Viewers read the store by their own cursor, so a lost wake-up costs time and never data.
//!
//! Not here: the engine's side that sends (`sturdy_engine::share`).

mod at;
mod follow;
mod grants;
mod http;
mod import;
mod limits;
mod refuse;
mod rpc;
mod viewer;

pub(crate) use http::routes;

use crate::app::App;

/// Paths that are for whoever has a link, with or without the server's password.
const PATHS: [&str; 4] = ["/api/share", "/api/shares", "/share", "/rpc/share"];

/// Whether a request is for the share service, which knows its own callers.
pub(crate) fn concerns(app: &App, path: &str) -> bool {
    let is_below =
        |root: &str| path.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    app.shares().is_some() && PATHS.iter().any(|root| is_below(root))
}
