//! Projects and paths.

use crate::app::App;
use crate::described::{Routes, routes};
use crate::error::ApiError;
use crate::extract::{Params, Payload};
use crate::instance::Here;
use crate::reply;
use crate::wire::body::EditProject;
use crate::wire::shapes::files::Paths;
use crate::wire::shapes::files::ProjectDirectory;
use axum::extract::State;
use axum::response::Response;
use serde_json::json;
use sturdy_engine::records::{self, readable};
use sturdy_engine::{Instance, ProjectEdit};
use sturdy_session::types::project::{GLOBAL, Project};

pub(super) fn routes() -> Routes {
    Routes::new()
        .routes(routes!(path))
        .routes(routes!(list))
        .routes(routes!(current))
        .routes(routes!(edit))
        .routes(routes!(directories))
}

/// Places on the server's machine.
#[utoipa::path(get, path = "/path", operation_id = "path.get",
    responses((status = 200, description = "Absolute paths", body = Paths)))]
async fn path(State(app): State<App>, Here(here): Here) -> Response {
    let environment = &app.engine().options().environment;
    reply::json(&json!({
        "home": environment.home,
        "state": environment.state_dir(),
        "config": environment.config_dir(),
        "worktree": here.worktree,
        "directory": here.directory,
    }))
}

/// Every project the server has seen.
#[utoipa::path(get, path = "/project", operation_id = "project.list",
    responses((status = 200, description = "Projects", body = [Project])))]
async fn list(State(app): State<App>, _: Here) -> Result<Response, ApiError> {
    Ok(reply::text(reply::array(app.engine().reads().projects().await?)))
}

/// The project of the directory.
#[utoipa::path(get, path = "/project/current", operation_id = "project.current",
    responses((status = 200, description = "The project", body = Project)))]
async fn current(State(app): State<App>, Here(here): Here) -> Result<Response, ApiError> {
    Ok(reply::json(&as_it_is(&app, &here).await?))
}

/// The stored record: somebody may have renamed it since this directory was first looked at. Where it lies is told as
/// this directory sees it.
pub(super) async fn as_it_is(app: &App, here: &Instance) -> Result<Project, ApiError> {
    let stored = app.engine().reads().project(&here.project.id).await?;
    let readable = stored.and_then(|text| readable(records::project(&here.project.id, &text)));
    let Some(stored) = readable else { return Ok(here.project.clone()) };
    if stored.id != GLOBAL {
        return Ok(stored);
    }
    Ok(Project { worktree: here.project.worktree.clone(), vcs: here.project.vcs, ..stored })
}

/// Names a project or gives it an icon.
#[utoipa::path(patch, path = "/project/{projectID}", operation_id = "project.update",
    params(("projectID" = String, Path)), request_body = EditProject,
    responses((status = 200, description = "The project", body = Project), (status = 404, description = "No such project")))]
async fn edit(
    State(app): State<App>,
    params: Params,
    Payload(body): Payload<EditProject>,
) -> Result<Response, ApiError> {
    let id = params.get("projectID");
    let edit = ProjectEdit { name: body.name, icon: body.icon, commands: body.commands };
    let edited = app.engine().edit_project(id, edit).await?;
    let project = edited.ok_or_else(|| ApiError::NoProject(id.to_owned()))?;
    Ok(reply::json(&project))
}

/// The worktrees of a project.
#[utoipa::path(get, path = "/project/{projectID}/directories", operation_id = "project.directories",
    params(("projectID" = String, Path)),
    responses((status = 200, description = "Directories", body = [ProjectDirectory])))]
async fn directories(State(app): State<App>, params: Params) -> Result<Response, ApiError> {
    let project = match find(&app, params.get("projectID")).await {
        Ok(project) if project.id != GLOBAL => project,
        // What lies outside every repository has no worktrees.
        Ok(_) | Err(ApiError::NoProject(_)) => return Ok(reply::text("[]")),
        Err(cause) => return Err(cause),
    };
    let all = std::iter::once(&project.worktree).chain(&project.sandboxes);
    let all: Vec<_> = all.map(|directory| json!({ "directory": directory })).collect();
    Ok(reply::json(&all))
}

async fn find(app: &App, id: &str) -> Result<Project, ApiError> {
    app.engine().project(id).await?.ok_or_else(|| ApiError::NoProject(id.to_owned()))
}
