//! Starts and stops what a session wants done. Results come back as inputs.
//!
//! One set per session. An effect is stopped by telling it; whatever it still says is late news, which
//! the machine drops. Nothing here decides anything.

mod compact;
pub(crate) mod model;
mod prepare;
mod subtask;
mod title;
mod tool;

use crate::engine::Inner;
use crate::run::handle::{Heard, Mail};
use std::sync::Arc;
use std::time::Duration;
use sturdy_session::id::SessionId;
use sturdy_session::turn::{Answer, Effect, Input, OpenAsk, RunTool, Tools};
use sturdy_worktree::tool::Memory;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tool::Asks;

#[derive(Debug)]
pub(crate) struct Effects {
    inner: Arc<Inner>,
    session: SessionId,
    inbox: mpsc::Sender<Mail>,
    /// Please stop: the model is cut off, running calls are told.
    stop: CancellationToken,
    /// Nobody waits any more. Cancels `stop` as well.
    kill: CancellationToken,
    asks: Asks,
    /// What the calls of this session have read.
    memory: Arc<Memory>,
}

/// Running calls that are told to stop get this long to end by themselves.
const SETTLE_AFTER: Duration = Duration::from_millis(250);

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
        matches!(answered.await, Ok(Heard::Decided(Ok(()))))
    }
}

impl Effects {
    pub(crate) fn new(
        inner: Arc<Inner>,
        session: SessionId,
        inbox: mpsc::Sender<Mail>,
        memory: Arc<Memory>,
    ) -> Self {
        let kill = inner.tasks.stopping().child_token();
        let (stop, asks) = (kill.child_token(), Asks::default());
        Self { inner, session, inbox, stop, kill, asks, memory }
    }

    pub(crate) fn stopping(&self) -> CancellationToken {
        self.inner.tasks.stopping().clone()
    }

    pub(crate) fn stop_all(&mut self) {
        self.kill.cancel();
        self.asks.give_up();
        self.kill = self.inner.tasks.stopping().child_token();
        self.stop = self.kill.child_token();
    }

    pub(crate) fn start(&mut self, effect: Effect) {
        let (inner, session, back) = (self.inner.clone(), self.session.clone(), self.back());
        match effect {
            Effect::Prepare { user } => {
                self.inner.tasks.spawn("prepare", prepare::run(inner, session, user, back));
            }
            Effect::CallModel { step, user, attempt, tools } => {
                let call = model::Call { session, step, user, attempt, tools, summary: None };
                self.inner.tasks.spawn("model", model::run(inner, call, back, self.stop.clone()));
            }
            Effect::PrepareSubtask { user, part } => {
                self.inner.tasks.spawn("subtask", subtask::run(inner, session, user, part, back));
            }
            Effect::PrepareCompaction { request, first_waiting, goes_on } => {
                let wanted = compact::Wanted { request, first_waiting, goes_on };
                self.inner.tasks.spawn("compact", compact::prepare(inner, session, wanted, back));
            }
            Effect::Summarise { step, attempt, text } => {
                let (user, tools, summary) = (step.clone(), Tools::Withheld, Some(text));
                let call = model::Call { session, step, user, attempt, tools, summary };
                self.inner.tasks.spawn("summary", model::run(inner, call, back, self.stop.clone()));
            }
            Effect::Prune { edits } => {
                self.inner.tasks.spawn("prune", compact::prune(inner, session, edits, back));
            }
            Effect::StartTimer { step, attempt, at } => {
                let wait = Duration::from_millis(at.saturating_sub(self.inner.clock.now()));
                let timer = timer(Input::Timer { step, attempt }, wait, back, self.stop.clone());
                self.inner.tasks.spawn("timer", timer);
            }
            Effect::MakeTitle { user } => {
                let ended = self.inner.tasks.stopping().clone();
                self.inner.tasks.spawn("title", title::run(inner, session, user, back, ended));
            }
            Effect::RunTool(call) => self.run_tool(call, None),
            Effect::StopTools { step } => {
                self.stop.cancel();
                self.asks.give_up();
                let timer = timer(Input::Settle { step }, SETTLE_AFTER, back, self.kill.clone());
                self.inner.tasks.spawn("settle", timer);
            }
            Effect::Deliver { ask, answer, call } => {
                if let Err(answer) = self.asks.deliver(&ask.id, answer) {
                    self.run_tool(call, Some((ask, answer)));
                }
            }
            Effect::StopAll => self.stop_all(),
        }
    }

    fn run_tool(&self, call: RunTool, given: Option<(OpenAsk, Answer)>) {
        let run = tool::Run {
            inner: self.inner.clone(),
            session: self.session.clone(),
            call,
            given,
            asks: self.asks.clone(),
            memory: self.memory.clone(),
            back: self.back(),
            stop: self.stop.clone(),
            kill: self.kill.clone(),
        };
        self.inner.tasks.spawn("tool", tool::run(run));
    }

    fn back(&self) -> Back {
        Back { inbox: self.inbox.clone() }
    }
}

async fn timer(input: Input, wait: Duration, back: Back, stop: CancellationToken) {
    tokio::select! {
        () = tokio::time::sleep(wait) => back.say(input).await,
        () = stop.cancelled() => {}
    }
}
