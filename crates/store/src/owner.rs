//! The process that serves a store, as the lock file names it.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::Path;

pub(crate) const LOCK: &str = "sturdy.lock";

/// The process that serves a store.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Owner {
    pub pid: u32,
    pub host: String,
    /// Milliseconds since the Unix epoch.
    pub since: u64,
    /// Where it can be attached to, once it listens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// Opens that address to whoever can read this file: the same user on the same machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

impl Owner {
    /// Who last said that it serves the store in this directory. It may be gone: only the lock decides,
    /// and it is not touched here, so that asking never gets in the way of a server that starts.
    #[must_use]
    pub fn read(data_dir: &Path) -> Option<Self> {
        let mut file = File::open(data_dir.join(LOCK)).ok()?;
        Some(read_owner(&mut file)).filter(|owner| owner.pid != 0)
    }
}

/// The key is not shown.
impl fmt::Debug for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Owner({self})")
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.pid == 0 {
            // It has the lock but has not yet written who it is.
            return f.write_str("another process");
        }
        write!(f, "{}, process {}", self.host, self.pid)?;
        match &self.address {
            Some(address) => write!(f, " at {address}"),
            None => Ok(()),
        }
    }
}

pub(crate) fn write_owner(file: &mut File, owner: &Owner) -> io::Result<()> {
    let text = serde_json::to_string(owner).expect("BUG: an owner is always JSON");
    file.rewind()?;
    file.write_all(text.as_bytes())?;
    file.set_len(text.len() as u64)
}

/// What cannot be read is an unknown owner: the message is poorer, the refusal is the same.
pub(crate) fn read_owner(file: &mut File) -> Owner {
    let mut text = String::new();
    match file.take(64 * 1024).read_to_string(&mut text) {
        Ok(_) => serde_json::from_str(&text).unwrap_or_default(),
        Err(_) => Owner::default(),
    }
}
