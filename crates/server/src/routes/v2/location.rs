//! Location reads of the v2 API: what pickers show.

use crate::app::App;
use crate::described::{Routes, routes};
use crate::error::{ApiError, V2Error};
use crate::extract::Params;
use crate::instance::Location;
use crate::reply;
use crate::wire::query::Query;
use crate::wire::shapes::catalog::Skill;
use crate::wire::shapes::v2::AgentV2;
use crate::wire::shapes::v2::AtLocation;
use crate::wire::shapes::v2::CommandV2;
use crate::wire::shapes::v2::Data;
use crate::wire::shapes::v2::HealthV2;
use crate::wire::shapes::v2::IntegrationV2;
use crate::wire::shapes::v2::LocationInfo;
use crate::wire::shapes::v2::ModelV2;
use crate::wire::shapes::v2::ProviderV2;
use crate::wire::shapes::v2::ReferenceV2;
use crate::wire::shapes::v2::SavedPermissionV2;
use crate::wire::v2::{self, Located};
use axum::extract::State;
use axum::response::Response;
use sturdy_engine::directory::commands::commands;
use sturdy_engine::reads::AskQuery;
use sturdy_engine::records::{self, readable};
use sturdy_session::row::AskKind;
use sturdy_session::types::ask::PermissionV2Request;
use sturdy_session::types::ask::QuestionRequest;

pub(super) fn routes() -> Routes {
    Routes::new()
        .routes(routes!(health))
        .routes(routes!(location))
        .routes(routes!(agent))
        .routes(routes!(model))
        .routes(routes!(provider))
        .routes(routes!(one_provider))
        .routes(routes!(command))
        .routes(routes!(skill))
        .routes(routes!(reference))
        .routes(routes!(integration))
        .routes(routes!(permissions))
        .routes(routes!(questions))
        .routes(routes!(saved))
        .routes(routes!(unsave))
}

/// A health check that always succeeds.
#[utoipa::path(get, path = "/api/health", operation_id = "v2.health.get",
    responses((status = 200, description = "Health", body = HealthV2)))]
async fn health() -> Response {
    reply::text(r#"{"healthy":true}"#)
}

/// The directory and its project.
#[utoipa::path(get, path = "/api/location", operation_id = "v2.location.get",
    responses((status = 200, description = "Location", body = LocationInfo)))]
async fn location(Location(here): Location) -> Response {
    reply::json(&v2::location(&here))
}

/// Agents.
#[utoipa::path(get, path = "/api/agent", operation_id = "v2.agent.list",
    responses((status = 200, description = "Agents", body = AtLocation<Vec<AgentV2>>)))]
async fn agent(Location(here): Location) -> Response {
    let mut agents: Vec<_> = here.agents.all().iter().collect();
    agents
        .sort_by_key(|agent| BUILT_IN.iter().position(|name| *name == agent.name).unwrap_or(BUILT_IN.len()));
    let agents: Vec<_> = agents.into_iter().map(v2::agent).collect();
    reply::json(&Located::shown(&here, &agents))
}

/// In the order of this API: those a person talks to, those a model calls, those that nobody calls by name. Behind them what is configured.
const BUILT_IN: [&str; 7] = ["build", "plan", "general", "explore", "compaction", "title", "summary"];

/// Models that can be used now.
#[utoipa::path(get, path = "/api/model", operation_id = "v2.model.list",
    responses((status = 200, description = "Models", body = AtLocation<Vec<ModelV2>>)))]
async fn model(Location(here): Location) -> Response {
    let catalog = here.catalog();
    let models = catalog.providers.iter().flat_map(|provider| &provider.models);
    let models: Vec<_> = models.map(|info| v2::model(info)).collect();
    reply::json(&Located::shown(&here, &models))
}

/// Providers that can be used now.
#[utoipa::path(get, path = "/api/provider", operation_id = "v2.provider.list",
    responses((status = 200, description = "Providers", body = AtLocation<Vec<ProviderV2>>)))]
async fn provider(Location(here): Location) -> Response {
    let catalog = here.catalog();
    let providers: Vec<_> = catalog.providers.iter().map(|provider| v2::provider(provider)).collect();
    reply::json(&Located::shown(&here, &providers))
}

/// One provider.
#[utoipa::path(get, path = "/api/provider/{providerID}", operation_id = "v2.provider.get",
    params(("providerID" = String, Path)),
    responses((status = 200, description = "The provider", body = AtLocation<ProviderV2>), (status = 404, description = "No such provider")))]
