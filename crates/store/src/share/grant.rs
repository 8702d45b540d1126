//! Making narrower capabilities, taking them back, and listing them.

use super::ShareCall;
use super::audit::{self, Entry};
use super::capability::{self, CapabilityRow, NewCapability, Scope};
use super::import;
use super::reference::{ShareAuth, SturdyRef};
use super::refusal::{Refusal, ShareError};
use super::visibility::{self, Visibility};
use rusqlite::Transaction;
use sturdy_session::stamp::Millis;
use tracing::trace;

const LABEL_BYTES_MAX: usize = 200;
const BUMP: &str = "UPDATE share SET epoch = epoch + 1, updated = ?2 WHERE share_id = ?1 RETURNING epoch";

/// A capability that is wanted. What is left out is taken from the parent.
#[derive(Clone, Debug)]
pub struct Attenuation {
    /// Names the new capability and has its secret.
    pub reference: SturdyRef,
    pub scope: Scope,
    pub kinds: Option<Vec<String>>,
    pub expires: Option<Millis>,
    pub max_ops: Option<u64>,
    pub label: String,
}

/// A capability that was made.
#[derive(Clone, Debug, PartialEq)]
pub struct Granted {
    pub capability: CapabilityRow,
    pub epoch: u64,
}

/// What rotating did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rotated {
    pub epoch: u64,
    /// The secret that was shown is replaced.
    pub is_replaced: bool,
}

impl crate::Store {
    /// Invariant I16: a grant only narrows. A child is never wider than the capability it is made of.
    pub async fn attenuate_share(
        &self,
        call: ShareCall,
        share: String,
        auth: ShareAuth,
        wanted: Attenuation,
    ) -> Result<Granted, ShareError> {
        self.change_share(move |transaction| attenuate(transaction, &call, &share, &auth, &wanted)).await
    }

    /// Takes a capability back, with everything made of it. Repeated, it changes nothing. Answers with the epoch.
    pub async fn revoke_share_capability(
        &self,
        call: ShareCall,
        share: String,
        auth: ShareAuth,
        target: String,
    ) -> Result<u64, ShareError> {
        self.change_share(move |transaction| {
            let (row, own) = capability::authorize(transaction, &share, &auth, call.now)?;
            own.is_rotated()?;
            let target = capability::load(transaction, &target)?.filter(|target| target.share_id == share);
            let target = target.ok_or(Refusal::NotFound)?;
            if !own.scope.contains(Scope::ADMIN) && !is_ancestor(transaction, &own, &target)? {
                return Err(Refusal::ForbiddenScope("revoking this capability").into());
            }
            if target.revoked.is_some() {
                return Ok(row.epoch);
            }
            revoke_below(transaction, &call, &own.cap_id, vec![target.cap_id.clone()])?;
            trace!("point srv.revoke.mid");
            audit::write(transaction, &call, &Entry::of(&share, &own.cap_id, "revoke"))?;
            bump(transaction, &call, &share)
        })
        .await
    }

    /// Takes back every capability but the one that is shown and what it was made of. The address alone opens nothing
    /// any more either: whoever takes everything back does not mean everything but the link that most people have.
    pub async fn revoke_all_share_capabilities(
        &self,
        call: ShareCall,
        share: String,
        auth: ShareAuth,
    ) -> Result<u64, ShareError> {
        self.change_share(move |transaction| {
            let (_, own) = capability::authorize(transaction, &share, &auth, call.now)?;
            own.is_rotated()?;
            own.require(Scope::ADMIN, "revoking all capabilities")?;
            let mut others = Vec::new();
            for row in capability::all(transaction, &share)? {
                let is_kept = row.cap_id == own.cap_id || is_ancestor(transaction, &row, &own)?;
                if row.revoked.is_none() && !is_kept {
                    others.push(row.cap_id);
                }
            }
            revoke_below(transaction, &call, &own.cap_id, others)?;
            visibility::write(transaction, &share, Visibility::Private)?;
            audit::write(transaction, &call, &Entry::of(&share, &own.cap_id, "revoke_all"))?;
            bump(transaction, &call, &share)
        })
        .await
    }

