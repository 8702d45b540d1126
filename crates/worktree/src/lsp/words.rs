//! The words of the protocol, as far as they are used.

use super::diagnostic::{Diagnostic, Severity};
use async_lsp::lsp_types::notification::Notification;
use async_lsp::lsp_types::request::Request;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::marker::PhantomData;
use std::path::Path;
use sturdy_session::json::Map;
use url::Url;

/// A code or the name of a source is a word or two.
const FIELD_BYTES_MAX: usize = 1_024;

/// Diagnostics of one file that are kept. A file with more has one fault.
const DIAGNOSTICS_MAX: usize = 200;
/// Characters of one message.
const MESSAGE_CHARS_MAX: usize = 2_000;

pub(super) const PUBLISHED: &str = "textDocument/publishDiagnostics";
pub(super) const CREATED: u8 = 1;
pub(super) const CHANGED: u8 = 2;

/// Something that is said or asked, by its name.
pub(super) trait Method: Send + Sync + 'static {
    const NAME: &'static str;
}

/// A method with JSON on both sides: what a server adds to the protocol is no reason to break.
pub(super) struct Ask<M>(PhantomData<M>);

impl<M: Method> Request for Ask<M> {
    type Params = Value;
    type Result = Value;
    const METHOD: &'static str = M::NAME;
}

impl<M: Method> Notification for Ask<M> {
    type Params = Value;
    const METHOD: &'static str = M::NAME;
}

macro_rules! methods {
    ($($name:ident = $text:literal),* $(,)?) => {$(
        pub(super) struct $name;
        impl Method for $name {
            const NAME: &'static str = $text;
        }
    )*};
}

methods! {
    Initialize = "initialize",
    Initialized = "initialized",
    ConfigurationChanged = "workspace/didChangeConfiguration",
    FilesChanged = "workspace/didChangeWatchedFiles",
    Opened = "textDocument/didOpen",
    Changed = "textDocument/didChange",
    Diagnose = "textDocument/diagnostic",
    Definition = "textDocument/definition",
    References = "textDocument/references",
    Hover = "textDocument/hover",
    DocumentSymbols = "textDocument/documentSymbol",
    Symbols = "workspace/symbol",
    Implementation = "textDocument/implementation",
    Hierarchy = "textDocument/prepareCallHierarchy",
    Incoming = "callHierarchy/incomingCalls",
    Outgoing = "callHierarchy/outgoingCalls",
}

/// What can be asked about a place in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Operation {
    GoToDefinition,
    FindReferences,
    Hover,
    DocumentSymbol,
    WorkspaceSymbol,
    GoToImplementation,
    PrepareCallHierarchy,
    IncomingCalls,
    OutgoingCalls,
}

impl Operation {
    pub(super) fn params(self, path: &Path, (line, column): (u32, u32), query: &str) -> Value {
        let document = json!({ "uri": uri(path) });
        // The protocol counts from 0, people and models from 1.
        let position = json!({ "line": line.saturating_sub(1), "character": column.saturating_sub(1) });
        match self {
            Self::WorkspaceSymbol => json!({ "query": query }),
            Self::DocumentSymbol => json!({ "textDocument": document }),
            Self::FindReferences => {
                let context = json!({ "includeDeclaration": true });
                json!({ "textDocument": document, "position": position, "context": context })
            }
            _ => json!({ "textDocument": document, "position": position }),
        }
    }
}

pub(super) fn uri(path: &Path) -> String {
    Url::from_file_path(path).map(|url| url.to_string()).unwrap_or_default()
}

pub(super) fn folder(root: &Path) -> Value {
    json!({ "name": "workspace", "uri": uri(root) })
}

pub(super) fn introduction(root: &Path, initialization: &Value) -> Value {
    let capabilities = json!({
        "window": { "workDoneProgress": true },
        "workspace": {
            "configuration": true,
            "workspaceFolders": true,
            "didChangeWatchedFiles": { "dynamicRegistration": true },
        },
        "textDocument": {
            "synchronization": { "didSave": false },
            "publishDiagnostics": { "versionSupport": true },
            "diagnostic": { "dynamicRegistration": false },
            "hover": { "contentFormat": ["markdown", "plaintext"] },
        },
        "general": { "positionEncodings": ["utf-16"] },
    });
    json!({
        "processId": std::process::id(),
        "clientInfo": { "name": "sturdy", "version": env!("CARGO_PKG_VERSION") },
        "rootUri": uri(root),
        "workspaceFolders": [folder(root)],
        "initializationOptions": initialization,
        "capabilities": capabilities,
    })
}

