//! What the wire calls experimental and clients read when they start.

use crate::app::App;
use crate::described::{Routes, routes};
use crate::error::ApiError;
use crate::instance::Here;
use crate::reply;
use crate::wire::page::NEXT_CURSOR;
use crate::wire::query::Query;
use crate::wire::shapes::catalog::Capabilities;
use crate::wire::shapes::catalog::Console;
use crate::wire::shapes::catalog::ConsoleOrgs;
use crate::wire::shapes::catalog::McpResource;
use crate::wire::shapes::catalog::ToolInfo;
use axum::extract::State;
use axum::response::Response;
use http::HeaderValue;
use serde_json::json;
use std::collections::HashMap;
use std::sync::Arc;
use sturdy_engine::Instance;
use sturdy_engine::reads::SessionQuery;
use sturdy_engine::records;
use sturdy_llm::catalog::takes_patches;
use sturdy_session::types::project::Project;
use sturdy_session::types::session::{GlobalSession, ProjectSummary};
use sturdy_worktree::tool::Tool;
use sturdy_worktree::tools::is_offered;

const LIMIT_DEFAULT: u32 = 100;

const ORDER: &[&str] = &[
    "invalid",
    "question",
    "bash",
    "read",
    "glob",
    "grep",
    "edit",
    "write",
    "task",
    "webfetch",
    "todowrite",
    "skill",
    "apply_patch",
];

pub(super) fn routes() -> Routes {
    Routes::new()
        .routes(routes!(capabilities))
        .routes(routes!(console))
        .routes(routes!(orgs))
        .routes(routes!(resource))
        .routes(routes!(tool_ids))
        .routes(routes!(tools))
        .routes(routes!(sessions))
}

/// What else the server can do.
#[utoipa::path(get, path = "/experimental/capabilities", operation_id = "experimental.capabilities.get",
    responses((status = 200, description = "Capabilities", body = Capabilities)))]
async fn capabilities(_: Here) -> Response {
    reply::text(r#"{"backgroundSubagents":false}"#)
}

/// The account console. There is none.
#[utoipa::path(get, path = "/experimental/console", operation_id = "experimental.console.get",
    responses((status = 200, description = "Console", body = Console)))]
async fn console(_: Here) -> Response {
    reply::text(r#"{"consoleManagedProviders":[],"switchableOrgCount":0}"#)
}

/// Organisations of the account console: there are none.
#[utoipa::path(get, path = "/experimental/console/orgs", operation_id = "experimental.console.listOrgs",
    responses((status = 200, description = "Organisations", body = ConsoleOrgs)))]
async fn orgs(_: Here) -> Response {
    reply::text(r#"{"orgs":[]}"#)
}

/// Resources of MCP servers.
#[utoipa::path(get, path = "/experimental/resource", operation_id = "experimental.resource.list",
    responses((status = 200, description = "Resources", body = HashMap<String, McpResource>)))]
async fn resource(Here(here): Here) -> Response {
    reply::json(&here.mcp.resources().await)
}

/// The names of the tools that a model may call.
#[utoipa::path(get, path = "/experimental/tool/ids", operation_id = "tool.ids",
    responses((status = 200, description = "Names", body = [String])))]
async fn tool_ids(Here(here): Here) -> Response {
    let ids: Vec<_> = in_order(&here).await.iter().map(|tool| tool.spec().name.clone()).collect();
    reply::json(&ids)
}

/// The tools that a model may call, as they are described to it.
#[utoipa::path(get, path = "/experimental/tool", operation_id = "tool.list",
    params(("provider" = String, Query), ("model" = String, Query)),
    responses((status = 200, description = "Tools", body = [ToolInfo]), (status = 400, description = "A key is missing")))]
async fn tools(Here(here): Here, query: Query) -> Result<Response, ApiError> {
    let provider = query.wanted("provider")?;
    let model = query.wanted("model")?;
    let known = here.model(provider, model).ok();
    let takes_patches = known.map_or_else(|| takes_patches(model), |entry| entry.info.traits.takes_patches);
    let tools: Vec<_> = in_order(&here)
        .await
        .iter()
        .map(|tool| tool.spec())
        .filter(|spec| spec.name == "invalid" || is_offered(&spec.name, takes_patches))
        .map(|spec| {
            // The one that starts agents repeats what the settings say about each.
            let description = here.settings.shown(&spec.description);
            json!({ "id": spec.name, "description": description, "parameters": spec.parameters })
        })
        .collect();
    Ok(reply::json(&tools))
}

/// The built-in tools in the order clients know, then the others as they come.
async fn in_order(here: &Instance) -> Vec<Arc<dyn Tool>> {
    let place = |tool: &Arc<dyn Tool>| ORDER.iter().position(|name| *name == tool.spec().name);
    let mut tools = here.all_tools().await;
    tools.sort_by_key(|tool| place(tool).unwrap_or(ORDER.len()));
    tools
}

/// Sessions of all projects, newest change first.
#[utoipa::path(get, path = "/experimental/session", operation_id = "experimental.session.list", params(
    ("directory" = Option<String>, Query), ("roots" = Option<bool>, Query), ("start" = Option<u64>, Query),
    ("cursor" = Option<u64>, Query, description = "Only sessions changed before this time"),
    ("search" = Option<String>, Query), ("limit" = Option<u32>, Query), ("archived" = Option<bool>, Query)),
    responses((status = 200, description = "Sessions, each with its project", body = [crate::wire::shapes::catalog::SessionOfProject])))]
async fn sessions(State(app): State<App>, query: Query) -> Result<Response, ApiError> {
    let store = app.engine().reads();
    let limit = query.limit()?.unwrap_or(LIMIT_DEFAULT).min(u32::MAX - 1);
    let wanted = SessionQuery {
        directory: query.directory("directory"),
        roots: query.boolean("roots")?.filter(|roots| *roots),
        start: query.number("start")?.filter(|start| *start > 0),
        before: query.number("cursor")?,
        search: query.get("search").filter(|search| !search.is_empty()).map(str::to_owned),
        archived: if query.boolean("archived")? == Some(true) { None } else { Some(false) },
        // One more than asked for tells whether there are more.
        limit: Some(limit + 1),
        ..SessionQuery::default()
    };
    let projects = known_projects(&app).await?;
    let mut list = Vec::new();
    for session in records::sessions(&store.sessions(wanted).await?) {
        let project = projects.get(&session.project_id).cloned();
        list.push(GlobalSession { session, project });
    }
    let has_more = list.len() > limit as usize;
    list.truncate(limit as usize);
    let mut response = reply::json(&list);
    if let (true, Some(last)) = (has_more, list.last()) {
        response.headers_mut().insert(NEXT_CURSOR, HeaderValue::from(last.session.time.updated));
    }
    Ok(response)
}

async fn known_projects(app: &App) -> Result<HashMap<String, ProjectSummary>, ApiError> {
    let all = app.engine().reads().projects().await?;
    let summary = |project: Project| {
        let Project { id, name, worktree, .. } = project;
        (id.clone(), ProjectSummary { id, name, worktree })
    };
    Ok(records::projects(&all).map(summary).collect())
}
