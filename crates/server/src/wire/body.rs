//! What clients may send. Unknown keys are ignored; a key that is null is as good as absent.

use crate::wire::shapes::mcp::McpServerConfig;
use serde::de::{Error as _, IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::fmt;
use std::marker::PhantomData;
use sturdy_engine::{NewSession, PromptRequest};
use sturdy_session::id::{MessageId, PartId, SessionId, WorkspaceId};
use sturdy_session::json::{Map, Num};
use sturdy_session::turn::{Answer, SessionPatch};
use sturdy_session::types::ask::PermissionReply;
use sturdy_session::types::format::OutputFormat;
use sturdy_session::types::message::Switches;
use sturdy_session::types::part::{AgentPart, FilePart, PartBody, SubtaskPart, TextPart};
use sturdy_session::types::project::{Icon, ProjectCommands};
use sturdy_session::types::session::{Rule, SessionModel};
use utoipa::ToSchema;

/// A new session; everything may be left out.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct CreateSession {
    #[serde(rename = "parentID")]
    #[schema(value_type = Option<String>)]
    parent_id: Option<SessionId>,
    title: Option<String>,
    agent: Option<String>,
    model: Option<SessionModel>,
    #[schema(value_type = Option<Object>)]
    metadata: Option<Map>,
    permission: Option<Vec<Rule>>,
    #[serde(rename = "workspaceID")]
    #[schema(value_type = Option<String>)]
    workspace_id: Option<WorkspaceId>,
}

impl From<CreateSession> for NewSession {
    fn from(body: CreateSession) -> Self {
        Self {
            id: None,
            parent: body.parent_id,
            title: body.title,
            agent: body.agent,
            model: body.model,
            metadata: body.metadata,
            permission: body.permission,
            workspace: body.workspace_id,
        }
    }
}

/// What should change; `metadata` replaces, `permission` adds.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct EditSession {
    title: Option<String>,
    #[schema(value_type = Option<Object>)]
    metadata: Option<Map>,
    permission: Option<Vec<Rule>>,
    time: Option<EditTime>,
}

#[derive(Debug, Deserialize, ToSchema)]
struct EditTime {
    /// A number archives, null takes out of the archive again.
    #[serde(default, deserialize_with = "said")]
    #[schema(value_type = Option<Num>)]
    archived: Option<Option<Num>>,
}

/// Tells `null` from absent.
fn said<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::<T>::deserialize(deserializer).map(Some)
}

impl From<EditSession> for SessionPatch {
    fn from(body: EditSession) -> Self {
        Self {
            title: body.title,
            metadata: body.metadata,
            permission: body.permission,
            archived: body.time.and_then(|time| time.archived),
            ..Self::default()
        }
    }
}

/// What a person asks.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Prompt {
    #[serde(rename = "messageID")]
    #[schema(value_type = Option<String>)]
    message_id: Option<MessageId>,
    model: Option<PromptModel>,
    agent: Option<String>,
    variant: Option<String>,
    /// Store the message without calling a model.
    no_reply: Option<bool>,
    system: Option<String>,
    #[serde(default, deserialize_with = "few_switches")]
    #[schema(value_type = Option<HashMap<String, bool>>)]
    tools: Option<Switches>,
    format: Option<OutputFormat>,
    #[serde(deserialize_with = "few_parts")]
    parts: Vec<PromptPart>,
}

/// Nobody has as many tools, and nobody writes as many parts. What follows looks through them again and
/// again.
const SWITCHES_MAX: usize = 512;
const PARTS_MAX: usize = 1024;

fn few_switches<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Switches>, D::Error> {
    let switches = Option::<Switches>::deserialize(deserializer)?;
    match &switches {
        Some(switches) if switches.len() > SWITCHES_MAX => {
            Err(D::Error::custom(format!("Expected at most {SWITCHES_MAX} keys, got {}", switches.len())))
        }
        _ => Ok(switches),
    }
}

/// Parts of a prompt, as many as it may have. Those that are too many are counted and not kept: small ones take ten
/// times the room that they take in the body.
pub(crate) fn few_parts<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    deserializer.deserialize_seq(FewParts(PhantomData))
}

