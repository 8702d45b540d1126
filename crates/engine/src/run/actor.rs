//! The loop of one session: decide, commit, show, act. The whole imperative shell.
//!
//! Mail that waits is taken together and becomes one commit, so a busy session writes as often as the
//! disk allows and not as often as a model speaks. Nothing of it is visible before the commit is
//! durable, and nothing is done before it is visible.

use crate::behalf::Behalf;
use crate::clock::Clock;
use crate::error::EngineError;
use crate::feed::{Feed, Published};
use crate::run::effects::Effects;
use crate::run::handle::{Mail, MailOutcome, View};
use crate::run::kept::ChangedMessages;
use crate::run::lookup::{look_up, needs_lookup};
use crate::run::reading::NextStep;
use std::sync::Arc;
use std::time::Duration;
use sturdy_session::fact::Fact;
use sturdy_session::id::SessionId;
use sturdy_session::row::RowChange;
use sturdy_session::rows::{Entry, Folded, Folder};
use sturdy_session::stamp::Stamp;
use sturdy_session::turn::{Decision, Effect, Input, Refusal, State, decide};
use sturdy_session::types::session::Session;
use sturdy_store::grants::GrantUse;
use sturdy_store::{Commit, CommitError, NewEntry, Store};
use tokio::sync::{Notify, mpsc, oneshot, watch};
use tracing::{error, warn};

/// Mail taken into one commit. More waits for the next: a commit stays small.
const GATHER_MAX: usize = 64;
/// With nothing open for this long an actor stops; the next call starts it again.
const SLEEP_AFTER: Duration = Duration::from_secs(600);

pub(crate) struct Actor {
    pub(crate) id: SessionId,
    pub(crate) state: State,
    pub(crate) seq: u64,
    /// The seq of its newest keyframe.
    pub(crate) keyframe: u64,
    pub(crate) stamp: Stamp,
    pub(crate) clock: Clock,
    pub(crate) store: Store,
    pub(crate) feed: Feed,
    pub(crate) effects: Effects,
    pub(crate) view: watch::Sender<View>,
    /// Too many sessions are awake; this one was not asked for in a while.
    pub(crate) rest: Arc<Notify>,
}

/// Why the task of a session ended.
#[derive(Debug)]
pub(crate) enum Ended {
    /// Asleep, removed, or the engine stops: nothing is left to do.
    InOrder,
    /// A commit was given up. What is on disk is older than what was decided, and may say "busy".
    Unwritten { cause: CommitError, info: Option<Box<Session>> },
}

/// Somebody who waits for what became of an input.
type Waiter = (oneshot::Sender<MailOutcome>, Result<(), EngineError>);
impl Actor {
    /// Runs until the engine stops, the session sleeps, or it cannot be written any more.
    pub(crate) async fn run(mut self, mut inbox: mpsc::Receiver<Mail>) -> Ended {
        let stopping = self.effects.stopping();
        // Taken from the inbox, and to be decided after what is decided now.
        let mut held: Option<Mail> = None;
        let ended = loop {
            let mail = tokio::select! {
                biased;
                () = std::future::ready(()), if held.is_some() => held.take(),
                mail = inbox.recv() => mail,
                () = tokio::time::sleep(SLEEP_AFTER), if self.state.is_idle() => None,
                () = self.rest.notified(), if self.state.is_idle() => None,
                () = stopping.cancelled() => None,
            };
            let Some(first) = mail else { break Ended::InOrder };
            let batch = self.gather(first, &mut held, &mut inbox).await;
            if let Err(cause) = self.handle(batch).await {
                warn!(session = %self.id, %cause, "the session stops: it cannot be written");
                break Ended::Unwritten { cause, info: std::mem::take(&mut self.state).into_info() };
            }
            if self.state.info().is_none() {
                break Ended::InOrder;
            }
        };
        // First: whoever starts this session again finds nothing of it running.
        self.effects.stop_all();
        // Whoever wrote meanwhile gets the mail back, and asks the registry again.
        inbox.close();
        while let Some(Mail { inputs, answer, .. }) = match held.take() {
            Some(mail) => Some(mail),
            None => inbox.recv().await,
        } {
            if let Some(answer) = answer {
                let _ = answer.send(MailOutcome::Unread(inputs));
            }
        }
        ended
    }

