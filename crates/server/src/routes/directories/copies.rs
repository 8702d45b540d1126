//! Copies of a project: linked worktrees under a name of their own, made where the client says.

use crate::app::App;
use crate::described::{Routes, routes};
use crate::error::ApiError;
use crate::extract::{OptionalPayload, Params, Payload};
use crate::reply;
use crate::wire::shapes::catalog::{ProjectCopy, ProjectCopyName};
use axum::extract::State;
use axum::response::Response;
use serde::Deserialize;
use serde_json::json;
use std::path::{Path, PathBuf};
use sturdy_session::title::slug::slug;
use sturdy_session::types::project::Project;
use sturdy_worktree::worktrees;
use utoipa::ToSchema;

/// The one way to make a copy.
const STRATEGY: &str = "git_worktree";

pub(super) fn routes() -> Routes {
    Routes::new().routes(routes!(create, remove)).routes(routes!(refresh)).routes(routes!(generate_name))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NewCopy {
    /// `git_worktree`.
    strategy: String,
    /// The directory the copy is made in.
    directory: String,
    name: Option<String>,
}

/// Makes a copy: a worktree of the project's repository.
#[utoipa::path(post, path = "/experimental/project/{projectID}/copy", operation_id = "v2.projectCopy.create",
    params(("projectID" = String, Path)), request_body = NewCopy,
    responses((status = 200, description = "Where it is", body = ProjectCopy),
        (status = 400, description = "It cannot be made, or there is no such project")))]
async fn create(
    State(app): State<App>,
    params: Params,
    wanted: Result<Payload<NewCopy>, ApiError>,
) -> Result<Response, ApiError> {
    let Payload(wanted) = wanted.map_err(ApiError::in_v2)?;
    let project = find(&app, &params).await?;
    if wanted.strategy != STRATEGY {
        return Err(failed(format!("There is no strategy {:?}; {STRATEGY:?} is one", wanted.strategy)));
    }
    let top = top(&project)?;
    let place = PathBuf::from(&wanted.directory);
    if !place.is_absolute() || place.starts_with(&top) {
        return Err(failed(format!(
            "A copy is made in a directory outside of the project: {}",
            wanted.directory
        )));
    }
    let name = match wanted.name.filter(|name| !name.trim().is_empty()) {
        Some(name) => super::worktrees::dashed(&name),
        None => slug(&mut app.engine().clock().stamp()),
    };
    let made = worktrees::create(&top, &place, &name).await.map_err(|cause| failed(cause.to_string()))?;
    let directory = made.directory.to_string_lossy().into_owned();
    // From now on the project knows it.
    app.engine().instance(&directory).await?;
    Ok(reply::json(&json!({ "directory": directory })))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct OldCopy {
    directory: String,
    /// Whether what is not committed in it may be lost.
    force: bool,
}

/// Removes a copy. Without `force` one with changes that are not committed stays.
#[utoipa::path(delete, path = "/experimental/project/{projectID}/copy", operation_id = "v2.projectCopy.remove",
    params(("projectID" = String, Path)), request_body = OldCopy,
    responses((status = 204, description = "Removed"), (status = 400, description = "Not a copy, or it has changes")))]
async fn remove(
    State(app): State<App>,
    params: Params,
    copy: Result<Payload<OldCopy>, ApiError>,
) -> Result<Response, ApiError> {
    let Payload(copy) = copy.map_err(ApiError::in_v2)?;
    let project = find(&app, &params).await?;
    let top = top(&project)?;
    let directory = Path::new(&copy.directory);
    let known = worktrees::list(&top).await.map_err(|cause| failed(cause.to_string()))?;
    if !known.iter().any(|one| one == directory) {
        return Err(failed(format!("{} is not a copy of this project", copy.directory)));
    }
    if !copy.force && has_changes(&app, &copy.directory).await? {
        return Err(ApiError::CopyHasChanges(copy.directory));
    }
    worktrees::remove(&top, directory).await.map_err(|cause| failed(cause.to_string()))?;
    app.engine().dispose(&copy.directory);
    Ok(reply::no_content())
}

async fn has_changes(app: &App, directory: &str) -> Result<bool, ApiError> {
    let here = app.engine().instance(directory).await?;
    let Some(checkout) = here.checkout() else { return Ok(false) };
    Ok(!checkout.status().await?.is_empty())
}

/// Refreshes the list of copies. It is read from git at every request, so there is nothing to do.
#[utoipa::path(post, path = "/experimental/project/{projectID}/copy/refresh", operation_id = "v2.projectCopy.refresh",
    params(("projectID" = String, Path)), responses((status = 204, description = "Looked")))]
async fn refresh(_: Params) -> Response {
    reply::no_content()
}

#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NameContext {
    /// What the copy is for.
    context: Option<String>,
}

/// A name for a copy: the first words of what it is for, else any.
#[utoipa::path(post, path = "/experimental/project/{projectID}/copy/generate-name",
    operation_id = "experimental.projectCopy.generateName", params(("projectID" = String, Path)),
    request_body = Option<NameContext>,
    responses((status = 200, description = "A name", body = ProjectCopyName)))]
async fn generate_name(
    State(app): State<App>,
    _: Params,
    OptionalPayload(wanted): OptionalPayload<NameContext>,
) -> Response {
    let words = wanted.context.unwrap_or_default();
    let few: Vec<&str> = words.split_whitespace().take(4).collect();
    let name = super::worktrees::dashed(&few.join(" "));
    let name = if name.is_empty() { slug(&mut app.engine().clock().stamp()) } else { name };
    reply::json(&json!({ "name": name }))
}

async fn find(app: &App, params: &Params) -> Result<Project, ApiError> {
    let id = params.get("projectID");
    app.engine().project(id).await?.ok_or_else(|| failed(format!("Project not found: {id}")))
}

fn top(project: &Project) -> Result<PathBuf, ApiError> {
    if project.vcs.is_none() {
        return Err(failed("Only git projects with a commit can be copied".to_owned()));
    }
    Ok(PathBuf::from(&project.worktree))
}

fn failed(message: String) -> ApiError {
    ApiError::Named { name: "ProjectCopyError", message }
}
