//! Names that could have been meant.

use crate::path::{Entry, FileKind, WorkPath};
use crate::tool::ToolFailure;
use crate::tools::edit::distance;

const SUGGESTIONS_MAX: usize = 3;

/// Directories larger than this are not looked through.
const ENTRIES_MAX: usize = 10_000;

/// The failure for a file that is not there, with up to three names that are.
pub(super) fn missing(path: &WorkPath) -> ToolFailure {
    let shown = path.shown().display();
    let names = similar_names(path);
    if names.is_empty() {
        return crate::path::PathError::Missing(path.shown().to_owned()).into();
    }
    ToolFailure::failed(format!("No such file: {shown}. Did you mean one of these?\n{}", names.join("\n")))
}

fn similar_names(path: &WorkPath) -> Vec<String> {
    let (Some(parent), Some(name)) = (path.parent(), path.shown().file_name()) else { return Vec::new() };
    let wanted = name.to_string_lossy().to_lowercase();
    let Ok(entries) = parent.list(ENTRIES_MAX) else { return Vec::new() };
    let mut near: Vec<(usize, String)> = entries
        .iter()
        .filter_map(|entry| {
            let name = entry.name.to_string_lossy();
            let far = farness(&wanted, &name.to_lowercase())?;
            Some((far, parent.shown().join(&*name).to_string_lossy().into_owned()))
        })
        .collect();
    near.sort();
    near.into_iter().take(SUGGESTIONS_MAX).map(|(_, name)| name).collect()
}

/// How far a name is from what was wanted; `None` when it is another one.
fn farness(wanted: &str, name: &str) -> Option<usize> {
    let a: Vec<char> = wanted.chars().take(256).collect();
    let b: Vec<char> = name.chars().take(256).collect();
    if name.contains(wanted) || wanted.contains(name) {
        return Some(a.len().abs_diff(b.len()));
    }
    let far = distance(&a, &b);
    (far * 3 <= a.len()).then_some(far)
}

/// A name as lists show it.
pub(super) fn listed(entry: &Entry) -> String {
    let name = entry.name.to_string_lossy();
    if entry.kind == FileKind::Directory { format!("{name}/") } else { name.into_owned() }
}
