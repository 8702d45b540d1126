//! What a server offers, as tools of ours.
//!
//! A tool of a server is called `server_tool`; that is also its permission, asked with the pattern
//! `*`. Arguments are checked against the schema the server gave before anybody is asked.
//!
//! Beside them stand three tools of ours to list and read what servers have to read (`resource.rs`).

mod resource;

pub use resource::{ResourceTools, Servers, resource_tools};

use super::CallError;
use super::client::{Client, ToolInfo};
use super::handler::Progressed;
use crate::tool::{Call, Done, PermissionAsk, Tool, ToolFailure, World, map};
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use std::sync::Arc;
use sturdy_session::json::Map;
use sturdy_session::talk::ToolSpec;
use tracing::warn;

/// No provider takes a longer name.
const NAME_CHARS_MAX: usize = 128;
/// What a model reads about one tool.
const DESCRIPTION_BYTES_MAX: usize = 16 * 1024;

/// Says what of a value does not fit a schema. Given by whoever has the library for it.
pub type Check = fn(schema: &Map, value: &Value) -> Vec<String>;

/// One tool of one server.
#[derive(Debug)]
pub struct Offered {
    client: Client,
    name: String,
    spec: ToolSpec,
    schema: Map,
    check: Check,
}

/// The name of a server's tool among all tools.
#[must_use]
pub fn tool_name(server: &str, tool: &str) -> String {
    format!("{}_{}", plain(server), plain(tool))
}

/// Only what every provider takes in a name.
#[must_use]
pub fn plain(name: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
    name.chars().map(|letter| if is_plain(letter) { letter } else { '_' }).collect()
}

impl Offered {
    /// Everything a server offers now.
    pub async fn all(client: &Client, check: Check) -> Result<Vec<Arc<dyn Tool>>, CallError> {
        let mut all: Vec<Arc<dyn Tool>> = Vec::new();
        for info in client.tools().await? {
            let tool = Self::new(client, info, check);
            let name = &tool.spec.name;
            let server = client.name();
            if name.chars().count() > NAME_CHARS_MAX || all.iter().any(|known| known.spec().name == *name) {
                warn!(server, name, "a tool is left out: its name is too long or taken");
                continue;
            }
            all.push(Arc::new(tool));
        }
        Ok(all)
    }

    fn new(client: &Client, info: ToolInfo, check: Check) -> Self {
        let mut schema = info.schema;
        schema.insert("type".to_owned(), json!("object"));
        schema.entry("properties").or_insert_with(|| json!({}));
        schema.insert("additionalProperties".to_owned(), json!(false));
        let description = crate::bound::prefix(&info.description, DESCRIPTION_BYTES_MAX).to_owned();
        let name = tool_name(client.name(), &info.name);
        let spec = ToolSpec { name, description, parameters: Value::Object(schema.clone()) };
        Self { client: client.clone(), name: info.name, spec, schema, check }
    }

    fn checked(&self, input: Map) -> Result<Map, ToolFailure> {
        let mut input = Value::Object(input);
        sturdy_session::json::tidy(&mut input);
        let wrong = (self.check)(&self.schema, &input);
        if wrong.is_empty() {
            return Ok(map(input));
        }
        Err(ToolFailure::failed(format!(
            "The arguments of {} do not fit: {}. Call it again with arguments that match its schema.",
            self.spec.name,
            wrong.join("; ")
        )))
    }
}

impl Tool for Offered {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run<'a>(&'a self, call: Call, world: &'a World) -> BoxFuture<'a, Result<Done, ToolFailure>> {
        Box::pin(async move {
            let input = self.checked(call.input)?;
            let all = || vec!["*".to_owned()];
            world.ask(PermissionAsk::new(&self.spec.name, all(), all(), Map::new())).await?;
            world.act().await?;

            let report = |progress: Progressed| world.report(None, shown(progress));
            let answer = self.client.call(&self.name, input, &world.stop, report).await;
            answer.map_err(|cause| told(self.client.name(), &cause))?.into_done()
        })
    }
}

/// How far a call is, for clients.
fn shown(progress: Progressed) -> Map {
    let Progressed { message, progress, total } = progress;
    let mut metadata = map(json!({ "progress": progress }));
    metadata.extend(total.map(|total| ("total".to_owned(), json!(total))));
    metadata.extend(message.map(|text| ("message".to_owned(), json!(crate::bound::prefix(&text, 1024)))));
    metadata
}

/// What the model is told when a server did not answer.
fn told(server: &str, cause: &CallError) -> ToolFailure {
    let text = match cause {
        CallError::Stopped => return ToolFailure::aborted(),
        CallError::Gone => {
            format!("The MCP server {server} has ended. It is started again; it may have acted.")
        }
        CallError::Timeout(limit) => {
            format!("The MCP server {server} did not answer within {} seconds.", limit.as_secs_f64())
        }
        CallError::Refused(words) => words.clone(),
        CallError::Nonsense(_) => format!("The MCP server {server} cannot be understood: {cause}."),
    };
    ToolFailure::failed(text)
}
