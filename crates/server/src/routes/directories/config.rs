//! The settings of a directory, as clients see them: without secrets.

use crate::app::App;
use crate::described::{Routes, routes};
use crate::error::ApiError;
use crate::extract::Payload;
use crate::instance::{Chosen, Here};
use crate::reply;
use crate::routes::server::global::disposed;
use crate::wire::shapes::catalog::Config;
use axum::extract::State;
use axum::response::Response;
use sturdy_engine::EngineError;
use sturdy_engine::directory::config;
use sturdy_session::json::{Map, Nothing};
use sturdy_session::types::event::Event;

pub(super) fn routes() -> Routes {
    Routes::new().routes(routes!(get, edit)).routes(routes!(global, edit_global))
}

/// The merged configuration of the directory.
#[utoipa::path(get, path = "/config", operation_id = "config.get",
    responses((status = 200, description = "Configuration", body = Config), (status = 400, description = "A file is wrong")))]
async fn get(Here(here): Here) -> Response {
    reply::json(&here.config())
}

/// Changes the project's configuration file. The directory is read again.
#[utoipa::path(patch, path = "/config", operation_id = "config.update", request_body = Config,
    responses((status = 200, description = "What was sent", body = Config), (status = 400, description = "Not valid")))]
async fn edit(
    State(app): State<App>,
    Chosen(directory): Chosen,
    Payload(patch): Payload<Map>,
) -> Result<Response, ApiError> {
    let changed = app.engine().change_settings(&directory, patch.clone()).await?;
    disposed(&app, &changed.directory, &changed.project);
    Ok(reply::json(&patch))
}

/// The configuration of the user, without that of any project.
#[utoipa::path(get, path = "/global/config", operation_id = "global.config.get",
    responses((status = 200, description = "Configuration", body = Config), (status = 400, description = "A file is wrong")))]
async fn global(State(app): State<App>) -> Result<Response, ApiError> {
    let settings = config::load_global(&app.engine().options().environment).map_err(EngineError::Config)?;
    Ok(reply::json(&settings.global_wire()))
}

/// Changes the user's configuration file. Every directory is read again.
#[utoipa::path(patch, path = "/global/config", operation_id = "global.config.update", request_body = Config,
    responses((status = 200, description = "Configuration", body = Config), (status = 400, description = "Not valid")))]
async fn edit_global(State(app): State<App>, Payload(patch): Payload<Map>) -> Result<Response, ApiError> {
    let engine = app.engine();
    engine.change_global_settings(patch).await?;
    engine.dispose_all();
    engine.feed().tell(engine.clock().now(), None, None, Event::GlobalDisposed(Nothing {}));
    let settings = config::load_global(&engine.options().environment).map_err(EngineError::Config)?;
    Ok(reply::json(&settings.global_wire()))
}
