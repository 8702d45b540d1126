//! Sets the files of an undo, of taking it back, and of one that a dead process left half done.
//!
//! In this order: what is there is captured and anchored, a note of what is about to be done is on the disk, the
//! files are set. Whoever calls records it and removes the note.

use super::note::Note;
use super::scene::Scene;
use std::collections::{BTreeMap, BTreeSet};
use sturdy_session::revert::{Boundary, trees_behind};
use sturdy_session::types::session::{Revert, RevertConflict};
use sturdy_worktree::snapshot::{
    Changed, Changes, Conflict, SnapshotError, Standing, TreeId, TreePath, differences, unified,
};

/// What the files of an undo came to.
#[derive(Default)]
pub(super) struct Undone {
    pub(super) snapshot: Option<TreeId>,
    pub(super) diff: String,
    pub(super) behind: Changes,
    pub(super) conflicts: Vec<RevertConflict>,
    pub(super) note: Option<Note>,
}

pub(super) fn undo(
    scene: &Scene,
    cut: &Boundary,
    forced: &BTreeSet<TreePath>,
) -> Result<Undone, SnapshotError> {
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
    Ok(Undone {
        snapshot: Some(undo.snapshot),
        diff: unified(store, &set)?,
        behind: differences(store, &targets.changes())?,
        conflicts: conflicts
            .into_iter()
            .map(|(file, why)| RevertConflict { file, why: why.to_owned() })
            .collect(),
        note: Some(note),
    })
}

pub(super) fn redo(scene: &Scene) -> Result<Option<Note>, SnapshotError> {
    let Some(worktree) = scene.worktree() else { return Ok(None) };
    let Some((snapshot, targets)) = scene.standing(worktree)? else { return Ok(None) };
    let settings = worktree.store.prepare_redo(Standing { snapshot, targets: &targets })?;
    let note = Note::write(&scene.data_dir, &scene.session, None)?;
    match worktree.store.apply(&settings) {
        Ok(_) => Ok(Some(note)),
        Err(cause) => Err(given_up(cause, note)),
    }
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
    let targets = scene.targets(worktree, &Boundary::of(standing))?;
    let standing = Standing { snapshot, targets: &targets };
    let settings = match recorded {
        None => store.prepare_redo(standing)?,
        Some(recorded) => {
            let targets = scene.targets(worktree, &Boundary::of(recorded))?;
            store.prepare_undo(None, Some(standing), &targets, &BTreeSet::new())?.settings
        }
    };
    store.apply(&settings)?;
    Ok(())
}
