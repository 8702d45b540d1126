//! Prompting in the spelling of the v2 API: admitted at once, the turn runs by itself.
//!
//! Admission is idempotent: the same id with the same text is the same prompt, however often it is sent, so that a
//! client that does not know whether it was heard asks again. The same id with another text is a conflict.

use super::sessions::find;
use crate::app::App;
use crate::described::{Routes, routes};
use crate::error::{ApiError, Kind, V2Error};
use crate::extract::{PROMPT_BYTES_MAX, Params, Payload};
use crate::reply;
use crate::wire::message_v2;
use axum::extract::State;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sturdy_engine::feed::event_seq;
use sturdy_engine::reads::{RawMessage, ReadError};
use sturdy_engine::{EngineError, PromptRequest};
use sturdy_session::depth::read_stored;
use sturdy_session::id::{MessageId, SessionId};
use sturdy_session::json::Num;
use sturdy_session::turn::Refusal;
use sturdy_session::types::part::{
    AgentPart, AgentSource, FilePart, FileSource, FileSourceKind, PartBody, SourceText, TextPart,
};
use utoipa::ToSchema;

pub(super) fn routes() -> Routes {
    Routes::new().routes(routes!(prompt)).routes(routes!(wait)).routes(routes!(compact))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Admit {
    /// Chosen by the client; the same one again is the same prompt.
    id: Option<String>,
    prompt: AdmitPrompt,
    delivery: Option<Delivery>,
    /// False: stored, and seen with the next prompt; no turn is started for it.
    resume: Option<bool>,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AdmitPrompt {
    text: String,
    #[serde(default)]
    files: Vec<AdmitFile>,
    #[serde(default)]
    agents: Vec<AdmitAgent>,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AdmitFile {
    uri: String,
    name: Option<String>,
    /// Read and not kept: v1 has no place for it.
    #[allow(dead_code, reason = "accepted from clients that send it")]
    description: Option<String>,
    source: Option<Mentioned>,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AdmitAgent {
    name: String,
    source: Option<Mentioned>,
}

/// Where in the text something is named.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Mentioned {
    start: f64,
    end: f64,
    text: String,
}

/// When a prompt to a busy session is taken up. Both come behind the step that runs.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Delivery {
    #[default]
    Steer,
    Queue,
}

/// Stores a prompt. The answer comes as soon as it is durable.
#[utoipa::path(post, path = "/api/session/{sessionID}/prompt", operation_id = "v2.session.prompt",
    params(("sessionID" = String, Path)), request_body = Admit,
    responses((status = 200, description = "Admitted", body = Object), (status = 400, description = "Bad body"),
        (status = 404, description = "No such session"), (status = 409, description = "The id is another prompt's")))]
async fn prompt(
    State(app): State<App>,
    params: Params,
    body: Result<Payload<Admit, PROMPT_BYTES_MAX>, ApiError>,
) -> Result<Response, ApiError> {
    let info = find(&app, &params).await?;
    let session = info.id.clone();
    let Payload(body) = body.map_err(ApiError::in_v2)?;
    let delivery = body.delivery.unwrap_or_default();
    let id = body.id.as_deref().map(message_id).transpose()?;
    if let Some(id) = &id
        && let Some(known) = app.engine().reads().message(&session, id).await?
    {
        return again(&app, &session, &known, &body.prompt, delivery).await;
    }
    let text = body.prompt.text.clone();
    let here = app.engine().instance(&info.directory).await?;
    // Those that were chosen for the session, as long as they exist.
    let agent = info.agent.filter(|agent| here.agent(agent).is_ok());
    let model = info.model.filter(|model| here.model(&model.provider_id, &model.id).is_ok());
    let variant = model.as_ref().and_then(|model| model.variant.clone()).filter(|name| name != "default");
    let request = PromptRequest {
        agent,
        variant,
        model: model.map(|model| (model.provider_id, model.id)),
        message: id,
        no_reply: body.resume == Some(false),
        parts: parts(body.prompt).into_iter().map(|part| (None, part)).collect(),
        ..PromptRequest::default()
    };
    let admitted = match app.engine().prompt(&session, request).await {
        Ok(admitted) => admitted,
        // Somebody sent the same at the same moment: then it is the same prompt.
        Err(EngineError::Refused(Refusal::MessageExists(id))) => {
            let known = app.engine().reads().message(&session, &id).await?;
            let known = known.filter(|known| is_same(known, &text)).ok_or(V2Error::Conflict(id))?;
            return answer(&app, &session, &known, delivery).await;
        }
        Err(cause) => return Err(ApiError::of(&session)(cause).in_v2()),
    };
    let stored = app.engine().reads().message(&session, &admitted).await?;
    let stored = stored.ok_or_else(|| V2Error::NoSession(session.clone()))?;
    answer(&app, &session, &stored, delivery).await
}

