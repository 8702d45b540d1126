//! Answers of our own routes, `/sturdy/…`.

use sturdy_session::json::Num;
use sturdy_session::types::message::MessageWithParts;
use sturdy_session::types::project::Project;
use sturdy_session::types::session::{RevertUncaptured, Session, SessionTime};
use sturdy_session::types::status::Status;
use sturdy_session::types::todo::Todo;
use sturdy_session::types::usage::Tokens;
use utoipa::ToSchema;

/// A session as a list shows it.
#[derive(ToSchema)]
pub(crate) struct SessionRow {
    info: Session,
    status: Status,
    /// Prompts nobody has begun to answer.
    waiting: u64,
}

/// Something that waits for a person.
#[derive(ToSchema)]
pub(crate) struct OpenAsk {
    kind: AskKind,
    /// As `/permission` and `/question` list it.
    request: serde_json::Value,
    directory: Option<String>,
}

#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
pub(crate) enum AskKind {
    Permission,
    Question,
}

#[derive(ToSchema)]
pub(crate) struct Overview {
    /// A cursor: the place in the log this was read at.
    position: String,
    sessions: Vec<SessionRow>,
    projects: Vec<Project>,
    asks: Vec<OpenAsk>,
    /// Of the next page.
    cursor: Option<String>,
    /// What this server can do beyond the plain wire.
    #[schema(value_type = HashMap<String, bool>)]
    features: (),
    server: ServerInfo,
}

#[derive(ToSchema)]
pub(crate) struct ServerInfo {
    version: String,
    wire: String,
    directory: String,
    /// Milliseconds, by its clock.
    now: u64,
    /// Of this run: another one after a restart.
    boot: String,
    /// The build of the web page in it.
    page: String,
}

#[derive(ToSchema)]
pub(crate) struct OpenedSession {
    position: String,
    session: Session,
    status: Status,
    messages: Vec<MessageWithParts>,
    /// Of the page of older messages.
    cursor: Option<String>,
    todos: Vec<Todo>,
    asks: Vec<OpenAsk>,
    /// Ids of the messages that wait.
    queue: Vec<String>,
    family: Vec<SessionRow>,
}

#[derive(ToSchema)]
pub(crate) struct Outline {
    position: String,
    /// Without their parts, oldest first.
    messages: Vec<sturdy_session::types::message::Message>,
}

/// A session as it is saved.
#[derive(ToSchema)]
pub(crate) struct ExportedSession {
    info: Session,
    messages: Vec<MessageWithParts>,
}

#[derive(ToSchema)]
pub(crate) struct Entries {
    entries: Vec<Entry>,
    cursor: Option<String>,
    /// Older positions cannot be replayed exactly.
    horizon: u64,
}

#[derive(ToSchema)]
pub(crate) struct Entry {
    position: String,
    at: u64,
    /// Empty if the session did it without a request.
    actor: String,
    /// What clients were sent of it.
    events: Vec<sturdy_session::types::event::Event>,
}

#[derive(ToSchema)]
pub(crate) struct Usage {
    since: u64,
    until: u64,
    by: String,
    #[schema(rename = "isComplete")]
    is_complete: bool,
    rows: Vec<UsageRow>,
}

#[derive(ToSchema)]
pub(crate) struct UsageRow {
    key: String,
    steps: u64,
    errors: u64,
    cost: Num,
    tokens: Tokens,
}

#[derive(ToSchema)]
pub(crate) struct Found {
    hits: Vec<FoundPart>,
    /// By id, those of the hits.
    #[schema(value_type = HashMap<String, FoundSession>)]
    sessions: (),
    /// Also without a hit when there is more to look at.
    cursor: Option<i64>,
}

#[derive(ToSchema)]
pub(crate) struct FoundPart {
    #[schema(rename = "sessionID")]
    session: String,
    #[schema(rename = "messageID")]
    message: String,
    #[schema(rename = "partID")]
    part: String,
    /// `text`, `reasoning`, `tool`, `output`, `file` or `subtask`.
    kind: String,
    /// Of a call.
    tool: Option<String>,
    /// Before, the words, behind.
    snippet: Vec<FoundPiece>,
}

#[derive(ToSchema)]
pub(crate) struct FoundPiece {
    text: String,
    hit: bool,
}

#[derive(ToSchema)]
pub(crate) struct FoundSession {
    title: String,
    directory: String,
    time: SessionTime,
}

#[derive(ToSchema)]
pub(crate) struct LoginCodeMade {
    code: String,
}

