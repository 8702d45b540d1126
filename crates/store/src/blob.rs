//! What is large, once: bytes under their BLAKE3 hash.

mod packed;

pub(crate) use packed::{pack, unpack};

use crate::Store;
use crate::dialect;
use crate::error::{CommitError, Failure, ReadError};
use rusqlite::{Connection, OptionalExtension as _, TransactionBehavior};

/// Blobs one slice looks at.
const SLICE: i64 = 256;
/// Pages given back at once.
const SHRINK: u32 = 1024;

const SLICE_END: &str =
    "SELECT MAX(hash) FROM (SELECT hash FROM blob WHERE hash > ?1 ORDER BY hash LIMIT ?2)";
const COLLECT: &str = "DELETE FROM blob WHERE hash > ?1 AND hash <= ?2
    AND NOT EXISTS (SELECT 1 FROM log WHERE log.blob = blob.hash)";
const IS_KEPT: &str = "SELECT 1 FROM blob WHERE hash = ?1";
const KEEP: &str = "INSERT INTO blob (hash, size, data, is_packed) VALUES (?1, ?2, ?3, ?4)";
const FIND: &str = "SELECT data, is_packed, size FROM blob WHERE hash = ?1";

impl Store {
    /// Stores bytes and returns their hash. The same bytes are stored once.
    pub async fn put_blob(&self, bytes: Vec<u8>) -> Result<String, CommitError> {
        self.write(move |connection| Ok(keep_blob(connection, &bytes)?)).await
    }

    pub async fn blob(&self, hash: &str) -> Result<Option<Vec<u8>>, ReadError> {
        let hash = hash.to_owned();
        self.read(move |connection| Ok(find(connection, &hash)?)).await
    }
}

/// What a slice of collecting did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collected {
    pub removed: u64,
    /// Where the next slice begins; none when all were looked at.
    pub next: Option<String>,
}

impl Store {
    /// Looks at a slice of the blobs after this hash, removes those that no entry names any more, and gives their space
    /// back. A short transaction between two commits.
    pub async fn collect_blobs(&self, after: &str) -> Result<Collected, CommitError> {
        let after = after.to_owned();
        self.write(move |connection| {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let last: Option<String> =
                transaction.prepare_cached(SLICE_END)?.query_row((&after, SLICE), |row| row.get(0))?;
            let Some(last) = last else { return Ok(Collected { removed: 0, next: None }) };
            let removed = transaction.prepare_cached(COLLECT)?.execute((&after, &last))?;
            transaction.commit()?;
            Ok(Collected { removed: removed as u64, next: Some(last) })
        })
        .await
    }

    /// Gives the write-ahead log back to the disk, unless somebody reads from it. For a store that is quiet: commits that
    /// find the file as long as they need it are quicker.
    pub async fn give_log_back(&self) -> Result<(), CommitError> {
        self.write(|connection| Ok(dialect::checkpoint_and_empty_if_unused(connection)?)).await
    }

    /// Gives a slice of unused pages back to the disk. False when there was none.
    pub async fn give_space_back(&self) -> Result<bool, CommitError> {
        self.write(move |connection| {
            let (_, free) = dialect::file_bytes(connection)?;
            if free == 0 {
                return Ok(false);
            }
            dialect::shrink(connection, SHRINK)?;
            let (_, left) = dialect::file_bytes(connection)?;
            Ok(left > 0 && left < free)
        })
        .await
    }
}

/// Stores bytes under their hash; the same bytes are stored once.
pub(crate) fn keep_blob(connection: &Connection, bytes: &[u8]) -> Result<String, Failure> {
    let hash = blake3::hash(bytes).to_hex().to_string();
    if connection.prepare_cached(IS_KEPT)?.exists([&hash])? {
        return Ok(hash);
    }
    let packed = pack(bytes);
    let is_packed = i64::from(packed.is_some());
    let stored = packed.as_deref().unwrap_or(bytes);
    connection.prepare_cached(KEEP)?.execute((&hash, bytes.len() as i64, stored, is_packed))?;
    Ok(hash)
}

pub(crate) fn find(connection: &Connection, hash: &str) -> Result<Option<Vec<u8>>, Failure> {
    let found: Option<(Vec<u8>, i64, i64)> = connection
        .prepare_cached(FIND)?
        .query_row([hash], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .optional()?;
    match found {
        Some((packed, 1, size)) => content(&packed, size, hash).map(Some),
        Some((bytes, _, _)) => Ok(Some(bytes)),
        None => Ok(None),
    }
}

/// What a packed blob holds.
pub(crate) fn content(packed: &[u8], size: i64, hash: &str) -> Result<Vec<u8>, Failure> {
    unpack(packed, usize::try_from(size).unwrap_or(0), || format!("blob {hash}"))
}
