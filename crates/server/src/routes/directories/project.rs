//! Projects and paths.

use crate::app::App;
use crate::described::{Routes, routes};
use crate::error::ApiError;
use crate::extract::{Params, Payload};
use crate::instance::Here;
use crate::reply;
use crate::wire::body::EditProject;
use axum::extract::State;
use axum::response::Response;
use serde_json::json;
use sturdy_session::depth::read_stored;
use sturdy_session::types::event::Event;
use sturdy_session::types::project::{GLOBAL, Project};
use sturdy_store::ReadError;

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
    responses((status = 200, description = "Absolute paths", body = Object)))]
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
    responses((status = 200, description = "Projects", body = [Object])))]
async fn list(State(app): State<App>, _: Here) -> Result<Response, ApiError> {
    Ok(reply::text(reply::array(app.engine().store().projects().await?)))
}

/// The project of the directory.
#[utoipa::path(get, path = "/project/current", operation_id = "project.current",
    responses((status = 200, description = "The project", body = Object)))]
async fn current(State(app): State<App>, Here(here): Here) -> Result<Response, ApiError> {
    // The stored record: somebody may have renamed it since this directory was first looked at.
    let stored = app.engine().store().project(&here.project.id).await?;
    Ok(stored.map_or_else(|| reply::json(&here.project), reply::text))
}

/// Names a project or gives it an icon.
#[utoipa::path(patch, path = "/project/{projectID}", operation_id = "project.update",
    params(("projectID" = String, Path)), request_body = EditProject,
    responses((status = 200, description = "The project", body = Object), (status = 404, description = "No such project")))]
async fn edit(
    State(app): State<App>,
    params: Params,
    Payload(body): Payload<EditProject>,
) -> Result<Response, ApiError> {
    let engine = app.engine();
    let id = params.get("projectID");
    let mut project = find(&app, id).await?;
    project.name = body.name.or(project.name);
    project.icon = body.icon.or(project.icon);
    project.commands = body.commands.or(project.commands);
    project.time.updated = engine.clock().now();
    let text = serde_json::to_string(&project).expect("BUG: a project is always JSON");
    engine.store().put_project(id, text.clone(), project.time.updated).await?;
    engine.feed().tell(project.time.updated, None, None, Event::ProjectUpdated(Box::new(project)));
    Ok(reply::text(text))
}

/// The worktrees of a project.
#[utoipa::path(get, path = "/project/{projectID}/directories", operation_id = "project.directories",
    params(("projectID" = String, Path)),
    responses((status = 200, description = "Directories", body = [Object])))]
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
    let text = app.engine().store().project(id).await?.ok_or_else(|| ApiError::NoProject(id.to_owned()))?;
    read_stored(&text).map_err(|cause| {
        let place = format!("project {id}");
        ReadError::Broken { what: cause.to_string(), place }.into()
    })
}
