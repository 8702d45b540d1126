//! Sets the files of an undo, of taking it back, and of one that a dead process left half done.
//!
//! In this order: what is there is captured and anchored, a note of what is about to be done is on the disk, the
//! files are set. Whoever calls records it and removes the note.

use super::note::Note;
use super::scene::Scene;
use crate::run::trees::remaining;
use std::collections::{BTreeMap, HashSet};
use sturdy_session::revert::{Boundary, trees_behind};
use sturdy_session::turn::RevertTotals;
use sturdy_session::types::session::{Revert, RevertConflict};
use sturdy_worktree::snapshot::{Changed, Conflict, Plan, SnapshotError, Standing, TreeId, unified};

/// What the files of an undo came to.
#[derive(Default)]
pub(super) struct Undone {
    pub(super) snapshot: Option<TreeId>,
    pub(super) diff: String,
    pub(super) totals: Option<RevertTotals>,
    pub(super) conflicts: Vec<RevertConflict>,
    pub(super) forced: Vec<String>,
    pub(super) note: Option<Note>,
}

/// What taking an undo back came to.
#[derive(Default)]
pub(super) struct Redone {
    pub(super) totals: Option<RevertTotals>,
    /// Files that somebody has changed since the undo.
    pub(super) conflicts: Vec<RevertConflict>,
    pub(super) note: Option<Note>,
}

pub(super) fn undo(scene: &Scene, cut: &Boundary, forced: &[String]) -> Result<Undone, SnapshotError> {
    let Some(worktree) = scene.worktree() else {
        // Saying "undone" would be a lie.
        if !trees_behind(&scene.messages, cut).is_empty() {
            let why = "captured trees are switched off here, so the files of this session cannot go back";
            return Err(SnapshotError::Malformed(why.to_owned()));
        }
        return Ok(Undone::default());
    };
    let store = &worktree.store;
    let targets = scene.targets(worktree, cut)?;
    let undo = scene.prepare(worktree, &targets, forced)?;
    store.anchor(scene.session.as_str(), &[undo.snapshot])?;
    let wanted = Revert {
        message_id: cut.message.clone(),
        part_id: cut.part.clone(),
        snapshot: Some(undo.snapshot.to_string()),
        diff: None,
        conflicts: Vec::new(),
        uncaptured: Vec::new(),
        forced: Vec::new(),
        files_from: None,
    };
    let note = Note::write(&scene.data_dir, &scene.session, Some(wanted))?;
    let done = match store.apply(&undo.settings) {
        Ok(done) => done,
        Err(cause) => return Err(given_up(cause, note)),
    };

    let mut conflicts: BTreeMap<String, &'static str> = BTreeMap::new();
    conflicts.extend(undo.plan.conflicts().map(|(entry, why)| (entry.path.to_string(), why.text())));
    for path in done.conflicts() {
        conflicts.entry(path.to_string()).or_insert(Conflict::ChangedSince.text());
    }
    let before = store.states(&undo.snapshot, targets.paths())?;
    let set: Vec<Changed> = undo
        .plan
        .wanted()
        .into_iter()
        .filter(|(path, state)| before[path] != *state && !conflicts.contains_key(&path.to_string()))
        .map(|(path, after)| Changed { before: before[&path], path, after })
        .collect();
    let known: HashSet<String> = targets.paths().map(ToString::to_string).collect();
    Ok(Undone {
        snapshot: Some(undo.snapshot),
        diff: unified(store, &set)?,
        totals: remaining(&scene.session, &scene.messages, Some(cut), Some(worktree)),
        conflicts: named(conflicts),
        forced: forced.iter().filter(|name| known.contains(*name)).cloned().collect(),
        note: Some(note),
    })
}

fn named(conflicts: BTreeMap<String, &'static str>) -> Vec<RevertConflict> {
    conflicts.into_iter().map(|(file, why)| RevertConflict { file, why: why.to_owned() }).collect()
}

pub(super) fn redo(scene: &Scene) -> Result<Redone, SnapshotError> {
    let Some(worktree) = scene.worktree() else { return Ok(Redone::default()) };
    let Some((snapshot, targets)) = scene.standing(worktree)? else { return Ok(Redone::default()) };
    let settings = worktree.store.prepare_redo(Standing { snapshot, targets: &targets })?;
    let note = Note::write(&scene.data_dir, &scene.session, None)?;
    let done = match worktree.store.apply(&settings) {
        Ok(done) => done,
        Err(cause) => return Err(given_up(cause, note)),
    };
    let why = Conflict::ChangedSinceUndo.text();
    Ok(Redone {
        totals: remaining(&scene.session, &scene.messages, None, Some(worktree)),
        conflicts: named(done.conflicts().map(|path| (path.to_string(), why)).collect()),
        note: Some(note),
    })
}

/// What taking the undo that stands back would do to which file, or moving its cut to a later one.
pub(super) fn redo_plan(scene: &Scene, cut: Option<&Boundary>) -> Result<Plan, SnapshotError> {
    let Some(worktree) = scene.worktree() else { return Ok(Plan::default()) };
    let store = &worktree.store;
    let Some((snapshot, targets)) = scene.standing(worktree)? else { return Ok(Plan::default()) };
    let settings = match cut {
        None => store.prepare_redo(Standing { snapshot, targets: &targets })?,
        Some(cut) => {
            let targets = scene.targets(worktree, cut)?;
            scene.prepare(worktree, &targets, &scene.forced(&[]))?.settings
        }
    };
    store.preview(&settings)
}

/// Everything was taken back, so the note is not needed. What was not is settled by it before anything else is done.
fn given_up(cause: SnapshotError, note: Note) -> SnapshotError {
    if !cause.is_half_done() {
        note.remove();
    }
    cause
}

/// Makes the files fit what the session record says, after a process died while it changed them. `wanted` is what
/// it was about to record.
pub(super) fn settle(scene: &Scene, wanted: Option<&Revert>) -> Result<(), SnapshotError> {
    let Some(worktree) = scene.worktree() else { return Ok(()) };
    let store = &worktree.store;
    let recorded = scene.info.revert.as_ref();
    // The newer snapshot knows the files of both.
    let Some(standing) = wanted.or(recorded) else { return Ok(()) };
    let Some(snapshot) = &standing.snapshot else { return Ok(()) };
    let snapshot: TreeId = snapshot.parse()?;
    let Some(cut) = Boundary::of_files(standing) else { return Ok(()) };
    let targets = scene.targets(worktree, &cut)?;
    let standing = Standing { snapshot, targets: &targets };
    let settings = match recorded.and_then(|recorded| Some((recorded, Boundary::of_files(recorded)?))) {
        None => store.prepare_redo(standing)?,
        Some((recorded, cut)) => {
            let targets = scene.targets(worktree, &cut)?;
            let forced = targets.named(&recorded.forced)?;
            store.prepare_undo(None, Some(standing), &targets, &forced)?.settings
        }
    };
    store.apply(&settings)?;
    Ok(())
}
