//! Whether a store keeps its promises: its own, each session's log against the oracle, each row against the log.
//!
//! Rows are worked out again from the log and compared whole, with the entry that wrote each, and so are the numbers of
//! what the v2 API was told (`numbers`); what people allowed for good must be what they answered; trees that steps name
//! must be kept (`trees`). Nothing is changed.
//!
//! Not here: what one file of a database must look like (`sturdy_store::Store::verify`).

mod numbers;
mod rebuild;
mod trees;

pub use trees::trees;

use crate::records;
use std::collections::HashMap;
use sturdy_session::fact::Fact;
use sturdy_session::id::SessionId;
use sturdy_session::oracle::Oracle;
use sturdy_session::row::ApprovalRow;
use sturdy_store::{Finding, LogEntry, ReadError, SessionQuery, Stage, Store, WholeSession};

/// What was read and what is not as promised.
#[derive(Debug, Default)]
pub struct Verified {
    pub sessions: u64,
    pub entries: u64,
    pub rows: u64,
    pub blobs: u64,
    pub findings: Vec<Finding>,
    /// Found, and too many to be listed.
    pub more_findings: u64,
}

/// How far a check is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// What is read now: `file`, `log`, `rows`, `blobs` and `sessions`, in this order.
    pub stage: &'static str,
    pub done: u64,
    pub total: u64,
}

/// Checks everything.
pub async fn everything(store: &Store) -> Result<Verified, ReadError> {
    everything_telling(store, |_| ()).await
}

/// The same, for somebody who waits for it.
pub async fn everything_telling(
    store: &Store,
    tell: impl Fn(Progress) + Clone + Send + 'static,
) -> Result<Verified, ReadError> {
    let of_store = tell.clone();
    let report = store.verify(move |progress| of_store(progress.into())).await?;
    let mut verified = Verified {
        entries: report.entries,
        rows: report.rows,
        blobs: report.blobs,
        findings: report.findings,
        more_findings: report.more_findings,
        ..Verified::default()
    };
    let sessions = all_sessions(store).await?;
    let mut allowed = Allowed::default();
    check(store, sessions, &mut verified, &mut allowed, &tell).await?;
    check_approvals(store, &allowed, &mut verified).await?;
    for id in store.sessions_without_row().await? {
        let what = "its log goes on and its row is gone".to_owned();
        verified.findings.push(Finding { place: format!("session {id}"), what });
    }
    Ok(verified)
}

/// Checks some sessions.
pub async fn sessions(store: &Store, wanted: Vec<SessionId>) -> Result<Verified, ReadError> {
    let mut verified = Verified::default();
    check(store, wanted, &mut verified, &mut Allowed::default(), &|_| ()).await?;
    Ok(verified)
}

impl From<sturdy_store::Progress> for Progress {
    fn from(progress: sturdy_store::Progress) -> Self {
        let stage = match progress.stage {
            Stage::File => "file",
            Stage::Entries => "log",
            Stage::Rows => "rows",
            Stage::Blobs => "blobs",
        };
        Self { stage, done: progress.done, total: progress.total }
    }
}

/// What the logs say that people allowed, by id.
type Allowed = HashMap<String, ApprovalRow>;

async fn check(
    store: &Store,
    sessions: Vec<SessionId>,
    verified: &mut Verified,
    allowed: &mut Allowed,
    tell: &impl Fn(Progress),
) -> Result<(), ReadError> {
    let total = sessions.len() as u64;
    for id in sessions {
        verified.sessions += 1;
        tell(Progress { stage: "sessions", done: verified.sessions, total });
        match session(store, &id, allowed).await {
            Ok(findings) => {
                let found = |what| Finding { place: format!("session {id}"), what };
                verified.findings.extend(findings.into_iter().map(found));
            }
            Err(ReadError::Broken { what, place }) => verified.findings.push(Finding { place, what }),
            Err(cause) => return Err(cause),
        }
    }
    Ok(())
}

async fn all_sessions(store: &Store) -> Result<Vec<SessionId>, ReadError> {
    let texts = store.sessions(SessionQuery::default()).await?;
    // One that cannot be read has been reported by the store already.
    Ok(records::sessions(&texts).map(|session| session.id).collect())
}

/// What is wrong with one session.
async fn session(store: &Store, id: &SessionId, allowed: &mut Allowed) -> Result<Vec<String>, ReadError> {
    let WholeSession { entries, rows, positions, horizon } = store.whole_session(id).await?;
    if entries.is_empty() {
        return Ok(vec!["it has no log".to_owned()]);
    }
    let mut findings = Vec::new();
    let facts = read(&entries, &mut findings);
    if !findings.is_empty() {
        // A log with holes in it proves nothing about rows.
        return Ok(findings);
    }
    let mut oracle = if horizon > 0 { Oracle::of_folded_log() } else { Oracle::default() };
    let judged = facts.iter().try_for_each(|(_, fact)| oracle.read(fact));
    if let Err(broken) = judged.and_then(|()| oracle.end().map(|_| ())) {
        findings.push(broken.to_string());
    }
    let rebuilt = rebuild::rows(facts.into_iter().map(|(entry, fact)| (entry.seq, entry.position, fact)));
    findings.extend(rebuilt.compare(rows));
    findings.extend(rebuilt.compare_positions(&positions));
    findings.extend(numbers::first_wrong(&entries, &rebuilt.tells));
    allowed.extend(rebuilt.approvals.into_iter().map(|row| (row.id.clone(), row)));
    Ok(findings)
}

/// An approval that an answer gave allows what was answered. A person may have taken one back; and one that no log
/// knows was given apart from any call, or in a session that is gone.
async fn check_approvals(store: &Store, allowed: &Allowed, verified: &mut Verified) -> Result<(), ReadError> {
    for stored in store.approvals(None).await? {
        if allowed.get(&stored.id).is_some_and(|said| *said != stored) {
            let place = format!("approval {}", stored.id);
            let what = "it allows something else than was answered".to_owned();
            verified.findings.push(Finding { place, what });
        }
    }
    Ok(())
}

fn read<'a>(entries: &'a [LogEntry], findings: &mut Vec<String>) -> Vec<(&'a LogEntry, Fact)> {
    let mut facts = Vec::with_capacity(entries.len());
    for entry in entries {
        match Fact::parse(&entry.kind, &entry.data) {
            Ok(fact) => facts.push((entry, fact)),
            Err(cause) => findings.push(format!("entry {}: {cause}", entry.seq)),
        }
    }
    facts
}