/// A download that is about to be made.
#[derive(ToSchema)]
pub(crate) struct TicketMade {
    /// Of this server; good once.
    url: String,
    /// Until when, in milliseconds.
    expires: u64,
}

/// A browser that is logged in.
#[derive(ToSchema)]
pub(crate) struct DeviceInfo {
    id: String,
    label: String,
    created: u64,
    seen: u64,
}

#[derive(ToSchema)]
pub(crate) struct RevertPlan {
    #[schema(rename = "messageID")]
    message_id: Option<String>,
    #[schema(rename = "partID")]
    part_id: Option<String>,
    files: Vec<PlannedFile>,
    uncaptured: Option<Vec<RevertUncaptured>>,
    /// What is in the worktree and not captured.
    #[schema(rename = "leftOut")]
    left_out: Option<Vec<LeftOutFile>>,
}

#[derive(ToSchema)]
pub(crate) struct LeftOutFile {
    file: String,
    why: String,
}

#[derive(ToSchema)]
pub(crate) struct PlannedFile {
    file: String,
    action: PlannedAction,
    why: Option<String>,
    /// Hashes of what is there and of what would be.
    from: Option<String>,
    to: Option<String>,
}

#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
pub(crate) enum PlannedAction {
    Create,
    Change,
    Delete,
    Nothing,
    Conflict,
}

#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub(crate) struct Collected {
    stores: Vec<CollectedStore>,
    released: u64,
    bytes_before: u64,
    bytes_after: Option<u64>,
}

#[derive(ToSchema)]
pub(crate) struct CollectedStore {
    worktree: String,
    bytes: u64,
}

/// A null limit is none; `revoked` is null while the grant is valid.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub(crate) struct GrantShown {
    id: String,
    #[schema(rename = "sessionID")]
    session_id: String,
    parent: Option<String>,
    depth: u64,
    rights: Vec<String>,
    expires: Option<u64>,
    max_uses: Option<u64>,
    used: u64,
    label: Option<String>,
    actor: String,
    created: u64,
    revoked: Option<u64>,
    revoked_by: Option<String>,
    /// Only shown when the grant is created.
    reference: Option<String>,
}

#[derive(ToSchema)]
pub(crate) struct RevokedGrants {
    revoked: u64,
}

#[derive(ToSchema)]
pub(crate) struct GrantUse {
    id: u64,
    at: u64,
    grant: String,
    method: String,
    code: String,
}

/// A link that a session is shared by.
#[derive(ToSchema)]
pub(crate) struct ShareLink {
    #[schema(rename = "sessionID")]
    session_id: String,
    #[schema(rename = "shareID")]
    share_id: String,
    url: String,
    state: String,
    contract: String,
    /// Null: this server itself.
    #[schema(required = true)]
    service: Option<String>,
    /// Up to here the service has taken what the session shows.
    sent: u64,
    #[schema(required = true)]
    error: Option<String>,
    /// Tries in a row that did not succeed.
    failures: u64,
    /// Ten of them, or more.
    #[schema(rename = "isDegraded")]
    is_degraded: bool,
    /// When it is tried again, in milliseconds; null: nothing failed.
    #[schema(rename = "retryAt", required = true)]
    retry_at: Option<u64>,
    created: u64,
    /// On whose behalf it was made; empty: by the server itself.
    actor: String,
    /// Only where it was asked for.
    reference: Option<String>,
    /// Number of changes that the service has not accepted yet. Only with the reference.
    waiting: Option<u64>,
}

/// A credential for a provider.
#[derive(ToSchema, serde::Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(crate) enum CredentialGiven {
    Api {
        key: String,
        #[schema(value_type = Option<Object>)]
        metadata: Option<()>,
    },
    Oauth {
        refresh: String,
        access: String,
        expires: u64,
        #[serde(rename = "accountId")]
        account_id: Option<String>,
        #[serde(rename = "enterpriseUrl")]
        enterprise_url: Option<String>,
    },
    Wellknown {
        key: String,
        token: String,
    },
}

/// What may be told to terminals as it is.
#[derive(ToSchema, serde::Serialize)]
#[serde(tag = "type", content = "properties")]
pub(crate) enum PublishedEvent {
    #[serde(rename = "tui.prompt.append")]
    Append { text: String },
    #[serde(rename = "tui.command.execute")]
    Execute { command: String },
    #[serde(rename = "tui.toast.show")]
    Toast(super::catalog::ToastGiven),
    #[serde(rename = "tui.session.select")]
    Select {
        #[serde(rename = "sessionID")]
        session_id: String,
    },
}