    /// The mail that waits, as one batch. Mail that depends on what is stored is a batch of its own.
    async fn gather(
        &mut self,
        first: Mail,
        held: &mut Option<Mail>,
        inbox: &mut mpsc::Receiver<Mail>,
    ) -> Vec<Mail> {
        if needs_lookup(&first) {
            let Mail { inputs, answer, by, next } = first;
            return match look_up(&self.store, &self.id, &self.state, inputs).await {
                Ok(inputs) => vec![Mail { inputs, answer, by, next }],
                Err(cause) => {
                    if let Some(answer) = answer {
                        // Somebody who stopped waiting needs no answer.
                        let _ = answer.send(MailOutcome::Decided(Err(cause)));
                    }
                    Vec::new()
                }
            };
        }
        // What needs a grant is stored or refused by itself.
        if first.grant().is_some() {
            return vec![first];
        }
        let mut batch = vec![first];
        while batch.len() < GATHER_MAX {
            let Ok(mail) = inbox.try_recv() else { break };
            if needs_lookup(&mail) || mail.grant().is_some() {
                *held = Some(mail);
                break;
            }
            batch.push(mail);
        }
        batch
    }

    /// Invariant I1: durable, then visible, then acted on.
    async fn handle(&mut self, batch: Vec<Mail>) -> Result<(), CommitError> {
        self.effects.panic_as_planned("session");
        let mut folder = Folder::new(&self.state, self.seq, self.keyframe);
        let mut effects = Vec::new();
        let mut waiters = Vec::new();
        let grant = batch.first().and_then(Mail::grant).cloned();
        // A commit that its grant does not allow, or that would create a child of nobody, did not happen.
        let is_judged = grant.is_some() || self.state.info().is_none();
        let before = is_judged.then(|| self.state.clone());
        let mut actors = Vec::new();
        for mail in batch {
            let by = mail.by.clone();
            self.decide(mail, &mut folder, &mut effects, &mut waiters);
            actors.resize(folder.entry_count(), by);
        }
        let outcome = self.commit(folder.finish(&self.state), &actors, grant).await;
        let refused = matches!(outcome, Err(CommitError::Denied(_) | CommitError::ParentRemoved(_)));
        if let (Err(cause), Some(before)) = (&outcome, before.filter(|_| refused)) {
            self.state = before;
            for (waiter, _) in waiters {
                // Somebody who stopped waiting needs no answer.
                let _ = waiter.send(MailOutcome::Decided(Err(told_of(cause))));
            }
            return Ok(());
        }
        if outcome.is_ok() {
            for effect in effects {
                self.effects.start(effect);
            }
        }
        self.effects.expect_nothing();
        let failed = outcome.as_ref().err();
        for (waiter, answer) in waiters {
            let answer = match &failed {
                Some(cause) => Err(told_of(cause)),
                None => answer,
            };
            // Somebody who stopped waiting needs no answer.
            let _ = waiter.send(MailOutcome::Decided(answer));
        }
        outcome
    }

    fn decide(
        &mut self,
        mail: Mail,
        folder: &mut Folder,
        effects: &mut Vec<Effect>,
        waiters: &mut Vec<Waiter>,
    ) {
        let Mail { inputs, answer, next, .. } = mail;
        let mut refusal = None;
        for input in inputs {
            let refused = self.decide_one(input, folder, effects);
            refusal = refusal.or(refused);
        }
        if let Some(next) = next {
            self.begin_next(next, folder, effects);
        }
        if let Some(answer) = answer {
            waiters.push((answer, refusal.map_or(Ok(()), |why| Err(why.into()))));
        }
    }

    fn decide_one(
        &mut self,
        input: Input,
        folder: &mut Folder,
        effects: &mut Vec<Effect>,
    ) -> Option<Refusal> {
        self.clock.tick(&mut self.stamp);
        let Decision { facts, effects: wanted, refusal } = decide(&self.state, input, &mut self.stamp);
        for fact in facts {
            folder.push(&mut self.state, fact, self.stamp.now());
        }
        effects.extend(wanted);
        refusal
    }

