//! Checks the store: its own promises, each session's log against the oracle, each row against the log, and that every
//! captured tree that a session names is kept and whole.

use crate::args::Verify;
use crate::failure::{self, BROKEN, Failure, UNMET, USAGE};
use crate::progress::Progress;
use crate::{cmd, out};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use sturdy_engine::verify::{self, Verified};
use sturdy_session::id::SessionId;
use sturdy_store::{Finding, Options, Store};

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
    let outcome = cmd::runtime()?.block_on(verify_store(&data_dir, wanted))?;
    print(&outcome, arguments.json);
    Ok(ExitCode::from(if outcome.findings.is_empty() { 0 } else { BROKEN }))
}

async fn verify_store(data_dir: &Path, wanted: Vec<SessionId>) -> Result<Outcome, Failure> {
    let store =
        Store::open(Options::new(data_dir)).await.map_err(|cause| failure::opening(data_dir, cause))?;
    let progress = Progress::of_stages();
    let checked = check(&store, data_dir, wanted, &progress).await;
    progress.end();
    store.close().await;
    checked
}

async fn check(
    store: &Store,
    data_dir: &Path,
    wanted: Vec<SessionId>,
    progress: &Progress,
) -> Result<Outcome, Failure> {
    let unreadable = |cause| failure::reading(data_dir, cause);
    let mut verified = if wanted.is_empty() {
        let progress = progress.clone();
        let tell = move |far: verify::Progress| progress.at(stage(far.stage), far.done, far.total);
        verify::everything_telling(store, tell).await.map_err(unreadable)?
    } else {
        for id in &wanted {
            if store.session(id).await.map_err(unreadable)?.is_none() {
                return Err(Failure::new(UNMET, "no such session")
                    .with("session", id)
                    .with("store", data_dir.display())
                    .with("try", "sturdy verify   checks all of them"));
            }
        }
        verify::sessions(store, wanted.clone()).await.map_err(unreadable)?
    };
    progress.at("Checking trees", 0, 0);
    verified.findings.extend(verify::trees(store, data_dir, &wanted).await.map_err(unreadable)?);
    let Verified { sessions, entries, rows, blobs, findings, more_findings } = verified;
    let findings = findings.into_iter().map(Found::from).collect();
    Ok(Outcome { store: data_dir.to_owned(), sessions, entries, rows, blobs, findings, more_findings })
}

fn stage(name: &str) -> &'static str {
    match name {
        "file" => "Checking file",
        "log" => "Checking log",
        "rows" => "Checking rows",
        "blobs" => "Checking blobs",
        _ => "Checking sessions",
    }
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
