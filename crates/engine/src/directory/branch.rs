//! Notices that another branch was checked out, and says so.
//!
//! Whoever checks out, a person or a command, writes the file `HEAD`. It is a line, and it is read
//! once a second for the directories in use, as long as somebody listens.

use crate::directory::Directories;
use crate::directory::instance::Instance;
use std::path::Path;
use std::sync::{Arc, PoisonError};
use std::time::Duration;
use sturdy_session::types::event::Event;
use sturdy_worktree::vcs::branch_of;

/// About as fast as a person who switched the branch looks at the client again.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// `HEAD` is a line. Whatever is longer is not read.
const HEAD_BYTES_MAX: u64 = 4096;

pub(crate) async fn run(directories: Arc<Directories>) {
    while directories.tasks.pause(POLL_INTERVAL).await {
        if !directories.feed.is_read() {
            continue;
        }
        for instance in directories.instances.ready() {
            // A directory that does not answer is looked at again the next time.
            let looking = tokio::time::timeout(POLL_INTERVAL, moved(&directories, &instance));
            if let Some(branch) = looking.await.unwrap_or_default() {
                let event = Event::VcsBranchUpdated { branch };
                let directory = &instance.directory;
                let project = &instance.project.id;
                directories.feed.tell(directories.clock.now(), Some(directory), Some(project), event);
            }
        }
    }
}

/// The branch, if it is another one than the last time.
async fn moved(directories: &Directories, instance: &Arc<Instance>) -> Option<Option<String>> {
    let file = instance.checkout()?.dirs.own.join("HEAD");
    let now = directories.files.run(&instance.directory, move || read_head(&file)).await.ok()??;
    let mut last = instance.head.lock().unwrap_or_else(PoisonError::into_inner);
    let before = last.replace(now.clone());
    let before = before.as_deref().map(branch_of)?;
    let now = branch_of(&now);
    (before != now).then(|| now.map(str::to_owned))
}

/// The text of `HEAD`; none while it is being replaced.
pub(crate) fn read_head(file: &Path) -> Option<String> {
    let found = file.metadata().ok()?;
    if found.len() > HEAD_BYTES_MAX {
        return None;
    }
    std::fs::read_to_string(file).ok()
}
