//! The handlers, one file per resource. Each reads a request, talks to the engine, answers.
//!
//! `absent` names what the wire has and this version has not, so that a client is told so.

mod absent;
mod asks;
mod auth;
mod config;
mod event;
mod experimental;
mod file;
mod global;
mod lists;
mod mcp;
pub(crate) mod message;
mod project;
mod prompt;
mod provider;
mod second;
mod second_sessions;
mod session;
mod tui;
mod turns;
mod vcs;

use crate::described::Routes;

/// Every route, with its description.
pub(crate) fn all() -> Routes {
    Routes::new()
        .merge(global::routes())
        .merge(event::routes())
        .merge(session::routes())
        .merge(message::routes())
        .merge(prompt::routes())
        .merge(turns::routes())
        .merge(asks::routes())
        .merge(project::routes())
        .merge(config::routes())
        .merge(provider::routes())
        .merge(auth::routes())
        .merge(lists::routes())
        .merge(mcp::routes())
        .merge(file::routes())
        .merge(vcs::routes())
        .merge(tui::routes())
        .merge(experimental::routes())
        .merge(second::routes())
        .merge(second_sessions::routes())
        .merge(crate::rpc::routes())
        .merge(absent::routes())
}
