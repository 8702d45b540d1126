//! A tool: what a model may ask the hands to do.
//!
//! [`Tool`] is open: the built-in ones live in `tools/`, others come from servers and callers.
//! A run is given a [`Call`] and a [`World`], and ends in [`Done`] or [`ToolFailure`]; both are
//! for the model to read. [`run`] is the way to run one: it bounds what comes back.
//!
//! A run plans, then acts. While it plans it only reads, and asks for what it needs, in the order in which it finds it:
//! what is found behind one permission may need another. Then [`World::act`] gives it an [`Acting`], without which
//! nothing can be changed. After a restart a call that only planned may be run again; one that acts is not.
//!
//! Not here: when a tool runs, who answers its asks, and how the result is stored.

mod failure;
mod file_lock;
mod memory;
mod world;

pub use failure::{FailureKind, ToolFailure};
pub(crate) use file_lock::{FileLock, lock_file};
pub(crate) use memory::{Checked, Guarded};
pub use memory::{Memory, Witness};
pub(crate) use world::map;
pub use world::{
    Acting, Background, Caller, Delegated, Diagnose, Diagnostic, Edited, Handles, KeepBackground,
    PermissionAsk, Progress, Reach, Settings, Severity, Skill, Task, World,
};

use crate::bound::{self, Keep};
use futures_util::future::BoxFuture;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use sturdy_session::json::Map;
use sturdy_session::talk::ToolSpec;

/// Something a model can call. Built-in, from an MCP server, or from a caller.
pub trait Tool: Send + Sync {
    fn spec(&self) -> &ToolSpec;

    fn run<'a>(&'a self, call: Call, world: &'a World) -> BoxFuture<'a, Result<Done, ToolFailure>>;
}

/// One call of a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    pub id: String,
    pub name: String,
    pub input: Map,
}

impl Call {
    /// The arguments as the tool wants them.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, ToolFailure> {
        let mut input = Value::Object(self.input.clone());
        // Models write 10.0 where they mean 10, and null where they mean nothing.
        sturdy_session::json::tidy(&mut input);
        if let Value::Object(map) = &mut input {
            map.retain(|_, value| !value.is_null());
        }
        serde_path_to_error::deserialize(input).map_err(|error| {
            let at = match error.path().to_string() {
                path if path == "." => String::new(),
                path => format!(" at {path}"),
            };
            let name = &self.name;
            let why = error.inner();
            ToolFailure::failed(format!(
                "The arguments of {name} do not fit{at}: {why}. Call it again with arguments that match its schema."
            ))
        })
    }
}

/// What a tool did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Done {
    pub title: String,
    /// For the model.
    pub output: String,
    /// For clients.
    pub metadata: Map,
    pub attachments: Vec<Attached>,
}

/// An image or a document that goes with a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attached {
    pub mime: String,
    pub filename: Option<String>,
    /// A `data:` URL.
    pub url: String,
}

impl Done {
    #[must_use]
    pub fn new(title: impl Into<String>, output: impl Into<String>, metadata: Value) -> Self {
        let Value::Object(metadata) = metadata else { panic!("BUG: metadata is not an object") };
        Self { title: title.into(), output: output.into(), metadata, attachments: Vec::new() }
    }
}

/// Runs a tool and bounds what it gives back. A tool that has said itself whether its output is
/// cut (`metadata.truncated`) is believed.
pub async fn run(tool: &dyn Tool, call: Call, world: &World) -> Result<Done, ToolFailure> {
    let id = call.id.clone();
    let mut done = tool.run(call, world).await?;
    if done.metadata.contains_key("truncated") {
        return Ok(done);
    }
    let limits = world.settings.limits;
    let Some(cut) = bound::cut(&done.output, limits, Keep::Head) else {
        done.metadata.insert("truncated".to_owned(), json!(false));
        return Ok(done);
    };
    let path = bound::save(&world.settings.output_dir, &id, done.output.as_bytes()).await;
    done.output = cut.with_note(Keep::Head, path.as_deref().ok(), world.settings.may_delegate);
    done.metadata.insert("truncated".to_owned(), json!(true));
    if let Ok(path) = path {
        done.metadata.insert("outputPath".to_owned(), json!(path));
    }
    Ok(done)
}

/// A tool's words and the schema of its arguments. `description` is the text beside the code.
#[must_use]
pub fn spec(name: &str, description: &str, properties: Value, required: &[&str]) -> ToolSpec {
    let parameters = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": properties,
        "required": required,
    });
    ToolSpec { name: name.to_owned(), description: description.trim_end().to_owned(), parameters }
}

/// The largest integer every JSON reader keeps exactly.
pub const SAFE_INTEGER_MAX: i64 = 9_007_199_254_740_991;

/// The schema of an integer of at least `least`.
#[must_use]
pub fn integer(least: i64, description: &str) -> Value {
    json!({ "type": "integer", "minimum": least, "maximum": SAFE_INTEGER_MAX, "description": description })
}

/// The schema of a text.
#[must_use]
pub fn text(description: &str) -> Value {
    json!({ "type": "string", "description": description })
}
