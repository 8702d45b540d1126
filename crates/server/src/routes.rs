//! The handlers, one file per resource. Each reads a request, talks to the engine, answers.
//!
//! They stand by what they are about: `sessions`, `directories`, the `server`; `v2` is the second version of the API.
//! `server/unsupported.rs` names what the wire has and this version has not, so that a client is told so.

mod directories;
pub(crate) mod server;
mod sessions;
mod v2;

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