/// The value at a dotted path.
pub(super) fn below(settings: &Value, section: &str) -> Value {
    let step = |value: &Value, name: &str| value.get(name).cloned().unwrap_or_default();
    section
        .split('.')
        .filter(|name| !name.is_empty())
        .fold(settings.clone(), |value, name| step(&value, name))
}

pub(super) fn diagnostics(path: &Path, items: &[Value]) -> Vec<Diagnostic> {
    let one = |item: &Value| {
        let start = &item["range"]["start"];
        let from_one = |field: &str| Some(u32::try_from(start[field].as_u64()?).ok()?.saturating_add(1));
        let severity = match item["severity"].as_u64() {
            Some(2) => Severity::Warning,
            Some(3) => Severity::Information,
            Some(4) => Severity::Hint,
            // A fault nobody has weighed is one.
            _ => Severity::Error,
        };
        let message: String = item["message"].as_str()?.chars().take(MESSAGE_CHARS_MAX).collect();
        Some(Diagnostic {
            path: path.to_owned(),
            line: from_one("line")?,
            column: from_one("character")?,
            severity,
            said: said(item.as_object()?, severity, &message),
            message,
        })
    };
    items.iter().filter_map(one).take(DIAGNOSTICS_MAX).collect()
}

/// What clients are told of a diagnostic. What servers keep in it for themselves may be of any size.
fn said(item: &Map, severity: Severity, message: &str) -> Map {
    let mut said = Map::new();
    for (key, value) in item {
        let value = match key.as_str() {
            "message" => json!(message),
            "range" | "severity" | "code" | "source" | "tags"
                if value.to_string().len() <= FIELD_BYTES_MAX =>
            {
                value.clone()
            }
            _ => continue,
        };
        said.insert(key.clone(), value);
    }
    said.entry("severity").or_insert_with(|| json!(severity as u8 + 1));
    said
}

/// Kinds a person looks for by name: classes, methods, enums, interfaces, functions, variables, constants,
/// structs.
const KINDS: [u64; 8] = [5, 6, 10, 11, 12, 13, 14, 23];

/// The symbols of an answer, as clients know them.
pub(super) fn symbols(answer: Value) -> Vec<Value> {
    let Value::Array(items) = answer else { return Vec::new() };
    let one = |item: Value| {
        let kind = item["kind"].as_u64().filter(|kind| KINDS.contains(kind))?;
        let name = item["name"].as_str()?;
        let place = &item["location"];
        let location = json!({ "uri": place["uri"].as_str()?, "range": place.get("range")? });
        Some(json!({ "name": name, "kind": kind, "location": location }))
    };
    items.into_iter().filter_map(one).collect()
}

/// What the protocol calls the language of a file; the extension itself where nobody knows better.
pub(super) fn language_of(path: &Path) -> String {
    let end = path.extension().map(|end| end.to_string_lossy().to_lowercase()).unwrap_or_default();
    let name = match end.as_str() {
        "rs" => "rust",
        "ts" | "mts" | "cts" => "typescript",
        "tsx" => "typescriptreact",
        "js" | "mjs" | "cjs" => "javascript",
        "jsx" => "javascriptreact",
        "py" | "pyi" => "python",
        "sh" | "bash" | "zsh" | "ksh" => "shellscript",
        "c" | "h" => "c",
        "cc" | "cpp" | "cxx" | "hh" | "hpp" | "hxx" => "cpp",
        "cs" => "csharp",
        "kt" | "kts" => "kotlin",
        "md" | "markdown" => "markdown",
        "yml" | "yaml" => "yaml",
        "rb" => "ruby",
        "ex" | "exs" => "elixir",
        "hs" => "haskell",
        "tf" | "tfvars" => "terraform",
        "ml" | "mli" => "ocaml",
        "" => "plaintext",
        other => other,
    };
    name.to_owned()
}
