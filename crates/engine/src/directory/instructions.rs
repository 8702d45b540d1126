//! The files people write for agents: `AGENTS.md` and its relatives.
//!
//! One for the person, those of the project from the directory up to the top of the worktree, and what
//! the configuration names. Read anew for every step: somebody may just have corrected them.
//!
//! What stands in the network is fetched beforehand (`instructions/fetch.rs`); [`addresses`] names it.

mod fetch;

pub(crate) use fetch::Fetched;

use crate::directory::config::{Places, Settings, Standing, files_below};
use globset::GlobBuilder;
use std::collections::HashSet;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use sturdy_worktree::tools::NamedBy;
use tracing::warn;

/// More than this is a book, and every step would pay for it.
const FILE_BYTES_MAX: usize = 256 * 1024;
const TOTAL_BYTES_MAX: usize = 1024 * 1024;

/// A text for the model, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instruction {
    pub source: String,
    pub text: String,
}

/// All instructions that stand in files, each once.
#[must_use]
pub fn read(settings: &Settings) -> Vec<Instruction> {
    let mut seen = HashSet::new();
    let mut left = TOTAL_BYTES_MAX;
    let mut all = Vec::new();
    for path in paths(settings) {
        let Ok(real) = path.canonicalize() else { continue };
        if !seen.insert(real) || !is_obeyed(settings, &path) {
            continue;
        }
        let Some(text) = text_of(&path, left.min(FILE_BYTES_MAX)) else { continue };
        left -= text.len().min(left);
        if !text.trim().is_empty() {
            all.push(Instruction { source: path.display().to_string(), text });
        }
    }
    all
}

/// The configured instructions that stand in the network, and who named each.
#[must_use]
pub fn addresses(settings: &Settings) -> Vec<(String, NamedBy)> {
    let by = |entry: &String| {
        if settings.user_instructions().contains(entry) { NamedBy::User } else { NamedBy::Project }
    };
    let all = settings.instructions().iter().filter(|entry| is_address(entry));
    all.map(|entry| (entry.clone(), by(entry))).collect()
}

fn is_address(entry: &str) -> bool {
    entry.starts_with("https://") || entry.starts_with("http://")
}

/// Files that others may write, and files of a project that lead elsewhere, are left alone.
fn is_obeyed(settings: &Settings, path: &Path) -> bool {
    let places = settings.places();
    if let Some(why) = places.refusal(path) {
        warn!(file = %path.display(), why, "an instruction file is ignored");
        return false;
    }
    let is_elsewhere = settings.trust().standing != Standing::Trusted && places.leads_outside(path);
    if is_elsewhere {
        warn!(file = %path.display(), "an instruction file leads outside the checkout and is ignored");
    }
    !is_elsewhere
}

fn paths(settings: &Settings) -> Vec<PathBuf> {
    let places = settings.places();
    let mut paths = Vec::new();

    let own = places.config_dir.join("AGENTS.md");
    let shared = places.environment.home.join(".claude/CLAUDE.md");
    let shared = places.reads_claude().then_some(shared);
    paths.extend([Some(own), shared].into_iter().flatten().find(|path| path.is_file()));
    paths.extend(places.instruction_files());
    for entry in settings.instructions().iter().filter(|entry| !is_address(entry)) {
        paths.extend(configured(places, entry));
    }
    paths
}

/// A path or a pattern: absolute, in the home directory, or looked for on the way up.
fn configured(places: &Places, entry: &str) -> Vec<PathBuf> {
    let is_pattern = entry.contains(['*', '?', '[', '{']);
    let is_placed = entry.starts_with('/') || entry.starts_with("~/");
    match (is_placed, is_pattern) {
        (true, false) => vec![places.resolve(entry, &places.directory)],
        (true, true) => matching(&places.resolve(entry, &places.directory)),
        (false, false) => places.on_the_way_up(entry),
        (false, true) => {
            let mut bases = places.upwards();
            // Outside a repository the way up may end at the home directory: no place to search.
            if places.worktree == Path::new("/") {
                bases.truncate(1);
            }
            bases.iter().flat_map(|base| matching(&base.join(entry))).collect()
        }
    }
}

/// The files a pattern names, in order of their paths.
fn matching(pattern: &Path) -> Vec<PathBuf> {
    let is_plain =
        |part: &std::path::Component<'_>| !part.as_os_str().to_string_lossy().contains(['*', '?', '[', '{']);
    let base: PathBuf = pattern.components().take_while(is_plain).collect();
    let glob = GlobBuilder::new(&pattern.to_string_lossy()).literal_separator(true).build();
    match glob {
        Ok(glob) => {
            let matcher = glob.compile_matcher();
            files_below(&base, true, &|path| matcher.is_match(path))
        }
        Err(error) => {
            warn!(%error, "a pattern among the instructions cannot be read");
            Vec::new()
        }
    }
}

/// The beginning of a file, as far as it fits; nothing if it is no text that can be read.
fn text_of(path: &Path, bytes_max: usize) -> Option<String> {
    // Not a pipe or a device: reading those may never end.
    if !std::fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).ok()?;
    file.take(bytes_max as u64 + 1).read_to_end(&mut bytes).ok()?;
    let is_cut = bytes.len() > bytes_max;
    bytes.truncate(bytes_max);
    let mut text = String::from_utf8_lossy(&bytes).into_owned();
    if is_cut {
        warn!(file = %path.display(), bytes_max, "an instruction file is too long");
        text.push_str("\n[The rest of this file is left out: it is too long.]");
    }
    Some(text)
}
