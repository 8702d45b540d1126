//! Linked worktrees of the directory's repository, and `git init` of a directory without one.

use super::project;
use crate::app::App;
use crate::described::{Routes, routes};
use crate::error::ApiError;
use crate::extract::{OptionalPayload, Payload};
use crate::instance::Here;
use crate::reply;
use crate::wire::shapes::files::Worktree;
use axum::extract::State;
use axum::response::Response;
use serde::Deserialize;
use serde_json::json;
use std::path::Path;
use sturdy_engine::Instance;
use sturdy_session::slug::slug;
use sturdy_session::types::event::Event;
use sturdy_session::types::project::{GLOBAL, Project};
use sturdy_worktree::git::Git;
use sturdy_worktree::worktrees::{self, WorktreeError};
use utoipa::ToSchema;

pub(super) fn routes() -> Routes {
    Routes::new().routes(routes!(list, create, remove)).routes(routes!(reset)).routes(routes!(init))
}

#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateWorktree {
    name: Option<String>,
    #[serde(rename = "startCommand")]
    start_command: Option<String>,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ChosenWorktree {
    directory: String,
}

/// The linked worktrees of the repository.
#[utoipa::path(get, path = "/experimental/worktree", operation_id = "worktree.list",
    responses((status = 200, description = "Directories", body = [String]), (status = 400, description = "git refused")))]
async fn list(Here(here): Here) -> Result<Response, ApiError> {
    // Where there is no repository there are none; clients ask everywhere.
    if here.project.id == GLOBAL {
        return Ok(reply::json(&json!([])));
    }
    let found = worktrees::list(top(&here)?).await.map_err(failed("WorktreeListFailedError"))?;
    Ok(reply::json(&found))
}

/// Creates a worktree with its own branch.
#[utoipa::path(post, path = "/experimental/worktree", operation_id = "worktree.create", request_body = Option<CreateWorktree>,
    responses((status = 200, description = "The worktree", body = Worktree), (status = 400, description = "It cannot be made")))]
async fn create(
    State(app): State<App>,
    Here(here): Here,
    OptionalPayload(body): OptionalPayload<CreateWorktree>,
) -> Result<Response, ApiError> {
    let top = top(&here)?;
    if body.start_command.is_some_and(|command| !command.trim().is_empty()) {
        let message =
            "Start commands are not run. Create the worktree without one, and run it there.".to_owned();
        return Err(ApiError::Named { name: "WorktreeStartCommandFailedError", message });
    }
    let engine = app.engine();
    let name = match body.name.filter(|name| !name.trim().is_empty()) {
        Some(name) => dashed(&name),
        None => slug(&mut engine.clock().stamp()),
    };
    let place = engine.options().data_dir.join("worktree").join(&here.project.id);
    let made = worktrees::create(top, &place, &name).await.map_err(failed("WorktreeCreateFailedError"))?;
    let directory = made.directory.to_string_lossy().into_owned();
    // From now on the project knows it.
    engine.instance(&directory).await?;
    let ready = Event::WorktreeReady { name: made.name.clone(), branch: Some(made.branch.clone()) };
    engine.feed().tell(engine.clock().now(), Some(&directory), Some(&here.project.id), ready);
    Ok(reply::json(&json!({ "name": made.name, "branch": made.branch, "directory": directory })))
}

/// Removes a worktree with everything in it.
#[utoipa::path(delete, path = "/experimental/worktree", operation_id = "worktree.remove", request_body = ChosenWorktree,
    responses((status = 200, description = "Removed", body = bool), (status = 400, description = "Not a worktree")))]
async fn remove(
    State(app): State<App>,
    Here(here): Here,
    Payload(body): Payload<ChosenWorktree>,
) -> Result<Response, ApiError> {
    let removed = worktrees::remove(top(&here)?, Path::new(&body.directory)).await;
    removed.map_err(failed("WorktreeRemoveFailedError"))?;
    app.engine().dispose(&body.directory);
    Ok(reply::done())
}

/// Resets a worktree to the commit of the main one. Uncommitted changes in it are lost.
#[utoipa::path(post, path = "/experimental/worktree/reset", operation_id = "worktree.reset", request_body = ChosenWorktree,
    responses((status = 200, description = "Reset", body = bool), (status = 400, description = "Not a worktree")))]
async fn reset(Here(here): Here, Payload(body): Payload<ChosenWorktree>) -> Result<Response, ApiError> {
    let done = worktrees::reset(top(&here)?, Path::new(&body.directory)).await;
    done.map_err(failed("WorktreeResetFailedError"))?;
    Ok(reply::done())
}

/// Runs `git init` in the directory. An existing repository is left as it is.
#[utoipa::path(post, path = "/project/git/init", operation_id = "project.initGit",
    responses((status = 200, description = "The project", body = Project), (status = 400, description = "git refused")))]
async fn init(State(app): State<App>, Here(here): Here) -> Result<Response, ApiError> {
    let engine = app.engine();
    if here.project.vcs.is_none() {
        let made = Git::at(Path::new(&here.directory)).args(["init", "--quiet"]).run().await;
        made.map_err(|cause| ApiError::schema(crate::error::Kind::Body, cause.to_string()))?;
        engine.dispose(&here.directory);
    }
    let here = engine.instance(&here.directory).await?;
    let project = project::as_it_is(&app, &here).await?;
    engine.feed().tell(engine.clock().now(), None, None, Event::ProjectUpdated(Box::new(project.clone())));
    Ok(reply::json(&project))
}

/// The top of the repository the directory belongs to.
fn top(here: &Instance) -> Result<&Path, ApiError> {
    if here.project.vcs.is_none() || here.project.id == GLOBAL {
        let message = "Worktrees are only supported for git projects with a commit".to_owned();
        return Err(ApiError::Named { name: "WorktreeNotGitError", message });
    }
    Ok(Path::new(&here.worktree))
}

fn failed(name: &'static str) -> impl Fn(WorktreeError) -> ApiError {
    move |cause| ApiError::Named { name, message: cause.to_string() }
}

/// A name as people write it, as one of a directory and a branch.
pub(super) fn dashed(name: &str) -> String {
    let lower = name.trim().to_lowercase();
    let kept: String = lower.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let words: Vec<&str> = kept.split('-').filter(|word| !word.is_empty()).collect();
    words.join("-").chars().take(48).collect()
}
