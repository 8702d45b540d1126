//! Starts and stops what a session wants done. Results come back as inputs.
//!
//! One set per session. An effect is told to stop; inputs it still sends are stale, which
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

use crate::run::Sessions;
use crate::run::handle::{Mail, MailOutcome};
use crate::run::kept::{ChangedMessages, KeptHistory};
use crate::run::memory::SessionMemory;
use crate::run::reading::{NextStep, StepReading};
use crate::run::trees::Ledger;
use futures_util::FutureExt as _;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;
use sturdy_session::fact::Outcome;
use sturdy_session::id::{MessageId, SessionId};
use sturdy_session::turn::{Effect, Input, RunTool, Tools};
use sturdy_session::types::failure::Failure;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tool::{Asks, DecidedBy, RunningCall};
use tracing::field::Empty;
use tracing::{Instrument as _, Span, error, info_span};

#[derive(Debug)]
pub(crate) struct Effects {
    sessions: Arc<Sessions>,
    session: SessionId,
    inbox: mpsc::Sender<Mail>,
    /// Please stop: the model is cut off, running calls are told.
    stop: CancellationToken,
    /// Nobody waits any more. Cancels `stop` as well.
    kill: CancellationToken,
    asks: Asks,
    /// What the calls of this session have read.
    memory: Arc<SessionMemory>,
    /// What they have changed.
    ledger: Arc<Ledger>,
    /// What was sent to the model last.
    kept: Arc<KeptHistory>,
    /// What the request is made of that may be wanted now.
    expected: Option<Arc<StepReading>>,
    /// Calls that run.
    calls: Arc<AtomicUsize>,
}

/// Running calls that are told to stop get this long to end by themselves.
const SETTLE_AFTER: Duration = Duration::from_millis(250);

/// What is said of an effect that panicked. The log has the rest.
const PANIC_MESSAGE: &str = "An error inside the server ended this. The server's log says more.";

/// Sends what an effect found out to the actor of its session.
#[derive(Clone, Debug)]
pub(crate) struct InputSender {
    inbox: mpsc::Sender<Mail>,
}

impl InputSender {
    /// Waits while the inbox is full, so that a fast effect does not outrun its session.
    pub(crate) async fn say(&self, input: Input) {
        // A closed inbox means that the session is gone, and with it whoever wanted to know.
        let _ = self.inbox.send(Mail::own(vec![input])).await;
    }

    /// The same, with what is known of the step that may follow.
    pub(crate) async fn say_next(&self, inputs: Vec<Input>, next: Option<NextStep>) {
        // As above.
        let _ = self.inbox.send(Mail { next, ..Mail::own(inputs) }).await;
    }

    /// Sends several inputs at once and waits until they are durable. False if the actor has ended.
    pub(crate) async fn say_all(&self, inputs: Vec<Input>) -> bool {
        self.say_with(inputs, None).await
    }

    /// The same, with what is known of the step that may follow.
    pub(crate) async fn say_with(&self, inputs: Vec<Input>, next: Option<NextStep>) -> bool {
        let (answer, answered) = tokio::sync::oneshot::channel();
        let mail = Mail { answer: Some(answer), next, ..Mail::own(inputs) };
        if self.inbox.send(mail).await.is_err() {
            return false;
        }
        matches!(answered.await, Ok(MailOutcome::Decided(Ok(()))))
    }
}

impl Effects {
    pub(crate) fn new(
        sessions: Arc<Sessions>,
        session: SessionId,
        inbox: mpsc::Sender<Mail>,
        memory: Arc<SessionMemory>,
        ledger: Arc<Ledger>,
    ) -> Self {
        let kill = sessions.tasks.stopping().child_token();
        let stop = kill.child_token();
        let asks = Asks::default();
        let kept = Arc::new(KeptHistory::new(sessions.registry.kept_bytes.clone()));
        let expected = None;
        let calls = Arc::default();
        Self { sessions, session, inbox, stop, kill, asks, memory, ledger, kept, expected, calls }
    }

    pub(crate) fn stopping(&self) -> CancellationToken {
        self.sessions.tasks.stopping().clone()
    }

    /// This was read for the step that is about to be started.
    pub(crate) fn expect(&mut self, reading: Arc<StepReading>) {
        self.expected = Some(reading);
    }

    /// What was read is old when the next effects are started.
    pub(crate) fn expect_nothing(&mut self) {
        self.expected = None;
    }

    /// A commit is durable.
    pub(crate) fn tell_changed(&self, changed: ChangedMessages) {
        self.kept.tell(changed);
    }

    pub(crate) fn stop_all(&mut self) {
        self.kill.cancel();
        self.asks.give_up();
        self.kill = self.sessions.tasks.stopping().child_token();
        self.stop = self.kill.child_token();
    }

