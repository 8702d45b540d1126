//! Who serves this store.
//!
//! Invariant I2: one process owns the store, by an exclusive lock on a file beside the database.
//! The operating system lets go of it when the process ends, however it ends, so there is no stale
//! lock to clean up. The file says who holds it, for the message a second process prints.
//!
//! Under it lies a net: the seq check in `committer.rs`.

use crate::error::OpenError;
use crate::owner::{Owner, read_owner, write_owner};
use fs4::{FileExt, TryLockError};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

/// Held as long as the store is open.
#[derive(Debug)]
pub(crate) struct Lock {
    held: Mutex<Option<Held>>,
}

#[derive(Debug)]
struct Held {
    file: File,
    owner: Owner,
}

impl Lock {
    pub(crate) fn take(path: &Path) -> Result<Self, OpenError> {
        let mut file = open_private(path).map_err(|source| refused(path, source))?;
        match FileExt::try_lock(&file) {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(OpenError::Locked { path: folder(path), owner: read_owner(&mut file) });
            }
            Err(TryLockError::Error(source)) => return Err(refused(path, source)),
        }

        let owner = Owner { pid: std::process::id(), host: host(), since: now(), address: None, key: None };
        write_owner(&mut file, &owner).map_err(|source| refused(path, source))?;
        Ok(Self { held: Mutex::new(Some(Held { file, owner })) })
    }

    /// Says where the owner can be reached, and with which key.
    pub(crate) fn announce(&self, address: &str, key: Option<&str>) -> io::Result<()> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(held) = held.as_mut() else { return Ok(()) };
        held.owner.address = Some(address.to_owned());
        held.owner.key = key.map(str::to_owned);
        write_owner(&mut held.file, &held.owner)
    }

    /// The file stays: removing it would let two processes lock two files of one name.
    pub(crate) fn release(&self) {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(mut held) = held {
            // An owner that is gone is not named. Failing changes nothing: the lock decides, not the text.
            let _ = held.file.set_len(0).and_then(|()| held.file.flush());
            // Said, not only dropped: a process that is being started may hold the file for a moment longer.
            let _ = FileExt::unlock(&held.file);
        }
    }
}

/// Nobody but the user reads it: it may hold a key. The mode given at creation does not count for a file
/// that is there, so it is set in any case.
fn open_private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path)?;
    #[cfg(unix)]
    file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
    Ok(file)
}

pub(crate) fn refused(path: &Path, source: io::Error) -> OpenError {
    match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            OpenError::DiskFull { path: folder(path) }
        }
        _ => OpenError::NotWritable { path: folder(path), source },
    }
}

fn folder(path: &Path) -> PathBuf {
    path.parent().unwrap_or(path).to_owned()
}

fn host() -> String {
    let files = ["/proc/sys/kernel/hostname", "/etc/hostname"];
    let from_file = files.iter().find_map(|path| fs::read_to_string(path).ok());
    let from_environment = || ["HOSTNAME", "COMPUTERNAME"].iter().find_map(|name| std::env::var(name).ok());
    from_file
        .or_else(from_environment)
        .map_or_else(|| "this machine".to_owned(), |name| name.trim().to_owned())
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
