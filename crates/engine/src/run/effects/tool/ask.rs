//! What a call that plans needs: it is said to the machine, which judges it and asks a person where the rules say so.

use super::{CallPlace, Run};
use crate::clock::Clock;
use crate::run::effects::InputSender;
use crate::run::trees::Watch;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use sturdy_session::id::PartId;
use sturdy_session::row::ApprovalRow;
use sturdy_session::rules::{CallRules, Verdict, Wanted};
use sturdy_session::turn::{Ask, Input, NeedAnswer};
use sturdy_session::types::ask::Question;
use sturdy_session::types::session::{Action, Rule};
use sturdy_store::Store;
use sturdy_worktree::tool::{PermissionAsk, ToolFailure};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

/// Who decided about something that a call needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DecidedBy {
    Rules,
    /// Time has passed, and the world may have changed.
    Person,
}

/// Where the answer to a call is sent, and who gave it.
type Answered = oneshot::Sender<(NeedAnswer, DecidedBy)>;

/// The calls of a session that wait for something they need. Each waits for one thing at a time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Asks {
    waiting: Arc<Mutex<HashMap<PartId, Answered>>>,
}

impl Asks {
    fn wait(&self, part: PartId) -> oneshot::Receiver<(NeedAnswer, DecidedBy)> {
        let (sender, receiver) = oneshot::channel();
        self.lock().insert(part, sender);
        receiver
    }

    /// Tells the call that waits. False when nobody does.
    pub(crate) fn tell(&self, part: &PartId, told: NeedAnswer, by: DecidedBy) -> bool {
        let waiting = self.lock().remove(part);
        waiting.is_some_and(|waiting| waiting.send((told, by)).is_ok())
    }

    /// The turn is over: whoever waits is told that no answer comes.
    pub(crate) fn give_up(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<PartId, Answered>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Asks for one call.
#[derive(Debug)]
pub(super) struct Asker {
    part: PartId,
    /// What it is judged by, without what people approved.
    rules: CallRules,
    store: Store,
    /// Where what was allowed for good counts.
    checkout: String,
    asks: Asks,
    back: InputSender,
    clock: Clock,
    by_user: bool,
    watch: Option<Arc<Watch>>,
    stop: CancellationToken,
}

impl Asker {
    pub(super) fn new(run: &Run, place: &CallPlace, checkout: String) -> Self {
        Self {
            part: run.call.part.clone(),
            rules: place.rules.clone(),
            store: run.sessions.store.clone(),
            checkout,
            asks: run.asks.clone(),
            back: run.back.clone(),
            clock: run.sessions.clock.clone(),
            by_user: run.call.by_user,
            watch: run.watch.get().cloned(),
            stop: run.stop.clone(),
        }
    }

    pub(super) async fn permission(&self, ask: PermissionAsk) -> Result<(), ToolFailure> {
        // A person asked for exactly this: it is not asked about, and no rule for models forbids it.
        if self.by_user {
            return Ok(());
        }
        let wanted = ask.wanted();
        let rules = self.rules_for(&wanted).await?;
        let id = self.clock.stamp().permission_id();
        let checkout = Some(self.checkout.clone());
        let PermissionAsk { always, metadata, .. } = ask;
        let ask = Ask::Permission { id, wanted, rules: Arc::new(rules), always, metadata, checkout };
        match self.needs(ask).await? {
            NeedAnswer::Allowed => Ok(()),
            other => Err(refused(other)),
        }
    }

    pub(super) async fn question(&self, questions: Vec<Question>) -> Result<Vec<Vec<String>>, ToolFailure> {
        let id = self.clock.stamp().question_id();
        match self.needs(Ask::Question { id, questions }).await? {
            NeedAnswer::Answers(answers) => Ok(answers),
            other => Err(refused(other)),
        }
    }

    /// The plan is complete: waits until it is durable that the call may act.
    pub(super) async fn act(&self) -> Result<(), ToolFailure> {
        if !self.by_user {
            match self.settled(Input::Planned { part: self.part.clone() }).await? {
                NeedAnswer::Allowed => {}
                other => return Err(refused(other)),
            }
        }
        if let Some(watch) = &self.watch {
            watch.acts();
        }
        Ok(())
    }

    /// Whether a file may be read without asking; a search leaves the others out.
    pub(super) fn may_read(&self, path: &str) -> bool {
        let wanted =
            Wanted { permission: "read".to_owned(), patterns: vec![path.to_owned()], ..Wanted::default() };
        self.by_user || self.rules.judge(&wanted) == Verdict::Allow
    }

    /// Only where the rules would ask does it matter what was allowed for good, and that is read where it is kept, so
    /// that what was taken back does not count any more.
    async fn rules_for(&self, wanted: &Wanted) -> Result<CallRules, ToolFailure> {
        let mut rules = self.rules.clone();
        if rules.judge(wanted) == Verdict::Ask {
            let kept = self.store.approvals_at(&self.checkout).await;
            let kept = kept.map_err(|cause| ToolFailure::failed(cause.to_string()))?;
            rules.approvals = kept.into_iter().map(rule_of).collect();
        }
        Ok(rules)
    }

    async fn needs(&self, ask: Ask) -> Result<NeedAnswer, ToolFailure> {
        self.settled(Input::Needs { part: self.part.clone(), ask }).await
    }

    async fn settled(&self, input: Input) -> Result<NeedAnswer, ToolFailure> {
        let waiting = self.asks.wait(self.part.clone());
        self.back.say(input).await;
        // No timeout here: the person may think for an hour.
        let (told, by) = tokio::select! {
            biased;
            told = waiting => told.map_err(|_| ToolFailure::aborted())?,
            () = self.stop.cancelled() => return Err(ToolFailure::aborted()),
        };
        if let (DecidedBy::Person, Some(watch)) = (by, &self.watch) {
            watch.look().await;
        }
        Ok(told)
    }
}

/// The call has ended in the machine; this is for whoever runs it.
fn refused(told: NeedAnswer) -> ToolFailure {
    match told {
        NeedAnswer::Denied(rules) => ToolFailure::denied(rules),
        NeedAnswer::Dismissed => ToolFailure::dismissed(),
        NeedAnswer::Rejected(words) => ToolFailure::rejected(words),
        // Answers to a permission, or a permission for a question: nobody gives these.
        NeedAnswer::Allowed | NeedAnswer::Answers(_) => ToolFailure::rejected(None),
    }
}

fn rule_of(kept: ApprovalRow) -> Rule {
    Rule { permission: kept.permission, pattern: kept.pattern, action: Action::Allow }
}