    /// Begins the next step in the commit that asks for it, if what it needs is known already.
    fn begin_next(&mut self, next: NextStep, folder: &mut Folder, effects: &mut Vec<Effect>) {
        if !self.state.info().is_some_and(|info| next.reading.is_of(info)) {
            return;
        }
        if let Some(ready) = next.ready {
            let user = next.reading.user.id.clone();
            let wanted = Effect::Prepare { user: user.clone() };
            let Some(at) = effects.iter().position(|effect| *effect == wanted) else { return };
            effects.remove(at);
            self.decide_one(Input::Prepared { user, ready }, folder, effects);
        }
        self.effects.expect(next.reading);
    }

    async fn commit(
        &mut self,
        folded: Folded,
        actors: &[Option<Arc<Behalf>>],
        grant: Option<GrantUse>,
    ) -> Result<(), CommitError> {
        let Folded { entries, rows } = folded;
        if entries.is_empty() {
            return Ok(());
        }
        let keyframe = rows.iter().any(|row| matches!(row.change, RowChange::Keyframe { .. }));
        let actor = |index: usize| actors.get(index)?.as_ref().map(|by| &by.actor);
        let stored =
            entries.iter().enumerate().map(|(index, entry)| new_entry(entry, actor(index))).collect();
        let session = self.id.clone();
        let parent = parent_of_new(&entries).map(Box::new);
        let commit = Commit { session, expected: self.seq, entries: stored, rows, parent, grant };
        let changed = ChangedMessages::of(&commit.rows);
        let (directory, project) = self.place(&entries);
        let published = Published::new(self.id.clone(), &directory, &project, &entries);
        let feed = self.feed.clone();
        let view = self.view.clone();
        let next = View::of(&self.state);
        let on_durable = Box::new(move |committed: sturdy_store::Committed| {
            feed.publish(committed.first_position, published);
            view.send_replace(next);
        });
        let committed = self.store.commit_then(commit, on_durable).await.inspect_err(|cause| {
            error!(session = %self.id, %cause, "a commit failed");
        })?;
        self.seq = committed.seq;
        self.effects.tell_changed(changed);
        if keyframe {
            self.keyframe = committed.seq;
        }
        Ok(())
    }

    /// Where the session is, also in the commit that removes it.
    fn place(&self, entries: &[Entry]) -> (String, String) {
        let removed = entries.iter().rev().find_map(|entry| match &entry.fact {
            Fact::SessionRemoved { info } => Some(info),
            _ => None,
        });
        let info = self.state.info().or(removed.map(AsRef::as_ref));
        info.map(|info| (info.directory.clone(), info.project_id.clone())).unwrap_or_default()
    }

    /// What the process left open when it died is settled before anybody is answered.
    pub(crate) async fn settle(&mut self) -> Result<(), CommitError> {
        self.handle(vec![Mail::own(vec![Input::Restarted])]).await
    }
}

/// What whoever asked for a commit is told that was not made.
fn told_of(cause: &CommitError) -> EngineError {
    match cause {
        CommitError::Denied(why) => EngineError::Denied(why.clone()),
        CommitError::ParentRemoved(parent) => EngineError::NoSession(parent.clone()),
        CommitError::Conflict { .. }
        | CommitError::Unavailable(_)
        | CommitError::Unknown(_)
        | CommitError::Broken { .. }
        | CommitError::Crashed => EngineError::Commit(cause.clone()),
    }
}

/// The parent of the session that these entries begin.
fn parent_of_new(entries: &[Entry]) -> Option<SessionId> {
    match &entries.first()?.fact {
        Fact::SessionCreated { info } => info.parent_id.clone(),
        _ => None,
    }
}

/// An entry as the store takes it.
pub(crate) fn new_entry(entry: &Entry, actor: Option<&Arc<str>>) -> NewEntry {
    let Entry { fact, at, tells, .. } = entry;
    let subject = fact.subject().map(ToString::to_string);
    NewEntry { kind: fact.kind(), subject, at: *at, data: fact.data(), actor: actor.cloned(), tells: *tells }
}
