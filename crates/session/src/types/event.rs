//! The wire events of the v1 streams that the server sends.
//!
//! What is stored becomes events in `show` and nowhere else. The others are about the server itself and are
//! made where the thing happens; they are not replayed.

use super::ask::{PermissionReply, PermissionRequest, QuestionRequest};
use super::diff::FileDiff;
use super::failure::Failure;
use super::message::Message;
use super::part::Part;
use super::project::Project;
use super::session::Session;
use super::status::Status;
use super::todo::Todo;
use crate::id::{MessageId, PartId, PermissionId, PtyId, QuestionId, SessionId};
pub use crate::json::Nothing;
use crate::json::{whole, whole_option};
use crate::stamp::Millis;
use serde::{Deserialize, Serialize};
use std::num::NonZeroU64;
use utoipa::ToSchema;

/// `{"type": …, "properties": {…}}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", content = "properties")]
pub enum Event {
    #[serde(rename = "session.created")]
    SessionCreated(SessionInfo),
    #[serde(rename = "session.updated")]
    SessionUpdated(SessionInfo),
    #[serde(rename = "session.deleted")]
    SessionDeleted(SessionInfo),
    #[serde(rename = "message.updated")]
    MessageUpdated {
        #[serde(rename = "sessionID")]
        session_id: SessionId,
        info: Message,
    },
    #[serde(rename = "message.removed")]
    MessageRemoved {
        #[serde(rename = "sessionID")]
        session_id: SessionId,
        #[serde(rename = "messageID")]
        message_id: MessageId,
    },
    #[serde(rename = "message.part.updated")]
    PartUpdated {
        #[serde(rename = "sessionID")]
        session_id: SessionId,
        part: Box<Part>,
        #[serde(deserialize_with = "whole")]
        time: Millis,
    },
    #[serde(rename = "message.part.removed")]
    PartRemoved {
        #[serde(rename = "sessionID")]
        session_id: SessionId,
        #[serde(rename = "messageID")]
        message_id: MessageId,
        #[serde(rename = "partID")]
        part_id: PartId,
    },
    #[serde(rename = "message.part.delta")]
    PartDelta {
        #[serde(rename = "sessionID")]
        session_id: SessionId,
        #[serde(rename = "messageID")]
        message_id: MessageId,
        #[serde(rename = "partID")]
        part_id: PartId,
        field: String,
        delta: String,
    },
    #[serde(rename = "session.diff")]
    SessionDiff {
        #[serde(rename = "sessionID")]
        session_id: SessionId,
        diff: Vec<FileDiff>,
    },
    #[serde(rename = "session.error")]
    SessionError {
        #[serde(rename = "sessionID", default, skip_serializing_if = "Option::is_none")]
        session_id: Option<SessionId>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<Failure>,
    },
    #[serde(rename = "session.status")]
    SessionStatus {
        #[serde(rename = "sessionID")]
        session_id: SessionId,
        status: Status,
    },
    #[serde(rename = "session.idle")]
    SessionIdle(OfSession),
    #[serde(rename = "session.compacted")]
    SessionCompacted(OfSession),
    #[serde(rename = "todo.updated")]
    TodoUpdated {
        #[serde(rename = "sessionID")]
        session_id: SessionId,
        todos: Vec<Todo>,
    },
    #[serde(rename = "permission.asked")]
    PermissionAsked(PermissionRequest),
    #[serde(rename = "permission.replied")]
    PermissionReplied(PermissionReplied),
    #[serde(rename = "question.asked")]
    QuestionAsked(QuestionRequest),
    #[serde(rename = "question.replied")]
    QuestionReplied(QuestionReplied),
    #[serde(rename = "question.rejected")]
    QuestionRejected(QuestionRejected),
    #[serde(rename = "command.executed")]
    CommandExecuted {
        name: String,
        #[serde(rename = "sessionID")]
        session_id: SessionId,
        arguments: String,
        #[serde(rename = "messageID")]
        message_id: MessageId,
    },
    #[serde(rename = "server.connected")]
    ServerConnected(Nothing),
    #[serde(rename = "server.heartbeat")]
    ServerHeartbeat(Nothing),
    /// Not in OpenCode; sent on request: the newest position of the log, which store and which run of the server this is.
    #[serde(rename = "sturdy.hello")]
    SturdyHello {
        head: u64,
        horizon: u64,
        store: String,
        boot: String,
        /// The server's clock, in milliseconds.
        now: u64,
        /// Which web page it serves.
        page: String,
        /// Whether the reader can go on where it was.
        resumable: bool,
    },
    /// Not in OpenCode; other clients ignore it: the stream cannot be resumed at the client's cursor. The client reads
    /// everything again and continues after the cursor in this event.
    #[serde(rename = "sturdy.resync")]
    Resync { reason: String, cursor: String },
    /// Not in OpenCode: all background processes of a session.
    #[serde(rename = "sturdy.processes")]
    SturdyProcesses {
        #[serde(rename = "sessionID")]
        session_id: SessionId,
        processes: Vec<BackgroundProcess>,
    },
    /// Not in OpenCode: all prompts that wait to be answered, in order.
    #[serde(rename = "sturdy.queue")]
    SturdyQueue {
        #[serde(rename = "sessionID")]
        session_id: SessionId,
        messages: Vec<MessageId>,
    },
    #[serde(rename = "server.instance.disposed")]
    InstanceDisposed { directory: String },
    #[serde(rename = "global.disposed")]
    GlobalDisposed(Nothing),
    #[serde(rename = "project.updated")]
    ProjectUpdated(Box<Project>),
    #[serde(rename = "file.edited")]
    FileEdited { file: String },
    #[serde(rename = "file.watcher.updated")]
    FileWatcherUpdated { file: String, event: FileChange },
    #[serde(rename = "vcs.branch.updated")]
    VcsBranchUpdated {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        branch: Option<String>,
    },
    #[serde(rename = "lsp.updated")]
    LspUpdated(Nothing),
    #[serde(rename = "mcp.tools.changed")]
    McpToolsChanged { server: String },
    #[serde(rename = "mcp.browser.open.failed")]
    McpBrowserOpenFailed {
        #[serde(rename = "mcpName")]
        mcp_name: String,
        url: String,
    },
    #[serde(rename = "pty.created")]
    PtyCreated { info: PtyInfo },
    #[serde(rename = "pty.updated")]
    PtyUpdated { info: PtyInfo },
    #[serde(rename = "pty.exited")]
    PtyExited {
        id: PtyId,
        #[serde(rename = "exitCode", deserialize_with = "whole")]
        exit_code: u32,
    },
    #[serde(rename = "pty.deleted")]
    PtyDeleted { id: PtyId },
    #[serde(rename = "worktree.ready")]
    WorktreeReady {
        name: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        branch: Option<String>,
    },
    #[serde(rename = "tui.prompt.append")]
    TuiPromptAppend { text: String },
    #[serde(rename = "tui.command.execute")]
    TuiCommandExecute {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        command: Option<String>,
    },
    #[serde(rename = "tui.toast.show")]
    TuiToastShow(Toast),
    #[serde(rename = "tui.session.select")]
    TuiSessionSelect(OfSession),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SessionInfo {
    #[serde(rename = "sessionID")]
    pub session_id: SessionId,
    pub info: Box<Session>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OfSession {
    #[serde(rename = "sessionID")]
    pub session_id: SessionId,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PermissionReplied {
    #[serde(rename = "sessionID")]
    pub session_id: SessionId,
    #[serde(rename = "requestID")]
    pub request_id: PermissionId,
    pub reply: PermissionReply,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct QuestionReplied {
    #[serde(rename = "sessionID")]
    pub session_id: SessionId,
    #[serde(rename = "requestID")]
    pub request_id: QuestionId,
    pub answers: Vec<Vec<String>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct QuestionRejected {
    #[serde(rename = "sessionID")]
    pub session_id: SessionId,
    #[serde(rename = "requestID")]
    pub request_id: QuestionId,
}

/// A background process that a command left running.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BackgroundProcess {
    pub id: String,
    #[serde(rename = "sessionID")]
    pub session_id: SessionId,
    pub command: String,
    pub cwd: String,
    /// Its processes when the command ended.
    pub pids: Vec<u32>,
    /// A person's own command: it does not end with the session or the server.
    pub user: bool,
    /// When the command ended and left it.
    pub time: Millis,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum FileChange {
    Add,
    Change,
    Unlink,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PtyInfo {
    pub id: PtyId,
    pub title: String,
    pub command: String,
    pub args: Vec<String>,
    pub cwd: String,
    pub status: PtyStatus,
    #[serde(deserialize_with = "whole")]
    pub pid: u32,
    #[serde(
        rename = "exitCode",
        default,
        deserialize_with = "whole_option",
        skip_serializing_if = "Option::is_none"
    )]
    pub exit_code: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum PtyStatus {
    Running,
    Exited,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Toast {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    pub message: String,
    pub variant: ToastVariant,
    /// In milliseconds.
    #[serde(default = "toast_duration", deserialize_with = "whole")]
    #[schema(value_type = u64, required = true)]
    pub duration: NonZeroU64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ToastVariant {
    Info,
    Success,
    Warning,
    Error,
}

fn toast_duration() -> NonZeroU64 {
    const { NonZeroU64::new(5000).unwrap() }
}
