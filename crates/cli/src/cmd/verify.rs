//! Checks the store: its own promises, each session's log against the oracle, each row against the log.

mod rebuild;

use crate::args::Verify;
use crate::failure::{self, BROKEN, Failure, UNMET, USAGE};
use crate::{cmd, out};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use sturdy_session::fact::Fact;
use sturdy_session::id::SessionId;
use sturdy_session::oracle::Oracle;
use sturdy_session::types::session::Session;
use sturdy_store::{Finding, LogEntry, Options, ReadError, SessionQuery, Store};

/// What was read and what is not as promised. Its fields do not change between releases.
#[derive(Debug, Default, Serialize)]
struct Outcome {
    store: PathBuf,
    sessions: u64,
    entries: u64,
    rows: u64,
    blobs: u64,
    findings: Vec<Found>,
    more_findings: u64,
}

#[derive(Debug, Serialize)]
struct Found {
    place: String,
    what: String,
}

impl From<Finding> for Found {
    fn from(finding: Finding) -> Self {
        Self { place: finding.place, what: finding.what }
    }
}

pub(crate) fn run(arguments: Verify) -> Result<ExitCode, Failure> {
    let data_dir = arguments.data.or_default(&crate::keys::environment());
    if !data_dir.is_dir() {
        return Err(Failure::new(UNMET, "there is no store")
            .with("path", data_dir.display())
            .with("try", "the place with --data-dir DIR; a store is made by: sturdy serve"));
    }
    let wanted = arguments.sessions.iter().map(|text| SessionId::parse(text)).collect::<Result<Vec<_>, _>>();
    let wanted =
        wanted.map_err(|cause| Failure::new(USAGE, cause.to_string()).with("try", "sturdy verify ses_…"))?;
    let outcome = cmd::runtime()?.block_on(verify(&data_dir, wanted))?;
    print(&outcome, arguments.json);
    Ok(ExitCode::from(if outcome.findings.is_empty() { 0 } else { BROKEN }))
}

async fn verify(data_dir: &Path, wanted: Vec<SessionId>) -> Result<Outcome, Failure> {
    let store =
        Store::open(Options::new(data_dir)).await.map_err(|cause| failure::opening(data_dir, cause))?;
    let checked = check(&store, data_dir, wanted).await;
    store.close().await;
    checked
}

async fn check(store: &Store, data_dir: &Path, wanted: Vec<SessionId>) -> Result<Outcome, Failure> {
    let unreadable = |cause| failure::reading(data_dir, cause);
    let mut outcome = Outcome { store: data_dir.to_owned(), ..Outcome::default() };
    let sessions = if wanted.is_empty() {
        let report = store.verify(|_| ()).await.map_err(unreadable)?;
        (outcome.entries, outcome.rows, outcome.blobs) = (report.entries, report.rows, report.blobs);
        outcome.findings = report.findings.into_iter().map(Found::from).collect();
        outcome.more_findings = report.more_findings;
        all_sessions(store).await.map_err(unreadable)?
    } else {
        for id in &wanted {
            if store.session(id).await.map_err(unreadable)?.is_none() {
                return Err(Failure::new(UNMET, "no such session")
                    .with("session", id)
                    .with("store", data_dir.display())
                    .with("try", "sturdy verify   checks all of them"));
            }
        }
        wanted
    };
    let is_folded = store.horizon().await.map_err(unreadable)? > 0;
    for id in sessions {
        outcome.sessions += 1;
        match session(store, &id, is_folded).await {
            Ok(findings) => {
                let found = |what| Found { place: format!("session {id}"), what };
                outcome.findings.extend(findings.into_iter().map(found));
            }
            Err(ReadError::Broken { what, place }) => outcome.findings.push(Found { place, what }),
            Err(cause) => return Err(failure::reading(data_dir, cause)),
        }
    }
    Ok(outcome)
}

async fn all_sessions(store: &Store) -> Result<Vec<SessionId>, ReadError> {
    let records = store.sessions(SessionQuery::default()).await?;
    // One that cannot be read has been reported by the store already.
    let id = |text: &String| serde_json::from_str::<Session>(text).ok().map(|session| session.id);
    Ok(records.iter().filter_map(id).collect())
}

/// What is wrong with one session.
async fn session(store: &Store, id: &SessionId, is_folded: bool) -> Result<Vec<String>, ReadError> {
    let entries = store.entries_of(id).await?;
    if entries.is_empty() {
        return Ok(vec!["it has no log".to_owned()]);
    }
    let mut findings = Vec::new();
    let facts = read(&entries, &mut findings);
    if !findings.is_empty() {
        // A log with holes in it proves nothing about rows.
        return Ok(findings);
    }
    let mut oracle = if is_folded { Oracle::of_folded_log() } else { Oracle::default() };
    let judged = facts.iter().try_for_each(|(_, fact)| oracle.read(fact));
    if let Err(broken) = judged.and_then(|()| oracle.end().map(|_| ())) {
        findings.push(broken.to_string());
    }
    let stored = store.rows_of_session(id).await?;
    findings.extend(rebuild::compare(facts, stored));
    Ok(findings)
}

fn read(entries: &[LogEntry], findings: &mut Vec<String>) -> Vec<(u64, Fact)> {
    let mut facts = Vec::with_capacity(entries.len());
    for entry in entries {
        match Fact::parse(&entry.kind, &entry.data) {
            Ok(fact) => facts.push((entry.seq, fact)),
            Err(cause) => findings.push(format!("entry {}: {cause}", entry.seq)),
        }
    }
    facts
}

fn print(outcome: &Outcome, as_json: bool) {
    if as_json {
        out::data(&serde_json::to_string(outcome).expect("BUG: an outcome is always JSON"));
        return;
    }
    for finding in &outcome.findings {
        out::data(&format!("{}: {}", finding.place, finding.what));
    }
    let count = outcome.findings.len() as u64 + outcome.more_findings;
    let read = match outcome.entries {
        0 => format!("{} sessions", outcome.sessions),
        entries => {
            let Outcome { sessions, rows, blobs, .. } = outcome;
            format!("{sessions} sessions, {entries} entries, {rows} rows, {blobs} blobs")
        }
    };
    let verdict = match count {
        0 => "Every promise is kept.".to_owned(),
        1 => "1 promise is broken.".to_owned(),
        count => format!("{count} promises are broken."),
    };
    out::data(&format!("Read {read}. {verdict} Nothing was changed."));
}
