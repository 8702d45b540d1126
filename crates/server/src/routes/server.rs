//! Routes about the server itself: health, events, logins, keys, upkeep, and what the wire has for several servers.

mod auth;
mod control;
mod event;
mod gc;
pub(crate) mod global;
mod grants;
pub(crate) mod login;
mod metrics;
mod openapi;
mod single;
mod sync;
mod tokens;
mod tui;
mod workspaces;

#[cfg(feature = "describe")]
pub use openapi::described_document;
pub use openapi::document;

use crate::described::Routes;

pub(super) fn routes() -> Routes {
    Routes::new()
        .merge(auth::routes())
        .merge(control::routes())
        .merge(event::routes())
        .merge(gc::routes())
        .merge(global::routes())
        .merge(grants::routes())
        .merge(login::routes())
        .merge(metrics::routes())
        .merge(single::routes())
        .merge(sync::routes())
        .merge(tokens::routes())
        .merge(tui::routes())
        .merge(workspaces::routes())
}
