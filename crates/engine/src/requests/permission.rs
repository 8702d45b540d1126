//! A client asks for permission in the name of a session: for something it means to do itself.
//!
//! The rules judge it as they would a call of the model. What they leave to a person becomes a request like any other,
//! open until it is answered or the server ends; whoever asked hears the answer as an event. Nothing is allowed for
//! good by it: "always" counts once here, because what it would allow is the client's own affair.

use crate::directory::asking::NewRequest;
use crate::engine::{Engine, Inner};
use crate::error::EngineError;
use std::sync::Arc;
use sturdy_session::id::PermissionId;
use sturdy_session::json::Map;
use sturdy_session::rules::{Verdict, Wanted};
use sturdy_session::types::ask::PermissionRequest;
use sturdy_session::types::session::{Action, Session};

/// More at once would be a client that does not wait for answers.
const OPEN_MAX: usize = 64;

/// What a client means to do.
#[derive(Clone, Debug, Default)]
pub struct WantedPermission {
    pub action: String,
    pub resources: Vec<String>,
    /// What "always" would be shown to allow.
    pub save: Vec<String>,
    pub metadata: Map,
    /// None: the session's, else the default one.
    pub agent: Option<String>,
}

impl Engine {
    /// Permission requests that are not stored and wait for a person: of one directory, or of all.
    #[must_use]
    pub fn unstored_requests(&self, directory: Option<&str>) -> Vec<PermissionRequest> {
        self.inner.directories.unstored_requests(directory)
    }

    /// Judges, and asks a person where the rules do.
    pub async fn request_permission(
        &self,
        info: &Session,
        wanted: WantedPermission,
    ) -> Result<(PermissionId, Action), EngineError> {
        let here = self.instance(&info.directory).await?;
        let named = wanted.agent.as_deref().or(info.agent.as_deref());
        let agent = match named.and_then(|name| here.agents.get(name)) {
            Some(agent) => agent,
            None if wanted.agent.is_some() => {
                let name = wanted.agent.unwrap_or_default();
                return Err(EngineError::Unknown(format!("There is no agent \"{name}\"")));
            }
            None => here.agents.default_agent().map_err(EngineError::Config)?,
        };
        let judged = Wanted {
            permission: wanted.action.clone(),
            patterns: wanted.resources.clone(),
            ..Wanted::default()
        };
        match self.inner.verdict(info, agent, &judged).await? {
            Verdict::Allow => Ok((self.inner.clock.stamp().permission_id(), Action::Allow)),
            Verdict::Deny(_) => Ok((self.inner.clock.stamp().permission_id(), Action::Deny)),
            Verdict::Ask => Ok((self.inner.keep_asking(info, &here.project.id, wanted)?, Action::Ask)),
        }
    }
}

impl Inner {
    fn keep_asking(
        self: &Arc<Self>,
        info: &Session,
        project: &str,
        wanted: WantedPermission,
    ) -> Result<PermissionId, EngineError> {
        if self.directories.asking.count() >= OPEN_MAX {
            return Err(EngineError::Overloaded(info.id.clone()));
        }
        let waiting = self.directories.ask_unstored(NewRequest {
            session: &info.id,
            directory: &info.directory,
            project,
            permission: wanted.action,
            patterns: wanted.resources,
            always: wanted.save,
            metadata: wanted.metadata,
            trust: None,
        });
        let id = waiting.id.clone();
        let stopping = self.tasks.stopping().clone();
        self.tasks.spawn("permission", async move {
            stopping.run_until_cancelled(waiting.answered()).await;
        });
        Ok(id)
    }
}
