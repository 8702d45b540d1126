//! The task tool: a child session does the work, its last words are the result.

use super::{CallPlace, Run};
use crate::directory::instance::Instance;
use crate::error::EngineError;
use crate::records::{self, readable, readable_record};
use crate::run::Sessions;
use crate::run::request;
use crate::run::subagents::{ChildPrompt, NewChild};
use serde_json::json;
use std::sync::Arc;
use sturdy_session::id::{MessageId, SessionId};
use sturdy_session::json::Map;
use sturdy_session::types::message::Message;
use sturdy_session::types::part::PartBody;
use sturdy_session::types::session::{Action, Rule, Session};
use sturdy_session::types::tool::ToolState;
use sturdy_store::RawMessage;
use sturdy_worktree::tool::{Delegated, Progress, Task, ToolFailure};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Sessions below one another when the configuration does not say.
const DEPTH_DEFAULT: u64 = 1;

#[derive(Clone)]
pub(super) struct Delegate {
    sessions: Arc<Sessions>,
    instance: Arc<Instance>,
    parent: Session,
    step: MessageId,
    progress: watch::Sender<Progress>,
    stop: CancellationToken,
}

/// Work that a child does for a call. A call that is dropped calls it off: nobody would read the result.
struct Job {
    sessions: Arc<Sessions>,
    /// None once it is done.
    child: Option<SessionId>,
}

impl Job {
    /// Stops the child and waits until it has ended what it runs.
    async fn call_off(&mut self) {
        let Some(child) = self.child.take() else { return };
        // A task of its own: whoever waits here is dropped if the child takes its time, and the child must be
        // told all the same. One that cannot be told is settled by the next start.
        let _ = self.abort(child).await;
    }

    fn abort(&self, child: SessionId) -> JoinHandle<Result<(), EngineError>> {
        let sessions = self.sessions.clone();
        self.sessions.tasks.spawn("call off", async move { sessions.abort(&child).await })
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        // When the engine stops, so does every child.
        let stops = self.sessions.tasks.stopping().is_cancelled();
        if let Some(child) = self.child.take().filter(|_| !stops) {
            drop(self.abort(child));
        }
    }
}

impl Delegate {
    pub(super) fn new(run: &Run, place: &CallPlace, progress: watch::Sender<Progress>) -> Self {
        Self {
            sessions: run.sessions.clone(),
            instance: place.instance.clone(),
            parent: place.info.clone(),
            step: run.call.step.clone(),
            progress,
            stop: run.stop.clone(),
        }
    }

    pub(super) async fn run(&self, task: Task) -> Result<Delegated, ToolFailure> {
        let failed = |cause: EngineError| ToolFailure::failed(cause.to_string());
        self.check_depth().await?;
        let agent = self.instance.agent(&task.agent).map_err(failed)?;
        let asker =
            request::assistant_message(&self.sessions, &self.parent.id, &self.step).await.map_err(failed)?;
        let (model, variant) = match &agent.model {
            Some(own) => ((own.provider_id.clone(), own.model_id.clone()), None),
            None => ((asker.provider_id.clone(), asker.model_id.clone()), asker.variant.clone()),
        };
        let child = self.child(&task).await.map_err(failed)?;
        let mut job = Job { sessions: self.sessions.clone(), child: Some(child.clone()) };
        let metadata = json!({
            "parentSessionId": self.parent.id,
            "sessionId": child,
            "model": { "modelID": model.1, "providerID": model.0 },
        });
        let metadata = metadata.as_object().cloned().unwrap_or_default();
        let title = Some(task.description.clone());
        self.progress.send_replace(Progress { title, metadata: metadata.clone() });

        let prompt = ChildPrompt { agent: task.agent.clone(), model, variant, text: task.prompt.clone() };
        let asked = (self.sessions.subagents.prompt)(child.clone(), prompt).await.map_err(failed)?;
        let answer = tokio::select! {
            answer = self.sessions.answer(&child, &asked) => answer.map_err(failed)?,
            () = self.stop.cancelled() => {
                job.call_off().await;
                return Err(ToolFailure::aborted());
            }
        };
        job.child = None;
        self.result(child, &answer, metadata)
    }

    async fn child(&self, task: &Task) -> Result<SessionId, EngineError> {
        if let Some(earlier) = task.resume.as_deref().and_then(|id| SessionId::parse(id).ok())
            && matches!(readable_record(&self.sessions.store, &earlier).await, Ok(Some(_)))
        {
            return Ok(earlier);
        }
        let new = NewChild {
            parent: self.parent.id.clone(),
            title: format!("{} (@{} subagent)", task.description, task.agent),
            agent: task.agent.clone(),
            permission: self.rules_of_child(&task.agent)?,
        };
        (self.sessions.subagents.create)(self.instance.clone(), new).await
    }

    /// What the parent forbids stays forbidden; what the child's agent does not mention it may not do.
    fn rules_of_child(&self, agent: &str) -> Result<Vec<Rule>, EngineError> {
        let own = &self.instance.agent(agent)?.permission;
        let inherited = self.parent.permission.iter().flatten();
        let inherited =
            inherited.filter(|rule| rule.action == Action::Deny || rule.permission == "external_directory");
        let mut rules: Vec<Rule> = inherited.cloned().collect();
        let deny = |permission: &str| Rule {
            permission: permission.to_owned(),
            pattern: "*".to_owned(),
            action: Action::Deny,
        };
        for tool in ["todowrite", "task"] {
            if !own.iter().any(|rule| rule.permission == tool) {
                rules.push(deny(tool));
            }
        }
        rules.extend(self.instance.settings.primary_tools().iter().map(|tool| deny(tool)));
        Ok(rules)
    }

    async fn check_depth(&self) -> Result<(), ToolFailure> {
        let most = self.instance.settings.subagent_depth().unwrap_or(DEPTH_DEFAULT);
        let mut depth = 0;
        let mut above = self.parent.parent_id.clone();
        while let Some(id) = above.filter(|_| depth <= most) {
            depth += 1;
            let record = self.sessions.store.session(&id).await.ok().flatten();
            above = record.and_then(|text| readable(records::session(&id, &text))?.parent_id);
        }
        if depth < most {
            return Ok(());
        }
        Err(ToolFailure::failed(format!(
            "Not delegated: sub-agents may be nested {most} deep, and this session is at that depth. Do it yourself."
        )))
    }

    fn result(&self, child: SessionId, answer: &RawMessage, metadata: Map) -> Result<Delegated, ToolFailure> {
        let bodies: Vec<PartBody> = records::parts(&answer.id, &answer.parts).map(|part| part.body).collect();
        if let Some(Message::Assistant(info)) = readable(records::message(&answer.id, &answer.info))
            && let Some(error) = info.error
        {
            let why = sturdy_llm::failure::message(&error).to_owned();
            return Err(ToolFailure::failed(format!("The sub-agent failed (task id {child}): {why}")));
        }
        let text = bodies.iter().rev().find_map(|body| match body {
            PartBody::Text(text) => Some(text.text.clone()),
            _ => None,
        });
        let refused = bodies.iter().rev().find_map(|body| match body {
            PartBody::Tool(tool) => match &tool.state {
                ToolState::Error { error, .. } => Some(error.clone()),
                _ => None,
            },
            _ => None,
        });
        match (text, refused) {
            (Some(text), _) => Ok(Delegated { session: child.to_string(), text, metadata }),
            (None, Some(error)) => {
                Err(ToolFailure::failed(format!("The sub-agent stopped (task id {child}): {error}")))
            }
            (None, None) => Ok(Delegated { session: child.to_string(), text: String::new(), metadata }),
        }
    }
}
