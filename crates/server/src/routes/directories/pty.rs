//! Terminals: create, list, get, change, remove, connect. Both halves of the API, with the same terminals.

use crate::access::caller::Caller;
use crate::app::App;
use crate::app::terminals::{Connected, CreateTerminal, EditTerminal};
use crate::described::{Routes, routes};
use crate::error::ApiError;
use crate::extract::{OptionalPayload, Params, Payload};
use crate::grants::standing::ended;
use crate::instance::{Here, Location};
use crate::reply;
use crate::wire::query::Query;
use crate::wire::shapes::files::Shell;
use crate::wire::shapes::files::TerminalTicket;
use crate::wire::shapes::v2::AtLocation;
use crate::wire::v2::Located;
use axum::extract::State;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade};
use axum::response::Response;
use bytes::Bytes;
use futures_util::{Sink, SinkExt as _, StreamExt as _};
use http::request::Parts;
use serde_json::json;
use std::path::Path;
use std::time::Duration;
use sturdy_engine::Instance;
use sturdy_session::id::PtyId;
use sturdy_session::types::event::PtyInfo;
use sturdy_worktree::pty::ScrollbackStart;
use tokio::time::timeout;
use tracing::debug;

/// A page that was not made for this server cannot set a header.
const TICKET_HEADER: &str = "x-opencode-ticket";
/// What is typed or pasted at once.
const INPUT_BYTES_MAX: usize = 1024 * 1024;
/// The usual closing codes of WebSockets.
const NORMAL: u16 = 1000;
const GOING_AWAY: u16 = 1001;
const FORBIDDEN: u16 = 1008;
/// A client that takes nothing for this long is let go.
const SEND_PATIENCE: Duration = Duration::from_secs(30);
const PING_EVERY: Duration = Duration::from_secs(30);
const CLOSE_PATIENCE: Duration = Duration::from_secs(1);
/// Shells that do not read what others write.
const UNLIKE_SH: [&str; 3] = ["fish", "nu", "elvish"];

pub(super) fn routes() -> Routes {
    Routes::new()
        .routes(routes!(list, create))
        .routes(routes!(shells))
        .routes(routes!(get, edit, remove))
        .routes(routes!(token))
        .routes(routes!(connect))
        .routes(routes!(list_v2, create_v2))
        .routes(routes!(get_v2, edit_v2, remove_v2))
        .routes(routes!(token_v2))
        .routes(routes!(connect_v2))
}

/// Terminals of the directory.
#[utoipa::path(get, path = "/pty", operation_id = "pty.list",
    responses((status = 200, description = "Terminals", body = [PtyInfo])))]
async fn list(State(app): State<App>, Here(here): Here) -> Response {
    reply::json(&app.terminals().list(&here))
}

/// Shells a terminal can run.
#[utoipa::path(get, path = "/pty/shells", operation_id = "pty.shells",
    responses((status = 200, description = "Shells", body = [Shell])))]
async fn shells(State(app): State<App>, _: Here) -> Response {
    let own = app.engine().options().environment.filled("SHELL").map(str::to_owned);
    let paths = tokio::task::spawn_blocking(move || {
        let listed = std::fs::read_to_string("/etc/shells").unwrap_or_default();
        let lines = listed.lines().map(str::trim).filter(|line| line.starts_with('/')).map(str::to_owned);
        // In the order of the machine, each once.
        let mut shells: Vec<String> = Vec::new();
        for path in lines.chain(own).filter(|path| Path::new(path).is_file()) {
            if !shells.contains(&path) {
                shells.push(path);
            }
        }
        shells
    });
    let paths = paths.await.unwrap_or_default();
    let shown = |path: &str| {
        let name = path.rsplit('/').next().unwrap_or(path);
        json!({ "path": path, "name": name, "acceptable": !UNLIKE_SH.contains(&name) })
    };
    reply::json(&paths.iter().map(|path| shown(path)).collect::<Vec<_>>())
}

