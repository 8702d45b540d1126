//! Sessions as a whole: create, change, remove.

use crate::directory::instance::Instance;
use crate::engine::{Engine, Inner};
use crate::error::EngineError;
use crate::records::{self, readable_record};
use std::collections::HashSet;
use sturdy_session::id::{SessionId, WorkspaceId};
use sturdy_session::json::{Map, Num};
use sturdy_session::slug::slug;
use sturdy_session::title::{TITLE_BYTES_MAX, default_title, tidy_title};
use sturdy_session::turn::{Input, SessionPatch};
use sturdy_session::types::session::{Rule, Session, SessionModel, SessionTime};
use sturdy_session::types::usage::Tokens;
use sturdy_store::ReadError;

/// What a client may say about a new session.
#[derive(Clone, Debug, Default)]
pub struct NewSession {
    /// Chosen by the client; a new one otherwise.
    pub id: Option<SessionId>,
    pub parent: Option<SessionId>,
    pub title: Option<String>,
    pub agent: Option<String>,
    pub model: Option<SessionModel>,
    pub metadata: Option<Map>,
    pub permission: Option<Vec<Rule>>,
    pub workspace: Option<WorkspaceId>,
}

fn expect_title(title: Option<&str>) -> Result<(), EngineError> {
    match title {
        Some(title) if title.len() > TITLE_BYTES_MAX => Err(EngineError::Bad(format!(
            "A title has at most {TITLE_BYTES_MAX} bytes, and this one has {}",
            title.len()
        ))),
        _ => Ok(()),
    }
}

impl Engine {
    pub async fn create_session(&self, instance: &Instance, new: NewSession) -> Result<Session, EngineError> {
        expect_title(new.title.as_deref())?;
        let info = self.new_record(instance, new);
        self.inner.sessions.create(info.clone(), Vec::new()).await?;
        self.inner.directories.start_servers(&info.directory).await?;
        self.inner.shares.share_if_automatic(&info, instance.settings.share());
        Ok(info)
    }

    /// The record of a session that is about to be.
    pub(crate) fn new_record(&self, instance: &Instance, new: NewSession) -> Session {
        let mut stamp = self.inner.clock.stamp();
        let now = stamp.now();
        let title = new.title.as_deref().map(tidy_title);
        let title = title.unwrap_or_else(|| default_title(new.parent.is_some(), now));
        Session {
            id: new.id.unwrap_or_else(|| stamp.session_id()),
            slug: slug(&mut stamp),
            project_id: instance.project.id.clone(),
            workspace_id: new.workspace,
            directory: instance.directory.clone(),
            path: Some(instance.path.clone()),
            parent_id: new.parent,
            summary: None,
            cost: Num::ZERO,
            tokens: Tokens::default(),
            share: None,
            title,
            agent: new.agent,
            model: new.model,
            version: self.inner.options.wire_version.clone(),
            metadata: new.metadata,
            time: SessionTime { created: now, updated: now, compacting: None, archived: None },
            permission: new.permission,
            revert: None,
        }
    }

    /// The stored record, as JSON; if it cannot be read, what is known without it.
    pub async fn session_record(&self, id: &SessionId) -> Result<String, EngineError> {
        let gone = || EngineError::NoSession(id.clone());
        readable_record(&self.inner.store, id).await?.ok_or_else(gone)
    }

    pub async fn edit_session(&self, id: &SessionId, mut patch: SessionPatch) -> Result<(), EngineError> {
        expect_title(patch.title.as_deref())?;
        patch.title = patch.title.as_deref().map(tidy_title);
        let is_archived = patch.archived.is_some_and(|archived| archived.is_some());
        self.inner.sessions.say(id, vec![Input::Edit(patch)]).await?;
        if is_archived {
            for id in self.inner.with_descendants(id).await? {
                self.inner.sessions.end_backgrounds(&id).await;
            }
        }
        Ok(())
    }

    /// Chooses agent and model of the prompts that name none. What does not exist is refused and nothing has changed.
    pub async fn switch(
        &self,
        id: &SessionId,
        agent: Option<String>,
        model: Option<SessionModel>,
    ) -> Result<(), EngineError> {
        let record = self.session_record(id).await?;
        let info = records::session(id, &record)?;
        let here = self.instance(&info.directory).await?;
        if let Some(agent) = &agent {
            here.agent(agent)?;
        }
        if let Some(model) = &model {
            here.model(&model.provider_id, &model.id)?;
        }
        let patch = SessionPatch { agent, model, ..SessionPatch::default() };
        self.inner.sessions.say(id, vec![Input::Edit(patch)]).await
    }

    /// Removes a session and everything below it, children first. What runs is stopped.
    pub async fn remove_session(&self, id: &SessionId) -> Result<(), EngineError> {
        self.session_record(id).await?;
        self.inner.remove_with_descendants(id).await
    }
}

impl Inner {
    async fn remove_with_descendants(&self, id: &SessionId) -> Result<(), EngineError> {
        let mut wanted = vec![id.clone()];
        while let Some(top) = wanted.pop() {
            let found = self.with_descendants(&top).await?;
            for id in found.iter().rev() {
                self.remove_alone(id).await?;
            }
            // Created while the others were removed. This ends: nothing can be created below what is removed.
            for id in &found {
                wanted.extend(self.store.children(id).await?);
            }
        }
        Ok(())
    }

    async fn remove_alone(&self, id: &SessionId) -> Result<(), EngineError> {
        match self.sessions.say(id, vec![Input::Remove]).await {
            Ok(()) | Err(EngineError::NoSession(_)) => {}
            Err(EngineError::Damaged { .. }) => self.sessions.remove_damaged(id).await?,
            Err(cause) => return Err(cause),
        }
        self.store.forget_damage(id);
        self.sessions.end_backgrounds(id).await;
        Ok(())
    }

    /// Ends removals that the last process did not get to the end of.
    pub(crate) async fn remove_left_behind(&self) -> Result<(), EngineError> {
        for id in self.store.left_behind().await? {
            self.remove_with_descendants(&id).await?;
        }
        Ok(())
    }

    /// A session and everything below it, parents first.
    pub(crate) async fn with_descendants(&self, id: &SessionId) -> Result<Vec<SessionId>, ReadError> {
        let mut order = vec![id.clone()];
        let mut known = HashSet::from([id.clone()]);
        let mut next = 0;
        while next < order.len() {
            for child in self.store.children(&order[next]).await? {
                // A client may name any parent, also one below itself.
                if known.insert(child.clone()) {
                    order.push(child);
                }
            }
            next += 1;
        }
        Ok(order)
    }
}
