//! The one thread that writes.
//!
//! Callers send commits; the committer takes all that wait, writes them in one transaction, and
//! answers each after the fsync. So a commit costs a share of an fsync, and the order of positions
//! is the order of commits (invariant I11). Nothing gathers by time: what queued up while the last
//! transaction ran is the next one.
//!
//! A commit that builds on the wrong `seq` fails alone; its neighbours succeed. All are checked
//! before the first is written, so no savepoint is needed. A group that the disk refuses is kept and tried
//! again for a while (`committer/patience.rs`).
//!
//! Not here: what the facts mean (`sturdy-session`), who reads them (`log.rs`), how one entry or row
//! is written (`committer/write.rs`), what else must hold for it (`committer/conditions.rs`).

mod conditions;
mod crash;
mod meters;
mod patience;
mod remains;
mod share_notes;
mod write;

pub use crash::CrashPlan;
pub use meters::StoreMeters;
pub(crate) use patience::certain;
pub(crate) use remains::{Remains, end_removals};
#[cfg(test)]
pub(crate) use share_notes::note_change;
pub use write::title_column;

use crate::commit::{Commit, Committed};
use crate::dialect;
use crate::error::{CommitError, DriverError, DriverErrorKind, Failure};
use crate::lock::Lock;
use crate::log::told_of;
use rusqlite::{Connection, OptionalExtension as _, TransactionBehavior};
use std::collections::HashMap;
use std::mem;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};
use sturdy_session::id::SessionId;
use tokio::sync::{Semaphore, oneshot, watch};

/// Commits that may wait. A caller beyond that waits for room, and so does whatever feeds it.
pub(crate) const QUEUE: usize = 1024;
/// Commits in one transaction: enough to make the fsync's share small, few enough that the first
/// of them does not wait long for the last.
const GROUP: usize = 256;
/// Sessions whose last entry is remembered.
const LASTS_KNOWN: usize = 4096;
/// Quiet for this long is idle: time for a checkpoint.
const IDLE: Duration = Duration::from_secs(2);

const LAST: &str = "SELECT seq, told FROM log WHERE session_id = ?1 ORDER BY seq DESC LIMIT 1";
const ADVANCE: &str = "UPDATE head SET position = position + ?1, at = CASE WHEN at < ?2 THEN ?2 ELSE at END
    WHERE id = 1 RETURNING position";

pub(crate) enum Work {
    Commit(Pending),
    /// Writes that are not facts: projects, blobs, shares, upkeep.
    Write(Write),
    Close(oneshot::Sender<()>),
    /// For tests: the process is killed here.
    Die,
}

/// Something that is written, and the answer to whoever asked for it.
pub(crate) type Write = Box<dyn FnOnce(&mut Connection) -> Answer + Send>;
pub(crate) type Answer = Box<dyn FnOnce() + Send>;

pub(crate) struct Pending {
    pub(crate) commit: Commit,
    pub(crate) answer: oneshot::Sender<Result<Committed, CommitError>>,
    /// Told first, by this thread, in the order of positions.
    pub(crate) on_durable: Option<OnDurable>,
}

/// Hears of a commit that is on disk. It runs on the committing thread: it must be short and must not wait.
pub type OnDurable = Box<dyn FnOnce(Committed) + Send>;

/// What the committer and the handles of a store both see.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) head: AtomicU64,
    /// Which store this is.
    pub(crate) epoch: Mutex<Arc<str>>,
    /// Transactions made, for whoever wonders how large the groups are.
    pub(crate) transactions: AtomicU64,
    pub(crate) meters: StoreMeters,
    pub(crate) is_crashed: AtomicBool,
    /// Some session is shared, or was since the store was opened: commits note what they change of such sessions.
    pub(crate) has_links: AtomicBool,
    /// Somebody wants the store closed: nothing is waited for any more.
    pub(crate) is_closing: AtomicBool,
    /// Whether the writing thread lives, and how it ended.
    pub(crate) writer: watch::Sender<Writer>,
    /// Room in the queue: whoever sends takes a permit, the committer gives it back.
    pub(crate) room: Semaphore,
    pub(crate) lock: Lock,
}

/// The writing thread as others see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Writer {
    Works,
    /// Closed, or crashed as planned.
    Ended,
    /// It panicked: nothing can be stored any more.
    Broke,
}

