//! Answers of the v2 API.

use super::files::FileNodeKind;
use std::collections::HashMap;
use sturdy_session::id::{MessageId, SessionId};
use sturdy_session::json::Num;
use sturdy_session::types::session::SessionModel;
use sturdy_session::types::usage::CacheTokens;
use utoipa::ToSchema;

/// `{data}`.
#[derive(ToSchema)]
pub(crate) struct Data<T> {
    data: T,
}

/// `{location, data}`: an answer that depends on a directory says which.
#[derive(ToSchema)]
pub(crate) struct AtLocation<T> {
    location: LocationInfo,
    data: T,
}

/// `{data, cursor}`.
#[derive(ToSchema)]
pub(crate) struct PageOf<T> {
    data: Vec<T>,
    cursor: PageCursors,
}

/// Null at the end of the list.
#[derive(ToSchema)]
pub(crate) struct PageCursors {
    previous: Option<String>,
    next: Option<String>,
}

#[derive(ToSchema)]
pub(crate) struct HealthV2 {
    healthy: bool,
}

#[derive(ToSchema)]
pub(crate) struct LocationInfo {
    directory: String,
    #[schema(rename = "workspaceID")]
    workspace_id: Option<String>,
    project: LocationProject,
}

#[derive(ToSchema)]
pub(crate) struct LocationProject {
    id: String,
    directory: String,
}

#[derive(ToSchema)]
pub(crate) struct ActiveSession {
    #[schema(rename = "type")]
    kind: ActiveKind,
}

#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
pub(crate) enum ActiveKind {
    Running,
}

#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub(crate) struct AdmittedPrompt {
    admitted_seq: u64,
    id: MessageId,
    #[schema(rename = "sessionID")]
    session_id: SessionId,
    prompt: PromptV2,
    delivery: DeliveryV2,
    time_created: u64,
    promoted_seq: Option<u64>,
}

#[derive(ToSchema, serde::Serialize)]
#[schema(rename_all = "lowercase")]
pub(crate) enum DeliveryV2 {
    Steer,
    Queue,
}

#[derive(ToSchema, serde::Serialize)]
pub(crate) struct PromptV2 {
    text: String,
    files: Option<Vec<FileV2>>,
    agents: Option<Vec<MentionV2>>,
}

#[derive(ToSchema, serde::Serialize)]
pub(crate) struct FileV2 {
    uri: String,
    mime: String,
    name: Option<String>,
    description: Option<String>,
    source: Option<SourceV2>,
}

#[derive(ToSchema, serde::Serialize)]
pub(crate) struct MentionV2 {
    name: String,
    source: Option<SourceV2>,
}

/// Where in the text it was named.
#[derive(ToSchema, serde::Serialize)]
pub(crate) struct SourceV2 {
    start: Num,
    end: Num,
    text: String,
}

/// A message in the spelling of the v2 API.
#[derive(ToSchema, serde::Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(crate) enum MessageV2 {
    #[serde(rename = "agent-switched")]
    AgentSwitched {
        id: MessageId,
        time: CreatedV2,
        agent: String,
    },
    #[serde(rename = "model-switched")]
    ModelSwitched {
        id: MessageId,
        time: CreatedV2,
        model: SessionModel,
    },
    User {
        id: MessageId,
        time: CreatedV2,
        text: String,
        files: Option<Vec<FileV2>>,
        agents: Option<Vec<MentionV2>>,
    },
    Synthetic {
        id: MessageId,
        time: CreatedV2,
        #[serde(rename = "sessionID")]
        session_id: SessionId,
        text: String,
    },
    Assistant(Box<AssistantV2>),
    Shell {
        id: MessageId,
        time: TimesV2,
        #[serde(rename = "callID")]
        call_id: String,
        command: String,
        output: String,
    },
    Compaction {
        id: MessageId,
        time: CreatedV2,
        reason: CompactionReasonV2,
        summary: String,
        recent: String,
    },
}

#[derive(ToSchema, serde::Serialize)]
pub(crate) struct CreatedV2 {
    created: u64,
}

#[derive(ToSchema, serde::Serialize)]
pub(crate) struct TimesV2 {
    created: u64,
    completed: Option<u64>,
}

#[derive(ToSchema, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum CompactionReasonV2 {
    Auto,
    Manual,
}

#[derive(ToSchema, serde::Serialize)]
pub(crate) struct AssistantV2 {
    id: MessageId,
    time: TimesV2,
    agent: String,
    model: SessionModel,
    content: Vec<ContentV2>,
    snapshot: Option<SnapshotV2>,
    finish: Option<String>,
    cost: Option<Num>,
    tokens: Option<TokensV2>,
    error: Option<ErrorV2>,
}

#[derive(ToSchema, serde::Serialize)]
pub(crate) struct SnapshotV2 {
    start: Option<String>,
    end: Option<String>,
    files: Option<Vec<String>>,
}

#[derive(ToSchema, serde::Serialize)]
pub(crate) struct TokensV2 {
    input: Num,
    output: Num,
    reasoning: Num,
    cache: CacheTokens,
}

#[derive(ToSchema, serde::Serialize)]
pub(crate) struct ErrorV2 {
    #[serde(rename = "type")]
    kind: ErrorKindV2,
    message: String,
}

#[derive(ToSchema, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ErrorKindV2 {
    Unknown,
}

/// What an answer is made of.
#[derive(ToSchema, serde::Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(crate) enum ContentV2 {
    Text { id: String, text: String },
    Reasoning { id: String, text: String, time: Option<TimesV2> },
    Tool { id: String, name: String, provider: Option<ExecutedV2>, state: ToolStateV2, time: ToolTimesV2 },
}

