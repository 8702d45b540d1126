//! Starts and stops what a session wants done. Results come back as inputs.
//!
//! One set per session. An effect is stopped by telling it; whatever it still says is late news, which
//! the machine drops. Nothing here decides anything.
//!
//! Every effect that the machine waits for ends in an input, whatever happens inside: one that panics has failed as
//! any other may, and the session goes on.

mod compact;
pub(crate) mod model;
mod prepare;
mod subtask;
mod sum;
mod title;
mod tool;

use crate::engine::Inner;
use crate::run::handle::{Heard, Mail};
use crate::run::trees::Ledger;
use futures_util::FutureExt as _;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;
use sturdy_session::fact::Outcome;
use sturdy_session::id::{MessageId, SessionId};
use sturdy_session::turn::{Answer, Effect, Input, OpenAsk, RunTool, Tools};
use sturdy_session::types::failure::Failure;
use sturdy_worktree::tool::Memory;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tool::Asks;
use tracing::error;

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
    /// What they have changed.
    ledger: Arc<Ledger>,
}

/// Running calls that are told to stop get this long to end by themselves.
const SETTLE_AFTER: Duration = Duration::from_millis(250);

/// What is said of an effect that panicked. The log has the rest.
const BROKE: &str = "An error inside the server ended this. The server's log says more.";

/// The way back: what an effect found out.
#[derive(Clone, Debug)]
pub(crate) struct Back {
    inbox: mpsc::Sender<Mail>,
}

impl Back {
    /// Waits for room, so that a fast effect does not outrun its session.
    pub(crate) async fn say(&self, input: Input) {
        // A closed inbox means that the session is gone, and with it whoever wanted to know.
        let _ = self.inbox.send(Mail { inputs: vec![input], answer: None, by: None }).await;
    }

    /// Says several things at once and waits until they are durable. False when nobody listens any more.
    pub(crate) async fn say_all(&self, inputs: Vec<Input>) -> bool {
        let (answer, answered) = tokio::sync::oneshot::channel();
        if self.inbox.send(Mail { inputs, answer: Some(answer), by: None }).await.is_err() {
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
        ledger: Arc<Ledger>,
    ) -> Self {
        let kill = inner.tasks.stopping().child_token();
        let stop = kill.child_token();
        let asks = Asks::default();
        Self { inner, session, inbox, stop, kill, asks, memory, ledger }
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
        let inner = self.inner.clone();
        let session = self.session.clone();
        let back = self.back();
        match effect {
            Effect::Prepare { user } => {
                let broke = not_prepared(&user);
                let stop = self.stop.clone();
                self.spawn("prepare", prepare::run(inner, session, user, back, stop), broke);
            }
            Effect::CallModel { step, user, attempt, tools } => {
                let broke = not_said(&step, attempt);
                let call = model::Call { session, step, user, attempt, tools, summary: None };
                self.spawn("model", model::run(inner, call, back, self.stop.clone()), broke);
            }
            Effect::PrepareSubtask { user, part } => {
                let broke = not_prepared(&user);
                self.spawn("subtask", subtask::run(inner, session, user, part, back), broke);
            }
            Effect::PrepareCompaction { request, first_waiting, goes_on } => {
                let broke = not_prepared(&request);
                let wanted = compact::Wanted { request, first_waiting, goes_on };
                self.spawn("compact", compact::prepare(inner, session, wanted, back), broke);
            }
            Effect::Summarise { step, attempt, text } => {
                let user = step.clone();
                let tools = Tools::Withheld;
                let summary = Some(text);
                let broke = not_said(&step, attempt);
                let call = model::Call { session, step, user, attempt, tools, summary };
                self.spawn("summary", model::run(inner, call, back, self.stop.clone()), broke);
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
            Effect::LetGo { ask, answer } => {
                // After a restart nobody waits, and nobody needs to: the call has ended.
                let _ = self.asks.deliver(&ask, answer);
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
            ledger: self.ledger.clone(),
            back: self.back(),
            stop: self.stop.clone(),
            kill: self.kill.clone(),
            watch: std::sync::OnceLock::new(),
        };
        let part = run.call.part.clone();
        let error = BROKE.to_owned();
        let broke = Input::Returned { part, outcome: Outcome::Failed { error, metadata: None } };
        self.spawn("tool", tool::run(run), broke);
    }

    /// Runs an effect that the machine waits for. `broke` is said in its place if it panics.
    fn spawn(&self, name: &'static str, effect: impl Future<Output = ()> + Send + 'static, broke: Input) {
        let session = self.session.clone();
        let back = self.back();
        let panics = self.inner.options.panics.clone();
        self.inner.tasks.spawn(name, async move {
            let effect = async move {
                panics.come_true(name);
                effect.await;
            };
            // What it held is dropped by the panic, and nothing of it is looked at again.
            if AssertUnwindSafe(effect).catch_unwind().await.is_err() {
                error!(%session, effect = name, "an effect panicked; its session is told that it failed");
                back.say(broke).await;
            }
        });
    }

    pub(crate) fn panic_as_planned(&self, task: &'static str) {
        self.inner.options.panics.come_true(task);
    }

    fn back(&self) -> Back {
        Back { inbox: self.inbox.clone() }
    }
}

/// A session whose task is gone has nobody to hear what its effects find out, and nobody to stop them.
impl Drop for Effects {
    fn drop(&mut self) {
        self.kill.cancel();
        self.asks.give_up();
    }
}

fn not_prepared(user: &MessageId) -> Input {
    Input::NotPrepared { user: user.clone(), failure: Failure::unknown(BROKE) }
}

fn not_said(step: &MessageId, attempt: u32) -> Input {
    Input::Failed { step: step.clone(), attempt, failure: Failure::unknown(BROKE) }
}

async fn timer(input: Input, wait: Duration, back: Back, stop: CancellationToken) {
    tokio::select! {
        () = tokio::time::sleep(wait) => back.say(input).await,
        () = stop.cancelled() => {}
    }
}
