//! One text of JSON with comments → one layer.
//!
//! `{env:NAME}` and `{file:path}` are replaced after parsing, inside strings: a value with a quote in it
//! cannot break the document, and a placeholder in a comment is a comment. Of a project that nobody has
//! trusted yet they are kept as they are written.

use super::error::{ConfigError, Issue};
use super::merge::{Keys, Layer, Level, Origin, Source};
use super::places::Places;
use jsonc_parser::ast;
use jsonc_parser::common::Ranged as _;
use jsonc_parser::{CollectOptions, ParseOptions};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Larger files are not configuration.
const FILE_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// Comments and trailing commas, no other liberties: what we accept, other readers of the file accept.
pub(super) const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// The text of a file; `None` if there is no such file.
pub(super) fn text_of(path: &Path) -> Result<Option<String>, ConfigError> {
    let unreadable = |message: String| ConfigError::Unreadable { path: path.display().to_string(), message };
    let kind = match std::fs::metadata(path) {
        Ok(kind) => kind,
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => return Err(unreadable(error.to_string())),
    };
    // Not a pipe or a device: reading those may never end.
    if !kind.is_file() {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(|error| unreadable(error.to_string()))?;
    file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(|error| unreadable(error.to_string()))?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(unreadable(format!("it is larger than {FILE_BYTES_MAX} bytes")));
    }
    let text = String::from_utf8(bytes).map_err(|_| unreadable("it is not UTF-8 text".to_owned()))?;
    Ok(Some(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text)))
}

fn is_absent(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{NotADirectory, NotFound};
    matches!(error.kind(), NotFound | NotADirectory)
}

/// A text of settings and where it stands.
#[derive(Clone)]
pub(super) struct Text {
    pub(super) source: Source,
    pub(super) level: Level,
    pub(super) text: String,
    /// Relative `{file:…}` paths are beside this.
    pub(super) base: PathBuf,
}

/// What is done with `{env:…}` and `{file:…}`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Placeholders {
    Replace,
    Keep,
}

/// Reads a text.
pub(super) fn parse(text: &Text, placeholders: Placeholders, places: &Places) -> Result<Layer, ConfigError> {
    let Text { source, level, text, base } = text;
    let parsed = jsonc_parser::parse_to_ast(text, &CollectOptions::default(), &OPTIONS).map_err(|error| {
        // Without the text: it may hold a key.
        let message =
            format!("{} (line {}, column {})", error.kind(), error.line_display(), error.column_display());
        ConfigError::Json { path: source.to_string(), message }
    })?;

    let mut reader = Reader {
        source: Arc::new(source.clone()),
        level: *level,
        placeholders,
        lines: Lines::of(text),
        base,
        places,
        origins: BTreeMap::new(),
        unreplaced: Vec::new(),
        variables: BTreeSet::new(),
        issues: Vec::new(),
    };
    let value = match &parsed.value {
        None => Map::new(),
        Some(ast::Value::Object(object)) => reader.object(object, &mut Vec::new()),
        Some(other) => {
            reader.issue(&[], other, "Expected an object".to_owned());
            Map::new()
        }
    };
    if !reader.issues.is_empty() {
        return Err(ConfigError::Invalid { path: source.to_string(), issues: reader.issues });
    }
    let Reader { origins, unreplaced, variables, .. } = reader;
    Ok(Layer { level: *level, value, origins, unreplaced, variables })
}

struct Reader<'a> {
    source: Arc<Source>,
    level: Level,
    placeholders: Placeholders,
    lines: Lines,
    base: &'a Path,
    places: &'a Places,
    origins: BTreeMap<Keys, Origin>,
    unreplaced: Vec<Keys>,
    variables: BTreeSet<String>,
    issues: Vec<Issue>,
}