pub(crate) struct Committer {
    connection: Connection,
    work: Receiver<Work>,
    shared: Arc<Shared>,
    plan: CrashPlan,
    /// How long a refused group is tried again.
    patience: Duration,
    /// The last group was given up: the next has one try.
    is_refusing: bool,
    /// Tries the crash plan has refused.
    refused: u64,
    /// Commits that arrived, for the crash plan.
    commits: u64,
    /// And other writes.
    writes: u64,
    /// Written since the last checkpoint.
    is_dirty: bool,
    group: Vec<Pending>,
    /// Commits during the crash; they are answered when the files are closed.
    doomed: Vec<Pending>,
    /// The write during the crash; it is answered when the files are closed.
    doomed_write: Option<DoomedWrite>,
    /// What sessions are at, as far as it was asked for. Right as long as nobody else writes; if
    /// somebody does, `UNIQUE (session_id, seq)` refuses the transaction and this is read anew.
    lasts: HashMap<SessionId, Last>,
    remains: Remains,
}

/// A write that met the crash. Dropped, it tells whoever waits for it that the store has ended.
enum DoomedWrite {
    Lost { _unwritten: Write },
    Written { _unsaid: Answer },
}

/// What became of one commit of a group.
type Verdict = Result<Committed, CommitError>;

impl Committer {
    pub(crate) fn new(
        connection: Connection,
        work: Receiver<Work>,
        shared: Arc<Shared>,
        plan: CrashPlan,
        patience: Duration,
        remains: Remains,
    ) -> Self {
        Self {
            connection,
            work,
            shared,
            plan,
            patience,
            is_refusing: false,
            refused: 0,
            commits: 0,
            writes: 0,
            is_dirty: true,
            group: Vec::new(),
            doomed: Vec::new(),
            doomed_write: None,
            lasts: HashMap::new(),
            remains,
        }
    }

    /// Runs until every handle is gone, the store is closed, or the crash plan comes true.
    pub(crate) fn run(mut self) {
        let mut closing = None;
        while let Some(work) = self.next() {
            let other = self.take(work);
            // A crash takes along what was asked for after it.
            let is_crashed = self.shared.is_crashed.load(Ordering::Acquire);
            match other {
                Some(Work::Close(answer)) => {
                    closing = Some(answer);
                    break;
                }
                _ if is_crashed => break,
                Some(Work::Write(write)) => {
                    self.change(write);
                    if self.doomed_write.is_some() {
                        break;
                    }
                }
                Some(Work::Die) => {
                    self.shared.is_crashed.store(true, Ordering::Release);
                    break;
                }
                Some(Work::Commit(_)) => unreachable!("BUG: a commit ends no group"),
                None => {}
            }
        }
        self.end();
        if let Some(answer) = closing {
            // Nobody waits any more: then nobody needs the answer.
            let _ = answer.send(());
        }
    }

    /// Runs a write that is not a commit, unless the crash plan names it.
    fn change(&mut self, write: Write) {
        self.writes += 1;
        self.is_dirty = true;
        let Some(is_kept) = self.plan.at_write(self.writes) else { return write(&mut self.connection)() };
        self.shared.is_crashed.store(true, Ordering::Release);
        self.doomed_write = Some(if is_kept {
            DoomedWrite::Written { _unsaid: write(&mut self.connection) }
        } else {
            DoomedWrite::Lost { _unwritten: write }
        });
    }