#[derive(ToSchema, serde::Serialize)]
pub(crate) struct ExecutedV2 {
    /// By the provider, not by the server.
    executed: bool,
}

#[derive(ToSchema, serde::Serialize)]
pub(crate) struct ToolTimesV2 {
    created: u64,
    ran: Option<u64>,
    completed: Option<u64>,
    pruned: Option<u64>,
}

#[derive(ToSchema, serde::Serialize)]
#[serde(tag = "status", rename_all = "lowercase")]
pub(crate) enum ToolStateV2 {
    Pending {
        input: String,
    },
    Running {
        #[schema(value_type = Object)]
        input: (),
        #[schema(value_type = Object)]
        structured: (),
        content: Vec<ToolContentV2>,
    },
    Completed {
        #[schema(value_type = Object)]
        input: (),
        #[schema(value_type = Object)]
        structured: (),
        content: Vec<ToolContentV2>,
        #[serde(rename = "outputPaths")]
        output_paths: Vec<String>,
        attachments: Option<Vec<FileV2>>,
    },
    Error {
        #[schema(value_type = Object)]
        input: (),
        #[schema(value_type = Object)]
        structured: (),
        content: Vec<ToolContentV2>,
        error: ErrorV2,
    },
}

#[derive(ToSchema, serde::Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(crate) enum ToolContentV2 {
    Text { text: String },
}

#[derive(ToSchema)]
pub(crate) struct AgentV2 {
    id: String,
    model: Option<AgentModelV2>,
    request: RequestV2,
    system: Option<String>,
    description: Option<String>,
    mode: super::catalog::AgentMode,
    hidden: bool,
    color: Option<String>,
    steps: Option<u64>,
    permissions: Vec<RuleV2>,
}

#[derive(ToSchema)]
pub(crate) struct AgentModelV2 {
    id: String,
    #[schema(rename = "providerID")]
    provider_id: String,
    variant: Option<String>,
}

#[derive(ToSchema)]
pub(crate) struct RuleV2 {
    action: String,
    resource: String,
    effect: sturdy_session::types::session::Action,
}

/// What is sent to the provider besides the conversation.
#[derive(ToSchema)]
pub(crate) struct RequestV2 {
    headers: HashMap<String, String>,
    #[schema(value_type = Object)]
    body: (),
}

#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub(crate) struct ModelV2 {
    id: String,
    #[schema(rename = "providerID")]
    provider_id: String,
    family: Option<String>,
    name: String,
    api: ModelApiV2,
    capabilities: ModelCapabilitiesV2,
    request: RequestV2,
    variants: Vec<ModelVariantV2>,
    time: ReleasedV2,
    cost: Vec<super::catalog::ModelCost>,
    status: super::catalog::ModelStatus,
    enabled: bool,
    limit: super::catalog::ModelLimit,
}

#[derive(ToSchema)]
pub(crate) struct ModelApiV2 {
    id: String,
    #[schema(rename = "type")]
    kind: ApiKindV2,
    package: String,
    url: String,
}

#[derive(ToSchema)]
pub(crate) struct ModelCapabilitiesV2 {
    tools: bool,
    input: Vec<String>,
    output: Vec<String>,
}

#[derive(ToSchema)]
pub(crate) struct ModelVariantV2 {
    id: String,
    headers: HashMap<String, String>,
    #[schema(value_type = Object)]
    body: (),
}

#[derive(ToSchema)]
pub(crate) struct ReleasedV2 {
    released: Num,
}

#[derive(ToSchema)]
pub(crate) struct ProviderV2 {
    id: String,
    name: String,
    api: ProviderApiV2,
    request: RequestV2,
}

#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
pub(crate) enum ApiKindV2 {
    Aisdk,
}

#[derive(ToSchema)]
pub(crate) struct ProviderApiV2 {
    #[schema(rename = "type")]
    kind: ApiKindV2,
    package: String,
    url: String,
}

#[derive(ToSchema)]
pub(crate) struct CommandV2 {
    name: String,
    template: String,
    description: Option<String>,
    agent: Option<String>,
    model: Option<AgentModelV2>,
    subtask: Option<bool>,
}

/// A directory or repository that the configuration names for everybody to read.
#[derive(ToSchema)]
pub(crate) struct ReferenceV2 {
    name: String,
    path: String,
    description: Option<String>,
    hidden: Option<bool>,
    source: serde_json::Value,
}

#[derive(ToSchema)]
pub(crate) struct IntegrationV2 {
    id: String,
    name: String,
    methods: Vec<IntegrationMethodV2>,
    connections: Vec<ConnectionV2>,
}

#[derive(ToSchema, serde::Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(crate) enum IntegrationMethodV2 {
    Key,
    Env {
        /// Variables that a key is read from.
        names: Vec<String>,
    },
}

#[derive(ToSchema, serde::Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(crate) enum ConnectionV2 {
    Credential { id: String, label: String },
    Env { name: String },
}

#[derive(ToSchema)]
pub(crate) struct SavedPermissionV2 {
    id: String,
    #[schema(rename = "projectID")]
    project_id: String,
    action: String,
    resource: String,
}

/// The outcome of a permission request.
#[derive(ToSchema)]
pub(crate) struct PermissionEffectV2 {
    id: String,
    effect: sturdy_session::types::session::Action,
}

#[derive(ToSchema)]
pub(crate) struct FileEntryV2 {
    path: String,
    #[schema(rename = "type")]
    kind: FileNodeKind,
}
