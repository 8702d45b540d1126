//! What every change of a file goes through: the guards, the write, what follows it.
//!
//! A text is read with the state it was in; the write happens only if the file is still in that
//! state. So nothing is locked while a person is asked, and nobody's change is lost. Only from the
//! write until the formatter is done does a call hold the file's lock.

use crate::format::{self, Change};
use crate::path::{Stamp, WorkPath};
use crate::tool::{Checked, Diagnostic, Edited, FileLock, Severity, ToolFailure, World, lock_file};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Read;
use std::path::PathBuf;
use sturdy_session::json::Map;

/// Larger files are not changed by text tools; a command can.
const FILE_BYTES_MAX: u64 = 50 * 1024 * 1024;

/// How many other files' errors are shown after a change.
const OTHER_FILES_MAX: usize = 5;

/// How many errors of one file are shown.
const ERRORS_MAX: usize = 20;

/// How often a file that is being written is looked at.
const LOOKS_MAX: usize = 16;

const BOM: char = '\u{feff}';

/// A text file as it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// Without the byte order mark.
    pub text: String,
    pub has_bom: bool,
    pub stamp: Stamp,
}

impl Found {
    /// The bytes of a new text for this file, with the mark it had.
    pub(super) fn encode(&self, text: &str) -> Vec<u8> {
        encode(text, self.has_bom)
    }
}

pub(super) fn encode(text: &str, has_bom: bool) -> Vec<u8> {
    let text = text.strip_prefix(BOM).unwrap_or(text);
    let mut bytes = Vec::with_capacity(text.len() + 3);
    if has_bom {
        bytes.extend_from_slice(BOM.encode_utf8(&mut [0; 4]).as_bytes());
    }
    bytes.extend_from_slice(text.as_bytes());
    bytes
}

/// Reads a file that is to be changed; `None` when there is none.
pub(super) async fn load(world: &World, path: &WorkPath) -> Result<Option<Found>, ToolFailure> {
    let path = path.clone();
    world.blocking(move || load_now(&path)).await
}

fn load_now(path: &WorkPath) -> Result<Option<Found>, ToolFailure> {
    let file = match path.open_file() {
        Ok(file) => file,
        Err(error) if error.is_missing() => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let shown = path.shown().display();
    let stamp = rustix::fs::fstat(&file).map(|stat| Stamp::of(&stat));
    let stamp = stamp.map_err(|error| ToolFailure::failed(format!("{shown} cannot be read: {error}.")))?;
    let mut bytes = Vec::new();
    let read = file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes);
    read.map_err(|error| ToolFailure::failed(format!("{shown} cannot be read: {error}.")))?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(ToolFailure::failed(format!("{shown} is too large to be changed as text.")));
    }
    let text = String::from_utf8(bytes).map_err(|_| {
        // Replacing what cannot be decoded would destroy it without a word.
        ToolFailure::failed(format!(
            "{shown} is not UTF-8 text, so changing it here would damage it. Use a command that keeps its encoding."
        ))
    })?;
    let has_bom = text.starts_with(BOM);
    let text = if has_bom { text[BOM.len_utf8()..].to_owned() } else { text };
    Ok(Some(Found { text, has_bom, stamp }))
}

/// Reads a file that is to be changed, if it was read in this session and is as it was then.
pub(super) async fn load_read(world: &World, path: &WorkPath) -> Result<Option<Found>, ToolFailure> {
    for _ in 0..LOOKS_MAX {
        // Not while another call formats it: that is half of a change.
        let lock = lock_file(path.real()).await;
        let Some(found) = load(world, path).await? else { return Ok(None) };
        drop(lock);
        if !world.settings.read_before_write {
            return Ok(Some(found));
        }
        let memory = world.memory.clone();
        let path = path.clone();
        let stamp = found.stamp;
        match world.blocking(move || memory.check(&path, stamp)).await? {
            Checked::AsRead => return Ok(Some(found)),
            Checked::LookAgain => {}
        }
    }
    let shown = path.shown().display();
    Err(ToolFailure::failed(format!("{shown} keeps changing. Read it again before changing it.")))
}

/// Formats the file, unlocks it and tells who listens. Its text, when a formatter has rewritten it.
pub(super) async fn settle(world: &World, path: &WorkPath, change: Change, lock: FileLock) -> Option<String> {
    let formatted = match change {
        Change::Removed => None,
        Change::Added | Change::Changed => formatted(world, path).await,
    };
    // Nobody waits for a language server to write.
    drop(lock);
    (world.handles.edited)(Edited { path: path.shown().to_owned(), change });
    formatted
}

/// What language servers have to say of files that were changed, and of others because of them.
pub(super) async fn diagnose(world: &World, changed: &[PathBuf]) -> Vec<Diagnostic> {
    match &world.handles.diagnose {
        Some(diagnose) if !changed.is_empty() => diagnose(changed.to_vec()).await,
        Some(_) | None => Vec::new(),
    }
}

/// Runs the formatters of the file; its text, if it is another one now.
async fn formatted(world: &World, path: &WorkPath) -> Option<String> {
    let directory = world.roots.directory();
    let inherited = &world.settings.inherited;
    if !format::format(&world.settings.formatters, path.real(), directory, inherited, &world.stop).await {
        return None;
    }
    let synced = path.clone();
    if let Err(failure) = world.blocking(move || Ok(synced.sync()?)).await {
        tracing::debug!(%failure, "a formatted file may not be on the disk yet");
    }
    let found = match load(world, path).await {
        Ok(found) => found?,
        Err(failure) => {
            tracing::debug!(%failure, "a formatted file cannot be read");
            return None;
        }
    };
    // The formatter's change is not somebody else's.
    world.memory.saw(path, found.stamp);
    Some(found.text)
}

/// `{path: [{range, severity, message, …}]}`, as clients read it.
pub(super) fn diagnostics_json(diagnostics: &[Diagnostic]) -> Value {
    let mut by_file: BTreeMap<&PathBuf, Vec<&Map>> = BTreeMap::new();
    for one in diagnostics {
        by_file.entry(&one.path).or_default().push(&one.said);
    }
    by_file.into_iter().map(|(path, list)| (path.to_string_lossy().into_owned(), json!(list))).collect()
}

/// The errors as text for the model: this file's first, then a few others'.
pub(super) fn diagnostics_text(diagnostics: &[Diagnostic], changed: &[PathBuf]) -> String {
    let mut by_file: BTreeMap<(bool, &PathBuf), Vec<&Diagnostic>> = BTreeMap::new();
    for one in diagnostics.iter().filter(|one| one.severity == Severity::Error) {
        by_file.entry((!changed.contains(&one.path), &one.path)).or_default().push(one);
    }
    let mut text = String::new();
    let mut others = 0;
    for ((is_other, path), errors) in by_file {
        others += usize::from(is_other);
        if others > OTHER_FILES_MAX {
            break;
        }
        let lead = if is_other { "This other file has errors:" } else { "This file has errors, please fix:" };
        text.push_str(&format!("\n\n{lead}\n<diagnostics file=\"{}\">\n", path.display()));
        for error in errors.iter().take(ERRORS_MAX) {
            text.push_str(&format!("ERROR [{}:{}] {}\n", error.line, error.column, error.message));
        }
        if errors.len() > ERRORS_MAX {
            text.push_str(&format!("… and {} more\n", errors.len() - ERRORS_MAX));
        }
        text.push_str("</diagnostics>");
    }
    text
}