    pub(crate) fn start(&mut self, effect: Effect) {
        let sessions = self.sessions.clone();
        let session = self.session.clone();
        let back = self.back();
        let kept = self.kept.clone();
        match effect {
            Effect::Prepare { user } => {
                let broke = not_prepared(&user);
                let stop = self.stop.clone();
                self.spawn("prepare", prepare::run(sessions, session, user, back, stop), broke);
            }
            Effect::CallModel { step, user, attempt, tools } => {
                let broke = not_said(&step, attempt);
                let span = model_span(&session, &step, attempt);
                let reading = self.expected.take().filter(|read| attempt == 0 && read.user.id == user);
                let call = model::Call { session, step, user, attempt, tools, summary: None, kept, reading };
                let run = model::run(sessions, call, back, self.stop.clone()).instrument(span);
                self.spawn("model", run, broke);
            }
            Effect::PrepareSubtask { user, part } => {
                let broke = not_prepared(&user);
                self.spawn("subtask", subtask::run(sessions, session, user, part, back), broke);
            }
            Effect::PrepareCompaction { request, first_waiting, goes_on } => {
                let broke = not_prepared(&request);
                let wanted = compact::Wanted { request, first_waiting, goes_on };
                self.spawn("compact", compact::prepare(sessions, session, wanted, back), broke);
            }
            Effect::Summarise { step, attempt, text } => {
                let user = step.clone();
                let tools = Tools::Withheld;
                let summary = Some(text);
                let broke = not_said(&step, attempt);
                let span = model_span(&session, &step, attempt);
                let reading = None;
                let call = model::Call { session, step, user, attempt, tools, summary, kept, reading };
                let run = model::run(sessions, call, back, self.stop.clone()).instrument(span);
                self.spawn("summary", run, broke);
            }
            Effect::Prune { edits } => {
                self.sessions.tasks.spawn("prune", compact::prune(sessions, session, edits, back));
            }
            Effect::StartTimer { step, attempt, at } => {
                let wait = Duration::from_millis(at.saturating_sub(self.sessions.clock.now()));
                let timer = timer(Input::Timer { step, attempt }, wait, back, self.stop.clone());
                self.sessions.tasks.spawn("timer", timer);
            }
            Effect::MakeTitle { user } => {
                let ended = self.sessions.tasks.stopping().clone();
                self.sessions.tasks.spawn("title", title::run(sessions, session, user, back, ended));
            }
            Effect::RunTool(call) => self.run_tool(call),
            Effect::StopTools { step } => {
                self.stop.cancel();
                self.asks.give_up();
                let timer = timer(Input::Settle { step }, SETTLE_AFTER, back, self.kill.clone());
                self.sessions.tasks.spawn("settle", timer);
            }
            Effect::AnswerTool { part, answer } => {
                // After a restart nobody waits, and nobody needs to.
                self.asks.tell(&part, answer, DecidedBy::Rules);
            }
            Effect::ResumeTool { call, answer } => {
                if !self.asks.tell(&call.part, answer, DecidedBy::Person) {
                    self.run_tool(call);
                }
            }
            Effect::StopAll => self.stop_all(),
        }
    }

    fn run_tool(&self, call: RunTool) {
        let run = tool::Run {
            sessions: self.sessions.clone(),
            session: self.session.clone(),
            call,
            asks: self.asks.clone(),
            memory: self.memory.clone(),
            ledger: self.ledger.clone(),
            kept: self.kept.clone(),
            back: self.back(),
            stop: self.stop.clone(),
            kill: self.kill.clone(),
            watch: std::sync::OnceLock::new(),
            running: RunningCall::of(&self.calls),
        };
        let RunTool { step, tool, .. } = &run.call;
        let span = info_span!(parent: None, "tool", session = %self.session, %step, tool);
        let part = run.call.part.clone();
        let error = PANIC_MESSAGE.to_owned();
        let broke = Input::Returned { part, outcome: Outcome::Failed { error, metadata: None } };
        self.spawn("tool", tool::run(run).instrument(span), broke);
    }

    /// Runs an effect that the machine waits for. `broke` is said in its place if it panics.
    fn spawn(&self, name: &'static str, effect: impl Future<Output = ()> + Send + 'static, broke: Input) {
        let session = self.session.clone();
        let back = self.back();
        let panics = self.sessions.panics.clone();
        self.sessions.tasks.spawn(name, async move {
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
        self.sessions.panics.come_true(task);
    }

    fn back(&self) -> InputSender {
        InputSender { inbox: self.inbox.clone() }
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
    Input::NotPrepared { user: user.clone(), failure: Failure::unknown(PANIC_MESSAGE) }
}

fn not_said(step: &MessageId, attempt: u32) -> Input {
    Input::Failed { step: step.clone(), attempt, failure: Failure::unknown(PANIC_MESSAGE) }
}

/// A call of a model, from the request to the last of what it says. Of no parent: whoever woke the session is long
/// answered.
fn model_span(session: &SessionId, step: &MessageId, attempt: u32) -> Span {
    info_span!(parent: None, "model", %session, %step, attempt, model = Empty)
}

async fn timer(input: Input, wait: Duration, back: InputSender, stop: CancellationToken) {
    tokio::select! {
        () = tokio::time::sleep(wait) => back.say(input).await,
        () = stop.cancelled() => {}
    }
}