/// Starts a program in a terminal: the user's shell, unless another is named.
#[utoipa::path(post, path = "/pty", operation_id = "pty.create", request_body = Option<CreateTerminal>,
    responses((status = 200, description = "The terminal", body = PtyInfo), (status = 400, description = "It cannot start")))]
async fn create(
    State(app): State<App>,
    Here(here): Here,
    OptionalPayload(body): OptionalPayload<CreateTerminal>,
) -> Result<Response, ApiError> {
    let info = app.terminals().create(app.engine(), app.closing(), &here, body).await?;
    Ok(reply::json(&info))
}

/// Gets a terminal.
#[utoipa::path(get, path = "/pty/{ptyID}", operation_id = "pty.get", params(("ptyID" = String, Path)),
    responses((status = 200, description = "The terminal", body = PtyInfo), (status = 404, description = "No such terminal")))]
async fn get(State(app): State<App>, Here(here): Here, params: Params) -> Result<Response, ApiError> {
    Ok(reply::json(&app.terminals().get(&here, &id(&params)?)?))
}

/// Renames or resizes.
#[utoipa::path(put, path = "/pty/{ptyID}", operation_id = "pty.update", params(("ptyID" = String, Path)),
    request_body = EditTerminal,
    responses((status = 200, description = "The terminal", body = PtyInfo), (status = 404, description = "No such terminal")))]
async fn edit(
    State(app): State<App>,
    Here(here): Here,
    params: Params,
    Payload(body): Payload<EditTerminal>,
) -> Result<Response, ApiError> {
    Ok(reply::json(&app.terminals().edit(app.engine(), &here, &id(&params)?, body)?))
}

/// Ends and removes a terminal.
#[utoipa::path(delete, path = "/pty/{ptyID}", operation_id = "pty.remove", params(("ptyID" = String, Path)),
    responses((status = 200, description = "Removed", body = bool), (status = 404, description = "No such terminal")))]
async fn remove(State(app): State<App>, Here(here): Here, params: Params) -> Result<Response, ApiError> {
    app.terminals().remove(app.engine(), &here, &id(&params)?)?;
    Ok(reply::done())
}

/// A ticket with which a browser, which cannot send a password with a WebSocket, connects once.
#[utoipa::path(post, path = "/pty/{ptyID}/connect-token", operation_id = "pty.connectToken",
    params(("ptyID" = String, Path), ("x-opencode-ticket" = String, Header)),
    responses((status = 200, description = "The ticket", body = TerminalTicket), (status = 403, description = "The header is missing"),
        (status = 404, description = "No such terminal")))]
async fn token(
    State(app): State<App>,
    Here(here): Here,
    params: Params,
    parts: Parts,
) -> Result<Response, ApiError> {
    Ok(reply::json(&ticket(&app, &here, &params, &parts)?))
}

/// What the terminal shows and where what is typed goes, as a WebSocket. `cursor` is a position, or -1 for what is new.
#[utoipa::path(get, path = "/pty/{ptyID}/connect", operation_id = "pty.connect",
    params(("ptyID" = String, Path), ("cursor" = Option<i64>, Query), ("ticket" = Option<String>, Query)),
    responses((status = 101, description = "Connected"), (status = 403, description = "The ticket is not valid"),
        (status = 404, description = "No such terminal")))]
async fn connect(
    State(app): State<App>,
    Here(here): Here,
    params: Params,
    parts: Parts,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, ApiError> {
    open(app, &here, &params, &parts, upgrade)
}

/// Terminals of the location.
#[utoipa::path(get, path = "/api/pty", operation_id = "v2.pty.list",
    responses((status = 200, description = "Terminals", body = AtLocation<Vec<PtyInfo>>)))]
async fn list_v2(State(app): State<App>, Location(here): Location) -> Response {
    reply::json(&Located::at(&here, app.terminals().list(&here)))
}

/// Starts a program in a terminal.
#[utoipa::path(post, path = "/api/pty", operation_id = "v2.pty.create", request_body = CreateTerminal,
    responses((status = 200, description = "The terminal", body = AtLocation<PtyInfo>), (status = 400, description = "It cannot start")))]
