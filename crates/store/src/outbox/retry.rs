//! When a link whose service was not reached is tried again.
//!
//! Whatever shows that the service is reached, or that somebody wants another thing of the link, sets both back to
//! zero in the write that says so (`link.rs`, `seal.rs`).

use super::link::Link;
use crate::Store;
use crate::error::CommitError;
use sturdy_session::stamp::Millis;

/// How often a link has failed in a row, and until when it is left alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retry {
    pub failures: u64,
    /// 0: it may be tried at once.
    pub at: Millis,
}

/// A link that failed so often in a row has trouble that does not pass by itself.
const DEGRADED_AFTER: u64 = 10;

impl Retry {
    #[must_use]
    pub fn is_degraded(self) -> bool {
        self.failures >= DEGRADED_AFTER
    }
}

impl Store {
    /// Says why a link does not go on, and when it is tried again. A link of which something else is wanted by now stays
    /// as it is: that may be tried at once.
    pub async fn put_off_share(&self, link: &Link, error: &str, retry: Retry) -> Result<(), CommitError> {
        const PUT_OFF: &str = "UPDATE share_link SET error = ?4, failures = ?5, retry_at = ?6
            WHERE session_id = ?1 AND request_id = ?2 AND state = ?3";
        let link = link.clone();
        let error = error.to_owned();
        self.write(move |connection| {
            connection.prepare_cached(PUT_OFF)?.execute((
                link.session.as_str(),
                &link.request,
                link.state.as_str(),
                error,
                retry.failures.cast_signed(),
                retry.at.cast_signed(),
            ))?;
            Ok(())
        })
        .await
    }
}
