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
use sturdy_engine::records::{self, readable};
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
    kind: HitKind,
    /// Of a call.
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<String>,
    snippet: [Piece; 3],
}

/// What the words stand in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum HitKind {
    Text,
    Reasoning,
    /// What a tool was asked.
    Tool,
    /// What it answered.
    Output,
    File,
    Subtask,
}

impl HitKind {
    fn parse(name: &str) -> Result<Self, ApiError> {
        match name {
            "text" => Ok(Self::Text),
            "reasoning" => Ok(Self::Reasoning),
            "tool" => Ok(Self::Tool),
            "output" => Ok(Self::Output),
            "file" => Ok(Self::File),
            "subtask" => Ok(Self::Subtask),
            _ => Err(refused("kind", "the kind of a hit")),
        }
    }

    /// The parts that have it.
    fn part_type(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Reasoning => "reasoning",
            Self::Tool | Self::Output => "tool",
            Self::File => "file",
            Self::Subtask => "subtask",
        }
    }
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
    ("project" = Option<String>, Query, description = "Only in sessions of the project with this id"),
    ("role" = Option<String>, Query, description = "`user` or `assistant`: who said it"),
    ("kind" = Option<String>, Query, description = "`text`, `reasoning`, `tool` (what a tool was asked), `output` (what it answered), `file` or `subtask`"),
    ("tool" = Option<String>, Query, description = "Only calls of this tool"),
    ("since" = Option<u64>, Query, description = "Only in messages of then or later, in milliseconds"),
    ("until" = Option<u64>, Query, description = "Only in messages of before, in milliseconds"),
    ("limit" = Option<u64>, Query, description = "Default 30, at most 100"),
    ("cursor" = Option<i64>, Query, description = "Of the answer before: looks at older ones"),
), responses((status = 200, description = "`{hits: [{sessionID, messageID, partID, kind, tool?, snippet: [{text, hit}]}], sessions, cursor?}`; \
    `cursor` also without a hit when there is more to look at", body = Found), (status = 400, description = "Bad query")))]
async fn search(State(app): State<App>, query: Query) -> Result<Response, ApiError> {
    let words = query.get("q").unwrap_or_default().trim().to_owned();
    let letters = words.chars().count();
    if !(WORDS_CHARS_MIN..=WORDS_CHARS_MAX).contains(&letters) {
        return Err(ApiError::schema(Kind::Query, "Expected 2 to 200 letters\n  at [\"q\"]"));
    }
    let kind = query.get("kind").map(HitKind::parse).transpose()?;
    let wanted = wanted(&query, words.clone(), kind)?;
    let store = app.engine().reads();
    let found = store.search(wanted).await?;
    let before = found.before;
    // Parts may be long, and reading them takes longer than others should wait.
    let look = move |_: &App| found.parts.iter().filter_map(|part| hit(part, &words, kind)).collect();
    let hits: Vec<Hit> = app.on_a_thread(look).await?;
    let mut sessions: HashMap<String, Value> = HashMap::new();
    for hit in &hits {
        if sessions.contains_key(&hit.session) {
            continue;
        }
        let Ok(id) = SessionId::parse(&hit.session) else { continue };
        // One that was removed meanwhile has no name.
        let Some(info) = store.session(&id).await? else { continue };
        let info = records::session(&id, &info)?;
        let shown = json!({ "title": info.title, "directory": info.directory, "time": info.time });
        sessions.insert(hit.session.clone(), shown);
    }
    let mut answer = json!({ "hits": hits, "sessions": sessions });
    if let (Some(before), Some(answer)) = (before, answer.as_object_mut()) {
        answer.insert("cursor".to_owned(), Value::from(before));
    }
    Ok(reply::json(&answer))
}

fn wanted(query: &Query, text: String, kind: Option<HitKind>) -> Result<SearchQuery, ApiError> {
    let session = match query.get("session") {
        None => None,
        Some(id) => Some(SessionId::parse(id).map_err(|_| ApiError::Handler)?),
    };
    let role = query.get("role");
    if role.is_some_and(|role| !["user", "assistant"].contains(&role)) {
        return Err(refused("role", "\"user\" | \"assistant\""));
    }
    let limit = query.within("limit", 1, HITS_MAX)?.unwrap_or(HITS_DEFAULT);
    Ok(SearchQuery {
        text,
        session,
        project: query.get("project").map(str::to_owned),
        role: role.map(str::to_owned),
        part_type: kind.map(|kind| kind.part_type().to_owned()),
        tool: query.get("tool").map(str::to_owned),
        since: query.number("since")?,
        until: query.number("until")?,
        before: query.number("cursor")?.map(|cursor| i64::try_from(cursor).unwrap_or(i64::MAX)),
        limit: u32::try_from(limit).unwrap_or(u32::MAX),
    })
}

fn refused(name: &str, expected: &str) -> ApiError {
    ApiError::schema(Kind::Query, format!("Expected {expected}\n  at [\"{name}\"]"))
}

/// None when the words stand only in names of fields or in ids, or in something of another kind than the wanted one.
fn hit(found: &FoundPart, words: &str, wanted: Option<HitKind>) -> Option<Hit> {
    let part: Value = readable(records::fields(format_args!("part {}", found.part), &found.data))?;
    let (kind, snippet) = texts(&part)
        .into_iter()
        .filter(|(kind, _)| wanted.is_none_or(|wanted| wanted == *kind))
        .find_map(|(kind, text)| Some((kind, snippet(&text, words)?)))?;
    Some(Hit {
        session: found.session.clone(),
        message: found.message.clone(),
        part: found.part.clone(),
        kind,
        tool: part["tool"].as_str().map(str::to_owned),
        snippet,
    })
}

/// What a person can read of a part.
fn texts(part: &Value) -> Vec<(HitKind, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    match part["type"].as_str() {
        Some("text") => vec![(HitKind::Text, text(&part["text"]))],
        Some("reasoning") => vec![(HitKind::Reasoning, text(&part["text"]))],
        Some("file") => vec![(HitKind::File, text(&part["filename"]))],
        Some("subtask") => {
            vec![(HitKind::Subtask, text(&part["description"])), (HitKind::Subtask, text(&part["prompt"]))]
        }
        Some("tool") => {
            let state = &part["state"];
            let fields = state["input"].as_object().into_iter().flatten();
            let mut all: Vec<_> = fields.map(|(_, value)| (HitKind::Tool, plain(value))).collect();
            all.push((HitKind::Output, text(&state["output"])));
            all.push((HitKind::Output, text(&state["error"])));
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
