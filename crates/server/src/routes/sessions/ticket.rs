//! Downloads by ticket: fetched by whoever may read, shown once by a browser that can say nothing else.

use super::{blob, export};
use crate::access::caller::Caller;
use crate::access::tickets::{Download, ExportFormat};
use crate::app::App;
use crate::described::{Routes, routes};
use crate::error::{ApiError, Kind};
use crate::extract::{Params, Payload};
use crate::wire::redaction::{Omitted, Redaction};
use crate::wire::shapes::own::TicketMade;
use crate::{grants, reply};
use axum::extract::State;
use axum::response::Response;
use http::Method;
use http::header::{CACHE_CONTROL, HeaderValue};
use http::request::Parts;
use serde::Deserialize;
use serde_json::json;
use sturdy_session::id::{PartId, SessionId};
use utoipa::ToSchema;

pub(super) fn routes() -> Routes {
    Routes::new().routes(routes!(make)).routes(routes!(download))
}

/// Either an export or a value.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct WantedTicket {
    #[serde(rename = "sessionID")]
    #[schema(value_type = String)]
    session_id: SessionId,
    export: Option<WantedExport>,
    value: Option<WantedPart>,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct WantedExport {
    #[serde(default)]
    format: ExportFormat,
    /// What is left out.
    #[serde(default)]
    redact: Vec<Omitted>,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct WantedPart {
    #[serde(rename = "partID")]
    #[schema(value_type = String)]
    part_id: PartId,
    /// `$blob` of the link.
    hash: String,
}

/// A ticket for one download within a minute.
#[utoipa::path(post, path = "/sturdy/ticket", operation_id = "sturdy.ticket", request_body = WantedTicket,
    responses((status = 200, description = "`{url, expires}`", body = TicketMade), (status = 400, description = "Bad body"),
        (status = 404, description = "No such session")))]
async fn make(
    State(app): State<App>,
    parts: Parts,
    Payload(wanted): Payload<WantedTicket>,
) -> Result<Response, ApiError> {
    let caller = Caller::of(&parts);
    // The edge knows that the holder of a grant may read; which session, only the body says.
    if let Caller::Grant(granted) = &caller
        && granted.session != wanted.session_id
    {
        return Err(ApiError::Scope);
    }
    app.engine().session_record(&wanted.session_id).await?;
    let session = wanted.session_id;
    let download = match (wanted.export, wanted.value) {
        (Some(WantedExport { format, redact }), None) => {
            Download::Export { session, format, redaction: Redaction::from(redact.as_slice()) }
        }
        (None, Some(WantedPart { part_id, hash })) if blob::is_hash(&hash) => {
            Download::Value { session, part: part_id, hash }
        }
        _ => {
            let message = "Expected either an export or a value with its hash";
            return Err(ApiError::schema(Kind::Payload, message));
        }
    };
    let (ticket, expires) = app.tickets().make(download, caller, app.engine().clock().now());
    Ok(reply::json(&json!({ "url": format!("{OPEN_TO_ALL}{ticket}"), "expires": expires })))
}

/// Routes below this path need no login: the ticket is the credential.
pub(crate) const OPEN_TO_ALL: &str = "/sturdy/ticket/";

/// What a ticket is for, as a file. The ticket is good once.
#[utoipa::path(get, path = "/sturdy/ticket/{ticket}", operation_id = "sturdy.ticket.download",
    params(("ticket" = String, Path)),
    responses((status = 200, description = "The file", content_type = "application/octet-stream"),
        (status = 404, description = "Used, too old, or what it was for is gone")))]
async fn download(State(app): State<App>, method: Method, params: Params) -> Result<Response, ApiError> {
    // Whoever only looks what there would be does not use it up.
    if method == Method::HEAD {
        return Err(ApiError::NoTicket);
    }
    let found = app.tickets().redeem(params.get("ticket"), app.engine().clock().now());
    let (download, holder) = found.ok_or(ApiError::NoTicket)?;
    if !may_still_read(&app, &holder).await? {
        return Err(ApiError::NoTicket);
    }
    let mut response = match download {
        Download::Export { session, format, redaction } => {
            export::file(&app, session, format, redaction).await?
        }
        Download::Value { session, part, hash } => blob::saved(&app, session, part, hash).await?,
    };
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

/// A minute is long enough to be logged out in.
async fn may_still_read(app: &App, holder: &Caller) -> Result<bool, ApiError> {
    let now = app.engine().clock().now();
    match holder {
        Caller::Anyone | Caller::User(_) => Ok(true),
        Caller::Device(id) => Ok(app.devices().list().iter().any(|device| device.id == *id)),
        Caller::Token { id, .. } => {
            let is_standing = |expires: Option<u64>| expires.is_none_or(|expires| expires > now);
            Ok(app.tokens().list().iter().any(|token| token.id == *id && is_standing(token.expires)))
        }
        Caller::Grant(granted) => grants::still_reads(app, granted).await,
        Caller::Ticket => Ok(false),
    }
}
