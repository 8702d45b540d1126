//! The file that says which checkouts are trusted.
//!
//! An entry is the real path of a checkout and the hash of what is dangerous in it. A checkout may have
//! several: its directories may have settings of their own. Each change reads the file, changes it and replaces
//! it in one step, under a lock that the server and `sturdy trust` share.

use crate::directory::config::TrustKey;
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use sturdy_session::stamp::Millis;

/// More than anybody uses in years. Beyond this, the oldest are removed.
const ENTRIES_MAX: usize = 10_000;
/// Of one checkout.
const HASHES_MAX: usize = 64;

/// A checkout that somebody trusts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustEntry {
    pub path: PathBuf,
    pub hash: String,
    /// Milliseconds since the Unix epoch.
    pub since: Millis,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Document {
    trusted: Vec<TrustEntry>,
}

/// Why the list was not read or changed; it is then as it was.
#[derive(Debug, thiserror::Error)]
pub enum TrustListError {
    #[error("{} cannot be used", file.display())]
    Io {
        file: PathBuf,
        #[source]
        source: io::Error,
    },

    #[error("{} is not a list of trusted directories: {why}", file.display())]
    Damaged { file: PathBuf, why: String },

    /// The file is JSON, and another path could look the same in it.
    #[error("{} cannot be trusted: its name is not Unicode", .0.display())]
    NotUnicode(PathBuf),
}

/// The list in one data directory.
#[derive(Clone, Debug)]
pub struct TrustList {
    file: PathBuf,
}

impl TrustList {
    #[must_use]
    pub fn in_directory(data_dir: &Path) -> Self {
        Self { file: data_dir.join("trust.json") }
    }

    /// All entries, oldest first.
    pub fn all(&self) -> Result<Vec<TrustEntry>, TrustListError> {
        let text = match fs::read_to_string(&self.file) {
            Ok(text) => text,
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(self.failed(source)),
        };
        let document: Document = serde_json::from_str(&text)
            .map_err(|cause| TrustListError::Damaged { file: self.file.clone(), why: cause.to_string() })?;
        Ok(document.trusted)
    }

    pub fn contains(&self, key: &TrustKey) -> Result<bool, TrustListError> {
        Ok(self.all()?.iter().any(|entry| entry.path == key.checkout && entry.hash == key.hash))
    }

    /// Trusts a checkout with what its hash stands for.
    pub fn add(&self, key: &TrustKey, now: Millis) -> Result<(), TrustListError> {
        if key.checkout.to_str().is_none() {
            return Err(TrustListError::NotUnicode(key.checkout.clone()));
        }
        self.change(|all| {
            all.retain(|entry| entry.path != key.checkout || entry.hash != key.hash);
            all.push(TrustEntry { path: key.checkout.clone(), hash: key.hash.clone(), since: now });
            let of_checkout = all.iter().filter(|entry| entry.path == key.checkout).count();
            let mut surplus = of_checkout.saturating_sub(HASHES_MAX);
            all.retain(|entry| {
                let goes = surplus > 0 && entry.path == key.checkout;
                surplus -= usize::from(goes);
                !goes
            });
            all.drain(..all.len().saturating_sub(ENTRIES_MAX));
        })
    }

    /// Takes back all trust in a checkout. False if it had none.
    pub fn remove(&self, checkout: &Path) -> Result<bool, TrustListError> {
        let mut was_there = false;
        self.change(|all| {
            let before = all.len();
            all.retain(|entry| entry.path != checkout);
            was_there = all.len() < before;
        })?;
        Ok(was_there)
    }

    fn change(&self, change: impl FnOnce(&mut Vec<TrustEntry>)) -> Result<(), TrustListError> {
        let dir = self.file.parent().unwrap_or(Path::new("/"));
        let failed = |source| self.failed(source);
        fs::DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(failed)?;
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true).mode(0o600);
        let lock = options.open(self.file.with_extension("lock")).map_err(failed)?;
        // Let go when the file is closed, however this ends.
        lock.lock().map_err(failed)?;
        let mut all = self.all()?;
        change(&mut all);
        self.write(&Document { trusted: all }).map_err(failed)
    }

    /// Beside the old file, then in its place.
    fn write(&self, document: &Document) -> io::Result<()> {
        let text = serde_json::to_string_pretty(document)?;
        let beside = self.file.with_extension(format!("{:016x}.tmp", rand::random::<u64>()));
        let written = (|| {
            let mut file = OpenOptions::new().create_new(true).write(true).mode(0o600).open(&beside)?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            fs::rename(&beside, &self.file)?;
            File::open(self.file.parent().unwrap_or(Path::new("/")))?.sync_all()
        })();
        if written.is_err() {
            // Best effort: the error that matters is the first one.
            let _ = fs::remove_file(&beside);
        }
        written
    }

    fn failed(&self, source: io::Error) -> TrustListError {
        TrustListError::Io { file: self.file.clone(), source }
    }
}