async fn create_v2(
    State(app): State<App>,
    Location(here): Location,
    body: Result<Payload<CreateTerminal>, ApiError>,
) -> Result<Response, ApiError> {
    let Payload(body) = body.map_err(ApiError::in_v2)?;
    let created = app.terminals().create(app.engine(), app.closing(), &here, body).await;
    let info = created.map_err(ApiError::in_v2)?;
    Ok(reply::json(&Located::at(&here, info)))
}

/// Gets a terminal.
#[utoipa::path(get, path = "/api/pty/{ptyID}", operation_id = "v2.pty.get", params(("ptyID" = String, Path)),
    responses((status = 200, description = "The terminal", body = AtLocation<PtyInfo>), (status = 404, description = "No such terminal")))]
async fn get_v2(
    State(app): State<App>,
    Location(here): Location,
    params: Params,
) -> Result<Response, ApiError> {
    let id = id(&params).map_err(ApiError::in_v2)?;
    Ok(reply::json(&Located::at(&here, app.terminals().get(&here, &id)?)))
}

/// Renames or resizes.
#[utoipa::path(put, path = "/api/pty/{ptyID}", operation_id = "v2.pty.update", params(("ptyID" = String, Path)),
    request_body = EditTerminal,
    responses((status = 200, description = "The terminal", body = AtLocation<PtyInfo>), (status = 404, description = "No such terminal")))]
async fn edit_v2(
    State(app): State<App>,
    Location(here): Location,
    params: Params,
    body: Result<Payload<EditTerminal>, ApiError>,
) -> Result<Response, ApiError> {
    let id = id(&params).map_err(ApiError::in_v2)?;
    let Payload(body) = body.map_err(ApiError::in_v2)?;
    Ok(reply::json(&Located::at(&here, app.terminals().edit(app.engine(), &here, &id, body)?)))
}

/// Ends and removes a terminal.
#[utoipa::path(delete, path = "/api/pty/{ptyID}", operation_id = "v2.pty.remove", params(("ptyID" = String, Path)),
    responses((status = 204, description = "Removed"), (status = 404, description = "No such terminal")))]
async fn remove_v2(
    State(app): State<App>,
    Location(here): Location,
    params: Params,
) -> Result<Response, ApiError> {
    app.terminals().remove(app.engine(), &here, &id(&params).map_err(ApiError::in_v2)?)?;
    Ok(reply::no_content())
}

/// A ticket for one connection.
#[utoipa::path(post, path = "/api/pty/{ptyID}/connect-token", operation_id = "v2.pty.connectToken",
    params(("ptyID" = String, Path), ("x-opencode-ticket" = String, Header)),
    responses((status = 200, description = "The ticket", body = AtLocation<TerminalTicket>), (status = 403, description = "The header is missing"),
        (status = 404, description = "No such terminal")))]
async fn token_v2(
    State(app): State<App>,
    Location(here): Location,
    params: Params,
    parts: Parts,
) -> Result<Response, ApiError> {
    let ticket = ticket(&app, &here, &params, &parts).map_err(ApiError::in_v2)?;
    Ok(reply::json(&Located::at(&here, ticket)))
}

/// The terminal as a WebSocket.
#[utoipa::path(get, path = "/api/pty/{ptyID}/connect", operation_id = "v2.pty.connect",
    params(("ptyID" = String, Path), ("cursor" = Option<i64>, Query), ("ticket" = Option<String>, Query)),
    responses((status = 101, description = "Connected"), (status = 403, description = "The ticket is not valid"),
        (status = 404, description = "No such terminal")))]
