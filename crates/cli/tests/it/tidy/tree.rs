//! The files of the repository, read as text.

use std::fs;
use std::path::{Path, PathBuf};

/// Made by tools and not committed. In a linked checkout `.git` is a file.
const FOREIGN: [&str; 5] = [".git", "target", "node_modules", ".venv", "build"];

pub(super) struct File {
    /// From the top of the repository, with `/`.
    pub(super) path: String,
    pub(super) text: String,
}

impl File {
    pub(super) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    pub(super) fn is_in_crates(&self) -> bool {
        self.path.starts_with("crates/")
    }

    pub(super) fn lines(&self) -> usize {
        self.text.lines().count()
    }
}

pub(super) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).expect("the crate stands two levels below the top").to_owned()
}

/// Every text file, in order of their paths. What is not text is somebody else's matter.
pub(super) fn files() -> Vec<File> {
    let root = root();
    let mut files = Vec::new();
    collect(&root, &root, &mut files);
    files.sort_by(|one, other| one.path.cmp(&other.path));
    assert!(files.len() > 50, "only {} files were found below {}", files.len(), root.display());
    files
}

/// One file that must be there.
pub(super) fn file(path: &str) -> File {
    let text = fs::read_to_string(root().join(path)).unwrap_or_else(|cause| panic!("{path}: {cause}"));
    File { path: path.to_owned(), text }
}

fn collect(root: &Path, dir: &Path, files: &mut Vec<File>) {
    for entry in fs::read_dir(dir).unwrap().map(Result::unwrap) {
        let path = entry.path();
        let kind = entry.file_type().unwrap();
        let name = entry.file_name().to_string_lossy().into_owned();
        if FOREIGN.contains(&name.as_str()) {
            continue;
        }
        if kind.is_dir() {
            collect(root, &path, files);
        } else if kind.is_file() && !name.ends_with(".snap.new") {
            // Somebody may be writing it right now, or it is not text.
            let Ok(text) = fs::read_to_string(&path) else { continue };
            let path = path.strip_prefix(root).unwrap().to_string_lossy().replace('\\', "/");
            files.push(File { path, text });
        }
    }
}
