//! The session record.

use super::diff::FileDiff;
use super::usage::Tokens;
use crate::id::{MessageId, PartId, SessionId, WorkspaceId};
use crate::json::{Map, Num, whole, whole_option};
use crate::stamp::Millis;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A session as every client sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Session {
    pub id: SessionId,
    pub slug: String,
    #[serde(rename = "projectID")]
    pub project_id: String,
    #[serde(rename = "workspaceID", default, skip_serializing_if = "Option::is_none")]
    pub workspace_id: Option<WorkspaceId>,
    pub directory: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    #[serde(rename = "parentID", default, skip_serializing_if = "Option::is_none")]
    pub parent_id: Option<SessionId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<SessionSummary>,
    #[serde(default)]
    #[schema(required = true)]
    pub cost: Num,
    #[serde(default)]
    #[schema(required = true)]
    pub tokens: Tokens,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<Share>,
    pub title: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<SessionModel>,
    pub version: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub metadata: Option<Map>,
    pub time: SessionTime,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permission: Option<Vec<Rule>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revert: Option<Revert>,
}

/// A session in a list that spans projects.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GlobalSession {
    #[serde(flatten)]
    pub session: Session,
    /// Not left out when unknown: the one null on the wire.
    pub project: Option<ProjectSummary>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ProjectSummary {
    pub id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    pub worktree: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SessionSummary {
    pub additions: Num,
    pub deletions: Num,
    pub files: Num,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diffs: Option<Vec<FileDiff>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Share {
    pub url: String,
}

/// The model of the latest prompt, in the session's spelling (`id`, not `modelID`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SessionModel {
    pub id: String,
    #[serde(rename = "providerID")]
    pub provider_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
}

impl SessionModel {
    /// Whether both mean the same model. A variant that is not named is the usual one.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        fn variant(model: &SessionModel) -> &str {
            model.variant.as_deref().unwrap_or("default")
        }
        self.provider_id == other.provider_id && self.id == other.id && variant(self) == variant(other)
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SessionTime {
    #[serde(deserialize_with = "whole")]
    pub created: Millis,
    #[serde(deserialize_with = "whole")]
    pub updated: Millis,
    #[serde(default, deserialize_with = "whole_option", skip_serializing_if = "Option::is_none")]
    pub compacting: Option<Millis>,
    /// Any finite number a client chose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archived: Option<Num>,
}

/// One permission rule; of several that match, the last wins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Rule {
    pub permission: String,
    pub pattern: String,
    pub action: Action,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    Allow,
    Deny,
    Ask,
}

/// Marks everything from here on as undone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Revert {
    #[serde(rename = "messageID")]
    pub message_id: MessageId,
    #[serde(rename = "partID", default, skip_serializing_if = "Option::is_none")]
    pub part_id: Option<PartId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// Files that were left alone; not in OpenCode.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<RevertConflict>,
    /// Calls whose changes were not captured and so not undone; not in OpenCode.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uncaptured: Vec<RevertUncaptured>,
    /// Files that were restored even though somebody else had changed them; not in OpenCode.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub forced: Vec<String>,
    /// From where on changes to files are undone, if that differs: the conversation was reverted again without its
    /// files. Not in OpenCode.
    #[serde(rename = "filesFrom", default, skip_serializing_if = "Option::is_none")]
    pub files_from: Option<FilesFrom>,
}

/// The place from which on changes to files are undone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FilesFrom {
    #[serde(rename = "messageID")]
    pub message_id: MessageId,
    #[serde(rename = "partID", default, skip_serializing_if = "Option::is_none")]
    pub part_id: Option<PartId>,
}

/// A call whose changes were not captured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RevertUncaptured {
    #[serde(rename = "partID")]
    pub part_id: PartId,
    pub tool: String,
    pub why: String,
}

/// A file that has somebody else's work in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RevertConflict {
    /// From the worktree.
    pub file: String,
    pub why: String,
}
