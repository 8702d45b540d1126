//! The branch of the directory.

use crate::described::{Routes, routes};
use crate::instance::Here;
use crate::reply;
use axum::response::Response;
use serde_json::json;
use std::path::Path;
use sturdy_session::types::project::Vcs;
use sturdy_worktree::git::Git;
use tracing::debug;

/// What the default branch is called where no remote says so.
const USUAL_DEFAULTS: [&str; 2] = ["main", "master"];

pub(super) fn routes() -> Routes {
    Routes::new().routes(routes!(get))
}

/// The branch, and the one others start from; null outside a repository.
#[utoipa::path(get, path = "/vcs", operation_id = "vcs.get",
    responses((status = 200, description = "Branches", body = Object)))]
async fn get(Here(here): Here) -> Response {
    let directory = Path::new(&here.directory);
    let (branch, default_branch) = match here.project.vcs {
        Some(Vcs::Git) => tokio::join!(branch(directory), default_branch(directory)),
        None => (None, None),
    };
    reply::json(&json!({ "branch": branch, "default_branch": default_branch }))
}

async fn branch(directory: &Path) -> Option<String> {
    one_line(directory, &["branch", "--show-current"]).await
}

async fn default_branch(directory: &Path) -> Option<String> {
    let remote =
        one_line(directory, &["symbolic-ref", "--quiet", "--short", "refs/remotes/origin/HEAD"]).await;
    if let Some(remote) = remote {
        return Some(remote.strip_prefix("origin/").unwrap_or(&remote).to_owned());
    }
    let known = one_line(directory, &["config", "init.defaultBranch"]).await;
    for name in known.iter().map(String::as_str).chain(USUAL_DEFAULTS) {
        let reference = format!("refs/heads/{name}");
        let answer = Git::at(directory).args(["rev-parse", "--verify", "--quiet", &reference]).run().await;
        if answer.is_ok() {
            return Some(name.to_owned());
        }
    }
    None
}

async fn one_line(directory: &Path, arguments: &[&str]) -> Option<String> {
    match Git::at(directory).args(arguments).run().await {
        Ok(answer) => {
            let line = answer.lines().next().map(|line| String::from_utf8_lossy(line).into_owned());
            line.filter(|line| !line.is_empty())
        }
        Err(cause) => {
            debug!(%cause, "git gave no answer");
            None
        }
    }
}
