//! The second version of the API, below `/api`: the same engine in another spelling.

mod asks;
mod events;
mod files;
mod history;
mod integration;
mod location;
mod messages;
mod prompt;
mod revert;
mod session_list;
mod sessions;
mod switch;

use crate::described::Routes;

pub(super) fn routes() -> Routes {
    Routes::new()
        .merge(location::routes())
        .merge(session_list::routes())
        .merge(sessions::routes())
        .merge(messages::routes())
        .merge(prompt::routes())
        .merge(asks::routes())
        .merge(integration::routes())
        .merge(files::routes())
        .merge(switch::routes())
        .merge(revert::routes())
        .merge(history::routes())
        .merge(events::routes())
}
