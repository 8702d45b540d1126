//! What servers offer beside tools: prompts, as commands, and resources.
//!
//! Read when somebody asks. A server that does not answer is left out of a list; one that is asked by
//! name says why.

use super::McpServers;
use super::keeper::Live;
use crate::directory::commands::{Command, Source};
use futures_util::future::join_all;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use sturdy_session::command::words;
use sturdy_worktree::mcp::{CallError, Piece, PromptInfo, pieces_of, plain};
use tracing::debug;

/// Prompts of one server that are shown as commands.
const PROMPTS_MAX: usize = 200;

/// A prompt and where it is.
struct Found {
    live: Arc<Live>,
    prompt: PromptInfo,
}

impl Found {
    fn name(&self) -> String {
        format!("{}:{}", plain(self.live.client.name()), plain(&self.prompt.name))
    }
}

impl McpServers {
    /// The prompts of all servers as commands. What they will say is asked with the places of the
    /// arguments instead of arguments, so that a person sees where they go.
    pub async fn commands(&self) -> Vec<Command> {
        let template = |found: Found| async move {
            let hints: Vec<String> =
                (1..=found.prompt.arguments.len()).map(|number| format!("${number}")).collect();
            let template = asked(&found, &hints).await.unwrap_or_default();
            let description = found.prompt.description.clone();
            Command { description, hints, ..Command::new(&found.name(), Source::Mcp, template) }
        };
        join_all(self.prompts().await.into_iter().map(template)).await
    }

    /// What a prompt says with these arguments; none if no server has it.
    pub(crate) async fn prompt(&self, name: &str, arguments: &str) -> Option<Result<String, CallError>> {
        self.start();
        let found = self.prompts().await.into_iter().find(|found| found.name() == name)?;
        let count = found.prompt.arguments.len();
        let mut given = words(arguments);
        // The last argument takes everything that is left.
        if count > 0 && given.len() > count {
            let rest = given.split_off(count - 1).join(" ");
            given.push(rest);
        }
        Some(asked(&found, &given).await)
    }

    async fn prompts(&self) -> Vec<Found> {
        self.settled().await;
        let of = |live: Arc<Live>| async move {
            let prompts = live.client.prompts().await.unwrap_or_else(|cause| {
                debug!(server = live.client.name(), %cause, "prompts cannot be listed");
                Vec::new()
            });
            prompts
                .into_iter()
                .take(PROMPTS_MAX)
                .map(move |prompt| Found { live: live.clone(), prompt })
                .collect::<Vec<_>>()
        };
        join_all(self.connected().into_iter().map(of)).await.into_iter().flatten().collect()
    }

    /// What there is to read, by a key of server and uri.
    pub async fn resources(&self) -> Map<String, Value> {
        self.settled().await;
        let of = |live: Arc<Live>| async move {
            let name = live.client.name().to_owned();
            let resources = live.client.resources().await.unwrap_or_else(|cause| {
                debug!(server = name, %cause, "resources cannot be listed");
                Vec::new()
            });
            (name, resources)
        };
        let mut all = Map::new();
        for (server, resources) in join_all(self.connected().into_iter().map(of)).await {
            let escaped = server.replace('%', "%25").replace(':', "%3A");
            for resource in resources {
                let uri = resource.get("uri").and_then(Value::as_str).unwrap_or_default();
                let key = format!("{escaped}:{uri}");
                all.insert(key, shown(&resource, &server));
            }
        }
        all
    }

    /// What a resource holds, or why the server did not send it.
    pub(crate) async fn read(&self, server: &str, uri: &str) -> Result<Vec<Piece>, String> {
        self.start();
        self.settled().await;
        let live = self.connected().into_iter().find(|live| live.client.name() == server);
        let live = live.ok_or_else(|| format!("no MCP server named {server:?} is connected"))?;
        live.client.read(uri).await.map_err(|cause| cause.to_string())
    }
}

async fn asked(found: &Found, values: &[String]) -> Result<String, CallError> {
    let named = found.prompt.arguments.iter().zip(values);
    let arguments = named.map(|(name, value)| (name.clone(), json!(value))).collect();
    let pieces = found.live.client.prompt(&found.prompt.name, arguments).await?;
    let texts = pieces.into_iter().filter(|piece| matches!(piece, Piece::Text { .. })).collect();
    Ok(pieces_of(texts).0.join("\n"))
}

/// As clients know a resource.
fn shown(resource: &Map<String, Value>, server: &str) -> Value {
    let mut shown = Map::new();
    for key in ["name", "uri", "description", "mimeType"] {
        if let Some(value) = resource.get(key).filter(|value| value.is_string()) {
            shown.insert(key.to_owned(), value.clone());
        }
    }
    shown.insert("client".to_owned(), json!(server));
    Value::Object(shown)
}
