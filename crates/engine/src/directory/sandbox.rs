//! The sandbox for a model's commands, as the user's own settings configure it.
//!
//! `experimental.sandbox` counts in the settings of the user alone: a project can neither put the fence up in the
//! wrong place nor take it down. Commands may then write to the checkout, to what git keeps of it elsewhere (a linked
//! worktree), to the temporary directory, and to what the settings list.
//!
//! Not here: how the system does it (`sturdy_worktree::process::Sandbox`).

use super::config::Settings;
use super::scratch::scratch_dir;
use std::path::Path;
use sturdy_worktree::process::{Network, Sandbox};
use sturdy_worktree::project::Project;

/// None if the settings do not ask for one.
pub(crate) fn sandbox(settings: &Settings, directory: &Path, project: &Project) -> Option<Sandbox> {
    let wanted = settings.sandbox();
    if !wanted.enabled {
        return None;
    }
    let environment = &settings.places().environment;
    let mut writable = match &project.git {
        Some(_) => vec![project.worktree.clone()],
        // Without version control the worktree is the whole disk.
        None => vec![directory.to_owned()],
    };
    writable.extend(project.outer_git.iter().cloned());
    writable.push(environment.temporary_dir());
    writable.push(scratch_dir(environment));
    writable.extend(wanted.writable.iter().map(|path| match path.strip_prefix("~/") {
        Some(below) => environment.home.join(below),
        None => directory.join(path),
    }));
    // What lies in another one of them need not be said.
    writable.sort();
    writable.dedup_by(|path, before| path.starts_with(&*before));
    let network = if wanted.network == Some(false) { Network::Closed } else { Network::Open };
    Some(Sandbox { writable, network })
}
