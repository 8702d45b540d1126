//! The handlers, one file per resource. Each reads a request, talks to the engine, answers.
//!
//! They stand by what they are about: `sessions`, `directories`, the `server`; `v2` is the second version of the API.
//! `server/workspaces.rs`, `sync.rs` and `single.rs` answer what the wire has for several servers.

mod directories;
pub(crate) mod server;
pub(crate) mod sessions;
mod v2;

#[cfg(feature = "describe")]
pub use server::described_document;
pub use server::document;

use crate::described::Routes;

/// Every route, with its description.
pub(crate) fn all() -> Routes {
    Routes::new()
        .merge(server::routes())
        .merge(sessions::routes())
        .merge(directories::routes())
        .merge(v2::routes())
        .merge(crate::rpc::routes())
        .merge(crate::ui::routes())
        .merge(crate::share::routes())
}

/// What the share service needs when it is alone.
pub(crate) fn of_shares() -> Routes {
    Routes::new()
        .merge(server::global::health_routes())
        .merge(crate::ui::share_routes())
        .merge(crate::share::routes())
}
