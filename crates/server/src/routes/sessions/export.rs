//! One file that shows a session without a server: the reader of the page, the session, and a plain transcript.
//!
//! The file is `web/viewer.html` with three places filled in, and is read from the store as it is sent, message by
//! message, twice: once as a transcript for readers without script, once as data for the reader in it. Whatever a
//! model or a person wrote becomes text: in the transcript by escaping, in the data by writing every `<` as `\u003c`.
//! The policy in the file lets nothing run but the script it was built with.
//!
//! With `redact` the file is without outputs of tools, contents of files or thoughts, as it was chosen, and says so.
//!
//! Not here: how the reader looks (`web/src/share/`).

mod redact;

use crate::access::tickets::ExportFormat;
use crate::app::App;
use crate::described::{Routes, routes};
use crate::error::ApiError;
use crate::extract::OfSession;
use crate::ui;
use crate::wire::message::joined;
use crate::wire::query::Query;
use crate::wire::redaction::{Omitted, Redaction};
use crate::wire::shapes::own::ExportedSession;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use bytes::Bytes;
use futures_util::{Stream, StreamExt as _, stream};
use http::header::{CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE, HeaderValue, X_CONTENT_TYPE_OPTIONS};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::future::ready;
use sturdy_engine::reads::{MessageQuery, RawMessage, ReadError, Reads};
use sturdy_engine::records::{self, readable};
use sturdy_session::id::{MessageId, SessionId};

/// The output of a tool is shortened in the transcript; the data has all of it.
const OUTPUT_CHARS_MAX: usize = 4_000;

pub(super) fn routes() -> Routes {
    Routes::new().routes(routes!(html)).routes(routes!(document))
}

/// A session as one HTML file that needs no server and no network.
#[utoipa::path(get, path = "/sturdy/session/{sessionID}/export.html", operation_id = "sturdy.session.export",
    params(("sessionID" = String, Path),
        ("redact" = Option<String>, Query, description = "What is left out: a list of `outputs`, `files` and `thoughts`; `1` is all of them")),
    responses((status = 200, description = "The file", content_type = "text/html"),
        (status = 400, description = "Bad query"), (status = 404, description = "No such session")))]
async fn html(State(app): State<App>, OfSession(id): OfSession, query: Query) -> Result<Response, ApiError> {
    file(&app, id, ExportFormat::Html, Redaction::of(&query)?).await
}

/// A session and all its messages as one JSON document.
#[utoipa::path(get, path = "/sturdy/session/{sessionID}/export.json", operation_id = "sturdy.session.exportJson",
    params(("sessionID" = String, Path),
        ("redact" = Option<String>, Query, description = "What is left out: a list of `outputs`, `files` and `thoughts`; `1` is all of them")),
    responses((status = 200, description = "`{info, messages}`", body = ExportedSession),
        (status = 400, description = "Bad query"), (status = 404, description = "No such session")))]
async fn document(
    State(app): State<App>,
    OfSession(id): OfSession,
    query: Query,
) -> Result<Response, ApiError> {
    file(&app, id, ExportFormat::Json, Redaction::of(&query)?).await
}

/// The file as an answer, read from the store as it is sent.
pub(super) async fn file(
    app: &App,
    id: SessionId,
    format: ExportFormat,
    redaction: Redaction,
) -> Result<Response, ApiError> {
    let info = app.engine().session_record(&id).await?;
    let store = app.engine().reads();
    let heads = store.message_heads(&id, MessageQuery::default()).await?;
    let ids: Vec<MessageId> = heads.items.into_iter().map(|message| message.id).collect();
    let known = records::session(&id, &info)?;
    let slug = known.slug;
    let info = redact::session(&info, redaction);
    let messages =
        |show: fn(&RawMessage, bool) -> String| each(store.clone(), id.clone(), ids.clone(), redaction, show);
    let (body, kind, end) = match format {
        ExportFormat::Html => {
            let frame = Frame::of(&ui::viewer(), &known.title);
            let left_out: Vec<Omitted> = redaction.omitted().collect();
            let begin = format!(
                "{}{{\"info\":{},\"savedAt\":{},\"leftOut\":{},\"messages\":[",
                frame.middle,
                in_script(&info),
                app.engine().clock().now(),
                json!(left_out),
            );
            let note = redaction.note();
            let note = if note.is_empty() { note } else { format!("<p>{note}</p>\n") };
            let chunks = once(frame.head)
                .chain(once(note))
                .chain(messages(|message, _| transcript(message)))
                .chain(once(begin))
                .chain(messages(|message, is_first| in_script(&listed(message, is_first))))
                .chain(once(format!("]}}{}", frame.tail)));
            (Body::from_stream(chunks), "text/html; charset=utf-8", "html")
        }
        ExportFormat::Json => {
            let chunks = once(format!("{{\"info\":{info},\"messages\":["))
                .chain(messages(listed))
                .chain(once("]}\n".to_owned()));
            (Body::from_stream(chunks), "application/json", "json")
        }
    };
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CONTENT_DISPOSITION, attachment(&slug, redaction, end));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    Ok(response)
}

