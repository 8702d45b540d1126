//! Whether a commit may be made with a grant: judged, counted and noted in the transaction that makes it.

use super::GrantCall;
use super::audit::{self, Entry};
use super::record::{self, GrantRow, Rights};
use crate::error::{CommitError, Failure};
use crate::share::{Refusal, ShareError};
use rusqlite::Transaction;
use sturdy_session::id::SessionId;
use sturdy_session::stamp::Millis;

/// A grant on whose strength a commit is made.
#[derive(Clone, Debug)]
pub struct GrantUse {
    pub grant: String,
    pub right: Rights,
    /// What it is used for, as the audit says it.
    pub method: &'static str,
    /// Whether it is one of the uses that are counted.
    pub is_counted: bool,
    pub actor: String,
    pub transport: &'static str,
    pub address: String,
}

/// Refuses a commit whose grant does not allow it now; otherwise the grant is used once more.
///
/// `now` is the time of the commit's entries: the server's.
pub(crate) fn judge(
    transaction: &Transaction<'_>,
    wanted: &GrantUse,
    session: &SessionId,
    now: Millis,
) -> Result<Result<(), Refusal>, Failure> {
    const USE: &str = "UPDATE session_grant SET used = used + 1 WHERE grant_id = ?1";
    let is_used_up = |row: &GrantRow| row.max_uses.is_some_and(|most| row.used >= most);
    let judged = || -> Result<(), ShareError> {
        let row = record::load(transaction, &wanted.grant)?.ok_or(Refusal::Revoked)?;
        row.stand(now)?;
        if row.session != session.as_str() {
            return Err(Refusal::ForbiddenScope("another session").into());
        }
        if !row.rights.contains(wanted.right) {
            return Err(Refusal::ForbiddenScope("this").into());
        }
        if wanted.is_counted {
            // A use of a grant is one of every grant that it was made of: else whoever holds one would make many of it.
            let above = record::above(transaction, &row)?;
            if is_used_up(&row) || above.iter().any(is_used_up) {
                return Err(Refusal::TooLarge("the grant is used up".to_owned()).into());
            }
            for used in above.iter().chain([&row]) {
                transaction.prepare_cached(USE)?.execute([&used.id])?;
            }
        }
        let call = GrantCall {
            now,
            actor: wanted.actor.clone(),
            transport: wanted.transport,
            address: wanted.address.clone(),
        };
        audit::write(transaction, &call, &Entry::of(&row, wanted.method))
    };
    match judged() {
        Ok(()) => Ok(Ok(())),
        Err(ShareError::Refused(refusal)) => Ok(Err(refusal)),
        Err(ShareError::Store(CommitError::Unavailable(driver))) => Err(Failure::Unavailable(driver)),
        Err(ShareError::Store(cause)) => Err(Failure::broken("session_grant", cause.to_string())),
    }
}
