//! Writing a change back into a file.
//!
//! The file keeps its comments, its order and every key the change does not speak of. The new text is made first
//! (`draft_of`), so that it can be checked before anything is written. It is written beside the old one and takes its
//! place in one step: a crash leaves the one or the other.

use super::error::{ConfigError, Issue, UpdateError};
use super::places::Draft;
use super::read::{OPTIONS, text_of};
use super::shape;
use jsonc_parser::cst::{CstInputValue, CstObject, CstRootNode};
use serde_json::{Map, Value};
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Keys and entries of lists that one change may speak of. Each is looked for among all that stand in the file, and put
/// beside them; lists are compared with those of other files.
const KEYS_MAX: usize = 1_000;

/// Merges a change into a file, which is made if it is not there. Objects merge, `null` takes a key
/// out, anything else replaces.
pub fn update_file(path: &Path, patch: &Map<String, Value>) -> Result<(), UpdateError> {
    write_draft(&draft_of(path, patch)?)
}

/// What a file would hold after a change.
pub(crate) fn draft_of(path: &Path, patch: &Map<String, Value>) -> Result<Draft, UpdateError> {
    let place = path.display().to_string();
    let keys: usize = patch.values().map(|value| 1 + keys_of(value)).sum();
    if keys > KEYS_MAX {
        let message = format!("Expected at most {KEYS_MAX} keys and entries, got {keys}");
        let issue = Issue { path: Vec::new(), message, line: None };
        return Err(ConfigError::Invalid { path: place, issues: vec![issue] }.into());
    }
    let findings = shape::check(patch);
    if !findings.wrong.is_empty() {
        let issue = |(path, message)| Issue { path, message, line: None };
        let issues = findings.wrong.into_iter().map(issue).collect();
        return Err(ConfigError::Invalid { path: place, issues }.into());
    }

    let text = text_of(path)?.filter(|text| !text.trim().is_empty());
    let is_new = text.is_none();
    let root = CstRootNode::parse(text.as_deref().unwrap_or("{}"), &OPTIONS).map_err(|error| {
        let message =
            format!("{} (line {}, column {})", error.kind(), error.line_display(), error.column_display());
        ConfigError::Json { path: place.clone(), message }
    })?;
    let Some(object) = root.object_value_or_create() else {
        let issue = Issue { path: Vec::new(), message: "Expected an object".to_owned(), line: None };
        return Err(ConfigError::Invalid { path: place, issues: vec![issue] }.into());
    };
    merge(&object, patch);
    let mut text = root.to_string();
    if is_new {
        text.push('\n');
    }
    Ok(Draft { file: path.to_owned(), text })
}

/// Puts a draft in the place of its file.
pub(crate) fn write_draft(draft: &Draft) -> Result<(), UpdateError> {
    let unwritable = |source| UpdateError::Unwritable { path: draft.file.clone(), source };
    write(&draft.file, &draft.text).map_err(unwritable)
}

fn merge(object: &CstObject, patch: &Map<String, Value>) {
    for (key, value) in patch {
        match (object.get(key), value) {
            (Some(property), Value::Null) => property.remove(),
            (None, Value::Null) => {}
            (Some(property), Value::Object(map)) => match property.object_value() {
                Some(inner) => merge(&inner, map),
                None => property.set_value(input(value)),
            },
            (Some(property), value) => property.set_value(input(value)),
            (None, value) => {
                object.append(key, input(value));
            }
        }
    }
}

/// The keys and entries inside of a value.
fn keys_of(value: &Value) -> usize {
    match value {
        Value::Object(map) => map.values().map(|value| 1 + keys_of(value)).sum(),
        Value::Array(items) => items.iter().map(|item| 1 + keys_of(item)).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(flag) => CstInputValue::Bool(*flag),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Object(map) => CstInputValue::Object(
            map.iter()
                .filter(|(_, value)| !value.is_null())
                .map(|(key, value)| (key.clone(), input(value)))
                .collect(),
        ),
    }
}

fn write(path: &Path, text: &str) -> std::io::Result<()> {
    // Through a link: the file people keep among their dotfiles is the one to change.
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let dir = path.parent().unwrap_or(Path::new("/"));
    std::fs::create_dir_all(dir)?;
    let beside = beside(&path);
    let written = (|| {
        let mut file = std::fs::File::create_new(&beside)?;
        if let Ok(old) = std::fs::metadata(&path) {
            file.set_permissions(old.permissions())?;
        }
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        std::fs::rename(&beside, &path)?;
        std::fs::File::open(dir)?.sync_all()
    })();
    if written.is_err() {
        // Best effort: the error that matters is the first one.
        let _ = std::fs::remove_file(&beside);
    }
    written
}

/// A name nobody else takes: two changes at once do not write into each other's file.
fn beside(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{:016x}.tmp", rand::random::<u64>()));
    path.with_file_name(name)
}
