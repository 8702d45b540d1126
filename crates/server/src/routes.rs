//! The handlers, one file per resource. Each reads a request, talks to the engine, answers.
//!
//! `unsupported` names what the wire has and this version has not, so that a client is told so.

mod asks;
mod auth;
mod catalog;
mod commands;
mod config;
mod entries;
mod event;
mod experimental;
mod export;
mod file;
mod gc;
mod global;
pub(crate) mod grants;
pub(crate) mod login;
mod mcp;
pub(crate) mod message;
mod metrics;
mod overview;
mod project;
mod prompt;
mod provider;
mod pty;
mod queue;
mod revert;
mod search;
mod session;
mod share;
mod single;
mod tokens;
mod tui;
mod unsupported;
mod usage;
mod v2;
mod vcs;
mod worktrees;

use crate::described::Routes;

/// Every route, with its description.
pub(crate) fn all() -> Routes {
    Routes::new()
        .merge(global::routes())
        .merge(event::routes())
        .merge(session::routes())
        .merge(share::routes())
        .merge(revert::routes())
        .merge(message::routes())
        .merge(prompt::routes())
        .merge(commands::routes())
        .merge(asks::routes())
        .merge(project::routes())
        .merge(config::routes())
        .merge(provider::routes())
        .merge(auth::routes())
        .merge(catalog::routes())
        .merge(mcp::routes())
        .merge(file::routes())
        .merge(vcs::routes())
        .merge(pty::routes())
        .merge(worktrees::routes())
        .merge(single::routes())
        .merge(tui::routes())
        .merge(experimental::routes())
        .merge(v2::routes())
        .merge(overview::routes())
        .merge(queue::routes())
        .merge(usage::routes())
        .merge(export::routes())
        .merge(entries::routes())
        .merge(search::routes())
        .merge(gc::routes())
        .merge(login::routes())
        .merge(grants::routes())
        .merge(tokens::routes())
        .merge(metrics::routes())
        .merge(crate::rpc::routes())
        .merge(crate::ui::routes())
        .merge(crate::share::routes())
        .merge(unsupported::routes())
}
