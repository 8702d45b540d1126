//! What a directory offers: agents, commands, skills; and the lists of what this version does not
//! have, which are truly empty.

use crate::described::{Routes, routes};
use crate::instance::Here;
use crate::reply;
use crate::wire::shapes::catalog;
use crate::wire::shapes::catalog::FormatterStatus;
use crate::wire::shapes::catalog::LspStatus;
use axum::response::Response;
use serde_json::{Value, json};
use sturdy_engine::directory::agents::Agent;
use sturdy_engine::directory::commands::commands;
use sturdy_worktree::format::Formatter;
use sturdy_worktree::lsp::Status;

pub(super) fn routes() -> Routes {
    Routes::new()
        .routes(routes!(agent))
        .routes(routes!(command))
        .routes(routes!(skill))
        .routes(routes!(lsp))
        .routes(routes!(formatter))
}

/// Agents, the default one first.
#[utoipa::path(get, path = "/agent", operation_id = "app.agents",
    responses((status = 200, description = "Agents", body = [catalog::Agent]), (status = 400, description = "A file is wrong")))]
async fn agent(Here(here): Here) -> Response {
    let configured: Vec<_> = here.settings.agents().into_iter().map(|(_, name, _)| name).collect();
    let shown = |agent: &Agent| {
        let mut shown = here.settings.shown(agent);
        if configured.contains(&agent.name.as_str()) {
            fill(&mut shown);
        }
        shown
    };
    reply::json(&here.agents.all().iter().map(shown).collect::<Vec<_>>())
}

/// An agent that a file speaks of has every key, as clients of the reference see it.
fn fill(agent: &mut Value) {
    let Value::Object(agent) = agent else { return };
    agent.entry("native").or_insert(Value::Bool(false));
    for key in ["description", "hidden", "topP", "temperature", "color", "variant", "prompt", "steps"] {
        agent.entry(key).or_insert(Value::Null);
    }
}

/// Commands, and the prompts of MCP servers.
#[utoipa::path(get, path = "/command", operation_id = "command.list",
    responses((status = 200, description = "Commands", body = [catalog::Command])))]
async fn command(Here(here): Here) -> Response {
    reply::json(&here.settings.shown(&commands(&here.settings, here.mcp.commands().await)))
}

/// Skills.
#[utoipa::path(get, path = "/skill", operation_id = "app.skills",
    responses((status = 200, description = "Skills", body = [catalog::Skill])))]
async fn skill(Here(here): Here) -> Response {
    reply::json(&here.settings.shown(here.settings.skills()))
}

/// Language servers that were started, with their status.
#[utoipa::path(get, path = "/lsp", operation_id = "lsp.status",
    responses((status = 200, description = "Language servers", body = [LspStatus])))]
async fn lsp(Here(here): Here) -> Response {
    let shown = |one: &Status| {
        let root = one.root.strip_prefix(&here.directory).unwrap_or(&one.root);
        let status = if one.broken.is_none() { "connected" } else { "error" };
        json!({ "id": one.id, "name": one.id, "root": root, "status": status })
    };
    let all = here.lsp().map(|lsp| lsp.status()).unwrap_or_default();
    reply::json(&all.iter().map(shown).collect::<Vec<_>>())
}

/// Formatters that run after a file was changed, and known ones that are not installed.
#[utoipa::path(get, path = "/formatter", operation_id = "formatter.status",
    responses((status = 200, description = "Formatters", body = [FormatterStatus])))]
async fn formatter(Here(here): Here) -> Response {
    let shown = |one: &Formatter| json!({ "name": one.name, "extensions": one.extensions, "enabled": one.is_enabled });
    reply::json(&here.formatters().iter().map(shown).collect::<Vec<_>>())
}