async fn connect_v2(
    State(app): State<App>,
    Location(here): Location,
    params: Params,
    parts: Parts,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, ApiError> {
    open(app, &here, &params, &parts, upgrade).map_err(ApiError::in_v2)
}

fn id(params: &Params) -> Result<PtyId, ApiError> {
    params.id("ptyID", PtyId::parse)
}

fn ticket(
    app: &App,
    here: &Instance,
    params: &Params,
    request: &Parts,
) -> Result<serde_json::Value, ApiError> {
    let id = id(params)?;
    if request.headers.get(TICKET_HEADER).is_none_or(|value| value != "1") {
        return Err(ApiError::TerminalForbidden("Invalid PTY connect token request"));
    }
    let (ticket, seconds) = app.terminals().ticket(here, &id, Caller::of(request))?;
    Ok(json!({ "ticket": ticket, "expires_in": seconds }))
}

fn open(
    app: App,
    here: &Instance,
    params: &Params,
    request: &Parts,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, ApiError> {
    let id = id(params)?;
    let query = Query::of(request);
    app.terminals().get(here, &id)?;
    let from = match query.get("cursor") {
        None | Some("") => ScrollbackStart::Oldest,
        Some("-1") => ScrollbackStart::Newest,
        Some(_) => ScrollbackStart::At(query.number("cursor")?.unwrap_or_default()),
    };
    let upgrade = upgrade.map_err(|_| ApiError::Handler)?;
    let mut who = Caller::of(request);
    if let Some(ticket) = query.get("ticket") {
        let used = "This ticket is used, expired, or for another terminal.";
        let holder = app.terminals().redeem(here, &id, ticket).ok_or(ApiError::TerminalForbidden(used))?;
        if who == Caller::Ticket {
            who = holder;
        }
    }
    let connected = app.terminals().connect(here, &id, from)?;
    let upgrade = upgrade.max_message_size(INPUT_BYTES_MAX).max_frame_size(INPUT_BYTES_MAX);
    Ok(upgrade.on_upgrade(move |socket| async move {
        let talk = converse(app.clone(), socket, connected, who);
        // In a task of the engine, so that its end is waited for when the server closes.
        let _ = app.engine().tasks().spawn("terminal socket", talk).await;
    }))
}

/// First the past, then where it ends, then what happens; as long as whoever looks may look, and takes what is sent.
async fn converse(app: App, socket: WebSocket, connected: Connected, who: Caller) {
    let Connected { mut screen, keyboard, place } = connected;
    let (mut out, mut typed) = socket.split();
    let showing = async {
        let position = screen.newest;
        while let Some(text) = screen.past() {
            send(&mut out, Message::Text(text.into())).await?;
        }
        send(&mut out, Message::Binary(control(position))).await?;
        // Pinged while there is nothing to show: a client that is gone without a word is noticed.
        loop {
            match timeout(PING_EVERY, screen.next()).await {
                Ok(Some(text)) => send(&mut out, Message::Text(text.into())).await?,
                Ok(None) => return Some(()),
                Err(_) => send(&mut out, Message::Ping(Bytes::new())).await?,
            }
        }
    };
    let typing = async {
        while let Some(Ok(message)) = typed.next().await {
            let bytes = match message {
                Message::Text(text) => Bytes::from(text),
                Message::Binary(bytes) => bytes,
                Message::Ping(_) | Message::Pong(_) => continue,
                Message::Close(_) => return,
            };
            // Waits while the program reads nothing, and with it the person who types.
            if !bytes.is_empty() && keyboard.send(bytes).await.is_err() {
                return;
            }
        }
    };
    let code = tokio::select! {
        shown = showing => shown.map(|()| NORMAL),
        () = typing => None,
        () = app.closing().cancelled() => Some(GOING_AWAY),
        _ = ended(app.clone(), who) => Some(FORBIDDEN),
    };
    if let Some(code) = code {
        let frame = CloseFrame { code, reason: "".into() };
        // Who is gone needs no telling.
        let _ = timeout(CLOSE_PATIENCE, out.send(Message::Close(Some(frame)))).await;
    }
    drop(place);
    debug!("a terminal was left");
}

/// None when whoever looks is gone, or takes nothing.
async fn send(out: &mut (impl Sink<Message> + Unpin), message: Message) -> Option<()> {
    timeout(SEND_PATIENCE, out.send(message)).await.ok()?.ok()
}

/// A zero byte and the position: not text, so that no client takes it for output.
fn control(position: u64) -> Bytes {
    let mut bytes = vec![0];
    bytes.extend(json!({ "cursor": position }).to_string().into_bytes());
    Bytes::from(bytes)
}