/// Saved, never opened in place: the file's own policy is for a file, not for this origin.
fn attachment(slug: &str, redaction: Redaction, end: &str) -> HeaderValue {
    let plain: String = slug.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
    let name = if plain.is_empty() { "session".to_owned() } else { plain };
    let mark = if redaction.is_none() { "" } else { "-redacted" };
    HeaderValue::from_str(&format!("attachment; filename=\"{name}{mark}.{end}\""))
        .expect("BUG: letters, digits and hyphens are a header")
}

/// The template around its two large places.
struct Frame {
    head: String,
    middle: String,
    tail: String,
}

impl Frame {
    fn of(template: &str, title: &str) -> Self {
        let (head, rest) = template.split_once("%TRANSCRIPT%").expect("BUG: the viewer has a transcript");
        let (middle, tail) = rest.split_once("%SESSION%").expect("BUG: the viewer has a session");
        // Last: a title may say anything, also the name of a place.
        let head = head.replacen("%TITLE%", &in_markup(title), 1);
        Self { head, middle: middle.to_owned(), tail: tail.to_owned() }
    }
}

fn once(text: String) -> impl Stream<Item = Result<Bytes, ReadError>> {
    stream::once(ready(Ok(Bytes::from(text))))
}

/// Messages one by one, each as what `show` makes of it; it is told whether it is the first. One that was removed
/// meanwhile is left out.
fn each(
    store: Reads,
    session: SessionId,
    ids: Vec<MessageId>,
    redaction: Redaction,
    show: fn(&RawMessage, bool) -> String,
) -> impl Stream<Item = Result<Bytes, ReadError>> {
    stream::try_unfold(
        (store, session, ids.into_iter(), true),
        move |(store, session, mut ids, is_first)| async move {
            let Some(id) = ids.next() else { return Ok(None) };
            let message =
                store.message(&session, &id).await?.map(|message| redact::message(message, redaction));
            let chunk = message.as_ref().map(|message| show(message, is_first)).unwrap_or_default();
            let is_first = is_first && message.is_none();
            Ok(Some((Bytes::from(chunk), (store, session, ids, is_first))))
        },
    )
}

fn listed(message: &RawMessage, is_first: bool) -> String {
    format!("{}{}", if is_first { "" } else { "," }, joined(message))
}

/// JSON has `<` only inside texts, where it may be written like this.
fn in_script(json: &str) -> String {
    json.replace('<', "\\u003c")
}

fn in_markup(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// A message for a reader without script: who, and every text; tools with their input and output.
fn transcript(message: &RawMessage) -> String {
    let info = readable(records::info_json(message)).unwrap_or_default();
    let who = match info["role"].as_str() {
        Some("user") => "You",
        _ => info["modelID"].as_str().unwrap_or("Answer"),
    };
    let mut out = format!("<article><h2>{}</h2>\n", in_markup(who));
    for part in records::parts_json(message).filter_map(readable) {
        let shown = match part["type"].as_str() {
            Some("text" | "reasoning") => part["text"].as_str().unwrap_or_default().to_owned(),
            Some("tool") => tool(&part),
            Some("file") => part["filename"].as_str().unwrap_or("a file").to_owned(),
            _ => continue,
        };
        if !shown.is_empty() {
            let _ = writeln!(out, "<pre>{}</pre>", in_markup(&shown));
        }
    }
    if let Some(error) = info["error"]["data"]["message"].as_str() {
        let _ = writeln!(out, "<p>{}</p>", in_markup(error));
    }
    out.push_str("</article>\n");
    out
}

fn tool(part: &Value) -> String {
    let state = &part["state"];
    let input = match state["input"]["command"].as_str() {
        Some(command) => command.to_owned(),
        None => state["input"].to_string(),
    };
    let output = state["output"].as_str().or_else(|| state["error"].as_str()).unwrap_or_default();
    let mut shown = format!("{} {input}", part["tool"].as_str().unwrap_or_default());
    if !output.is_empty() {
        shown.push('\n');
        shown.extend(output.chars().take(OUTPUT_CHARS_MAX));
        if output.chars().nth(OUTPUT_CHARS_MAX).is_some() {
            shown.push('…');
        }
    }
    shown
}
