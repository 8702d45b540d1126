//! A client asks for permission in the name of a session: for something it means to do itself.
//!
//! The rules judge it as they would a call of the model. What they leave to a person becomes a request like any other,
//! open until it is answered or the server ends; whoever asked hears the answer as an event. "Always" keeps what the
//! client named for it, as it does for a call of the model.

use crate::directory::asking::NewRequest;
use crate::engine::{Engine, Inner};
use crate::error::EngineError;
use std::sync::Arc;
use sturdy_session::id::PermissionId;
use sturdy_session::json::Map;
use sturdy_session::rules::{Verdict, Wanted};
use sturdy_session::types::ask::{AskedBy, PermissionRequest};
use sturdy_session::types::session::{Action, Session};
use sturdy_store::AskQuery;

/// More at once would be a client that does not wait for answers.
const OPEN_MAX: usize = 64;

/// What a client means to do.
#[derive(Clone, Debug, Default)]
pub struct WantedPermission {
    /// None: one is made.
    pub id: Option<PermissionId>,
    pub action: String,
    pub resources: Vec<String>,
    /// What "always" allows.
    pub save: Vec<String>,
    pub metadata: Map,
    /// The call it is asked for.
    pub source: Option<AskedBy>,
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
        let id = wanted.id.clone().unwrap_or_else(|| self.inner.clock.stamp().permission_id());
        match self.inner.verdict(info, agent, &judged).await? {
            Verdict::Allow => Ok((id, Action::Allow)),
            Verdict::Deny(_) => Ok((id, Action::Deny)),
            Verdict::Ask => {
                self.inner.keep_asking(info, id.clone(), &here.project.id, wanted).await?;
                Ok((id, Action::Ask))
            }
        }
    }
}

impl Inner {
    async fn keep_asking(
        self: &Arc<Self>,
        info: &Session,
        id: PermissionId,
        project: &str,
        wanted: WantedPermission,
    ) -> Result<(), EngineError> {
        if self.directories.asking.count() >= OPEN_MAX {
            return Err(EngineError::Overloaded(info.id.clone()));
        }
        let taken = || EngineError::Bad(format!("A permission request with the id {id} is open already"));
        if self.store.asks(AskQuery::default()).await?.iter().any(|ask| ask.id == id.as_str()) {
            return Err(taken());
        }
        let new = NewRequest {
            session: &info.id,
            directory: &info.directory,
            project,
            permission: wanted.action,
            patterns: wanted.resources,
            always: wanted.save,
            metadata: wanted.metadata,
            tool: wanted.source,
            kept_at: Some(self.real_checkout(info).await?),
            trust: None,
        };
        let waiting = self.directories.ask_unstored_as(id.clone(), new).ok_or_else(taken)?;
        let stopping = self.tasks.stopping().clone();
        self.tasks.spawn("permission", async move {
            stopping.run_until_cancelled(waiting.answered()).await;
        });
        Ok(())
    }
}
