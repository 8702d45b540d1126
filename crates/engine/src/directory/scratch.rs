//! A directory for temporary files, where models may write without asking.
//!
//! It lies in the system's temporary directory under the number of the user, and only that user can enter it. Anybody
//! may make a directory of that name there first, or a link; then one in our own data is taken.

use crate::environment::Environment;
use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use tracing::warn;

/// Only its owner.
const PRIVATE: u32 = 0o700;

/// The directory, made anew if somebody has cleaned up.
pub(crate) fn scratch_dir(environment: &Environment) -> PathBuf {
    let user = rustix::process::getuid().as_raw();
    let usual = environment.temporary_dir().join(format!("sturdy-{user}"));
    if make_private(&usual, user).is_ok() {
        return usual;
    }
    let own = environment.data_dir().join("scratch");
    if let Err(cause) = make_private(&own, user) {
        warn!(%cause, "there is no directory for temporary files of models");
    }
    own
}

/// # Errors
/// What stands there belongs to somebody else or is no directory, or none can be made.
fn make_private(path: &Path, user: u32) -> io::Result<()> {
    match DirBuilder::new().mode(PRIVATE).create(path) {
        Ok(()) => return Ok(()),
        Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => {}
        Err(cause) => return Err(cause),
    }
    // Not what a link leads to: whoever made the link chose it.
    let found = fs::symlink_metadata(path)?;
    if !found.is_dir() || found.uid() != user {
        return Err(io::Error::from(io::ErrorKind::PermissionDenied));
    }
    if found.mode() & 0o077 != 0 {
        fs::set_permissions(path, Permissions::from_mode(PRIVATE))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::scratch_dir;
    use crate::environment::Environment;
    use std::collections::HashMap;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::{Path, PathBuf};

    fn environment(root: &Path) -> Environment {
        fs::create_dir_all(root.join("tmp")).unwrap();
        fs::create_dir_all(root.join("data")).unwrap();
        let temporary = root.join("tmp").display().to_string();
        let home = root.display().to_string();
        let variables = HashMap::from([("HOME".to_owned(), home), ("TMPDIR".to_owned(), temporary)]);
        Environment::new(variables).with_data_in(root.join("data"))
    }

    fn usual(root: &Path) -> PathBuf {
        root.join(format!("tmp/sturdy-{}", rustix::process::getuid().as_raw()))
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn the_scratch_directory_is_made_and_only_its_user_can_enter_it() {
        let root = tempfile::tempdir().unwrap();

        let scratch = scratch_dir(&environment(root.path()));

        assert_eq!(scratch, usual(root.path()));
        assert_eq!(mode(&scratch), 0o700);
        fs::set_permissions(&scratch, Permissions::from_mode(0o755)).unwrap();
        assert_eq!(scratch_dir(&environment(root.path())), scratch);
        assert_eq!(mode(&scratch), 0o700, "and closed again");
    }

    #[test]
    fn a_link_in_its_place_is_not_followed() {
        let root = tempfile::tempdir().unwrap();
        let environment = environment(root.path());
        let elsewhere = root.path().join("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, usual(root.path())).unwrap();

        let scratch = scratch_dir(&environment);

        assert_eq!(scratch, root.path().join("data/scratch"));
        assert_eq!(mode(&scratch), 0o700);
    }
}
