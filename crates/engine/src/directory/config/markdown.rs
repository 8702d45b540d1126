//! Markdown files with front matter: agents, modes, commands, skills.
//!
//! The head between two `---` lines is YAML, the rest is text for the model. An agent file is a layer
//! like any other: `agent/review.md` says what `{"agent": {"review": {…}}}` would say.

use super::error::ConfigError;
use super::merge::{Keys, Layer, Level, Origin, Source};
use super::places::files_below;
use super::read::text_of;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

/// A markdown file in its two parts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Document {
    pub(crate) head: Map<String, Value>,
    /// Trimmed.
    pub(crate) body: String,
    /// The same as it stands in the file.
    pub(crate) untrimmed: String,
}

/// Reads a file; `None` if there is none.
pub(crate) fn read_document(path: &Path) -> Result<Option<Document>, ConfigError> {
    let Some(text) = text_of(path)? else { return Ok(None) };
    let wrong = |message: String| ConfigError::FrontMatter { path: path.display().to_string(), message };
    parse(&text).map(Some).map_err(wrong)
}

fn parse(text: &str) -> Result<Document, String> {
    let Some((head, body)) = split(text) else {
        return Ok(Document { head: Map::new(), body: text.trim().to_owned(), untrimmed: text.to_owned() });
    };
    let head = yaml(head).or_else(|error| yaml(&with_quotes(head)).map_err(|_| error))?;
    Ok(Document { head, body: body.trim().to_owned(), untrimmed: body.to_owned() })
}

/// The text between the first line `---` and the next one, and what follows.
fn split(text: &str) -> Option<(&str, &str)> {
    let rest = text.strip_prefix("---")?;
    let rest = rest.strip_prefix("\r\n").or_else(|| rest.strip_prefix('\n'))?;
    let mut at = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            return Some((&rest[..at], &rest[at + line.len()..]));
        }
        at += line.len();
    }
    None
}

fn yaml(head: &str) -> Result<Map<String, Value>, String> {
    if head.trim().is_empty() {
        return Ok(Map::new());
    }
    // Without the snippet the library would add: an error goes to every client of the directory.
    match serde_saphyr::from_str::<Value>(head) {
        Ok(Value::Object(map)) => Ok(map),
        Ok(Value::Null) => Ok(Map::new()),
        Ok(_) => Err("the head is not a list of keys and values".to_owned()),
        Err(error) => Err(match error.location() {
            // The head begins on the second line of the file.
            Some(location) => format!("not valid YAML (line {})", location.line() + 1),
            None => "not valid YAML".to_owned(),
        }),
    }
}

/// `description: Use when: the tests fail` is no YAML, and people write it. Quotes around such a value
/// make it the text it was meant to be.
fn with_quotes(head: &str) -> String {
    let line = |line: &str| -> String {
        let Some((key, value)) = line.split_once(": ") else { return line.to_owned() };
        let value = value.trim();
        let is_plain = !value.starts_with(['"', '\'', '|', '>', '[', '{', '&', '*', '#', '!']);
        if key.starts_with([' ', '\t', '-', '#']) || !is_plain || !value.contains(": ") {
            return line.to_owned();
        }
        format!("{key}: {}", Value::String(value.to_owned()))
    };
    head.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// The layers of one directory of agents, modes and commands, without the files that `is_read` refuses.
pub(super) fn layers(
    dir: &Path,
    level: Level,
    is_read: &mut dyn FnMut(&Path) -> bool,
) -> Result<Vec<(Source, Layer)>, ConfigError> {
    let kinds: [(&[&str], bool, Section); 3] = [
        (&["mode", "modes"], false, Section::Mode),
        (&["agent", "agents"], true, Section::Agent),
        (&["command", "commands"], true, Section::Command),
    ];
    let mut layers = Vec::new();
    for (names, recursive, section) in kinds {
        for root in names.iter().map(|name| dir.join(name)) {
            let is_markdown = |path: &Path| path.extension().is_some_and(|extension| extension == "md");
            for path in files_below(&root, recursive, &is_markdown) {
                if !is_read(&path) {
                    continue;
                }
                let Some(document) = read_document(&path)? else { continue };
                let layer = layer(section, level, &root, &path, document);
                layers.push((Source::File(path), layer));
            }
        }
    }
    Ok(layers)
}

#[derive(Clone, Copy)]
enum Section {
    Agent,
    Mode,
    Command,
}

fn layer(section: Section, level: Level, root: &Path, path: &Path, document: Document) -> Layer {
    let name = path.strip_prefix(root).unwrap_or(path).with_extension("");
    let name = name.to_string_lossy().replace('\\', "/");
    let mut entry = document.head;
    // The file's name is the name; a head that says another one would make a second agent.
    entry.shift_remove("name");
    let key = match section {
        Section::Agent | Section::Mode => {
            if !document.body.is_empty() {
                entry.insert("prompt".to_owned(), Value::String(document.body));
            }
            if matches!(section, Section::Mode) {
                entry.insert("mode".to_owned(), json!("primary"));
            }
            "agent"
        }
        Section::Command => {
            entry.insert("template".to_owned(), Value::String(document.body));
            "command"
        }
    };

    let mut value = Map::new();
    value.insert(key.to_owned(), json!({ name: entry }));
    whole(Source::File(path.to_owned()), level, value)
}

/// A layer whose leaves all stand in the same place.
pub(super) fn whole(source: Source, level: Level, value: Map<String, Value>) -> Layer {
    let origin = Origin { source: Arc::new(source), level, line: None, replaced: false };
    let mut origins = BTreeMap::new();
    mark(&value, &mut Vec::new(), &origin, &mut origins);
    Layer { level, value, origins, unreplaced: Vec::new(), variables: BTreeSet::new() }
}

/// Gives every leaf the same origin.
fn mark(map: &Map<String, Value>, path: &mut Keys, origin: &Origin, origins: &mut BTreeMap<Keys, Origin>) {
    for (key, value) in map {
        path.push(key.clone());
        match value {
            Value::Object(inner) if !inner.is_empty() => mark(inner, path, origin, origins),
            _ => {
                origins.insert(path.clone(), origin.clone());
            }
        }
        path.pop();
    }
}
