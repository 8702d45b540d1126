//! The handle of a session's actor: how others send inputs to it and see its state.

use crate::behalf::{self, Behalf};
use crate::error::EngineError;
use crate::run::memory::SessionMemory;
use crate::run::reading::NextStep;
use crate::run::trees::Ledger;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;
use sturdy_session::id::{MessageId, SessionId};
use sturdy_session::turn::{Input, State};
use sturdy_session::types::status::Status;
use sturdy_store::grants::GrantUse;
use tokio::sync::{Notify, mpsc, oneshot, watch};
use tokio::time::timeout;

/// Inputs waiting for one session. A model or tool that floods us waits here, and so does its socket
/// or pipe: back-pressure reaches the sender.
pub(crate) const INBOX: usize = 256;
/// A person waits this long for a place in the inbox, then is told to come back.
const WAIT_MAX: Duration = Duration::from_secs(5);

/// Inputs that are decided in one go, and perhaps somebody who waits for the outcome.
#[derive(Debug)]
pub(crate) struct Mail {
    pub(crate) inputs: Vec<Input>,
    pub(crate) answer: Option<oneshot::Sender<MailOutcome>>,
    /// Who says it; none: the session itself.
    pub(crate) by: Option<Arc<Behalf>>,
    /// What is known of the step that may follow.
    pub(crate) next: Option<NextStep>,
}

impl Mail {
    /// What the session says to itself.
    pub(crate) fn own(inputs: Vec<Input>) -> Self {
        Self { inputs, answer: None, by: None, next: None }
    }

    /// The grant that it needs to be stored.
    pub(crate) fn grant(&self) -> Option<&GrantUse> {
        self.by.as_ref()?.grant.as_ref()
    }
}

/// What the actor did with the inputs it was sent.
#[derive(Debug)]
pub(crate) enum MailOutcome {
    /// It was decided; what it led to is durable, or it was refused.
    Decided(Result<(), EngineError>),
    /// The actor ended before it read the inputs.
    Unread(Vec<Input>),
}
/// What a session is doing, as of its last commit.
#[derive(Clone, Debug, Default)]
pub struct View {
    pub status: Status,
    pub is_idle: bool,
    /// Prompts nobody has begun to answer.
    pub waiting: usize,
    /// Which, in order.
    pub prompts: Vec<MessageId>,
    /// What the open step answers.
    pub(crate) answering: Option<MessageId>,
    /// Somebody pressed stop, and calls are given a moment to end.
    pub(crate) is_stopping: bool,
    pub(crate) exists: bool,
}

impl View {
    pub(crate) fn of(state: &State) -> Self {
        Self {
            status: state.status(),
            is_idle: state.is_idle(),
            waiting: state.waiting().len(),
            prompts: state.waiting().cloned().collect(),
            answering: state.open_step().map(|step| step.user.clone()),
            is_stopping: state.is_stopping(),
            exists: state.info().is_some(),
        }
    }
}

/// A way to one running session. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Handle {
    pub(crate) id: SessionId,
    pub(crate) inbox: mpsc::Sender<Mail>,
    pub(crate) view: watch::Receiver<View>,
    /// What the session has read.
    pub(crate) memory: Arc<SessionMemory>,
    /// Too many are awake: sleep as soon as nothing is open.
    pub(crate) rest: Arc<Notify>,
    /// When it was last asked for, as a count.
    pub(crate) used: Arc<AtomicU64>,
    /// What its calls have changed.
    pub(crate) ledger: Arc<Ledger>,
}

/// The actor has ended and did not read these inputs; the registry starts it again.
#[derive(Debug)]
pub(crate) struct ActorEnded(pub(crate) Vec<Input>);

impl Handle {
    #[must_use]
    pub fn id(&self) -> &SessionId {
        &self.id
    }

    #[must_use]
    pub fn view(&self) -> View {
        self.view.borrow().clone()
    }

    pub(crate) fn is_asleep(&self) -> bool {
        self.inbox.is_closed()
    }

    /// Sends inputs and waits until what they led to is durable, or refused.
    pub(crate) async fn say(&self, inputs: Vec<Input>) -> Result<Result<(), EngineError>, ActorEnded> {
        let (answer, answered) = oneshot::channel();
        let permit = match timeout(WAIT_MAX, self.inbox.reserve()).await {
            Ok(Ok(permit)) => permit,
            Ok(Err(_closed)) => return Err(ActorEnded(inputs)),
            Err(_elapsed) => return Ok(Err(EngineError::Overloaded(self.id.clone()))),
        };
        permit.send(Mail { answer: Some(answer), by: behalf::current(), ..Mail::own(inputs) });
        match answered.await {
            Ok(MailOutcome::Decided(outcome)) => Ok(outcome),
            Ok(MailOutcome::Unread(inputs)) => Err(ActorEnded(inputs)),
            // The actor ended while it worked on the inputs: they may or may not be stored.
            Err(_) => Ok(Err(EngineError::Lost(self.id.clone()))),
        }
    }

    /// Waits until no step for this message is open any more.
    pub(crate) async fn answered(&self, message: &MessageId) {
        let mut view = self.view.clone();
        // An error means that the task ended, and with it every step.
        let _ = view.wait_for(|view| view.answering.as_ref() != Some(message) || !view.exists).await;
    }

    /// Waits until what was told to stop has ended.
    pub(crate) async fn stopped(&self) {
        let mut view = self.view.clone();
        // An error means that the task ended, and with it every step.
        let _ = view.wait_for(|view| !view.is_stopping || !view.exists).await;
    }

    /// Waits until the session has nothing to do, or is gone. False when its task ended before that: what
    /// it had open is settled when it is started again.
    pub async fn idle(&self) -> bool {
        let mut view = self.view.clone();
        view.wait_for(|view| view.is_idle || !view.exists).await.is_ok()
    }
}
