//! What a directory offers: agents, commands, providers, MCP servers and their like.

use std::collections::HashMap;
use sturdy_session::json::Num;
use sturdy_session::types::session::{ProjectSummary, Rule, Session};
use sturdy_session::types::usage::CacheTokens;
use utoipa::ToSchema;

#[derive(ToSchema)]
pub(crate) struct Health {
    healthy: bool,
    /// Of the wire.
    version: String,
    damaged: Option<Vec<HealthDamage>>,
}

#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub(crate) struct HealthDamage {
    #[schema(rename = "sessionID")]
    session_id: String,
    what: String,
    place: String,
}

/// An agent; keys that a file could set and did not are null.
#[derive(ToSchema)]
pub(crate) struct Agent {
    name: String,
    description: Option<String>,
    mode: AgentMode,
    native: Option<bool>,
    hidden: Option<bool>,
    #[schema(rename = "topP")]
    top_p: Option<f64>,
    temperature: Option<f64>,
    color: Option<String>,
    permission: Vec<Rule>,
    model: Option<AgentModel>,
    variant: Option<String>,
    prompt: Option<String>,
    #[schema(value_type = Object)]
    options: (),
    steps: Option<f64>,
}

#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
pub(crate) enum AgentMode {
    Subagent,
    Primary,
    All,
}

#[derive(ToSchema)]
pub(crate) struct AgentModel {
    #[schema(rename = "providerID")]
    provider_id: String,
    #[schema(rename = "modelID")]
    model_id: String,
}

#[derive(ToSchema)]
pub(crate) struct Command {
    name: String,
    description: Option<String>,
    agent: Option<String>,
    model: Option<String>,
    source: Option<CommandSource>,
    template: String,
    subtask: Option<bool>,
    hints: Vec<String>,
}

#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
pub(crate) enum CommandSource {
    Command,
    Mcp,
    Skill,
}

#[derive(ToSchema)]
pub(crate) struct Skill {
    name: String,
    description: Option<String>,
    location: String,
    content: String,
}

#[derive(ToSchema)]
pub(crate) struct LspStatus {
    id: String,
    name: String,
    root: String,
    status: LspState,
}

#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
pub(crate) enum LspState {
    Connected,
    Error,
}

#[derive(ToSchema)]
pub(crate) struct FormatterStatus {
    name: String,
    extensions: Vec<String>,
    enabled: bool,
}

/// The configuration as the files say it, merged and without secrets. docs/configuration.md lists its keys.
#[derive(ToSchema)]
pub(crate) struct Config {
    model: Option<String>,
    small_model: Option<String>,
    default_agent: Option<String>,
    username: Option<String>,
    #[schema(value_type = Option<Object>)]
    agent: Option<()>,
    #[schema(value_type = Option<Object>)]
    command: Option<()>,
    #[schema(value_type = Option<Object>)]
    provider: Option<()>,
    #[schema(value_type = Option<Object>)]
    mcp: Option<()>,
    instructions: Option<Vec<String>>,
    plugin: Option<Vec<serde_json::Value>>,
}

#[derive(ToSchema)]
pub(crate) struct UsableProviders {
    providers: Vec<Provider>,
    /// The model to pick of each.
    default: HashMap<String, String>,
}

#[derive(ToSchema)]
pub(crate) struct KnownProviders {
    all: Vec<Provider>,
    default: HashMap<String, String>,
    connected: Vec<String>,
}

#[derive(ToSchema)]
pub(crate) struct Provider {
    id: String,
    name: String,
    source: ProviderSource,
    env: Vec<String>,
    key: Option<String>,
    #[schema(value_type = Object)]
    options: (),
    models: HashMap<String, ModelInfo>,
}

#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
pub(crate) enum ProviderSource {
    Env,
    Config,
    Custom,
    Api,
}

#[derive(ToSchema)]
pub(crate) struct ModelInfo {
    id: String,
    #[schema(rename = "providerID")]
    provider_id: String,
    api: ModelApi,
    name: String,
    family: Option<String>,
    capabilities: ModelCapabilities,
    cost: ModelCost,
    limit: ModelLimit,
    status: ModelStatus,
    #[schema(value_type = Object)]
    options: (),
    headers: HashMap<String, String>,
    release_date: String,
    #[schema(value_type = Option<HashMap<String, Object>>)]
    variants: Option<()>,
}

/// Prices per million tokens.
#[derive(ToSchema)]
pub(crate) struct ModelCost {
    input: Num,
    output: Num,
    cache: CacheTokens,
    /// Other prices once the input is larger.
    tiers: Option<Vec<ModelCostTier>>,
    #[schema(rename = "experimentalOver200K")]
    over_200k: Option<ModelCostAbove>,
}

#[derive(ToSchema)]
pub(crate) struct ModelCostTier {
    input: Num,
    output: Num,
    cache: CacheTokens,
    tier: ModelTierSize,
}

#[derive(ToSchema)]
pub(crate) struct ModelTierSize {
    #[schema(rename = "type")]
    kind: ModelTierKind,
    size: Num,
}

#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
pub(crate) enum ModelTierKind {
    Context,
}

#[derive(ToSchema)]
pub(crate) struct ModelCostAbove {
    input: Num,
    output: Num,
    cache: CacheTokens,
}

#[derive(ToSchema)]
pub(crate) struct ModelApi {
    id: String,
    url: String,
    npm: String,
}

#[derive(ToSchema)]
pub(crate) struct ModelCapabilities {
    temperature: bool,
    reasoning: bool,
    attachment: bool,
    toolcall: bool,
    input: ModelModalities,
    output: ModelModalities,
    /// A flag, or the field that reasoning comes in.
    interleaved: serde_json::Value,
}

