//! Whether every tree that a session names is kept under its name, and whole.
//!
//! A step names the trees before and after it, a standing revert the one before it. Invariant I15 says that each is
//! anchored for as long as the session exists, so that an undo finds it. Reads the stores of trees with git; without it
//! nothing can be said.

use super::all_sessions;
use crate::records;
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use sturdy_session::id::SessionId;
use sturdy_session::revert::trees_named;
use sturdy_store::{Finding, MessageQuery, ReadError, Store};
use sturdy_worktree::snapshot::{SnapshotError, kept_in, missing_in, stores_below};

/// Checks these sessions, or all of them when none is named.
pub async fn trees(store: &Store, data_dir: &Path, wanted: &[SessionId]) -> Result<Vec<Finding>, ReadError> {
    let sessions = if wanted.is_empty() { all_sessions(store).await? } else { wanted.to_vec() };
    let mut named = Vec::new();
    for id in sessions {
        let trees = named_by(store, &id).await?;
        if !trees.is_empty() {
            named.push((id, trees));
        }
    }
    let place = data_dir.join("trees");
    let judged = tokio::task::spawn_blocking(move || judge(&place, named)).await;
    match judged {
        Ok(Ok(findings)) => Ok(findings),
        Ok(Err(cause)) if cause.is_git_missing() => Ok(Vec::new()),
        Ok(Err(cause)) => Ok(vec![Finding { place: "captured trees".to_owned(), what: cause.to_string() }]),
        Err(_) => Ok(Vec::new()),
    }
}

async fn named_by(store: &Store, id: &SessionId) -> Result<BTreeSet<String>, ReadError> {
    let Some(record) = store.session(id).await? else { return Ok(BTreeSet::new()) };
    // What cannot be read is found by whoever compares rows with the log.
    let Ok(session) = records::session(id, &record) else { return Ok(BTreeSet::new()) };
    let page = store.messages(id, MessageQuery::default()).await?;
    let messages: Vec<_> =
        page.items.iter().filter_map(|raw| records::message_with_parts(raw).ok()).collect();
    Ok(trees_named(&messages, session.revert.as_ref()))
}

fn judge(place: &Path, named: Vec<(SessionId, BTreeSet<String>)>) -> Result<Vec<Finding>, SnapshotError> {
    let stores =
        stores_below(place).map_err(|source| SnapshotError::Io { path: place.to_owned(), source })?;
    let mut holders: HashMap<&str, Vec<&PathBuf>> = HashMap::new();
    let mut findings = Vec::new();
    for store in &stores {
        for name in &store.usage.names {
            holders.entry(name.as_str()).or_default().push(&store.dir);
        }
        if let Some(what) = missing_in(&store.dir)? {
            findings.push(Finding { place: format!("captured trees of {}", store.root.display()), what });
        }
    }
    for (session, trees) in named {
        let mut kept = BTreeSet::new();
        for dir in holders.get(session.as_str()).into_iter().flatten() {
            kept.extend(kept_in(dir, session.as_str())?.iter().map(ToString::to_string));
        }
        for tree in trees.difference(&kept) {
            let what = format!("tree {tree} is named by a step and kept by nothing");
            findings.push(Finding { place: format!("session {session}"), what });
        }
    }
    Ok(findings)
}
