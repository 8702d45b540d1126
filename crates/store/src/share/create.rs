//! Making a share. Asked twice with one request id, it is made once.

use super::ShareCall;
use super::audit::{self, Entry};
use super::capability::{self, NewCapability, Scope};
use super::grant::expect_label;
use super::reference::SturdyRef;
use super::refusal::{Refusal, ShareError};
use super::visibility::Visibility;
use rusqlite::OptionalExtension as _;
use subtle::ConstantTimeEq as _;

/// A share that is wanted. Ids and secret are random values of the caller's.
#[derive(Clone, Debug)]
pub struct NewShare {
    pub share: String,
    pub owner: SturdyRef,
    pub session: String,
    /// What makes a repeat recognisable.
    pub request: Option<String>,
    pub visibility: Visibility,
    pub label: String,
}

/// A share that was made, now or by an earlier request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Created {
    pub share: String,
    /// The owner's capability. Its secret is known to whoever asked.
    pub capability: String,
    pub epoch: u64,
    pub cursor: u64,
    pub is_new: bool,
}

impl crate::Store {
    /// Makes a share with an owner. `owner_secret` of a repeated request must be the same.
    pub async fn create_share(&self, call: ShareCall, new: NewShare) -> Result<Created, ShareError> {
        self.change_share(move |transaction| create(transaction, &call, &new)).await
    }
}

fn create(
    transaction: &rusqlite::Transaction<'_>,
    call: &ShareCall,
    new: &NewShare,
) -> Result<Created, ShareError> {
    const REPEAT: &str = "SELECT share_create.share_id, secret_hash, share.epoch, share.cursor, share.deleted
        FROM share_create JOIN share ON share.share_id = share_create.share_id WHERE request_id = ?1";
    const REMEMBER: &str = "INSERT INTO share_create (request_id, share_id, secret_hash) VALUES (?1, ?2, ?3)";
    const OWNER: &str = "SELECT cap_id FROM share_capability WHERE share_id = ?1 AND parent_id IS NULL
        ORDER BY created LIMIT 1";

    expect_label(&new.label)?;
    // Of the secret alone: a repeat comes with ids of its own.
    let secret = new.owner.hash_of_secret();
    if let Some(request) = &new.request {
        let found = transaction.query_row(REPEAT, [request], |row| {
            let share: String = row.get(0)?;
            let kept: Vec<u8> = row.get(1)?;
            let epoch = capability::count(row, 2)?;
            let cursor = capability::count(row, 3)?;
            let deleted: Option<i64> = row.get(4)?;
            Ok((share, kept, epoch, cursor, deleted))
        });
        if let Some((share, kept, epoch, cursor, deleted)) = found.optional()? {
            if !bool::from(kept.ct_eq(&secret)) {
                return Err(Refusal::RequestConflict.into());
            }
            if deleted.is_some() {
                return Err(Refusal::Gone.into());
            }
            let capability: String = transaction.query_row(OWNER, [&share], |row| row.get(0))?;
            return Ok(Created { share, capability, epoch, cursor, is_new: false });
        }
        transaction.execute(REMEMBER, (request, &new.share, &secret[..]))?;
    }
    insert_share(transaction, call, &new.share, &new.session, new.visibility)?;
    capability::insert(
        transaction,
        &NewCapability {
            share: &new.share,
            cap_id: &new.owner.capability,
            hash: new.owner.hash(),
            parent: None,
            scope: Scope::OWNER,
            kinds: None,
            expires: None,
            max_ops: None,
            label: &new.label,
            actor: &call.actor,
            must_rotate: false,
            now: call.now,
        },
    )?;
    tracing::trace!("point srv.create.mid");
    audit::write(transaction, call, &Entry::of(&new.share, &new.owner.capability, "create"))?;
    Ok(Created {
        share: new.share.clone(),
        capability: new.owner.capability.clone(),
        epoch: 1,
        cursor: 0,
        is_new: true,
    })
}

/// An empty share.
pub(super) fn insert_share(
    transaction: &rusqlite::Transaction<'_>,
    call: &ShareCall,
    share: &str,
    session: &str,
    visibility: Visibility,
) -> Result<(), ShareError> {
    const SHARE: &str =
        "INSERT INTO share (share_id, session_id, owner_actor, visibility, epoch, cursor, log_from,
        sync_count, generation, created, updated) VALUES (?1, ?2, ?3, ?4, 1, 0, 0, 0, 0, ?5, ?5)";
    if let Some(budget) = call.budget {
        budget.check(transaction, 1, 0)?;
    }
    let now = call.now.cast_signed();
    transaction.execute(SHARE, (share, session, &call.actor, visibility.as_str(), now))?;
    Ok(())
}