impl Reader<'_> {
    fn object(&mut self, object: &ast::Object<'_>, path: &mut Keys) -> Map<String, Value> {
        if object.properties.is_empty() {
            self.mark(path, object.start(), false);
        }
        let mut map = Map::new();
        for property in &object.properties {
            let key = property.name.as_str().to_owned();
            path.push(key.clone());
            let value = match &property.value {
                ast::Value::Object(inner) => Value::Object(self.object(inner, path)),
                leaf => {
                    let (value, replaced) = self.leaf(leaf, path);
                    self.mark(path, property.start(), replaced);
                    value
                }
            };
            map.insert(key, value);
            path.pop();
        }
        map
    }

    /// A value that is not an object of its own layer, and whether any of its text was replaced.
    fn leaf(&mut self, value: &ast::Value<'_>, path: &Keys) -> (Value, bool) {
        match value {
            ast::Value::StringLit(text) => match self.replace(&text.value) {
                Ok((text, replaced)) => (Value::String(text), replaced),
                Err(message) => {
                    self.issue(path, value, message);
                    (Value::Null, false)
                }
            },
            ast::Value::NumberLit(number) => {
                let parsed = serde_json::from_str(number.value).map(Value::Number);
                (parsed.unwrap_or_else(|_| Value::String(number.value.to_owned())), false)
            }
            ast::Value::BooleanLit(flag) => (Value::Bool(flag.value), false),
            ast::Value::NullKeyword(_) => (Value::Null, false),
            ast::Value::Array(array) => {
                let items: Vec<_> = array.elements.iter().map(|item| self.leaf(item, path)).collect();
                let replaced = items.iter().any(|(_, replaced)| *replaced);
                (Value::Array(items.into_iter().map(|(item, _)| item).collect()), replaced)
            }
            ast::Value::Object(object) => {
                let mut replaced = false;
                let mut map = Map::new();
                for property in &object.properties {
                    let (value, was_replaced) = self.leaf(&property.value, path);
                    replaced |= was_replaced;
                    map.insert(property.name.as_str().to_owned(), value);
                }
                (Value::Object(map), replaced)
            }
        }
    }

    fn mark(&mut self, path: &Keys, offset: usize, replaced: bool) {
        let line = Some(self.lines.line(offset));
        let origin = Origin { source: self.source.clone(), level: self.level, line, replaced };
        self.origins.insert(path.clone(), origin);
        if replaced && self.placeholders == Placeholders::Keep {
            self.unreplaced.push(path.clone());
        }
    }

    fn issue(&mut self, path: &[String], at: &ast::Value<'_>, message: String) {
        self.issues.push(Issue { path: path.to_vec(), message, line: Some(self.lines.line(at.start())) });
    }

    fn replace(&mut self, text: &str) -> Result<(String, bool), String> {
        if self.placeholders == Placeholders::Keep {
            return Ok((text.to_owned(), placeholder(text).is_some()));
        }
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        let mut replaced = false;
        while let Some((before, kind, name, after)) = placeholder(rest) {
            out.push_str(before);
            match kind {
                Kind::Env => {
                    // Whatever the configuration takes from a variable, commands are not given.
                    self.variables.insert(name.to_owned());
                    out.push_str(self.places.environment.get(name).unwrap_or_default());
                }
                Kind::File => out.push_str(&self.file(name)?),
            }
            replaced = true;
            rest = after;
        }
        out.push_str(rest);
        Ok((out, replaced))
    }

    fn file(&self, name: &str) -> Result<String, String> {
        let path = self.places.resolve(name, self.base);
        match text_of(&path) {
            Ok(Some(text)) => Ok(text.trim().to_owned()),
            Ok(None) => Err(format!("The file of {{file:{name}}} does not exist: {}", path.display())),
            Err(error) => Err(error.to_string()),
        }
    }
}

enum Kind {
    Env,
    File,
}

/// A text without its placeholders.
pub(super) fn without_placeholders(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, _, _, after)) = placeholder(rest) {
        out.push_str(before);
        rest = after;
    }
    out.push_str(rest);
    out
}

/// The first `{env:…}` or `{file:…}`: what is before it, which, its name, what is after it.
fn placeholder(text: &str) -> Option<(&str, Kind, &str, &str)> {
    text.match_indices('{').find_map(|(start, _)| {
        let inside = &text[start + 1..];
        let (kind, inside) = match inside.strip_prefix("env:") {
            Some(inside) => (Kind::Env, inside),
            None => (Kind::File, inside.strip_prefix("file:")?),
        };
        let end = inside.find('}').filter(|end| *end > 0)?;
        Some((&text[..start], kind, &inside[..end], &inside[end + 1..]))
    })
}

/// Byte offsets of line starts.
struct Lines(Vec<usize>);

impl Lines {
    fn of(text: &str) -> Self {
        Self(std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect())
    }

    /// Counted from one.
    fn line(&self, offset: usize) -> usize {
        self.0.partition_point(|start| *start <= offset)
    }
}