    /// Raises the epoch: every writer has to redeem again. A secret that an old store kept in clear is replaced by
    /// `fresh`, and is worth nothing any more.
    pub async fn rotate_share(
        &self,
        call: ShareCall,
        share: String,
        auth: ShareAuth,
        fresh: SturdyRef,
    ) -> Result<Rotated, ShareError> {
        self.change_share(move |transaction| {
            let (_, own) = capability::authorize(transaction, &share, &auth, call.now)?;
            own.require(Scope::ADMIN, "rotating")?;
            if own.must_rotate {
                let epoch = import::replace(transaction, &call, &own, &fresh)?;
                return Ok(Rotated { epoch, is_replaced: true });
            }
            audit::write(transaction, &call, &Entry::of(&share, &own.cap_id, "rotate"))?;
            trace!("point srv.rotate.mid");
            Ok(Rotated { epoch: bump(transaction, &call, &share)?, is_replaced: false })
        })
        .await
    }

    /// All capabilities of a share for an admin; for others their own and those made of it.
    pub async fn share_capabilities(
        &self,
        call: ShareCall,
        share: String,
        auth: ShareAuth,
    ) -> Result<Vec<CapabilityRow>, ShareError> {
        let read = self.read(move |connection| {
            let listed = capability::authorize(connection, &share, &auth, call.now).and_then(|(_, own)| {
                own.is_rotated()?;
                let all = capability::all(connection, &share)?;
                if own.scope.contains(Scope::ADMIN) {
                    return Ok(all);
                }
                let mut below = vec![own.cap_id.clone()];
                // A child is younger than its parent, so one pass finds every descendant.
                for row in &all {
                    if row.parent_id.as_ref().is_some_and(|parent| below.contains(parent)) {
                        below.push(row.cap_id.clone());
                    }
                }
                Ok(all.into_iter().filter(|row| below.contains(&row.cap_id)).collect())
            });
            Ok(listed)
        });
        read.await?
    }
}

fn attenuate(
    transaction: &Transaction<'_>,
    call: &ShareCall,
    share: &str,
    auth: &ShareAuth,
    wanted: &Attenuation,
) -> Result<Granted, ShareError> {
    const COUNT: &str = "SELECT count(*) FROM share_capability WHERE share_id = ?1";
    let (row, own) = capability::authorize(transaction, share, auth, call.now)?;
    own.is_rotated()?;
    if !own.scope.contains(wanted.scope) {
        return Err(Refusal::ForbiddenScope("more than the capability it is made of").into());
    }
    let cap_id = &wanted.reference.capability;
    if let Some(known) = capability::load(transaction, cap_id)? {
        return repeated(known, &own, wanted, row.epoch);
    }
    let limits = call.limits;
    if own.depth + 1 > limits.depth {
        return Err(Refusal::TooLarge(format!("capabilities are at most {} deep", limits.depth)).into());
    }
    let known = transaction.query_row(COUNT, [share], |row| capability::count(row, 0))?;
    if known >= limits.capabilities {
        let most = limits.capabilities;
        return Err(Refusal::TooLarge(format!("a share has at most {most} capabilities")).into());
    }
    expect_label(&wanted.label)?;
    let kinds = narrower_kinds(own.kinds.as_deref(), wanted.kinds.as_deref())?;
    let expires = narrower(own.expires, wanted.expires);
    let max_ops = narrower(own.left(), wanted.max_ops);
    capability::insert(
        transaction,
        &NewCapability {
            share,
            cap_id,
            hash: wanted.reference.hash(),
            parent: Some(&own),
            scope: wanted.scope,
            kinds: kinds.as_deref(),
            expires,
            max_ops,
            label: &wanted.label,
            actor: &call.actor,
            must_rotate: false,
            now: call.now,
        },
    )?;
    trace!("point srv.attenuate.mid");
    audit::write(transaction, call, &Entry::of(share, &own.cap_id, "attenuate"))?;
    let capability = capability::load(transaction, cap_id)?.ok_or(Refusal::NotFound)?;
    Ok(Granted { capability, epoch: row.epoch })
}

