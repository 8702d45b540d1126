//! What must hold at the moment a commit is made, besides the seq it builds on. Asked inside of its transaction.

use crate::commit::Commit;
use crate::error::{CommitError, Failure};
use crate::grants;
use rusqlite::{OptionalExtension as _, Transaction};
use sturdy_session::id::SessionId;
use sturdy_session::row::RowChange;

const IS_THERE: &str = "SELECT 1 FROM session WHERE id = ?1";
const WAS_THERE: &str = "SELECT 1 FROM log WHERE session_id = ?1 LIMIT 1";

/// Why a commit must not be made now. `before` are the commits of its group that are made before it; nothing of them is
/// written yet.
pub(super) fn judge<'a>(
    transaction: &Transaction<'_>,
    commit: &Commit,
    before: impl DoubleEndedIterator<Item = &'a Commit>,
) -> Result<Option<CommitError>, Failure> {
    if let Some(parent) = &commit.parent
        && is_removed(transaction, parent, before)?
    {
        return Ok(Some(CommitError::ParentRemoved(SessionId::clone(parent))));
    }
    let Some(grant) = &commit.grant else { return Ok(None) };
    let now = commit.entries.last().map_or(0, |entry| entry.at);
    let judged = grants::judge(transaction, grant, &commit.session, now)?;
    Ok(judged.err().map(CommitError::Denied))
}

/// One that never was is not removed: a client may name any parent.
fn is_removed<'a>(
    transaction: &Transaction<'_>,
    session: &SessionId,
    before: impl DoubleEndedIterator<Item = &'a Commit>,
) -> Result<bool, Failure> {
    let changes =
        before.rev().filter(|earlier| earlier.session == *session).flat_map(|one| one.rows.iter().rev());
    for write in changes {
        match &write.change {
            RowChange::RemoveSession(_) => return Ok(true),
            RowChange::Session(_) => return Ok(false),
            _ => {}
        }
    }
    let exists = |statement: &str| -> Result<bool, Failure> {
        let mut statement = transaction.prepare_cached(statement)?;
        let found: Option<i64> = statement.query_row([session.as_str()], |row| row.get(0)).optional()?;
        Ok(found.is_some())
    };
    Ok(!exists(IS_THERE)? && exists(WAS_THERE)?)
}
