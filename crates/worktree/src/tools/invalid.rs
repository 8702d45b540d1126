//! `invalid`: the answer to a call that could not be understood.

use crate::tool::{Call, Done, Tool, ToolFailure, World, spec, text};
use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::json;
use sturdy_session::talk::ToolSpec;

#[derive(Debug)]
pub struct Invalid(ToolSpec);

#[derive(Deserialize)]
struct Input {
    tool: String,
    error: String,
}

impl Invalid {
    #[must_use]
    #[allow(clippy::new_without_default, reason = "a tool is made once, by name")]
    pub fn new() -> Self {
        let properties = json!({ "tool": text("The tool that was called"), "error": text("What was wrong with the call") });
        Self(spec("invalid", include_str!("invalid.md"), properties, &["tool", "error"]))
    }
}

impl Tool for Invalid {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn run<'a>(&'a self, call: Call, _: &'a World) -> BoxFuture<'a, Result<Done, ToolFailure>> {
        Box::pin(async move {
            let Input { tool, error } = call.decode()?;
            let output = format!("The call of {tool} could not be understood: {error}");
            Ok(Done::new("Invalid Tool", output, json!({ "truncated": false })))
        })
    }
}
