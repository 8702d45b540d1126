//! Who could have written a file.
//!
//! Settings and instructions are obeyed only if they belong to the person who runs the server, or to root, and nobody
//! else may write them. Of a link both the link and what it leads to are looked at.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// The bits that let everybody, and the group, write.
const OTHERS_WRITE: u32 = 0o002;
const GROUP_WRITES: u32 = 0o020;

/// Why a file or directory is not obeyed; none if it is, or is not there.
#[must_use]
pub fn foreign_writer(path: &Path) -> Option<String> {
    let link = path.symlink_metadata().ok()?;
    let target = path.metadata().ok()?;
    let me = rustix::process::geteuid().as_raw();
    // The mode of a link says nothing: everybody "may write" it.
    let is_ours = is_owned(&link, me) && is_owned(&target, me);
    match () {
        () if !is_ours => Some("it belongs to another user".to_owned()),
        () if target.mode() & OTHERS_WRITE != 0 => Some("every user may write it".to_owned()),
        () if target.mode() & GROUP_WRITES != 0 && !is_own_group(target.gid()) => {
            Some("a group may write it that you are not in".to_owned())
        }
        () => None,
    }
}

fn is_owned(found: &Metadata, me: u32) -> bool {
    found.uid() == me || found.uid() == 0
}

/// Who shares a group with others works with them.
fn is_own_group(group: u32) -> bool {
    let others = rustix::process::getgroups().unwrap_or_default();
    group == 0
        || group == rustix::process::getegid().as_raw()
        || others.iter().any(|other| other.as_raw() == group)
}
