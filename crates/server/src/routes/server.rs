//! Routes about the server itself: health, events, logins, keys, upkeep, and what is not there.

mod auth;
mod event;
mod gc;
pub(super) mod global;
pub(crate) mod grants;
pub(crate) mod login;
mod metrics;
mod openapi;
mod single;
mod tokens;
mod tui;
mod unsupported;

use crate::described::Routes;

pub(super) fn routes() -> Routes {
    Routes::new()
        .merge(auth::routes())
        .merge(event::routes())
        .merge(gc::routes())
        .merge(global::routes())
        .merge(grants::routes())
        .merge(login::routes())
        .merge(metrics::routes())
        .merge(single::routes())
        .merge(tokens::routes())
        .merge(tui::routes())
        .merge(unsupported::routes())
}
