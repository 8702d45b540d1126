//! Routes about a directory: its settings, models, files, history and terminals.

mod catalog;
mod config;
mod copies;
mod experimental;
mod file;
mod mcp;
mod project;
mod provider;
mod pty;
mod trust;
mod vcs;
mod worktrees;

use crate::described::Routes;

pub(super) fn routes() -> Routes {
    Routes::new()
        .merge(catalog::routes())
        .merge(config::routes())
        .merge(copies::routes())
        .merge(experimental::routes())
        .merge(file::routes())
        .merge(mcp::routes())
        .merge(project::routes())
        .merge(provider::routes())
        .merge(pty::routes())
        .merge(trust::routes())
        .merge(vcs::routes())
        .merge(worktrees::routes())
}
