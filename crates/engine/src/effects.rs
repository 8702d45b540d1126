//! Starts and stops what a session wants done. Results come back as inputs.
//!
//! One set per session. An effect is stopped by telling it; whatever it still says is late news, which
//! the machine drops. Nothing here decides anything.

pub(crate) mod model;
mod prepare;
mod title;

use crate::engine::Inner;
use crate::handle::Mail;
use std::sync::Arc;
use std::time::Duration;
use sturdy_session::id::{MessageId, SessionId};
use sturdy_session::turn::{Effect, Input};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

#[derive(Debug)]
pub(crate) struct Effects {
    inner: Arc<Inner>,
    session: SessionId,
    inbox: mpsc::Sender<Mail>,
    /// Cancelled when the step is stopped; replaced for the next one.
    step: CancellationToken,
}

/// The way back: what an effect found out.
#[derive(Clone, Debug)]
pub(crate) struct Back {
    inbox: mpsc::Sender<Mail>,
}

impl Back {
    /// Waits for room, so that a fast effect does not outrun its session.
    pub(crate) async fn say(&self, input: Input) {
        // A closed inbox means that the session is gone, and with it whoever wanted to know.
        let _ = self.inbox.send(Mail { inputs: vec![input], answer: None }).await;
    }

    /// Says several things at once and waits until they are durable. False when nobody listens any more.
    pub(crate) async fn say_all(&self, inputs: Vec<Input>) -> bool {
        let (answer, answered) = tokio::sync::oneshot::channel();
        if self.inbox.send(Mail { inputs, answer: Some(answer) }).await.is_err() {
            return false;
        }
        matches!(answered.await, Ok(Ok(())))
    }
}

impl Effects {
    pub(crate) fn new(inner: Arc<Inner>, session: SessionId, inbox: mpsc::Sender<Mail>) -> Self {
        let step = inner.tasks.stopping().child_token();
        Self { inner, session, inbox, step }
    }

    pub(crate) fn stopping(&self) -> CancellationToken {
        self.inner.tasks.stopping().clone()
    }

    pub(crate) fn stop_all(&mut self) {
        self.step.cancel();
        self.step = self.inner.tasks.stopping().child_token();
    }

    pub(crate) fn start(&mut self, effect: Effect) {
        let (inner, session) = (self.inner.clone(), self.session.clone());
        let (back, stop) = (Back { inbox: self.inbox.clone() }, self.step.clone());
        match effect {
            Effect::Prepare { user } => {
                self.inner.tasks.spawn("prepare", prepare::run(inner, session, user, back));
            }
            Effect::CallModel { step, user, attempt } => {
                let call = model::Call { session, step, user, attempt };
                self.inner.tasks.spawn("model", model::run(inner, call, back, stop));
            }
            Effect::StartTimer { step, attempt, at } => {
                let wait = Duration::from_millis(at.saturating_sub(self.inner.clock.now()));
                self.inner.tasks.spawn("timer", timer(step, attempt, wait, back, stop));
            }
            Effect::MakeTitle { user } => {
                let ended = self.inner.tasks.stopping().clone();
                self.inner.tasks.spawn("title", title::run(inner, session, user, back, ended));
            }
            Effect::RunTool { part, tool, .. } => {
                // No tool is offered to a model yet, so a call names something that does not exist.
                let outcome = sturdy_session::fact::Outcome::Failed {
                    error: format!("There is no tool named {tool:?}. Answer in text."),
                    metadata: None,
                };
                self.inner.tasks.spawn("tool", async move { back.say(Input::Returned { part, outcome }).await });
            }
            Effect::StopModel { .. } | Effect::StopAll => self.stop_all(),
            Effect::StopTool { .. } | Effect::Deliver { .. } => {}
        }
    }
}

async fn timer(step: MessageId, attempt: u32, wait: Duration, back: Back, stop: CancellationToken) {
    tokio::select! {
        () = tokio::time::sleep(wait) => back.say(Input::Timer { step, attempt }).await,
        () = stop.cancelled() => {}
    }
}
