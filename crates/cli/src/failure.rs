//! From an error to words, a way on, and an exit code: the one translation table of the program.

use std::error::Error;
use std::fmt;
use std::path::Path;
use sturdy_engine::BootError;
use sturdy_store::{DriverError, OpenError, Owner, ReadError};

/// Understood, could not be met.
pub(crate) const UNMET: u8 = 1;
/// The command line or the configuration is wrong.
pub(crate) const USAGE: u8 = 2;
/// No server answered.
pub(crate) const NO_SERVER: u8 = 3;
/// One of our promises is broken.
pub(crate) const BROKEN: u8 = 4;
/// Stopped by the user.
pub(crate) const INTERRUPTED: u8 = 130;

/// What happened, to which thing, what now.
#[derive(Debug)]
pub(crate) struct Failure {
    what: String,
    lines: Vec<(&'static str, String)>,
    pub(crate) code: u8,
}

impl Failure {
    pub(crate) fn new(code: u8, what: impl Into<String>) -> Self {
        Self { what: what.into(), lines: Vec::new(), code }
    }

    /// The first line, without what follows.
    pub(crate) fn what(&self) -> &str {
        &self.what
    }

    pub(crate) fn with(mut self, label: &'static str, text: impl fmt::Display) -> Self {
        self.lines.push((label, text.to_string()));
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "error: {}", self.what)?;
        self.lines.iter().try_for_each(|(label, text)| writeln!(f, "  {label:<8}{text}"))
    }
}

/// The store could not be opened.
pub(crate) fn opening(data_dir: &Path, cause: OpenError) -> Failure {
    let store = data_dir.display();
    match cause {
        OpenError::Locked { owner, .. } => locked(data_dir, &owner),
        OpenError::NotADirectory { path } => {
            Failure::new(UNMET, "the data directory is a file, or lies below one")
                .with("path", path.display())
                .with("try", "another place with --data-dir DIR")
        }
        OpenError::NotCreatable { path, source } => {
            Failure::new(UNMET, "the data directory cannot be created")
                .with("path", path.display())
                .with("cause", source)
                .with("try", "another place with --data-dir DIR")
        }
        OpenError::NotWritable { path, source } => {
            Failure::new(UNMET, "the data directory cannot be written")
                .with("path", path.display())
                .with("cause", source)
                .with("try", "chown or chmod it, or another place with --data-dir DIR")
        }
        OpenError::DiskFull { path } => Failure::new(UNMET, "no space is left for the store")
            .with("path", path.display())
            .with("try", "free some space, or another place with --data-dir DIR"),
        OpenError::NotDurable { path, what } => {
            Failure::new(UNMET, "this file system cannot make writes durable")
                .with("path", path.display())
                .with("cause", what)
                .with("try", "a local disk with --data-dir DIR")
        }
        OpenError::NotADatabase { path } => Failure::new(BROKEN, "the store's file is not a database")
            .with("path", path.display())
            .with("note", "nothing was changed")
            .with("try", "restore it from a copy, or another place with --data-dir DIR"),
        OpenError::Newer { found, known } => {
            Failure::new(UNMET, "the store was written by a newer version of Sturdy")
                .with("store", store)
                .with("schema", format!("{found}; this version knows {known}"))
                .with("try", "the newer version; nothing was changed")
        }
        OpenError::Changed { number, name } => {
            Failure::new(BROKEN, "the store was changed by another program")
                .with("store", store)
                .with("where", format!("migration {number} ({name})"))
                .with("try", "the version of Sturdy that wrote it; nothing was changed")
        }
        OpenError::Outdated => {
            Failure::new(UNMET, "the store was written in a format from before the first release")
                .with("store", store)
                .with("note", "nothing was changed; the version that wrote it still reads it")
                .with("try", "move it away to begin a new one, or another place with --data-dir DIR")
        }
        OpenError::Broken { what, place } => damaged(data_dir, &place, &what),
        OpenError::Unavailable(driver) => unavailable(data_dir, &driver),
    }
}

/// The engine did not start.
pub(crate) fn booting(data_dir: &Path, cause: BootError) -> Failure {
    match cause {
        BootError::Open(cause) => opening(data_dir, cause),
        BootError::Read(cause) => reading(data_dir, cause),
    }
}

pub(crate) fn reading(data_dir: &Path, cause: ReadError) -> Failure {
    match cause {
        ReadError::Broken { what, place } => damaged(data_dir, &place, &what),
        ReadError::Unavailable(driver) => unavailable(data_dir, &driver),
    }
}

fn locked(data_dir: &Path, owner: &Owner) -> Failure {
    let failure =
        Failure::new(UNMET, "this store is served by another process").with("store", data_dir.display());
    if owner.pid == 0 {
        return failure.with("try", "again in a moment, or another place with --data-dir DIR");
    }
    let who = format!("{}, process {}{}", owner.host, owner.pid, since(owner.since));
    let failure = failure.with("owner", who);
    match &owner.address {
        Some(address) => failure.with("try", format!("sturdy attach, or: opencode attach {address}")),
        None => failure.with("try", "again in a moment, or another place with --data-dir DIR"),
    }
}

fn since(milliseconds: u64) -> String {
    let time = i64::try_from(milliseconds).ok().and_then(|at| jiff::Timestamp::from_millisecond(at).ok());
    time.map_or_else(String::new, |time| format!(", since {}", time.strftime("%Y-%m-%d %H:%M UTC")))
}

fn damaged(data_dir: &Path, place: &str, what: &str) -> Failure {
    Failure::new(BROKEN, "the store is damaged")
        .with("store", data_dir.display())
        .with("where", place)
        .with("what", what)
        .with("try", "copy the directory somewhere safe, then: sturdy verify --data-dir DIR")
}

fn unavailable(data_dir: &Path, driver: &DriverError) -> Failure {
    let mut failure = Failure::new(UNMET, "the store cannot be used")
        .with("store", data_dir.display())
        .with("cause", driver);
    if let Some(source) = driver.source() {
        failure = failure.with("detail", source);
    }
    failure.with("try", "another place with --data-dir DIR")
}
