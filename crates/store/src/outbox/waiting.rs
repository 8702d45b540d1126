//! How much of a shared session its service has not taken yet.

use crate::Store;
use crate::error::ReadError;
use sturdy_session::id::SessionId;

/// What is sealed and not answered, and what changed since.
const WAITING: &str = "SELECT (SELECT count(*) FROM share_unsent WHERE session_id = ?1)
    + coalesce((SELECT sealed_seq - acked_seq FROM share_link WHERE session_id = ?1), 0)";

impl Store {
    /// Changes that are on their way. Text that grows is one of them when its part is closed.
    pub async fn share_waiting(&self, session: &SessionId) -> Result<u64, ReadError> {
        let session = session.clone();
        self.read(move |connection| {
            let waiting: i64 =
                connection.prepare_cached(WAITING)?.query_row([session.as_str()], |row| row.get(0))?;
            Ok(u64::try_from(waiting).unwrap_or(0))
        })
        .await
    }
}
