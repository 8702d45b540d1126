//! Shares that this store receives: operations applied exactly once, capabilities, viewers' reads.
//!
//! A share is a log of its own: each applied operation has the next cursor. A writer numbers its operations
//! without gaps; the store keeps how far each writer has come and a hash over everything it sent, so a repeat
//! is recognised for ever and a writer that went back in time is told so (`append.rs`). Authority is a stored
//! record that is checked inside the transaction which needs it (`capability.rs`); every change of authority
//! raises the share's epoch.
//!
//! Time, ids and secrets come in as values. Not here: transports (`sturdy-server`), who sends (`sturdy-engine`).

mod append;
mod audit;
mod capability;
mod chain;
mod create;
mod grant;
mod import;
mod legacy;
mod limits;
mod op;
mod reference;
mod refusal;
mod remove;
mod tidy;
mod view;
mod visibility;

pub use append::{Ack, Batch, Rejected};
pub use audit::AuditRow;
pub use capability::{CapabilityRow, Scope};
pub use chain::{Chain, chain_start};
pub use create::{Created, NewShare};
pub use grant::{Attenuation, Granted, Rotated};
pub use import::{Imported, OldShare};
pub use legacy::LegacyItem;
pub use limits::ShareLimits;
pub use op::{Kind, Operation, SCHEMA};
pub(crate) use reference::is_kept;
pub use reference::{PlainSecret, ShareAuth, SturdyRef};
pub use refusal::{Refusal, ShareError};
pub use view::{Redeemed, ShareInfo, ShareUpdate, ShareWeight, ShownOp, Standing, ViewPage, WriterState};
pub use visibility::Visibility;

use rusqlite::Transaction;
use sturdy_session::stamp::Millis;

/// Operations in one batch.
pub const BATCH_OPS_MAX: usize = 256;
/// Payload of one batch; a single larger operation may fill a batch alone.
pub const BATCH_BYTES_MAX: usize = 512 * 1024;
/// Payload of one operation.
pub const OP_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Who calls, from where, and when. Time is the server's: clocks of clients differ and jump.
#[derive(Clone, Debug)]
pub struct ShareCall {
    pub now: Millis,
    pub actor: String,
    pub transport: &'static str,
    /// The first half of the caller's address.
    pub address: String,
    /// What all shares may hold together, for callers that nobody vouches for.
    pub budget: Option<ShareBudget>,
    pub limits: ShareLimits,
}

/// What all shares of a store may be and hold together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShareBudget {
    pub shares: u64,
    pub bytes: u64,
}

impl ShareBudget {
    /// Whether there is room for this much more.
    fn check(
        self,
        connection: &rusqlite::Connection,
        more_shares: u64,
        more_bytes: u64,
    ) -> Result<(), ShareError> {
        const HELD: &str = "SELECT count(*), COALESCE(sum(bytes), 0) FROM share WHERE deleted IS NULL";
        let held = connection
            .prepare_cached(HELD)?
            .query_row((), |row| Ok((capability::count(row, 0)?, capability::count(row, 1)?)))?;
        let (shares, bytes) = held;
        if shares + more_shares > self.shares || bytes.saturating_add(more_bytes) > self.bytes {
            return Err(Refusal::Full.into());
        }
        Ok(())
    }
}

impl crate::Store {
    /// Runs one change of a share as one transaction. A refusal has changed nothing.
    pub(crate) async fn change_share<T, F>(&self, change: F) -> Result<T, ShareError>
    where
        T: Send + 'static,
        F: FnOnce(&Transaction<'_>) -> Result<T, ShareError> + Send + 'static,
    {
        let done = self.write(move |connection| {
            let transaction =
                connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
            match change(&transaction) {
                Ok(value) => {
                    transaction.commit()?;
                    Ok(Ok(value))
                }
                Err(ShareError::Store(cause)) => Err(cause),
                Err(refused @ ShareError::Refused(_)) => {
                    transaction.rollback()?;
                    Ok(Err(refused))
                }
            }
        });
        done.await?
    }
}
