//! Words in the contents of all sessions: where they stand, with what is around them.

use crate::app::App;
use crate::described::{Routes, routes};
use crate::error::{ApiError, Kind};
use crate::reply;
use crate::wire::query::Query;
use crate::wire::shapes::own::Found;
use axum::extract::State;
use axum::response::Response;
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::HashMap;
use sturdy_engine::reads::{FoundPart, SearchQuery};
use sturdy_session::id::SessionId;

const HITS_DEFAULT: u64 = 30;
const HITS_MAX: u64 = 100;
/// One letter is everywhere.
const WORDS_CHARS_MIN: usize = 2;
const WORDS_CHARS_MAX: usize = 200;
/// Letters around the words.
const AROUND_CHARS: usize = 80;

pub(super) fn routes() -> Routes {
    Routes::new().routes(routes!(search))
}

/// Where some words stand.
#[derive(Debug, Serialize)]
struct Hit {
    #[serde(rename = "sessionID")]
    session: String,
    #[serde(rename = "messageID")]
    message: String,
    #[serde(rename = "partID")]
    part: String,
    /// `text`, `reasoning`, `tool`, `output`, `file` or `subtask`.
    kind: &'static str,
    snippet: [Piece; 3],
}

#[derive(Debug, PartialEq, Eq, Serialize)]
struct Piece {
    text: String,
    hit: bool,
}

/// Parts of all sessions that contain some words, newest first.
#[utoipa::path(get, path = "/sturdy/search", operation_id = "sturdy.search", params(
    ("q" = String, Query, description = "Two to 200 letters, found as they are; upper and lower case of ASCII are the same"),
    ("session" = Option<String>, Query, description = "Only in this one"),
    ("limit" = Option<u64>, Query, description = "Default 30, at most 100"),
    ("cursor" = Option<i64>, Query, description = "Of the answer before: looks at older ones"),
), responses((status = 200, description = "`{hits: [{sessionID, messageID, partID, kind, snippet: [{text, hit}]}], sessions, cursor?}`; \
    `cursor` also without a hit when there is more to look at", body = Found), (status = 400, description = "Bad query")))]
async fn search(State(app): State<App>, query: Query) -> Result<Response, ApiError> {
    let words = query.get("q").unwrap_or_default().trim().to_owned();
    let letters = words.chars().count();
    if !(WORDS_CHARS_MIN..=WORDS_CHARS_MAX).contains(&letters) {
        return Err(ApiError::schema(Kind::Query, "Expected 2 to 200 letters\n  at [\"q\"]"));
    }
    let session = match query.get("session") {
        None => None,
        Some(id) => Some(SessionId::parse(id).map_err(|_| ApiError::Handler)?),
    };
    let limit = query.within("limit", 1, HITS_MAX)?.unwrap_or(HITS_DEFAULT);
    let before = query.number("cursor")?.map(|cursor| i64::try_from(cursor).unwrap_or(i64::MAX));
    let wanted =
        SearchQuery { text: words.clone(), session, before, limit: u32::try_from(limit).unwrap_or(u32::MAX) };
    let store = app.engine().reads();
    let found = store.search(wanted).await?;
    let hits: Vec<Hit> = found.parts.iter().filter_map(|part| hit(part, &words)).collect();
    let mut sessions: HashMap<String, Value> = HashMap::new();
    for hit in &hits {
        if sessions.contains_key(&hit.session) {
            continue;
        }
        let Ok(id) = SessionId::parse(&hit.session) else { continue };
        // One that was removed meanwhile has no name.
        let Some(info) = store.session(&id).await? else { continue };
        let info: Value = serde_json::from_str(&info).unwrap_or_default();
        let shown = json!({ "title": info["title"], "directory": info["directory"], "time": info["time"] });
        sessions.insert(hit.session.clone(), shown);
    }
    let mut answer = json!({ "hits": hits, "sessions": sessions });
    if let (Some(before), Some(answer)) = (found.before, answer.as_object_mut()) {
        answer.insert("cursor".to_owned(), Value::from(before));
    }
    Ok(reply::json(&answer))
}

/// None when the words stand only in names of fields or in ids.
fn hit(found: &FoundPart, words: &str) -> Option<Hit> {
    let part: Value = serde_json::from_str(&found.data).ok()?;
    let (kind, snippet) =
        texts(&part).into_iter().find_map(|(kind, text)| Some((kind, snippet(&text, words)?)))?;
    Some(Hit {
        session: found.session.clone(),
        message: found.message.clone(),
        part: found.part.clone(),
        kind,
        snippet,
    })
}

/// What a person can read of a part.
fn texts(part: &Value) -> Vec<(&'static str, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    match part["type"].as_str() {
        Some("text") => vec![("text", text(&part["text"]))],
        Some("reasoning") => vec![("reasoning", text(&part["text"]))],
        Some("file") => vec![("file", text(&part["filename"]))],
        Some("subtask") => vec![("subtask", text(&part["description"])), ("subtask", text(&part["prompt"]))],
        Some("tool") => {
            let state = &part["state"];
            let fields = state["input"].as_object().into_iter().flatten();
            let mut all: Vec<_> = fields.map(|(_, value)| ("tool", plain(value))).collect();
            all.push(("output", text(&state["output"])));
            all.push(("output", text(&state["error"])));
            all
        }
        _ => Vec::new(),
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn snippet(text: &str, words: &str) -> Option<[Piece; 3]> {
    // The same for every letter outside ASCII, so places stay places.
    let at = text.to_ascii_lowercase().find(&words.to_ascii_lowercase())?;
    let end = at + words.len();
    let skipped = text[..at].char_indices().rev().nth(AROUND_CHARS - 1).map_or(0, |(index, _)| index);
    let kept = text[end..].char_indices().nth(AROUND_CHARS).map_or(text.len(), |(index, _)| end + index);
    let piece = |text: &str, hit| Piece { text: text.to_owned(), hit };
    Some([piece(&text[skipped..at], false), piece(&text[at..end], true), piece(&text[end..kept], false)])
}

#[cfg(test)]
mod tests {
    use super::snippet;

    #[test]
    fn a_snippet_is_cut_between_letters_and_keeps_the_words_as_they_were_written() {
        let text = format!("{}Ärger mit dem Wörterbuch{}", "ä".repeat(200), "é".repeat(200));

        let [before, words, after] = snippet(&text, "rger MIT").unwrap();

        assert_eq!(before.text, format!("{}Ä", "ä".repeat(79)));
        assert_eq!(words.text, "rger mit");
        assert_eq!(after.text.chars().count(), 80);
        assert_eq!(snippet(&text, "nowhere"), None);
    }
}
