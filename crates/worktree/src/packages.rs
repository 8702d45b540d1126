//! Programs among a project's own packages: what npm, a virtual environment of Python or composer put there.
//!
//! They are files of the project: whoever runs one runs what the project's author wrote.

use std::path::{Path, PathBuf};

/// Where packages keep their programs, from the directory that uses them.
const PLACES: [&str; 4] = ["node_modules/.bin", ".venv/bin", "venv/bin", "vendor/bin"];

/// The nearest program of this name, from the directory up to the top of the checkout. Without version control (`/`
/// is the top) nothing above the directory is looked at: it may be anybody's.
#[must_use]
pub fn in_packages(directory: &Path, top: &Path, name: &str) -> Option<PathBuf> {
    PLACES.iter().find_map(|place| above(directory, top, &format!("{place}/{name}")))
}

/// The nearest file of this name.
pub(crate) fn above(directory: &Path, top: &Path, name: &str) -> Option<PathBuf> {
    let top = if top == Path::new("/") { directory } else { top };
    let inside = |place: &&Path| place.starts_with(top);
    directory.ancestors().take_while(inside).map(|place| place.join(name)).find(|path| path.exists())
}
