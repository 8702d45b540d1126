//! Opening: the directory, the lock, the schema, a first look at what is there.
//!
//! All of it happens on the thread that will write, so that opening blocks nobody. The look is
//! cheap: does the log end where the head says. Reading everything is `verify`'s work.

use crate::committer::{Committer, CrashPlan, QUEUE, Remains, Shared, Writer, end_removals};
use crate::dialect::{self, Durability};
use crate::error::{DriverError, DriverErrorKind, Failure, OpenError};
use crate::lock::{self, Lock};
use crate::owner::LOCK;
use crate::readers::Readers;
use crate::{Inner, Store, migrate};
use rusqlite::{Connection, OptionalExtension as _};
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;
use tokio::sync::{Semaphore, oneshot, watch};

pub(crate) mod mark;

pub(crate) const DATABASE: &str = "sturdy.db";
/// How every SQLite file begins.
const MAGIC: &[u8; 16] = b"SQLite format 3\0";

const HEAD: &str = "SELECT position FROM head WHERE id = 1";
const EPOCH: &str = "SELECT epoch FROM head WHERE id = 1";
const SET_EPOCH: &str = "UPDATE head SET epoch = ?1 WHERE id = 1";
const LAST: &str = "SELECT position FROM log ORDER BY position DESC LIMIT 1";

/// Long enough for somebody who deletes a large file, or for a backup that holds the database.
const WAIT_MAX: Duration = Duration::from_secs(30);

/// Where a store is and how it behaves.
#[derive(Clone, Debug)]
pub struct Options {
    /// The directory; it is created if need be.
    pub path: PathBuf,
    pub durability: Durability,
    /// A quota for the database. What would exceed it is refused as by a full disk.
    pub bytes_max: Option<u64>,
    /// How long a commit that the disk refuses is kept and tried again before its caller is told.
    pub patience: Duration,
    /// For tests: when to die.
    pub crash: CrashPlan,
}

impl Options {
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            durability: Durability::Full,
            bytes_max: None,
            patience: WAIT_MAX,
            crash: CrashPlan::Never,
        }
    }
}

struct Opened {
    shared: Arc<Shared>,
    readers: Readers,
}

impl Store {
    /// Opens the store, or makes a new one.
    pub async fn open(options: Options) -> Result<Self, OpenError> {
        let path = options.path.clone();
        let (work, waiting) = sync_channel(QUEUE);
        let (answer, opened) = oneshot::channel();
        let thread =
            thread::Builder::new().name("store-writer".to_owned()).spawn(move || match prepare(&options) {
                Ok((connection, remains, opened)) => {
                    let shared = Arc::clone(&opened.shared);
                    if answer.send(Ok(opened)).is_ok() {
                        let Options { crash, patience, .. } = options;
                        let held = Arc::clone(&shared);
                        let committer = Committer::new(connection, waiting, held, crash, patience, remains);
                        run_or_say_so(committer, &shared);
                    }
                }
                Err(error) => {
                    let _ = answer.send(Err(error));
                }
            });
        let writer = thread.map_err(|source| OpenError::NotCreatable { path: path.clone(), source })?;
        let gone = || OpenError::Unavailable(DriverError::closed());
        let Opened { shared, readers } = opened.await.map_err(|_| gone())??;

        let mut threads = readers.threads;
        // First: its connection makes the last checkpoint.
        threads.insert(0, writer);
        let inner = Inner {
            path,
            shared,
            damaged: Arc::default(),
            work: Some(work),
            jobs: Some(readers.jobs),
            titles: Arc::default(),
            threads,
        };
        Ok(Self { inner: Arc::new(inner) })
    }
}

/// A panic of the writing thread is an end that everybody hears of: nobody waits for an answer for ever.
fn run_or_say_so(committer: Committer, shared: &Shared) {
    // What it held is dropped by the panic, and nothing of it is looked at again.
    if catch_unwind(AssertUnwindSafe(|| committer.run())).is_err() {
        tracing::error!("the writing thread of the store panicked; nothing can be stored any more");
        shared.room.close();
        shared.writer.send_replace(Writer::Broke);
    }
}

fn prepare(options: &Options) -> Result<(Connection, Remains, Opened), OpenError> {
    let folder = &options.path;
    make_folder(folder)?;
    let lock = Lock::take(&folder.join(LOCK))?;

    let path = folder.join(DATABASE);
    make_private(&path)?;
    check_magic(&path)?;
    let explain = |error| explain(error, &path);
    let mut connection =
        dialect::open_writer(&path, options.durability).map_err(|error| explain(error.into()))?;
    if options.crash.has_no_write_ahead_log() {
        dialect::keep_another_journal(&connection)?;
    }
    if let Some(what) = dialect::broken_mode(&connection, options.durability)? {
        return Err(OpenError::NotDurable { path, what });
    }
    migrate::migrate(&mut connection).map_err(explain)?;
    let remains = end_removals(&connection).map_err(|failure| explain(failure.into()))?;
    let head = look(&connection).map_err(|failure| explain(failure.into()))?;
    let epoch = epoch(&connection).map_err(|failure| explain(failure.into()))?;
    let has_links = has_links(&connection).map_err(|failure| explain(failure.into()))?;
    if let Some(bytes_max) = options.bytes_max {
        dialect::limit_bytes(&connection, bytes_max)?;
    }
    let readers = Readers::start(&path)?;

    let shared = Arc::new(Shared {
        head: AtomicU64::new(head),
        epoch: Mutex::new(epoch),
        transactions: AtomicU64::new(0),
        meters: crate::committer::StoreMeters::new(),
        is_crashed: AtomicBool::new(false),
        has_links: AtomicBool::new(has_links),
        is_closing: AtomicBool::new(false),
        writer: watch::Sender::new(Writer::Works),
        room: Semaphore::new(QUEUE),
        lock,
    });
    Ok((connection, remains, Opened { shared, readers }))
}

