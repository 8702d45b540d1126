//! Deleting a share: a tombstone stays, everything else goes. How long it stays is said in `tidy.rs`.

use super::audit::{self, Entry};
use super::capability::{self, Scope};
use super::reference::ShareAuth;
use super::refusal::{Refusal, ShareError};
use super::{ShareCall, grant};
use rusqlite::Transaction;
use tracing::trace;

const TOMBSTONE: &str =
    "UPDATE share SET deleted = ?2, epoch = epoch + 1, cursor = cursor + 1, log_from = cursor + 1,
    snapshot = NULL, bytes = 0 WHERE share_id = ?1 AND deleted IS NULL";
const ERASE: [&str; 4] = [
    "DELETE FROM share_entity WHERE share_id = ?1",
    "DELETE FROM share_op WHERE share_id = ?1",
    "DELETE FROM share_reject WHERE share_id = ?1",
    "DELETE FROM share_writer WHERE share_id = ?1",
];

impl crate::Store {
    /// Deletes a share. Repeated with the same secret, it is done already.
    pub async fn delete_share(
        &self,
        call: ShareCall,
        share: String,
        auth: ShareAuth,
    ) -> Result<(), ShareError> {
        self.change_share(move |transaction| {
            let own = capability::present(transaction, &share, &auth)?;
            match (capability::load_share(transaction, &share), own) {
                (Err(ShareError::Refused(Refusal::Gone)), Some(own)) if own.scope.contains(Scope::ADMIN) => {
                    Ok(())
                }
                (Err(other), _) => Err(other),
                (Ok(_), None) => Err(Refusal::Unauthorized.into()),
                (Ok(_), Some(own)) => {
                    own.stand(call.now)?;
                    own.require(Scope::ADMIN, "deleting")?;
                    erase(transaction, &call, &share, &own.cap_id)
                }
            }
        })
        .await
    }
}

/// Everything of a share but that it was there.
pub(super) fn erase(
    transaction: &Transaction<'_>,
    call: &ShareCall,
    share: &str,
    by: &str,
) -> Result<(), ShareError> {
    for statement in ERASE {
        transaction.execute(statement, [share])?;
    }
    trace!("point srv.delete.mid");
    let standing: Vec<String> =
        capability::all(transaction, share)?.into_iter().map(|row| row.cap_id).collect();
    grant::revoke_below(transaction, call, by, standing)?;
    transaction.execute(TOMBSTONE, (share, call.now.cast_signed()))?;
    audit::write(transaction, call, &Entry::of(share, by, "delete"))
}
