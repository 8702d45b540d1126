//! Prompting in the spelling of the v2 API: admitted at once, the turn runs by itself.
//!
//! Admission is idempotent: the same id with the same prompt and delivery is the same prompt, however often it is sent, so
//! that a client that does not know whether it was heard asks again. The same id with anything else is a conflict. What was
//! sent is recognised by a digest that is stored with it: what is stored of a file is not always what was sent.
//!
//! Prompts that nobody has begun to answer are listed here too.

use super::sessions::find;
use crate::app::App;
use crate::described::{Routes, routes};
use crate::error::{ApiError, Kind, V2Error};
use crate::extract::{PROMPT_BYTES_MAX, Params, Payload};
use crate::reply;
use crate::wire::body::few_parts;
use crate::wire::message_v2;
use crate::wire::shapes::v2::AdmittedPrompt;
use crate::wire::shapes::v2::Data;
use axum::extract::State;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use sturdy_engine::reads::RawMessage;
use sturdy_engine::records::{self, DamagedRecord, readable};
use sturdy_engine::{EngineError, PromptRequest};
use sturdy_session::id::{MessageId, SessionId};
use sturdy_session::json::Num;
use sturdy_session::turn::{PromptStart, Refusal};
use sturdy_session::types::delivery::Delivery;
use sturdy_session::types::message::Message;
use sturdy_session::types::part::{
    AgentPart, AgentSource, FilePart, FileSource, FileSourceKind, PartBody, SourceText, TextPart,
};
use utoipa::ToSchema;

/// Enough of a hash to tell the prompts of one id apart.
const DIGEST_BYTES: usize = 16;

pub(super) fn routes() -> Routes {
    Routes::new().routes(routes!(prompt, waiting)).routes(routes!(wait)).routes(routes!(compact))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Admit {
    /// Chosen by the client; the same one again is the same prompt.
    id: Option<String>,
    prompt: AdmitPrompt,
    delivery: Option<Delivery>,
    /// False: stored, and answered when the session is resumed or prompted again; no turn is started for it.
    resume: Option<bool>,
}

#[derive(Debug, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AdmitPrompt {
    text: String,
    #[serde(default, deserialize_with = "few_parts")]
    files: Vec<AdmitFile>,
    #[serde(default, deserialize_with = "few_parts")]
    agents: Vec<AdmitAgent>,
}

#[derive(Debug, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AdmitFile {
    uri: String,
    name: Option<String>,
    /// Read and not kept: v1 has no place for it.
    description: Option<String>,
    source: Option<Mentioned>,
}

#[derive(Debug, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AdmitAgent {
    name: String,
    source: Option<Mentioned>,
}

/// Where in the text something is named.
#[derive(Debug, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Mentioned {
    start: f64,
    end: f64,
    text: String,
}

/// Stores a prompt. The answer comes as soon as it is durable.
#[utoipa::path(post, path = "/api/session/{sessionID}/prompt", operation_id = "v2.session.prompt",
    params(("sessionID" = String, Path)), request_body = Admit,
    responses((status = 200, description = "Admitted", body = Data<AdmittedPrompt>), (status = 400, description = "Bad body"),
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
    let sent = Sent { digest: digest(&body.prompt), text: body.prompt.text.clone(), delivery };
    let id = body.id.as_deref().map(message_id).transpose()?;
    if let Some(id) = &id
        && let Some(known) = app.engine().reads().message(&session, id).await?
    {
        return again(&app, &session, &known, &sent).await;
    }
    let here = app.engine().instance(&info.directory).await?;
    // Those that were chosen for the session, as long as they exist.
    let agent = info.agent.filter(|agent| here.agent(agent).is_ok());
    let model = info.model.filter(|model| here.model(&model.provider_id, &model.id).is_ok());
    let variant = model.as_ref().and_then(|model| model.variant.clone()).filter(|name| name != "default");
    let is_held = body.resume == Some(false);
    let request = PromptRequest {
        agent,
        variant,
        model: model.map(|model| (model.provider_id, model.id)),
        message: id,
        delivery,
        start: if is_held { PromptStart::WhenResumed } else { PromptStart::AtOnce },
        digest: Some(sent.digest.clone()),
        parts: parts(body.prompt).into_iter().map(|part| (None, part)).collect(),
        ..PromptRequest::default()
    };
    let admitted = match app.engine().prompt(&session, request).await {
        Ok(admitted) => admitted,
        // Somebody sent it at the same moment.
        Err(EngineError::Refused(Refusal::MessageExists(id))) => {
            let known = app.engine().reads().message(&session, &id).await?.ok_or(V2Error::Conflict(id))?;
            return again(&app, &session, &known, &sent).await;
        }
        Err(cause) => return Err(ApiError::of(&session)(cause).in_v2()),
    };
    let stored = app.engine().reads().message(&session, &admitted).await?;
    let stored = stored.ok_or_else(|| V2Error::NoSession(session.clone()))?;
    Ok(reply::json(&json!({ "data": admitted_prompt(&app, &session, &stored).await? })))
}

