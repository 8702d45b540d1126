//! Shares of old stores, which kept their secret in clear.
//!
//! The id stays, so that links go on working, and the old secret is good for what its clients do with it: reading, syncing,
//! deleting. Everything else waits until it is rotated: whoever shows it gets a reference in its place, and it is revoked.

use super::ShareCall;
use super::audit::{self, Entry};
use super::capability::{self, CapabilityRow, NewCapability, Scope};
use super::create::insert_share;
use super::grant::{bump, revoke_below};
use super::legacy::{self, LegacyItem};
use super::reference::{ShareAuth, SturdyRef, secret_hash};
use super::refusal::{Refusal, ShareError};
use super::visibility::Visibility;
use rusqlite::{OptionalExtension as _, Transaction};

const ID_BYTES_MAX: usize = 64;
const SECRET_BYTES_MIN: usize = 8;
const SECRET_BYTES_MAX: usize = 256;

/// A share as an old store has it.
#[derive(Clone, Debug)]
pub struct OldShare {
    pub share: String,
    pub session: String,
    /// Prints as stars.
    pub secret: ShareAuth,
    /// Names the owner's capability; random.
    pub capability: String,
    pub items: Vec<LegacyItem>,
}

/// What became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// False: it was here already, with this secret, and nothing changed.
    pub is_new: bool,
    pub cursor: u64,
}

impl crate::Store {
    /// Imports a share of an old store, completely or not at all. Repeating it changes nothing.
    pub async fn import_share(&self, call: ShareCall, old: OldShare) -> Result<Imported, ShareError> {
        self.change_share(move |transaction| import(transaction, &call, &old)).await
    }
}

fn import(transaction: &Transaction<'_>, call: &ShareCall, old: &OldShare) -> Result<Imported, ShareError> {
    const KNOWN: &str = "SELECT cursor, deleted FROM share WHERE share_id = ?1";
    let is_plain = |letter: u8| letter.is_ascii_alphanumeric() || letter == b'-' || letter == b'_';
    let id_fits = (1..=ID_BYTES_MAX).contains(&old.share.len()) && old.share.bytes().all(is_plain);
    if !id_fits {
        return Err(Refusal::Malformed("the id of a share is letters, digits, - and _".to_owned()).into());
    }
    let ShareAuth::Plain(secret) = &old.secret else {
        return Err(Refusal::Malformed("this secret is a reference already".to_owned()).into());
    };
    if !(SECRET_BYTES_MIN..=SECRET_BYTES_MAX).contains(&secret.reveal().len()) {
        return Err(Refusal::Malformed("the secret is too short or too long".to_owned()).into());
    }
    let known: Option<(i64, Option<i64>)> =
        transaction.query_row(KNOWN, [&old.share], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    if let Some((cursor, deleted)) = known {
        if deleted.is_some() {
            return Err(Refusal::Gone.into());
        }
        let is_same = capability::present(transaction, &old.share, &old.secret)?.is_some();
        let cursor = cursor.cast_unsigned();
        return if is_same {
            Ok(Imported { is_new: false, cursor })
        } else {
            Err(Refusal::RequestConflict.into())
        };
    }
    insert_share(transaction, call, &old.share, &old.session, Visibility::Link)?;
    capability::insert(
        transaction,
        &NewCapability {
            share: &old.share,
            cap_id: &old.capability,
            hash: secret_hash(&old.share, &old.capability, secret.reveal()),
            parent: None,
            scope: Scope::OWNER,
            kinds: None,
            expires: None,
            max_ops: None,
            label: "imported",
            actor: &call.actor,
            must_rotate: true,
            now: call.now,
        },
    )?;
    audit::write(transaction, call, &Entry::of(&old.share, &old.capability, "import"))?;
    let (_, cursor) = legacy::sync(transaction, call, &old.share, &old.secret, &old.items)?;
    Ok(Imported { is_new: true, cursor })
}

/// Puts a reference in the place of a secret that was kept in clear. Writers of the old one go on with the new one.
pub(super) fn replace(
    transaction: &Transaction<'_>,
    call: &ShareCall,
    own: &CapabilityRow,
    fresh: &SturdyRef,
) -> Result<u64, ShareError> {
    // Of the same root, so that its writers stay its writers; it is no child, or it would be revoked with the old one.
    const ADOPT: &str = "UPDATE share_capability SET root_id = ?2 WHERE cap_id = ?1";
    capability::insert(
        transaction,
        &NewCapability {
            share: &own.share_id,
            cap_id: &fresh.capability,
            hash: fresh.hash(),
            parent: None,
            scope: own.scope,
            kinds: own.kinds.as_deref(),
            expires: own.expires,
            max_ops: own.max_ops,
            label: "owner",
            actor: &call.actor,
            must_rotate: false,
            now: call.now,
        },
    )?;
    transaction.execute(ADOPT, (&fresh.capability, &own.root_id))?;
    revoke_below(transaction, call, &fresh.capability, vec![own.cap_id.clone()])?;
    audit::write(transaction, call, &Entry::of(&own.share_id, &own.cap_id, "replace"))?;
    bump(transaction, call, &own.share_id)
}
