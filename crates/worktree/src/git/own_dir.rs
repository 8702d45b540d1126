//! A git directory of our own for somebody's checkout.
//!
//! Reading a checkout's content through its own git directory obeys its configuration: clean and
//! smudge filters, textconv and diff programs of any name, attributes in `info/attributes`, included
//! files. This one holds a copy of the index, the objects of the repository as an alternate store,
//! and a configuration made of a short list of keys that cannot run anything. What git writes
//! (the copied index, objects of new files) stays here and is removed with it: the user's
//! repository is only read.
//!
//! Not here: references. They are asked of the repository itself, which runs nothing for them.

use super::GitDirs;
use super::{Git, GitError};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Keys of a repository that say how its files are to be compared. None of them names a program
/// or a path.
const COPIED_KEYS: [&str; 10] = [
    "core.repositoryformatversion",
    "core.filemode",
    "core.symlinks",
    "core.ignorecase",
    "core.precomposeunicode",
    "core.autocrlf",
    "core.eol",
    "core.trustctime",
    "core.checkstat",
    "extensions.objectformat",
];

/// Keys of the user that count for every repository.
const KEPT_OF_USER: [&str; 3] = ["core.autocrlf", "core.eol", "core.excludesfile"];

/// A file of ignored paths is no longer than this.
const EXCLUDE_BYTES_MAX: u64 = 1024 * 1024;

/// Removed with everything in it when dropped.
#[derive(Debug)]
pub struct OwnGitDir {
    directory: PathBuf,
    top: PathBuf,
}

impl OwnGitDir {
    /// For the checkout with this top.
    pub async fn of(top: &Path, dirs: &GitDirs) -> io::Result<Self> {
        let own = Self { directory: new_directory().await?, top: top.to_owned() };
        own.write_settings(dirs).await?;
        own.write_objects(dirs).await?;
        own.copy_index(dirs).await?;
        Ok(own)
    }

    /// A run that sees the checkout's files and none of its configuration.
    #[must_use]
    pub fn git(&self) -> Git {
        Git::at(&self.top)
            .without_user_config()
            .env("GIT_DIR", &self.directory)
            .env("GIT_WORK_TREE", &self.top)
    }

    async fn write_settings(&self, dirs: &GitDirs) -> io::Result<()> {
        let mut text = String::from("[core]\n\tbare = false\n");
        let users = ["config", "--global", "--includes", "--list", "-z"];
        for (key, value) in settings_of(Git::at(&self.top).args(users), &KEPT_OF_USER).await? {
            push_setting(&mut text, &key, &value);
        }
        let file = dirs.common.join("config");
        // With `--file` no include is followed.
        let theirs = Git::at(&self.top).args(["config", "--list", "-z", "--file"]).args([&file]);
        for (key, value) in settings_of(theirs, &COPIED_KEYS).await? {
            // A word or a number: nothing that could be read as another key.
            if value.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '-') {
                push_setting(&mut text, &key, &value);
            }
        }
        self.write("config", text.as_bytes()).await?;
        self.write("HEAD", b"ref: refs/heads/none\n").await
    }

    async fn write_objects(&self, dirs: &GitDirs) -> io::Result<()> {
        for name in ["objects/info", "refs", "info"] {
            tokio::fs::create_dir_all(self.directory.join(name)).await?;
        }
        let store = dirs.common.join("objects");
        let line = store.as_os_str().as_bytes();
        if line.contains(&b'\n') || line.starts_with(b"\"") || line.starts_with(b"#") {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "the path of the repository cannot be named",
            ));
        }
        self.write("objects/info/alternates", &[line, b"\n"].concat()).await?;
        let common = dirs.common.clone();
        let read = move || read_file(&common.join("info/exclude"), EXCLUDE_BYTES_MAX).unwrap_or_default();
        let ignored = tokio::task::spawn_blocking(read).await.unwrap_or_default();
        self.write("info/exclude", &ignored).await
    }

    async fn copy_index(&self, dirs: &GitDirs) -> io::Result<()> {
        let index = dirs.own.join("index");
        let copy = self.directory.join("index");
        match tokio::fs::copy(&index, &copy).await {
            Ok(_) => {}
            // Before the first file there is none.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        }
        // A file written in the same moment as the index is looked at again, because its time
        // says nothing. git knows the moment by the time of the index itself.
        let written = tokio::fs::metadata(&index).await?.modified()?;
        let file = tokio::fs::OpenOptions::new().write(true).open(&copy).await?;
        file.into_std().await.set_modified(written)?;
        self.link_shared_indexes(dirs).await
    }

    /// An index in two files names the other one, which stands beside it.
    async fn link_shared_indexes(&self, dirs: &GitDirs) -> io::Result<()> {
        let mut entries = tokio::fs::read_dir(&dirs.own).await?;
        while let Some(entry) = entries.next_entry().await? {
            if entry.file_name().as_bytes().starts_with(b"sharedindex.") {
                tokio::fs::symlink(entry.path(), self.directory.join(entry.file_name())).await?;
            }
        }
        Ok(())
    }

    async fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        tokio::fs::write(self.directory.join(name), bytes).await
    }
}

impl Drop for OwnGitDir {
    fn drop(&mut self) {
        // At worst a few files stay in the temporary directory.
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// Made anew, for us alone: a name in a shared directory may be taken.
async fn new_directory() -> io::Result<PathBuf> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let name = format!("sturdy-git-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let directory = std::env::temp_dir().join(name);
    let mut maker = tokio::fs::DirBuilder::new();
    maker.mode(0o700);
    if maker.create(&directory).await.is_err() {
        tokio::fs::remove_dir_all(&directory).await?;
        maker.create(&directory).await?;
    }
    Ok(directory)
}

/// The listed keys that a file sets; none when there is no such file.
async fn settings_of(asked: Git, keys: &[&str]) -> io::Result<Vec<(String, String)>> {
    let answer = match asked.run().await {
        Ok(answer) => answer,
        Err(GitError::Refused { .. }) => return Ok(Vec::new()),
        Err(error) => return Err(io::Error::other(error)),
    };
    let entries = answer.stdout.split(|byte| *byte == 0);
    let setting = |entry: &[u8]| {
        let entry = std::str::from_utf8(entry).ok()?;
        // A key without a value is one that is switched on.
        let (key, value) = entry.split_once('\n').unwrap_or((entry, "true"));
        keys.contains(&key).then(|| (key.to_owned(), value.to_owned()))
    };
    Ok(entries.filter_map(setting).collect())
}

fn push_setting(text: &mut String, key: &str, value: &str) {
    let Some((section, name)) = key.split_once('.') else { return };
    let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    text.push_str(&format!("[{section}]\n\t{name} = \"{value}\"\n"));
}

/// A plain file, not through a link and not from a pipe.
pub(crate) fn read_file(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    use rustix::fs::OFlags;
    use std::io::Read;
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = std::fs::OpenOptions::new();
    options.read(true).custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32);
    let file = options.open(path)?;
    let mut bytes = Vec::new();
    if file.metadata()?.is_file() {
        file.take(bytes_max).read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}
