//! Routes about sessions: their messages, prompts, questions, and what can be found in them.

mod asks;
mod blob;
mod commands;
mod entries;
mod export;
mod message;
mod overview;
mod processes;
mod prompt;
mod queue;
mod revert;
mod search;
mod session;
mod share;
pub(crate) mod ticket;
mod usage;

use crate::described::Routes;

pub(super) fn routes() -> Routes {
    Routes::new()
        .merge(asks::routes())
        .merge(blob::routes())
        .merge(commands::routes())
        .merge(entries::routes())
        .merge(export::routes())
        .merge(message::routes())
        .merge(overview::routes())
        .merge(processes::routes())
        .merge(prompt::routes())
        .merge(queue::routes())
        .merge(revert::routes())
        .merge(search::routes())
        .merge(session::routes())
        .merge(share::routes())
        .merge(ticket::routes())
        .merge(usage::routes())
}