/// Prompts that nobody has begun to answer, in the order in which they came.
#[utoipa::path(get, path = "/api/session/{sessionID}/prompt", operation_id = "v2.session.prompts",
    params(("sessionID" = String, Path)),
    responses((status = 200, description = "Prompts that wait", body = Data<Vec<AdmittedPrompt>>),
        (status = 404, description = "No such session")))]
async fn waiting(State(app): State<App>, params: Params) -> Result<Response, ApiError> {
    let session = find(&app, &params).await?.id;
    let waiting = app.engine().waiting(&session).await;
    let waiting = waiting.map_err(ApiError::of(&session)).map_err(ApiError::in_v2)?;
    let mut shown = Vec::with_capacity(waiting.len());
    for prompt in &waiting {
        shown.push(admitted_prompt(&app, &session, prompt).await?);
    }
    Ok(reply::json(&json!({ "data": shown })))
}

fn message_id(text: &str) -> Result<MessageId, ApiError> {
    let wrong = |cause: &dyn std::fmt::Display| V2Error::Request {
        kind: Kind::Payload,
        message: format!("{cause}\n  at [\"id\"]"),
    };
    if !text.starts_with("msg_") {
        let got = Value::from(text);
        return Err(wrong(&format_args!("Expected a string starting with \"msg_\", got {got}")).into());
    }
    Ok(MessageId::parse(text).map_err(|cause| wrong(&cause))?)
}

/// What a client sent, as far as it must be recognised.
struct Sent {
    digest: String,
    text: String,
    delivery: Delivery,
}

fn digest(prompt: &AdmitPrompt) -> String {
    let text = serde_json::to_vec(prompt).expect("BUG: a prompt is always JSON");
    Sha256::digest(&text).iter().take(DIGEST_BYTES).map(|byte| format!("{byte:02x}")).collect()
}

/// The id is known: the same prompt again, or a conflict.
async fn again(
    app: &App,
    session: &SessionId,
    known: &RawMessage,
    sent: &Sent,
) -> Result<Response, ApiError> {
    let admission = app.engine().reads().admission(session, &known.id).await?;
    let is_same = admission.is_some_and(|admission| {
        let is_same = match &admission.digest {
            Some(digest) => *digest == sent.digest,
            // Not admitted here: the words are all that can be compared.
            None => is_worded(known, &sent.text),
        };
        is_same && admission.delivery == sent.delivery
    });
    if !is_same {
        return Err(V2Error::Conflict(known.id.clone()).into());
    }
    let mut shown = admitted_prompt(app, session, known).await?;
    if let Some(promoted) = app.engine().reads().promoted(session, &known.id).await? {
        shown["promotedSeq"] = Value::from(promoted);
    }
    Ok(reply::json(&json!({ "data": shown })))
}

fn is_worded(known: &RawMessage, text: &str) -> bool {
    let is_user = matches!(readable(records::message(&known.id, &known.info)), Some(Message::User(_)));
    is_user && stored_prompt(known).is_ok_and(|stored| stored["text"] == text)
}

fn stored_prompt(raw: &RawMessage) -> Result<Value, DamagedRecord> {
    let parts: Vec<Value> = records::parts_json(raw).collect::<Result<_, _>>()?;
    Ok(Value::Object(message_v2::prompt(&parts)))
}

async fn admitted_prompt(app: &App, session: &SessionId, stored: &RawMessage) -> Result<Value, ApiError> {
    let admission = app.engine().reads().admission(session, &stored.id).await?;
    let admission = admission
        .ok_or_else(|| V2Error::NoMessage { session: session.clone(), message: stored.id.clone() })?;
    Ok(json!({
        "admittedSeq": admission.told,
        "id": stored.id,
        "sessionID": session,
        "prompt": stored_prompt(stored)?,
        "delivery": admission.delivery,
        "timeCreated": stored.created,
    }))
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
    let mime = kind(&file.uri, file.name.as_deref()).to_owned();
    FilePart { mime, filename: file.name, url: file.uri, source }
}

/// What a data URL says of itself, or what the end of a name says. Everything that a model is not shown as a file is read as text, and
/// looked at when it is read.
fn kind<'a>(uri: &'a str, name: Option<&str>) -> &'a str {
    if let Some(data) = uri.strip_prefix("data:") {
        let kind = data.split([';', ',']).next().filter(|kind| kind.contains('/'));
        return kind.unwrap_or("text/plain");
    }
    if uri.ends_with('/') {
        return "application/x-directory";
    }
    let named = if uri.contains(':') { uri } else { name.unwrap_or(uri) };
    let end = named.rsplit_once('.').map(|(_, end)| end.to_ascii_lowercase());
    match end.as_deref() {
        Some("png") => "image/png",
        Some("jpg" | "jpeg") => "image/jpeg",
        Some("gif") => "image/gif",
        Some("webp") => "image/webp",
        Some("pdf") => "application/pdf",
        _ => "text/plain",
    }
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
