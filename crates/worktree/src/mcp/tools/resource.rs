//! Listing and reading what servers have to read.
//!
//! Three tools, offered when a connected server has resources. They ask for `read` with patterns of
//! their own, `mcp:server:uri`, so that a rule about files says nothing about them.

use super::super::CallError;
use super::super::client::Client;
use super::super::content::{Piece, file_of};
use super::told;
use crate::tool::{Call, Done, PermissionAsk, Tool, ToolFailure, World, map, spec, text};
use futures_util::future::{BoxFuture, join_all};
use serde::Deserialize;
use serde_json::{Value, json};
use std::fmt;
use std::sync::Arc;
use sturdy_session::json::Map;
use sturdy_session::talk::ToolSpec;

/// The servers that are connected now.
pub type Servers = Arc<dyn Fn() -> Vec<Client> + Send + Sync>;

/// One of the three.
pub struct ResourceTools {
    kind: Kind,
    spec: ToolSpec,
    servers: Servers,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    List,
    Templates,
    Read,
}

#[derive(Deserialize)]
struct ListInput {
    server: Option<String>,
}

#[derive(Deserialize)]
struct ReadInput {
    server: String,
    uri: String,
}

/// The tools to list and read.
#[must_use]
pub fn resource_tools(servers: &Servers) -> Vec<Arc<dyn Tool>> {
    let which = || json!({ "server": text("The name of one server; without it, all of them") });
    let one = json!({
        "server": text("The name of the server, as list_mcp_resources gives it"),
        "uri": text("What to read: a uri that list_mcp_resources gave, or a filled-in template"),
    });
    let specs = [
        (Kind::List, spec("list_mcp_resources", LIST, which(), &[])),
        (Kind::Templates, spec("list_mcp_resource_templates", TEMPLATES, which(), &[])),
        (Kind::Read, spec("read_mcp_resource", READ, one, &["server", "uri"])),
    ];
    let tool =
        |(kind, spec)| Arc::new(ResourceTools { kind, spec, servers: servers.clone() }) as Arc<dyn Tool>;
    specs.into_iter().map(tool).collect()
}

const LIST: &str = "Lists what the connected MCP servers have to read: files, schemas, records and the like, each with \
    the uri to read it by.";
const TEMPLATES: &str = "Lists the patterns of uris that the connected MCP servers can read besides those of \
    list_mcp_resources. Fill in the places in braces before reading.";
const READ: &str = "Reads one resource of an MCP server, named by its server and its uri. The uri belongs to the server; it \
    need not be a file or an address.";

impl fmt::Debug for ResourceTools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResourceTools").field("kind", &self.kind).finish_non_exhaustive()
    }
}

impl Tool for ResourceTools {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run<'a>(&'a self, call: Call, world: &'a World) -> BoxFuture<'a, Result<Done, ToolFailure>> {
        Box::pin(async move {
            let work = async {
                match self.kind {
                    Kind::List | Kind::Templates => self.list(call.decode()?, world).await,
                    Kind::Read => self.read(call.decode()?, world).await,
                }
            };
            tokio::select! {
                done = work => done,
                () = world.stop.cancelled() => Err(ToolFailure::aborted()),
            }
        })
    }
}

async fn listed(kind: Kind, server: Client) -> Result<Vec<Map>, CallError> {
    match kind {
        Kind::Templates => server.templates().await,
        Kind::List | Kind::Read => server.resources().await,
    }
}

impl ResourceTools {
    fn with_resources(&self) -> Vec<Client> {
        let mut servers: Vec<Client> = (self.servers)().into_iter().filter(Client::has_resources).collect();
        servers.sort_by(|one, other| one.name().cmp(other.name()));
        servers
    }

    async fn list(&self, input: ListInput, world: &World) -> Result<Done, ToolFailure> {
        let servers = self.with_resources();
        let names: Vec<&str> = servers.iter().map(Client::name).collect();
        let wanted = input.server.as_deref().filter(|name| !name.is_empty());
        if let Some(name) = wanted.filter(|name| !names.contains(name)) {
            let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            return Err(ToolFailure::failed(format!(
                "The MCP server {name:?} has nothing to read. Servers that have: {known}."
            )));
        }
        let asked: Vec<&Client> =
            servers.iter().filter(|server| wanted.is_none_or(|name| name == server.name())).collect();
        let patterns: Vec<String> = asked.iter().map(|server| format!("mcp:{}:*", server.name())).collect();
        let about = wanted.map_or_else(Map::new, |name| map(json!({ "server": name })));
        world.ask(PermissionAsk::new("read", patterns.clone(), patterns, about.clone())).await?;

        let (key, title) = match self.kind {
            Kind::Templates => ("resourceTemplates", "MCP resource templates"),
            Kind::List | Kind::Read => ("resources", "MCP resources"),
        };
        let answers = join_all(asked.iter().map(|server| listed(self.kind, Client::clone(server))));
        let mut items: Vec<Value> = Vec::new();
        for (server, answer) in asked.iter().zip(answers.await) {
            // One server that fails does not hide the others, unless it alone was asked.
            match answer {
                Ok(found) => items.extend(found.into_iter().map(|mut item| {
                    item.insert("server".to_owned(), json!(server.name()));
                    Value::Object(item)
                })),
                Err(cause) if wanted.is_some() => return Err(told(server.name(), &cause)),
                Err(_) => {}
            }
        }
        let mut metadata = map(json!({ "count": items.len(), "servers": names }));
        metadata.extend(about);
        let title = wanted.map_or_else(|| title.to_owned(), |name| format!("{title}: {name}"));
        let output = serde_json::to_string_pretty(&json!({ key: items })).unwrap_or_default();
        Ok(Done::new(title, output, Value::Object(metadata)))
    }

    async fn read(&self, input: ReadInput, world: &World) -> Result<Done, ToolFailure> {
        let ReadInput { server: name, uri } = input;
        let servers = self.with_resources();
        let Some(server) = servers.iter().find(|server| server.name() == name) else {
            return Err(ToolFailure::failed(format!(
                "No MCP server {name:?} that has something to read is connected."
            )));
        };
        let about = map(json!({ "server": name, "uri": uri }));
        let pattern = format!("mcp:{name}:{uri}");
        let always = format!("mcp:{name}:*");
        world.ask(PermissionAsk::new("read", vec![pattern], vec![always], about.clone())).await?;

        let pieces = server.read(&uri).await.map_err(|cause| told(&name, &cause))?;
        let count = pieces.len();
        let mut texts = Vec::new();
        let mut files = Vec::new();
        for piece in pieces {
            match piece {
                Piece::Text { text, uri: own, mime } => {
                    let own = own.as_deref().unwrap_or(&uri);
                    let mime = mime.as_deref().unwrap_or("text/plain");
                    texts.push(format!("Resource: {own}\nMIME: {mime}\n{text}"));
                }
                Piece::File { data, mime, uri: own } => match file_of(&data, &mime, own.as_deref()) {
                    Ok(file) => {
                        texts.push(format!("[{} ({mime}) is attached]", own.as_deref().unwrap_or(&uri)));
                        files.push(file);
                    }
                    Err(why) => texts.push(why),
                },
                Piece::Other(text) => texts.push(text),
            }
        }
        if texts.is_empty() {
            texts.push(format!("The resource {uri} of {name} is empty."));
        }
        let mut metadata = about;
        metadata.insert("contents".to_owned(), json!(count));
        metadata.insert("attachments".to_owned(), json!(files.len()));
        let mut done = Done::new(format!("MCP resource: {uri}"), texts.join("\n\n"), Value::Object(metadata));
        done.attachments = files;
        Ok(done)
    }
}
