//! Makes a store, and tidies what a dead process has left in it.
//!
//! The repository is written by hand, so that one can be made, and known paths captured, where there is no
//! git. Its settings and attributes say that content is stored as it is: no line endings are changed, no
//! filter is run, whatever the user's own settings or the files of the worktree say.

use super::SnapshotError;
use super::point::point;
use crate::git::{Answer, GitError};
use std::future::Future;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

const HEAD: &str = "ref: refs/heads/unused\n";

const CONFIG: &str = "\
[core]
\trepositoryformatversion = 0
\tbare = false
\tfilemode = true
\tsymlinks = true
\tautocrlf = false
\tsafecrlf = false
\teol = lf
\tignorecase = false
\tprecomposeunicode = false
\tprotectHFS = false
\tprotectNTFS = false
\tlongpaths = true
\tfsmonitor = false
\tpreloadIndex = true
\tsparseCheckout = false
\tsplitIndex = false
\thooksPath = /dev/null
\tattributesFile = /dev/null
\tlogAllRefUpdates = false
\tcompression = 1
[index]
\tversion = 4
\tthreads = true
\tskipHash = true
[gc]
\tauto = 0
\tpackRefs = false
[pack]
\tthreads = 1
\twindowMemory = 32m
[maintenance]
\tauto = false
[commit]
\tgpgSign = false
";

/// Stronger than every `.gitattributes` of the worktree.
const ATTRIBUTES: &str = "* -text -eol -ident -filter -working-tree-encoding !diff\n";

/// What git leaves behind when it is killed.
const LOCKS: [&str; 5] = ["index.lock", "config.lock", "packed-refs.lock", "HEAD.lock", "gc.pid"];

/// Which worktree a store belongs to, for people.
pub(super) const ROOT_NOTE: &str = "sturdy-root";

pub(super) fn make(dir: &Path, root: &Path) -> Result<(), SnapshotError> {
    let made = || -> io::Result<()> {
        for below in ["objects/pack", "objects/info", "refs/heads", "refs/sturdy", "info"] {
            std::fs::create_dir_all(dir.join(below))?;
        }
        write_if_other(&dir.join("config"), CONFIG.as_bytes())?;
        write_if_other(&dir.join("info/attributes"), ATTRIBUTES.as_bytes())?;
        write_if_other(&dir.join(ROOT_NOTE), root.as_os_str().as_bytes())?;
        // Last: with it, the directory is a repository.
        write_if_other(&dir.join("HEAD"), HEAD.as_bytes())?;
        tidy(dir)?;
        remove_unfinished(dir)
    };
    made().map_err(SnapshotError::io(dir))
}

/// Nobody but this process uses the store, so a lock in it belongs to a dead one.
pub(super) fn tidy(dir: &Path) -> io::Result<()> {
    for name in LOCKS {
        remove(&dir.join(name))?;
    }
    Ok(())
}

/// Objects and refs that a dead process was writing. Only when a store is opened: later they may be those of another
/// thread.
fn remove_unfinished(dir: &Path) -> io::Result<()> {
    for entry in dir.join("refs/sturdy").read_dir()? {
        let path = entry?.path();
        if path.extension().is_some_and(|end| end == "lock") {
            remove(&path)?;
        }
    }
    for entry in dir.join("objects").read_dir()? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with("tmp_obj_") {
            remove(&entry.path())?;
        }
    }
    Ok(())
}

pub(super) fn remove(path: &Path) -> io::Result<()> {
    point(path);
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Writes a small file whole: beside its place first.
pub(super) fn write_if_other(path: &Path, content: &[u8]) -> io::Result<()> {
    if std::fs::read(path).is_ok_and(|found| found == content) {
        return Ok(());
    }
    let beside = path.with_extension("new");
    point(&beside);
    std::fs::write(&beside, content)?;
    point(path);
    std::fs::rename(&beside, path)
}

/// Runs git from a thread that may wait.
pub(super) fn wait(running: impl Future<Output = Result<Answer, GitError>>) -> Result<Answer, GitError> {
    tokio::runtime::Handle::current().block_on(running)
}
