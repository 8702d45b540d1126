//! Asks a person on behalf of a call, unless the rules have the answer.

use super::{CallPlace, Run};
use crate::clock::Clock;
use crate::directory::permits::{real_checkout, stricter};
use crate::run::effects::Back;
use crate::run::trees::Watch;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use sturdy_session::id::PartId;
use sturdy_session::row::ApprovalRow;
use sturdy_session::rules::{Verdict, Wanted, judge_wanted};
use sturdy_session::turn::{Answer, Ask, Input, OpenAsk};
use sturdy_session::types::ask::{PermissionReply, Question};
use sturdy_session::types::session::{Action, Rule};
use sturdy_store::Store;
use sturdy_worktree::tool::{PermissionAsk, ToolFailure};
use tokio::sync::oneshot;

/// The calls of a session that wait for a person, by the request's id.
#[derive(Clone, Debug, Default)]
pub(crate) struct Asks {
    waiting: Arc<Mutex<HashMap<String, oneshot::Sender<Answer>>>>,
}

impl Asks {
    fn wait(&self, id: String) -> oneshot::Receiver<Answer> {
        let (sender, receiver) = oneshot::channel();
        self.lock().insert(id, sender);
        receiver
    }

    /// Hands an answer to the call that waits for it. Gives it back when nobody does.
    pub(crate) fn deliver(&self, id: &str, answer: Answer) -> Result<(), Answer> {
        match self.lock().remove(id) {
            Some(waiting) => waiting.send(answer),
            None => Err(answer),
        }
    }

    /// The turn is over: whoever waits is told that no answer comes.
    pub(crate) fn give_up(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, oneshot::Sender<Answer>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Asks for one call.
#[derive(Debug)]
pub(super) struct Asker {
    part: PartId,
    rules: Vec<Rule>,
    floor: Vec<Rule>,
    store: Store,
    /// Where what was allowed for good counts.
    checkout: String,
    asks: Asks,
    back: Back,
    clock: Clock,
    given: Mutex<Option<(OpenAsk, Answer)>>,
    by_user: bool,
    named_agents: Vec<String>,
    watch: Option<Arc<Watch>>,
}

impl Asker {
    pub(super) fn new(run: &Run, place: &CallPlace) -> Self {
        Self {
            part: run.call.part.clone(),
            rules: place.rules.clone(),
            floor: place.floor.clone(),
            store: run.inner.store.clone(),
            checkout: real_checkout(&place.info),
            asks: run.asks.clone(),
            back: run.back.clone(),
            clock: run.inner.clock.clone(),
            given: Mutex::new(run.given.clone()),
            by_user: run.call.by_user,
            named_agents: place.named_agents.clone(),
            watch: run.watch.get().cloned(),
        }
    }

    pub(super) async fn permission(&self, ask: PermissionAsk) -> Result<(), ToolFailure> {
        if self.is_allowed_by_user(&ask) {
            return Ok(());
        }
        match self.judge(&ask).await? {
            Verdict::Deny(rules) => return Err(ToolFailure::denied(rules)),
            Verdict::Allow => return Ok(()),
            Verdict::Ask => {}
        }
        let same = |open: &OpenAsk| open.permission == ask.permission && open.patterns == ask.patterns;
        let answer = match self.take_given(same) {
            Some(answer) => answer,
            None => {
                let answer = self.ask_person(&ask).await?;
                if let Some(watch) = &self.watch {
                    watch.look().await;
                }
                answer
            }
        };
        match answer {
            // "Always" was written down by the commit of the answer; there is nothing left to do.
            Answer::Permission { reply: PermissionReply::Once | PermissionReply::Always, .. } => Ok(()),
            Answer::Permission { reply: PermissionReply::Reject, message } => {
                Err(ToolFailure::rejected(message))
            }
            Answer::Question { .. } | Answer::Dismissed => Err(ToolFailure::rejected(None)),
        }
    }

    /// Whether a file may be read without asking; a search leaves the others out.
    pub(super) fn may_read(&self, path: &str) -> bool {
        let wanted =
            Wanted { permission: "read".to_owned(), patterns: vec![path.to_owned()], ..Wanted::default() };
        self.by_user || self.strictest(&wanted, &[]) == Verdict::Allow
    }

    pub(super) async fn question(&self, questions: Vec<Question>) -> Result<Vec<Vec<String>>, ToolFailure> {
        let answer = match self.take_given(|open| open.permission.is_empty()) {
            Some(answer) => answer,
            None => {
                let id = self.clock.stamp().question_id();
                let waiting = self.asks.wait(id.to_string());
                self.say(Ask::Question { id, questions }).await;
                waiting.await.map_err(|_| ToolFailure::aborted())?
            }
        };
        match answer {
            Answer::Question { answers } => Ok(answers),
            Answer::Dismissed | Answer::Permission { .. } => Err(ToolFailure::dismissed()),
        }
    }

    /// The rules first. Only where they would ask does it matter what was allowed for good, and that is
    /// read where it is kept, so that what was taken back does not count any more.
    async fn judge(&self, ask: &PermissionAsk) -> Result<Verdict, ToolFailure> {
        let wanted = ask.wanted();
        let verdict = self.strictest(&wanted, &[]);
        if verdict != Verdict::Ask {
            return Ok(verdict);
        }
        let kept = self.store.approvals_at(&self.checkout).await;
        let kept = kept.map_err(|cause| ToolFailure::failed(cause.to_string()))?;
        let approvals: Vec<Rule> = kept.into_iter().map(rule_of).collect();
        Ok(self.strictest(&wanted, &approvals))
    }

    /// What a project allows counts only as far as the person's own rules do.
    fn strictest(&self, wanted: &Wanted, approvals: &[Rule]) -> Verdict {
        let by_all = judge_wanted(wanted, &self.rules, approvals);
        stricter(by_all, judge_wanted(wanted, &self.floor, approvals))
    }

    async fn ask_person(&self, ask: &PermissionAsk) -> Result<Answer, ToolFailure> {
        let id = self.clock.stamp().permission_id();
        let waiting = self.asks.wait(id.to_string());
        self.say(Ask::Permission {
            id,
            permission: ask.permission.clone(),
            patterns: ask.patterns.clone(),
            always: ask.always.clone(),
            metadata: ask.metadata.clone(),
            checkout: Some(self.checkout.clone()),
        })
        .await;
        // No timeout here: the person may think for an hour.
        waiting.await.map_err(|_| ToolFailure::aborted())
    }

    async fn say(&self, ask: Ask) {
        self.back.say(Input::Asked { part: self.part.clone(), ask }).await;
    }

    /// What a person said before the process died counts once, for the request it answered.
    fn take_given(&self, is_same: impl FnOnce(&OpenAsk) -> bool) -> Option<Answer> {
        let mut given = self.given.lock().unwrap_or_else(PoisonError::into_inner);
        given.take_if(|(open, _)| is_same(open)).map(|(_, answer)| answer)
    }

    /// A person asked for exactly this: it is not asked about, and no rule for models forbids it.
    fn is_allowed_by_user(&self, ask: &PermissionAsk) -> bool {
        let names_agents =
            || ask.permission == "task" && ask.patterns.iter().all(|name| self.named_agents.contains(name));
        self.by_user || names_agents()
    }
}

fn rule_of(kept: ApprovalRow) -> Rule {
    Rule { permission: kept.permission, pattern: kept.pattern, action: Action::Allow }
}