/// The same wish again, after its answer was lost: the capability is there.
fn repeated(
    known: CapabilityRow,
    own: &CapabilityRow,
    wanted: &Attenuation,
    epoch: u64,
) -> Result<Granted, ShareError> {
    let is_child = known.parent_id.as_ref() == Some(&own.cap_id) && known.share_id == own.share_id;
    let is_the_same = known.scope == wanted.scope && known.label == wanted.label;
    // Whoever wants less this time is not given what was made before.
    let kinds = narrower_kinds(own.kinds.as_deref(), wanted.kinds.as_deref())?;
    let is_as_narrow = known.kinds == kinds
        && known.expires == narrower(own.expires, wanted.expires)
        && narrower(wanted.max_ops, known.max_ops) == known.max_ops;
    if !is_child || !is_the_same || !is_as_narrow || !known.has_secret_of(&wanted.reference) {
        return Err(Refusal::RequestConflict.into());
    }
    Ok(Granted { capability: known, epoch })
}

/// The smaller of two limits; none is no limit.
fn narrower(parent: Option<u64>, wanted: Option<u64>) -> Option<u64> {
    match (parent, wanted) {
        (Some(parent), Some(wanted)) => Some(parent.min(wanted)),
        (limit, None) | (None, limit) => limit,
    }
}

fn narrower_kinds(
    parent: Option<&[String]>,
    wanted: Option<&[String]>,
) -> Result<Option<Vec<String>>, Refusal> {
    match (parent, wanted) {
        (_, Some(wanted)) if wanted.iter().any(|kind| super::op::Kind::parse(kind).is_none()) => {
            Err(Refusal::Malformed("an allowed kind is unknown".to_owned()))
        }
        (Some(parent), Some(wanted)) if !wanted.iter().all(|kind| parent.contains(kind)) => {
            Err(Refusal::ForbiddenScope("more kinds than the capability it is made of"))
        }
        (_, Some(wanted)) => Ok(Some(wanted.to_vec())),
        (parent, None) => Ok(parent.map(<[String]>::to_vec)),
    }
}

/// Whether `target` was made of `own`, directly or not.
fn is_ancestor(
    transaction: &Transaction<'_>,
    own: &CapabilityRow,
    target: &CapabilityRow,
) -> Result<bool, ShareError> {
    Ok(capability::above(transaction, target)?.iter().any(|above| above.cap_id == own.cap_id))
}

pub(super) fn revoke_below(
    transaction: &Transaction<'_>,
    call: &ShareCall,
    by: &str,
    mut waiting: Vec<String>,
) -> Result<(), ShareError> {
    const REVOKE: &str =
        "UPDATE share_capability SET revoked = ?2, revoked_by = ?3 WHERE cap_id = ?1 AND revoked IS NULL";
    const CHILDREN: &str = "SELECT cap_id FROM share_capability WHERE parent_id = ?1";
    // A share has a bounded number of capabilities, and each is met once: they form a tree.
    while let Some(cap_id) = waiting.pop() {
        transaction.prepare_cached(REVOKE)?.execute((&cap_id, call.now.cast_signed(), by))?;
        let mut statement = transaction.prepare_cached(CHILDREN)?;
        let children = statement.query_map([&cap_id], |row| row.get::<_, String>(0))?;
        waiting.extend(children.collect::<Result<Vec<_>, _>>()?);
    }
    Ok(())
}

pub(super) fn bump(transaction: &Transaction<'_>, call: &ShareCall, share: &str) -> Result<u64, ShareError> {
    let key = (share, call.now.cast_signed());
    Ok(transaction.prepare_cached(BUMP)?.query_row(key, |row| capability::count(row, 0))?)
}

/// What a capability may be called.
pub(super) fn expect_label(label: &str) -> Result<(), Refusal> {
    if label.len() > LABEL_BYTES_MAX || label.chars().any(char::is_control) {
        return Err(Refusal::Malformed("the label is too long or has control characters".to_owned()));
    }
    Ok(())
}