/// Whether a session of this store is shared.
fn has_links(connection: &Connection) -> Result<bool, Failure> {
    Ok(connection.query_row("SELECT EXISTS (SELECT 1 FROM share_link)", (), |row| row.get(0))?)
}

/// Sessions hold what people wrote and what their files say: nobody else on the machine reads them.
fn make_folder(path: &Path) -> Result<(), OpenError> {
    let mut folder = fs::DirBuilder::new();
    folder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut folder, 0o700);
    match folder.create(path) {
        Ok(()) => {
            keep_private(path);
            Ok(())
        }
        Err(source) => Err(match source.kind() {
            io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory => {
                OpenError::NotADirectory { path: path.to_owned() }
            }
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                OpenError::DiskFull { path: path.to_owned() }
            }
            _ => OpenError::NotCreatable { path: path.to_owned(), source },
        }),
    }
}

/// What was there before may be open to others.
fn keep_private(folder: &Path) {
    close_to_others(folder, 0o700);
    for name in [DATABASE, "sturdy.db-wal", "sturdy.db-shm", LOCK] {
        close_to_others(&folder.join(name), 0o600);
    }
}

/// Takes away what the mode does not allow. What is not there or belongs to somebody else stays as it is, and
/// so does a directory that is meant for all, such as `/tmp`.
#[cfg(unix)]
fn close_to_others(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt as _;
    let Ok(found) = fs::symlink_metadata(path) else { return };
    let is_for_all = found.permissions().mode() & 0o1000 != 0;
    let allowed = found.permissions().mode() & mode;
    if !found.is_symlink() && !is_for_all && allowed != found.permissions().mode() & 0o777 {
        let _ = fs::set_permissions(path, fs::Permissions::from_mode(allowed));
    }
}

#[cfg(not(unix))]
fn close_to_others(_: &Path, _: u32) {}

/// SQLite gives the files beside the database the mode of the database itself.
fn make_private(path: &Path) -> Result<(), OpenError> {
    let mut file = fs::OpenOptions::new();
    file.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut file, 0o600);
    file.open(path).map(drop).map_err(|error| lock::refused(path, error))
}

/// Before SQLite looks: it would call a text file damaged, and a person would look for the damage.
fn check_magic(path: &Path) -> Result<(), OpenError> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(lock::refused(path, error)),
    };
    let mut start = Vec::with_capacity(MAGIC.len());
    let read = file.by_ref().take(MAGIC.len() as u64).read_to_end(&mut start);
    read.map_err(|error| lock::refused(path, error))?;
    // Empty is new: a process that died right after creating it.
    if start.is_empty() || start == MAGIC {
        Ok(())
    } else {
        Err(OpenError::NotADatabase { path: path.to_owned() })
    }
}

fn look(connection: &Connection) -> Result<u64, Failure> {
    let head: Option<i64> = connection.query_row(HEAD, (), |row| row.get(0)).optional()?;
    let last: Option<i64> = connection.query_row(LAST, (), |row| row.get(0)).optional()?;
    let Some(head) = head else { return Err(Failure::broken("head", "it has no row")) };
    if head < last.unwrap_or(0) {
        return Err(Failure::broken("head", format!("it is at {head}, the log at {}", last.unwrap_or(0))));
    }
    Ok(head.cast_unsigned())
}

/// Which store this is. A new one is given a name of its own.
fn epoch(connection: &Connection) -> Result<Arc<str>, Failure> {
    let known: String = connection.query_row(EPOCH, (), |row| row.get(0))?;
    if known.is_empty() { new_epoch(connection) } else { Ok(Arc::from(known)) }
}

/// Gives the store another name, so that nobody takes a cursor of before for one of now.
pub(crate) fn new_epoch(connection: &Connection) -> Result<Arc<str>, Failure> {
    let epoch = format!("{:012x}", rand::random::<u64>() >> 16);
    connection.execute(SET_EPOCH, [&epoch])?;
    Ok(Arc::from(epoch))
}

/// What a person can do something about, instead of what the driver calls it.
fn explain(error: OpenError, path: &Path) -> OpenError {
    match error {
        OpenError::Unavailable(driver) => match driver.kind {
            DriverErrorKind::DiskFull => OpenError::DiskFull { path: path.to_owned() },
            DriverErrorKind::ReadOnly => {
                OpenError::NotWritable { path: path.to_owned(), source: io::Error::other(driver) }
            }
            _ => OpenError::Unavailable(driver),
        },
        other => other,
    }
}
