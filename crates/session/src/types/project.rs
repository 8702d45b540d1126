//! A project: what several directories of one repository have in common.

use crate::json::{whole, whole_option};
use crate::stamp::Millis;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The id of everything outside a repository.
pub const GLOBAL: &str = "global";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Project {
    pub id: String,
    pub worktree: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vcs: Option<Vcs>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub icon: Option<Icon>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commands: Option<ProjectCommands>,
    pub time: ProjectTime,
    /// Other worktrees of the same repository.
    #[serde(default)]
    #[schema(required = true)]
    pub sandboxes: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Vcs {
    Git,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Icon {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    #[serde(rename = "override", default, skip_serializing_if = "Option::is_none")]
    pub override_url: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub color: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ProjectCommands {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ProjectTime {
    #[serde(deserialize_with = "whole")]
    pub created: Millis,
    #[serde(deserialize_with = "whole")]
    pub updated: Millis,
    #[serde(default, deserialize_with = "whole_option", skip_serializing_if = "Option::is_none")]
    pub initialized: Option<Millis>,
}
