//! Remote control of an attached terminal client: each route becomes an event it obeys.

use crate::app::App;
use crate::described::{Routes, routes};
use crate::error::ApiError;
use crate::extract::Payload;
use crate::instance::Here;
use crate::reply;
use crate::wire::body::{AppendPrompt, ExecuteCommand, SelectSession};
use axum::extract::State;
use axum::response::Response;
use serde::Deserialize;
use serde_json::json;
use sturdy_engine::Instance;
use sturdy_session::types::event::{Event, OfSession, Toast};

/// The older names of commands, and what they are called now.
const RENAMED: [(&str, &str); 13] = [
    ("session_new", "session.new"),
    ("session_share", "session.share"),
    ("session_interrupt", "session.interrupt"),
    ("session_compact", "session.compact"),
    ("messages_page_up", "session.page.up"),
    ("messages_page_down", "session.page.down"),
    ("messages_line_up", "session.line.up"),
    ("messages_line_down", "session.line.down"),
    ("messages_half_page_up", "session.half.page.up"),
    ("messages_half_page_down", "session.half.page.down"),
    ("messages_first", "session.first"),
    ("messages_last", "session.last"),
    ("agent_cycle", "agent.cycle"),
];

pub(super) fn routes() -> Routes {
    Routes::new()
        .routes(routes!(append))
        .routes(routes!(submit))
        .routes(routes!(clear))
        .routes(routes!(help))
        .routes(routes!(sessions))
        .routes(routes!(themes))
        .routes(routes!(models))
        .routes(routes!(execute))
        .routes(routes!(toast))
        .routes(routes!(publish))
        .routes(routes!(select))
}

/// Adds text to the prompt that is being written.
#[utoipa::path(post, path = "/tui/append-prompt", operation_id = "tui.appendPrompt", request_body = AppendPrompt,
    responses((status = 200, description = "Told", body = bool)))]
async fn append(State(app): State<App>, Here(here): Here, Payload(body): Payload<AppendPrompt>) -> Response {
    tell(&app, &here, Event::TuiPromptAppend { text: body.text })
}

/// Sends the prompt.
#[utoipa::path(post, path = "/tui/submit-prompt", operation_id = "tui.submitPrompt",
    responses((status = 200, description = "Told", body = bool)))]
async fn submit(State(app): State<App>, Here(here): Here) -> Response {
    command(&app, &here, "prompt.submit")
}

/// Empties the prompt.
#[utoipa::path(post, path = "/tui/clear-prompt", operation_id = "tui.clearPrompt",
    responses((status = 200, description = "Told", body = bool)))]
async fn clear(State(app): State<App>, Here(here): Here) -> Response {
    command(&app, &here, "prompt.clear")
}

/// Opens the help.
#[utoipa::path(post, path = "/tui/open-help", operation_id = "tui.openHelp",
    responses((status = 200, description = "Told", body = bool)))]
async fn help(State(app): State<App>, Here(here): Here) -> Response {
    command(&app, &here, "help.show")
}

/// Opens the list of sessions.
#[utoipa::path(post, path = "/tui/open-sessions", operation_id = "tui.openSessions",
    responses((status = 200, description = "Told", body = bool)))]
async fn sessions(State(app): State<App>, Here(here): Here) -> Response {
    command(&app, &here, "session.list")
}

/// Opens the list of themes.
#[utoipa::path(post, path = "/tui/open-themes", operation_id = "tui.openThemes",
    responses((status = 200, description = "Told", body = bool)))]
async fn themes(State(app): State<App>, Here(here): Here) -> Response {
    command(&app, &here, "theme.switch")
}

/// Opens the list of models.
#[utoipa::path(post, path = "/tui/open-models", operation_id = "tui.openModels",
    responses((status = 200, description = "Told", body = bool)))]
async fn models(State(app): State<App>, Here(here): Here) -> Response {
    command(&app, &here, "model.list")
}

/// Runs a command by its older name.
#[utoipa::path(post, path = "/tui/execute-command", operation_id = "tui.executeCommand", request_body = ExecuteCommand,
    responses((status = 200, description = "Told", body = bool)))]
async fn execute(
    State(app): State<App>,
    Here(here): Here,
    Payload(body): Payload<ExecuteCommand>,
) -> Response {
    let known = RENAMED.iter().find(|(old, _)| *old == body.command);
    let command = known.map(|(_, new)| (*new).to_owned());
    tell(&app, &here, Event::TuiCommandExecute { command })
}

/// Shows a note for a while.
#[utoipa::path(post, path = "/tui/show-toast", operation_id = "tui.showToast", request_body = crate::wire::shapes::catalog::ToastGiven,
    responses((status = 200, description = "Told", body = bool)))]
async fn toast(State(app): State<App>, Here(here): Here, Payload(body): Payload<Toast>) -> Response {
    tell(&app, &here, Event::TuiToastShow(body))
}

/// The events that may be published as they are.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", content = "properties")]
enum Published {
    #[serde(rename = "tui.prompt.append")]
    Append(AppendPrompt),
    #[serde(rename = "tui.command.execute")]
    Execute(ExecuteCommand),
    #[serde(rename = "tui.toast.show")]
    Toast(Toast),
    #[serde(rename = "tui.session.select")]
    Select(SelectSession),
}

/// Publishes one of these events.
#[utoipa::path(post, path = "/tui/publish", operation_id = "tui.publish", request_body = crate::wire::shapes::own::PublishedEvent,
    responses((status = 200, description = "Told", body = bool), (status = 400, description = "Another event")))]
async fn publish(State(app): State<App>, Here(here): Here, Payload(body): Payload<Published>) -> Response {
    let event = match body {
        Published::Append(body) => Event::TuiPromptAppend { text: body.text },
        Published::Execute(body) => Event::TuiCommandExecute { command: Some(body.command) },
        Published::Toast(toast) => Event::TuiToastShow(toast),
        Published::Select(body) => Event::TuiSessionSelect(OfSession { session_id: body.session_id }),
    };
    tell(&app, &here, event)
}

/// Opens a session.
#[utoipa::path(post, path = "/tui/select-session", operation_id = "tui.selectSession", request_body = SelectSession,
    responses((status = 200, description = "Told", body = bool), (status = 404, description = "No such session")))]
async fn select(
    State(app): State<App>,
    Here(here): Here,
    Payload(body): Payload<SelectSession>,
) -> Result<Response, ApiError> {
    app.engine().session_record(&body.session_id).await?;
    Ok(tell(&app, &here, Event::TuiSessionSelect(OfSession { session_id: body.session_id })))
}

fn command(app: &App, here: &Instance, name: &str) -> Response {
    tell(app, here, Event::TuiCommandExecute { command: Some(name.to_owned()) })
}

fn tell(app: &App, here: &Instance, event: Event) -> Response {
    let engine = app.engine();
    app.controls().tell(|| json!({ "path": "/tui/publish", "body": event }));
    engine.feed().tell(engine.clock().now(), Some(&here.directory), Some(&here.project.id), event);
    reply::done()
}
