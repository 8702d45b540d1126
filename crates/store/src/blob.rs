//! What is large, once: bytes under their BLAKE3 hash.

use crate::Store;
use crate::committer::keep_blob;
use crate::error::{CommitError, Failure, ReadError};
use rusqlite::{Connection, OptionalExtension as _};

const FIND: &str = "SELECT data FROM blob WHERE hash = ?1";

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

pub(crate) fn find(connection: &Connection, hash: &str) -> Result<Option<Vec<u8>>, Failure> {
    Ok(connection.prepare_cached(FIND)?.query_row([hash], |row| row.get(0)).optional()?)
}
