//! `lsp`: what a language server knows of a place in a file.

use crate::lsp::Operation;
use crate::tool::{Call, Done, PermissionAsk, Tool, ToolFailure, World, integer, map, spec, text};
use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::json;
use sturdy_session::talk::ToolSpec;

const OPERATIONS: [&str; 9] = [
    "goToDefinition",
    "findReferences",
    "hover",
    "documentSymbol",
    "workspaceSymbol",
    "goToImplementation",
    "prepareCallHierarchy",
    "incomingCalls",
    "outgoingCalls",
];

#[derive(Debug)]
pub struct LspTool(ToolSpec);

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Input {
    operation: Operation,
    file_path: String,
    line: u32,
    character: u32,
    #[serde(default)]
    query: String,
}

impl LspTool {
    #[must_use]
    #[allow(clippy::new_without_default, reason = "a tool is made once, by name")]
    pub fn new() -> Self {
        let properties = json!({
            "operation": { "type": "string", "enum": OPERATIONS, "description": "What to ask" },
            "filePath": text("The file, absolute or relative to the working directory"),
            "line": integer(1, "The line, from 1"),
            "character": integer(1, "The column, from 1"),
            "query": text("The name to look for, for workspaceSymbol"),
        });
        let required = ["operation", "filePath", "line", "character"];
        Self(spec("lsp", include_str!("lsp.md"), properties, &required))
    }
}

impl Tool for LspTool {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn run<'a>(&'a self, call: Call, world: &'a World) -> BoxFuture<'a, Result<Done, ToolFailure>> {
        Box::pin(async move {
            let input: Input = call.decode()?;
            let path = world.reach(&input.file_path).await?;
            let metadata = json!({ "operation": input.operation, "filePath": path.shown() });
            let everything = vec!["*".to_owned()];
            world.ask(PermissionAsk::new("lsp", everything.clone(), everything, map(metadata))).await?;

            let failed = |words: String| ToolFailure::failed(format!("{words}. Use grep or read instead."));
            let lsp = world.settings.lsp.as_ref();
            let lsp = lsp.ok_or_else(|| failed("No language server is configured here".to_owned()))?;
            let place = (input.line, input.character);
            let asked = lsp.operate(input.operation, path.real(), place, &input.query);
            let result = tokio::select! {
                result = asked => result.map_err(|cause| failed(format!("No answer: {cause}")))?,
                () = world.stop.cancelled() => return Err(ToolFailure::aborted()),
            };

            let name = json!(input.operation);
            let name = name.as_str().unwrap_or_default();
            let title = format!("{name} {}:{}:{}", path.relative(), input.line, input.character);
            let output = match result.is_empty() {
                true => format!("No results for {name}."),
                false => serde_json::to_string_pretty(&result).unwrap_or_default(),
            };
            Ok(Done::new(title, output, json!({ "result": result })))
        })
    }
}