struct FewParts<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for FewParts<T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a sequence")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Vec<T>, A::Error> {
        let mut parts = Vec::new();
        while parts.len() < PARTS_MAX {
            let Some(part) = items.next_element()? else { return Ok(parts) };
            parts.push(part);
        }
        let mut surplus = 0;
        while items.next_element::<IgnoredAny>()?.is_some() {
            surplus += 1;
        }
        if surplus == 0 {
            return Ok(parts);
        }
        let count = PARTS_MAX + surplus;
        Err(A::Error::custom(format!("Expected at most {PARTS_MAX} parts, got {count}")))
    }
}

#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct PromptModel {
    #[serde(rename = "providerID")]
    provider_id: String,
    #[serde(rename = "modelID")]
    model_id: String,
}

#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct PromptPart {
    #[schema(value_type = Option<String>)]
    id: Option<PartId>,
    #[serde(flatten)]
    body: PromptPartBody,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "lowercase")]
enum PromptPartBody {
    Text(TextPart),
    File(FilePart),
    Agent(AgentPart),
    Subtask(SubtaskPart),
}

impl From<PromptPartBody> for PartBody {
    fn from(body: PromptPartBody) -> Self {
        match body {
            PromptPartBody::Text(text) => Self::Text(text),
            PromptPartBody::File(file) => Self::File(file),
            PromptPartBody::Agent(agent) => Self::Agent(agent),
            PromptPartBody::Subtask(subtask) => Self::Subtask(subtask),
        }
    }
}

impl Prompt {
    pub(crate) fn wants_reply(&self) -> bool {
        !self.no_reply.unwrap_or(false)
    }
}

impl From<Prompt> for PromptRequest {
    fn from(body: Prompt) -> Self {
        Self {
            message: body.message_id,
            agent: body.agent,
            model: body.model.map(|model| (model.provider_id, model.model_id)),
            variant: body.variant,
            no_reply: body.no_reply.unwrap_or(false),
            system: body.system,
            tools: body.tools,
            format: body.format,
            parts: body.parts.into_iter().map(|part| (part.id, part.body.into())).collect(),
            ..Self::default()
        }
    }
}

/// An answer to a permission request.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct ReplyPermission {
    #[schema(value_type = String)]
    reply: PermissionReply,
    /// Told to the model when the reply is `reject`.
    message: Option<String>,
}

impl From<ReplyPermission> for Answer {
    fn from(body: ReplyPermission) -> Self {
        Self::Permission { reply: body.reply, message: body.message }
    }
}

/// The older form of the same.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct RespondPermission {
    #[schema(value_type = String)]
    response: PermissionReply,
}

impl From<RespondPermission> for Answer {
    fn from(body: RespondPermission) -> Self {
        Self::Permission { reply: body.response, message: None }
    }
}

#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct ReplyQuestion {
    /// One list of labels per question.
    answers: Vec<Vec<String>>,
}

impl From<ReplyQuestion> for Answer {
    fn from(body: ReplyQuestion) -> Self {
        Self::Question { answers: body.answers }
    }
}

/// A client's line for the server's log.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct LogLine {
    pub(crate) service: String,
    pub(crate) level: LogLevel,
    pub(crate) message: String,
    /// Ignored.
    #[serde(rename = "extra")]
    #[schema(value_type = Option<Object>)]
    pub(crate) _extra: Option<IgnoredAny>,
}

#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum LogLevel {
    Debug,
    Info,
    Warn,
    Error,
}

#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct AppendPrompt {
    pub(crate) text: String,
}

#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct ExecuteCommand {
    pub(crate) command: String,
}

#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct SelectSession {
    #[serde(rename = "sessionID")]
    #[schema(value_type = String)]
    pub(crate) session_id: SessionId,
}

/// What a client may change about a project.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct EditProject {
    pub(crate) name: Option<String>,
    pub(crate) icon: Option<Icon>,
    pub(crate) commands: Option<ProjectCommands>,
}

/// An MCP server to add. Its configuration may hold keys, so it is not shown.
#[derive(Deserialize, ToSchema)]
pub(crate) struct AddServer {
    pub(crate) name: String,
    #[schema(value_type = McpServerConfig)]
    pub(crate) config: Map,
}

/// What an authorization server gave a person. Worth a login, so it is not shown.
#[derive(Deserialize, ToSchema)]
pub(crate) struct LoginCode {
    pub(crate) code: String,
}