async fn one_provider(Location(here): Location, params: Params) -> Result<Response, ApiError> {
    let id = params.get("providerID");
    let catalog = here.catalog();
    let found = catalog.provider(id).ok_or_else(|| V2Error::NoProvider(id.to_owned()))?;
    Ok(reply::json(&Located::shown(&here, &v2::provider(found))))
}

/// Commands.
#[utoipa::path(get, path = "/api/command", operation_id = "v2.command.list",
    responses((status = 200, description = "Commands", body = AtLocation<Vec<CommandV2>>)))]
async fn command(Location(here): Location) -> Response {
    let all: Vec<_> = commands(&here.settings, here.mcp.commands().await).iter().map(v2::command).collect();
    reply::json(&Located::shown(&here, &all))
}

/// Skills.
#[utoipa::path(get, path = "/api/skill", operation_id = "v2.skill.list",
    responses((status = 200, description = "Skills", body = AtLocation<Vec<Skill>>)))]
async fn skill(Location(here): Location) -> Response {
    reply::json(&Located::shown(&here, &here.settings.skills()))
}

/// References: there are none.
#[utoipa::path(get, path = "/api/reference", operation_id = "v2.reference.list",
    responses((status = 200, description = "References", body = AtLocation<Vec<ReferenceV2>>)))]
async fn reference(Location(here): Location) -> Response {
    reply::json(&Located::at(&here, [(); 0]))
}

/// Providers one could log in to.
#[utoipa::path(get, path = "/api/integration", operation_id = "v2.integration.list",
    responses((status = 200, description = "Integrations", body = AtLocation<Vec<IntegrationV2>>)))]
async fn integration(State(app): State<App>, Location(here): Location) -> Result<Response, ApiError> {
    let stored = app.engine().providers_with_credentials().await?;
    let environment = &app.engine().options().environment;
    let catalog = here.catalog();
    let needs_key = catalog.known.iter().filter(|provider| !provider.env.is_empty());
    let all: Vec<_> = needs_key.map(|provider| v2::integration(provider, &stored, environment)).collect();
    Ok(reply::json(&Located::shown(&here, &all)))
}

/// Permissions the sessions of the location wait for.
#[utoipa::path(get, path = "/api/permission/request", operation_id = "v2.permission.request.list",
    responses((status = 200, description = "Requests", body = AtLocation<Vec<PermissionV2Request>>)))]
async fn permissions(State(app): State<App>, Location(here): Location) -> Result<Response, ApiError> {
    let wanted =
        AskQuery { kind: Some(AskKind::Permission), directory: Some(here.directory.clone()), session: None };
    let asks = app.engine().reads().asks(wanted).await?;
    let stored = asks.iter().filter_map(|ask| readable(records::ask(ask)));
    let unstored = app.engine().unstored_requests(Some(&here.directory));
    let asks: Vec<_> = stored.chain(unstored).map(v2::permission).collect();
    Ok(reply::json(&Located::at(&here, asks)))
}

/// Questions the sessions of the location wait for.
#[utoipa::path(get, path = "/api/question/request", operation_id = "v2.question.request.list",
    responses((status = 200, description = "Requests", body = AtLocation<Vec<QuestionRequest>>)))]
async fn questions(State(app): State<App>, Location(here): Location) -> Result<Response, ApiError> {
    let wanted =
        AskQuery { kind: Some(AskKind::Question), directory: Some(here.directory.clone()), session: None };
    let asks = app.engine().reads().asks(wanted).await?;
    let asks: Vec<Box<serde_json::value::RawValue>> =
        asks.into_iter().filter_map(|ask| serde_json::value::RawValue::from_string(ask.data).ok()).collect();
    Ok(reply::json(&Located::at(&here, asks)))
}

/// Permissions that were given for good, oldest first.
#[utoipa::path(get, path = "/api/permission/saved", operation_id = "v2.permission.saved.list",
    params(("projectID" = Option<String>, Query)),
    responses((status = 200, description = "Saved permissions", body = Data<Vec<SavedPermissionV2>>)))]
async fn saved(State(app): State<App>, query: Query) -> Result<Response, ApiError> {
    let kept = app.engine().reads().approvals(query.get("projectID")).await?;
    let kept: Vec<_> = kept.iter().map(v2::saved).collect();
    Ok(reply::json(&serde_json::json!({ "data": kept })))
}

/// Removes a saved approval; the next call that needs it is asked about again. An unknown one is not an error.
#[utoipa::path(delete, path = "/api/permission/saved/{id}", operation_id = "v2.permission.saved.remove",
    params(("id" = String, Path)),
    responses((status = 204, description = "Taken back")))]
async fn unsave(State(app): State<App>, params: Params) -> Result<Response, ApiError> {
    app.engine().remove_approval(params.get("id")).await?;
    Ok(reply::no_content())
}