fn message_id(text: &str) -> Result<MessageId, ApiError> {
    let wrong = |cause: &dyn std::fmt::Display| V2Error::Request {
        kind: Kind::Payload,
        message: format!("{cause}\n  at [\"id\"]"),
    };
    let id = MessageId::parse(text).map_err(|cause| wrong(&cause))?;
    if !text.starts_with("msg_") {
        return Err(wrong(&"Expected a string starting with \"msg_\"").into());
    }
    Ok(id)
}

/// The id is known: the same prompt again, or a conflict.
async fn again(
    app: &App,
    session: &SessionId,
    known: &RawMessage,
    prompt: &AdmitPrompt,
    delivery: Delivery,
) -> Result<Response, ApiError> {
    if !is_same(known, &prompt.text) {
        return Err(V2Error::Conflict(known.id.clone()).into());
    }
    answer(app, session, known, delivery).await
}

fn is_same(known: &RawMessage, text: &str) -> bool {
    let is_user = known.info.contains("\"role\":\"user\"");
    let stored = stored_prompt(known).ok();
    is_user && stored.is_some_and(|stored| stored["text"] == text)
}

fn stored_prompt(raw: &RawMessage) -> Result<Value, ReadError> {
    let parts = raw.parts.iter().map(|part| read_stored(part));
    let parts: Result<Vec<Value>, _> = parts.collect();
    let parts = parts.map_err(|cause| ReadError::Broken {
        what: cause.to_string(),
        place: format!("message {}", raw.id),
    })?;
    Ok(Value::Object(message_v2::prompt(&parts)))
}

async fn answer(
    app: &App,
    session: &SessionId,
    stored: &RawMessage,
    delivery: Delivery,
) -> Result<Response, ApiError> {
    let seq = app.engine().reads().message_seq(session, &stored.id).await?;
    let data = json!({
        "admittedSeq": event_seq(seq.unwrap_or_default()),
        "id": stored.id,
        "sessionID": session,
        "prompt": stored_prompt(stored)?,
        "delivery": delivery,
        "timeCreated": stored.created,
    });
    Ok(reply::json(&json!({ "data": data })))
}

fn parts(prompt: AdmitPrompt) -> Vec<PartBody> {
    let mut parts = vec![PartBody::Text(TextPart { text: prompt.text, ..TextPart::default() })];
    parts.extend(prompt.files.into_iter().map(|file| PartBody::File(file_part(file))));
    parts.extend(prompt.agents.into_iter().map(|agent| {
        let source = agent.source.map(|source| AgentSource {
            value: source.text,
            start: source.start.max(0.0) as u64,
            end: source.end.max(0.0) as u64,
        });
        PartBody::Agent(AgentPart { name: agent.name, source })
    }));
    parts
}

fn file_part(file: AdmitFile) -> FilePart {
    let path = file.uri.strip_prefix("file://").unwrap_or_default().to_owned();
    let source = file.source.map(|source| FileSource {
        text: SourceText { value: source.text, start: Num(source.start), end: Num(source.end) },
        kind: FileSourceKind::File { path },
    });
    FilePart { mime: kind(&file.uri).to_owned(), filename: file.name, url: file.uri, source }
}

/// What a data URL says of itself; everything else is read as text, and looked at when it is read.
fn kind(uri: &str) -> &str {
    let data = uri.strip_prefix("data:").and_then(|rest| rest.split([';', ',']).next());
    data.filter(|kind| kind.contains('/')).unwrap_or("text/plain")
}

/// Waits until nothing runs.
#[utoipa::path(post, path = "/api/session/{sessionID}/wait", operation_id = "v2.session.wait",
    params(("sessionID" = String, Path)),
    responses((status = 204, description = "Nothing runs"), (status = 404, description = "No such session")))]
async fn wait(State(app): State<App>, params: Params) -> Result<Response, ApiError> {
    let session = find(&app, &params).await?.id;
    let of = ApiError::of(&session);
    while !app.engine().session(&session).await.map_err(&of).map_err(ApiError::in_v2)?.idle().await {}
    Ok(reply::no_content())
}

/// Summarises the conversation so far, and waits for it.
#[utoipa::path(post, path = "/api/session/{sessionID}/compact", operation_id = "v2.session.compact",
    params(("sessionID" = String, Path)),
    responses((status = 204, description = "Summarised"), (status = 404, description = "No such session")))]
async fn compact(State(app): State<App>, params: Params) -> Result<Response, ApiError> {
    let info = find(&app, &params).await?;
    let (provider, model) = match info.model {
        Some(model) => (model.provider_id, model.id),
        None => {
            let here = app.engine().instance(&info.directory).await?;
            let catalog = here.catalog();
            let entry = catalog.default_model(here.settings.model(), &[]);
            let entry =
                entry.map_err(|cause| V2Error::Request { kind: Kind::Body, message: cause.to_string() })?;
            (entry.info.provider_id.clone(), entry.info.id.clone())
        }
    };
    let of = ApiError::of(&info.id);
    app.engine().summarize(&info.id, &provider, &model).await.map_err(of).map_err(ApiError::in_v2)?;
    Ok(reply::no_content())
}