#[derive(ToSchema)]
pub(crate) struct ModelModalities {
    text: bool,
    audio: bool,
    image: bool,
    video: bool,
    pdf: bool,
}

#[derive(ToSchema)]
pub(crate) struct ModelLimit {
    context: u64,
    input: Option<u64>,
    output: u64,
}

#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
pub(crate) enum ModelStatus {
    Alpha,
    Beta,
    Deprecated,
    Active,
}

/// A way to log in.
#[derive(ToSchema)]
pub(crate) struct LoginMethod {
    #[schema(rename = "type")]
    kind: LoginKind,
    label: String,
    prompts: Option<Vec<serde_json::Value>>,
}

#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
pub(crate) enum LoginKind {
    Oauth,
    Api,
}

#[derive(ToSchema)]
pub(crate) struct LoginStart {
    url: String,
    method: LoginEnd,
    instructions: String,
}

#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
pub(crate) enum LoginEnd {
    Auto,
    Code,
}

/// The status of an MCP server.
#[derive(ToSchema, serde::Serialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub(crate) enum McpStatus {
    Connected {
        /// A login is kept, which can be forgotten.
        login: Option<bool>,
    },
    Disabled {
        login: Option<bool>,
    },
    Failed {
        error: String,
        login: Option<bool>,
    },
    NeedsAuth {
        login: Option<bool>,
    },
    NeedsClientRegistration {
        error: String,
        login: Option<bool>,
    },
}

#[derive(ToSchema)]
pub(crate) struct McpLogin {
    #[schema(rename = "authorizationUrl")]
    authorization_url: String,
    #[schema(rename = "oauthState")]
    oauth_state: String,
}

#[derive(ToSchema)]
pub(crate) struct Success {
    success: bool,
}

#[derive(ToSchema)]
pub(crate) struct McpResource {
    name: String,
    uri: String,
    description: Option<String>,
    #[schema(rename = "mimeType")]
    mime_type: Option<String>,
    client: String,
}

#[derive(ToSchema)]
pub(crate) struct ToolInfo {
    id: String,
    description: String,
    /// A JSON Schema.
    #[schema(value_type = Object)]
    parameters: (),
}

#[derive(ToSchema)]
pub(crate) struct Capabilities {
    #[schema(rename = "backgroundSubagents")]
    background_subagents: bool,
}

#[derive(ToSchema)]
pub(crate) struct Console {
    #[schema(rename = "consoleManagedProviders")]
    console_managed_providers: Vec<String>,
    #[schema(rename = "activeOrgName")]
    active_org_name: Option<String>,
    #[schema(rename = "switchableOrgCount")]
    switchable_org_count: u64,
}

#[derive(ToSchema)]
pub(crate) struct ConsoleOrgs {
    orgs: Vec<ConsoleOrg>,
}

#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub(crate) struct ConsoleOrg {
    #[schema(rename = "accountID")]
    account_id: String,
    account_email: String,
    account_url: String,
    #[schema(rename = "orgID")]
    org_id: String,
    org_name: String,
    active: bool,
}

#[derive(ToSchema)]
pub(crate) struct Upgrade {
    success: bool,
    version: Option<String>,
    error: Option<String>,
}

#[derive(ToSchema)]
pub(crate) struct Workspace {
    id: String,
    #[schema(rename = "type")]
    kind: String,
    name: String,
    branch: Option<String>,
    directory: Option<String>,
    extra: Option<serde_json::Value>,
    #[schema(rename = "projectID")]
    project_id: String,
    #[schema(rename = "timeUsed")]
    time_used: f64,
}

#[derive(ToSchema)]
pub(crate) struct WorkspaceStatus {
    #[schema(rename = "workspaceID")]
    workspace_id: String,
    status: WorkspaceState,
}

#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
pub(crate) enum WorkspaceState {
    Connected,
    Connecting,
    Disconnected,
    Error,
}

#[derive(ToSchema)]
pub(crate) struct WorkspaceAdapter {
    #[schema(rename = "type")]
    kind: String,
    name: String,
    description: String,
}

#[derive(ToSchema)]
pub(crate) struct ProjectCopy {
    directory: String,
}

#[derive(ToSchema)]
pub(crate) struct ProjectCopyName {
    name: String,
}

/// A stored event of the v1 API.
#[derive(ToSchema)]
pub(crate) struct SyncEvent {
    id: String,
    /// The session.
    aggregate_id: String,
    /// Increases within a session, with gaps.
    seq: u64,
    /// With its version: `message.updated.1`.
    #[schema(rename = "type")]
    kind: String,
    #[schema(value_type = Object)]
    data: (),
}

#[derive(ToSchema)]
pub(crate) struct OfSyncedSession {
    #[schema(rename = "sessionID")]
    session_id: String,
}

/// A request to a program that embeds the terminal.
#[derive(ToSchema)]
pub(crate) struct ControlRequest {
    path: String,
    body: serde_json::Value,
}

/// A session in a list that spans projects; the project is null if it is no longer known.
#[derive(ToSchema, serde::Serialize)]
pub(crate) struct SessionOfProject {
    #[serde(flatten)]
    session: Session,
    #[schema(required = true)]
    project: Option<ProjectSummary>,
}

/// A note that a terminal shows for a while.
#[derive(ToSchema, serde::Serialize)]
pub(crate) struct ToastGiven {
    title: Option<String>,
    message: String,
    variant: sturdy_session::types::event::ToastVariant,
    /// In milliseconds; 5,000 if left out.
    duration: Option<u64>,
}
