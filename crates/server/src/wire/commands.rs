//! Bodies of requests that start a turn with something other than a plain prompt.

use serde::Deserialize;
use sturdy_engine::{CommandRequest, ShellRequest};
use sturdy_session::id::{MessageId, PartId};
use sturdy_session::types::part::FilePart;
use utoipa::ToSchema;

/// A command with its arguments.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RunCommand {
    // In the order in which clients are told of one that is missing.
    arguments: String,
    command: String,
    agent: Option<String>,
    /// `provider/model`.
    model: Option<String>,
    variant: Option<String>,
    #[serde(rename = "messageID")]
    #[schema(value_type = Option<String>)]
    message_id: Option<MessageId>,
    #[serde(default)]
    parts: Vec<CommandPart>,
}

#[derive(Debug, Deserialize, ToSchema)]
struct CommandPart {
    id: Option<PartId>,
    #[serde(rename = "type")]
    _kind: FileWord,
    #[serde(flatten)]
    file: FilePart,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum FileWord {
    File,
}

impl From<RunCommand> for CommandRequest {
    fn from(body: RunCommand) -> Self {
        let split = |text: String| {
            let (provider, model) = text.split_once('/').unwrap_or((&text, ""));
            (provider.to_owned(), model.to_owned())
        };
        Self {
            command: body.command,
            arguments: body.arguments,
            agent: body.agent,
            model: body.model.map(split),
            variant: body.variant,
            message: body.message_id,
            parts: body.parts.into_iter().map(|part| (part.id, part.file)).collect(),
        }
    }
}

/// A line for the user's shell.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct RunShell {
    // In the order in which clients are told of one that is missing.
    agent: String,
    command: String,
    model: Option<Model>,
    #[serde(rename = "messageID")]
    #[schema(value_type = Option<String>)]
    message_id: Option<MessageId>,
}

impl From<RunShell> for ShellRequest {
    fn from(body: RunShell) -> Self {
        Self {
            command: body.command,
            agent: body.agent,
            model: body.model.map(|model| (model.provider_id, model.model_id)),
            message: body.message_id,
        }
    }
}

#[derive(Debug, Deserialize, ToSchema)]
struct Model {
    #[serde(rename = "providerID")]
    provider_id: String,
    #[serde(rename = "modelID")]
    model_id: String,
}

/// Which model summarises.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct Summarize {
    #[serde(rename = "providerID")]
    pub(crate) provider_id: String,
    #[serde(rename = "modelID")]
    pub(crate) model_id: String,
    /// Continue after the summary.
    #[serde(default)]
    pub(crate) auto: bool,
}

/// Which model sets the project up.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct Init {
    #[serde(rename = "modelID")]
    pub(crate) model_id: String,
    #[serde(rename = "providerID")]
    pub(crate) provider_id: String,
    #[serde(rename = "messageID")]
    #[schema(value_type = Option<String>)]
    pub(crate) message_id: Option<MessageId>,
}

/// Where a copy ends.
#[derive(Debug, Default, Deserialize, ToSchema)]
pub(crate) struct Fork {
    #[serde(rename = "messageID")]
    #[schema(value_type = Option<String>)]
    pub(crate) message_id: Option<MessageId>,
}