    fn next(&mut self) -> Option<Work> {
        loop {
            // A slice for every group, and all of it while nobody wants anything.
            while self.remains.is_due() {
                self.remains.remove_slice(&self.connection);
                self.is_dirty = true;
                match self.work.try_recv() {
                    Ok(work) => return Some(work),
                    Err(TryRecvError::Disconnected) => return None,
                    Err(TryRecvError::Empty) => {}
                }
            }
            let pause = if self.is_dirty { Some(IDLE) } else { self.remains.pause() };
            let Some(pause) = pause else { return self.work.recv().ok() };
            match self.work.recv_timeout(pause) {
                Ok(work) => return Some(work),
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) if self.is_dirty => self.checkpoint_now(dialect::checkpoint),
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// Gathers what waits into one group and writes it. Whatever is not a commit ends the group
    /// and is returned, so that everything happens in the order it was asked for.
    fn take(&mut self, first: Work) -> Option<Work> {
        self.shared.room.add_permits(1);
        let Work::Commit(first) = first else { return Some(first) };

        self.group.push(first);
        let mut other = None;
        while self.group.len() < GROUP {
            match self.work.try_recv() {
                Ok(work) => {
                    self.shared.room.add_permits(1);
                    match work {
                        Work::Commit(pending) => self.group.push(pending),
                        work => {
                            other = Some(work);
                            break;
                        }
                    }
                }
                Err(TryRecvError::Empty | TryRecvError::Disconnected) => break,
            }
        }
        let group = mem::take(&mut self.group);
        self.group = self.write_as_planned(group);
        other
    }

    /// Cuts the group at the commit the crash plan names. Gives the empty vector back for the next one.
    fn write_as_planned(&mut self, mut group: Vec<Pending>) -> Vec<Pending> {
        let commits = group.iter().map(|pending| &pending.commit);
        let Some(fatal) = self.plan.fatal_of(self.commits, commits) else {
            return self.write_and_answer(group);
        };

        let rest = group.split_off(fatal);
        self.write_and_answer(group);
        if let Some(last) = rest.first().filter(|_| self.plan.keeps_it()) {
            // What it says does not matter: nobody hears it.
            let _ = self.write(std::slice::from_ref(last));
        }
        self.shared.is_crashed.store(true, Ordering::Release);
        self.doomed = rest;
        Vec::new()
    }

    fn write_and_answer(&mut self, mut group: Vec<Pending>) -> Vec<Pending> {
        if group.is_empty() {
            return group;
        }
        self.commits += group.len() as u64;
        assert!(!self.plan.panics_at(self.commits), "BUG: none, a test planned this");
        let verdicts = match self.write_patiently(&group) {
            Ok(verdicts) => verdicts,
            // The disk says no to everybody alike.
            Err(failure) if failure.is_the_disks() => {
                let error = certain(&mut self.connection, failure);
                group.iter().map(|_| Err(error.clone())).collect()
            }
            // One of them cannot be written; the others do not pay for it. It is tried again as
            // well: a seq that was remembered wrongly has been forgotten by now.
            Err(_) => group.iter().map(|pending| self.write_alone(pending)).collect(),
        };
        self.is_dirty = true;
        for (pending, verdict) in group.drain(..).zip(verdicts) {
            if let (Ok(committed), Some(on_durable)) = (&verdict, pending.on_durable) {
                on_durable(*committed);
            }
            // A caller that gave up waiting has still committed.
            let _ = pending.answer.send(verdict);
        }
        group
    }

    /// Keeps the group and tries again, as long as what refused it may pass.
    fn write_patiently(&mut self, group: &[Pending]) -> Result<Vec<Verdict>, Failure> {
        let mut patience = patience::Patience::new(self.patience);
        loop {
            let failure = match self.write(group) {
                Ok(verdicts) => {
                    self.is_refusing = false;
                    return Ok(verdicts);
                }
                Err(failure) if failure.may_pass() => {
                    self.shared.meters.refused.inc();
                    failure
                }
                Err(failure) => return Err(failure),
            };
            let is_over = self.is_refusing || self.shared.is_closing.load(Ordering::Acquire);
            let Some(pause) = patience.next().filter(|_| !is_over) else {
                tracing::error!(commits = group.len(), ?failure, "gave up writing a group of commits");
                self.is_refusing = true;
                return Err(failure);
            };
            tracing::warn!(commits = group.len(), ?failure, "commits could not be written; retrying");
            if !self.plan.fills_the_disk() {
                thread::sleep(pause);
            }
        }
    }

    fn write_alone(&mut self, pending: &Pending) -> Verdict {
        match self.write(std::slice::from_ref(pending)) {
            Ok(mut verdicts) => verdicts.pop().expect("BUG: one commit, one verdict"),
            Err(failure) => Err(certain(&mut self.connection, failure)),
        }
    }

    /// One transaction. Returns one verdict for each commit, after the fsync.
    fn write(&mut self, group: &[Pending]) -> Result<Vec<Verdict>, Failure> {
        if self.plan.refuses(self.commits, self.refused) {
            self.refused += 1;
            return Err(Failure::Unavailable(DriverError::planned(DriverErrorKind::DiskFull)));
        }
        let written = self.write_unless_it_fails(group);
        // What a failed transaction counted up to never happened.
        if written.is_err() || self.lasts.len() > LASTS_KNOWN {
            self.lasts.clear();
        }
        written
    }

    fn write_unless_it_fails(&mut self, group: &[Pending]) -> Result<Vec<Verdict>, Failure> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;

        let mut verdicts: Vec<Verdict> = Vec::with_capacity(group.len());
        // What the session of each has told before it.
        let mut told = Vec::with_capacity(group.len());
        let mut entries = 0;
        let mut at = 0;
        for Pending { commit, .. } in group {
            if self.remains.has(&commit.session) {
                // Its id is used again.
                remains::remove_all(&transaction, commit.session.as_str())?;
            }
            let last = match self.lasts.get_mut(&commit.session) {
                Some(last) => last,
                None => {
                    let found = last_of(&transaction, commit.session.as_str())?;
                    self.lasts.entry(commit.session.clone()).or_insert(found)
                }
            };
            told.push(last.told);
            let made = group[..verdicts.len()].iter().zip(&verdicts).filter(|(_, verdict)| verdict.is_ok());
            let before = made.map(|(pending, _)| &pending.commit);
            // Invariant I2, the net under the lock: a second writer is told and has written nothing.
            verdicts.push(if last.seq != commit.expected {
                let session = commit.session.clone();
                let expected = commit.expected;
                Err(CommitError::Conflict { session, expected, found: last.seq })
            } else if let Some(refused) = conditions::judge(&transaction, commit, before)? {
                Err(refused)
            } else {
                let first_position = entries;
                entries += commit.entries.len() as u64;
                last.seq += commit.entries.len() as u64;
                last.told += commit.entries.iter().map(|entry| entry.tells).sum::<u64>();
                at = commit.entries.iter().map(|entry| entry.at).fold(at, u64::max);
                Ok(Committed { first_position, seq: last.seq })
            });
        }
        if entries == 0 {
            return Ok(verdicts);
        }

        let head: i64 = transaction
            .prepare_cached(ADVANCE)?
            .query_row((entries.cast_signed(), at.cast_signed()), |row| row.get(0))?;
        let head = head.cast_unsigned();
        let mut writer = write::Writer::new(&transaction, self.shared.has_links.load(Ordering::Acquire))?;
        for ((pending, verdict), told) in group.iter().zip(&mut verdicts).zip(told) {
            if let Ok(committed) = verdict {
                // So far it counted from the start of the group.
                committed.first_position += head - entries + 1;
                writer.commit(&pending.commit, committed.first_position, told)?;
            }
        }
        let remains = writer.into_remains();
        let begun = Instant::now();
        transaction.commit()?;

        let made = verdicts.iter().filter(|verdict| verdict.is_ok()).count();
        self.shared.meters.committed(made, entries, begun.elapsed());
        self.remains.forget(|session| group.iter().any(|pending| pending.commit.session == *session));
        self.remains.add(remains);
        // Only now: whoever reads the head finds all of it on disk.
        self.shared.head.store(head, Ordering::Release);
        self.shared.transactions.fetch_add(1, Ordering::Relaxed);
        Ok(verdicts)
    }

    fn checkpoint_now(&mut self, checkpoint: fn(&Connection) -> rusqlite::Result<()>) {
        if let Err(error) = checkpoint(&self.connection) {
            // The next checkpoint copies what this one left.
            tracing::warn!(%error, "checkpoint failed");
        }
        self.is_dirty = false;
    }

    fn end(mut self) {
        if self.shared.is_crashed.load(Ordering::Acquire) {
            dialect::leave_files_alone(&self.connection);
        } else {
            self.checkpoint_now(dialect::checkpoint_and_empty);
        }
        drop(self.connection);
        // Whoever takes the lock finds the files at rest, and whoever hears that this store has
        // ended can take it.
        self.shared.lock.release();
        self.shared.room.close();
        self.shared.writer.send_replace(Writer::Ended);
        for pending in self.doomed {
            let _ = pending.answer.send(Err(CommitError::Crashed));
        }
        drop(self.doomed_write);
    }
}

/// What a session is at.
#[derive(Clone, Copy, Default)]
struct Last {
    seq: u64,
    told: u64,
}

/// The last entry of a session is never removed, so the log itself knows what a session is at.
fn last_of(connection: &Connection, session: &str) -> Result<Last, Failure> {
    let last = connection.prepare_cached(LAST)?.query_row([session], |row| {
        let seq = row.get::<_, i64>(0)?.cast_unsigned();
        Ok(Last { seq, told: told_of(row, 1, seq)? })
    });
    Ok(last.optional()?.unwrap_or_default())
}
