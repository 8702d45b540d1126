//! Grants: narrow rights to single sessions of this store.
//!
//! A grant is a stored record that is shown by a reference, `stdy1.<session>.<grant>.<secret>`; of the secret only a hash is
//! kept. Whoever holds one may make narrower ones of it and take those back. Reading asks whether the grant stands; a commit
//! that is made with a grant is judged, counted and noted inside its own transaction (`judge.rs`), so nothing is stored
//! under a grant whose revocation was answered.
//!
//! Time, ids and secrets come in as values. Not here: which request needs which right (`sturdy-server`), rights to shares
//! (`share.rs`).

mod audit;
mod judge;
mod record;

pub use audit::GrantAuditRow;
pub use judge::GrantUse;
pub use record::{GrantRow, Rights};

pub(crate) use judge::judge;

use crate::share::{Refusal, ShareError, SturdyRef, is_kept};
use audit::Entry;
use record::NewRecord;
use rusqlite::{Connection, Transaction};
use sturdy_session::stamp::Millis;

/// Grants of one session, revoked ones included.
pub const GRANTS_MAX: u64 = 256;
/// Grants made of grants.
pub const GRANT_DEPTH_MAX: u64 = 8;
const LABEL_BYTES_MAX: usize = 200;

/// Who calls, from where, and when, by the server's clock.
#[derive(Clone, Debug)]
pub struct GrantCall {
    pub now: Millis,
    pub actor: String,
    pub transport: &'static str,
    /// The first half of the caller's address.
    pub address: String,
}

/// With what right grants are looked after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GrantKeeper {
    /// Somebody who may use the whole server.
    Owner,
    /// The holder of this grant: for it and what was made of it.
    Holder(String),
}

/// A grant that is wanted.
#[derive(Clone, Debug)]
pub struct NewGrant {
    /// Names the session and the grant, and has its secret.
    pub reference: SturdyRef,
    pub rights: Rights,
    pub expires: Option<Millis>,
    pub max_uses: Option<u64>,
    pub label: String,
}

/// Which grants are listed.
#[derive(Clone, Debug, Default)]
pub struct GrantQuery {
    pub session: Option<String>,
    /// Who made them.
    pub actor: Option<String>,
}

impl crate::Store {
    /// Makes a grant to a session of this store.
    pub async fn create_grant(&self, call: GrantCall, wanted: NewGrant) -> Result<GrantRow, ShareError> {
        self.change_share(move |transaction| {
            const SESSION: &str = "SELECT count(*) FROM session WHERE id = ?1";
            let session = &wanted.reference.share;
            let known: i64 = transaction.query_row(SESSION, [session], |row| row.get(0))?;
            if known == 0 {
                return Err(Refusal::NotFound.into());
            }
            insert(transaction, &call, None, &wanted, "create")
        })
        .await
    }

    /// Invariant I16: a grant only narrows. A child has no right, no time and no use that its parent has not.
    pub async fn narrow_grant(
        &self,
        call: GrantCall,
        keeper: GrantKeeper,
        parent: String,
        wanted: NewGrant,
    ) -> Result<GrantRow, ShareError> {
        self.change_share(move |transaction| {
            let parent = kept(transaction, &keeper, &parent, call.now)?;
            parent.stand(call.now)?;
            if parent.session != wanted.reference.share {
                return Err(Refusal::ForbiddenScope("another session").into());
            }
            if !parent.rights.contains(wanted.rights) {
                return Err(Refusal::ForbiddenScope("more than the grant it is made of").into());
            }
            if parent.depth + 1 > GRANT_DEPTH_MAX {
                return Err(Refusal::TooLarge(format!("grants are at most {GRANT_DEPTH_MAX} deep")).into());
            }
            let left = parent.max_uses.map(|most| most.saturating_sub(parent.used));
            let wanted = NewGrant {
                expires: narrower(parent.expires, wanted.expires),
                max_uses: narrower(left, wanted.max_uses),
                ..wanted
            };
            insert(transaction, &call, Some(&parent), &wanted, "narrow")
        })
        .await
    }

    /// Takes a grant back with everything made of it. Answers how many stood until now.
    pub async fn revoke_grant(
        &self,
        call: GrantCall,
        keeper: GrantKeeper,
        id: String,
    ) -> Result<u64, ShareError> {
        self.change_share(move |transaction| {
            let target = kept(transaction, &keeper, &id, call.now)?;
            let mut waiting = vec![target.id.clone()];
            let mut revoked = 0;
            // A session has a bounded number of grants, and each is met once: they form a tree.
            while let Some(id) = waiting.pop() {
                revoked += record::revoke(transaction, &id, call.now, &call.actor)?;
                waiting.extend(record::children(transaction, &id)?);
            }
            audit::write(transaction, &call, &Entry::of(&target, "revoke"))?;
            Ok(revoked)
        })
        .await
    }

    /// The grant a reference shows, if its secret is right and it stands.
    pub async fn redeem_grant(&self, now: Millis, reference: SturdyRef) -> Result<GrantRow, ShareError> {
        let read = self.read(move |connection| {
            Ok(present(connection, &reference).and_then(|row| {
                row.stand(now)?;
                Ok(row)
            }))
        });
        read.await?
    }

    /// Whether a grant that was redeemed before still stands.
    pub async fn standing_grant(&self, now: Millis, id: String) -> Result<GrantRow, ShareError> {
        let read = self.read(move |connection| {
            Ok(record::load(connection, &id).and_then(|row| {
                let row = row.ok_or(Refusal::Revoked)?;
                row.stand(now)?;
                Ok(row)
            }))
        });
        read.await?
    }

    /// Grants, oldest first: all that fit for an owner, for a holder its own and those made of it.
    pub async fn grants(
        &self,
        now: Millis,
        keeper: GrantKeeper,
        query: GrantQuery,
    ) -> Result<Vec<GrantRow>, ShareError> {
        let read = self.read(move |connection| {
            let own = match &keeper {
                GrantKeeper::Owner => None,
                GrantKeeper::Holder(id) => match kept(connection, &keeper, id, now) {
                    Ok(own) => Some(own),
                    Err(refused) => return Ok(Err(refused)),
                },
            };
            let session = own.as_ref().map(|own| own.session.clone()).or_else(|| query.session.clone());
            let found = record::list(connection, session.as_deref(), query.actor.as_deref());
            Ok(found.map(|rows| match own {
                None => rows,
                Some(own) => below(&own, rows),
            }))
        });
        read.await?
    }

    /// What was done with a grant and those made of it, oldest first, after a row.
    pub async fn grant_audit(
        &self,
        now: Millis,
        keeper: GrantKeeper,
        id: String,
        after: u64,
    ) -> Result<Vec<GrantAuditRow>, ShareError> {
        let read = self.read(move |connection| {
            let rows = kept(connection, &keeper, &id, now).and_then(|own| {
                let all = record::list(connection, Some(&own.session), None)?;
                let ids: Vec<String> = below(&own, all).into_iter().map(|row| row.id).collect();
                audit::read(connection, &ids, after)
            });
            Ok(rows)
        });
        read.await?
    }

    /// Notes what was read or refused: at most one row a minute for each grant, method and outcome.
    pub async fn note_grant(
        &self,
        call: GrantCall,
        id: String,
        method: &'static str,
        code: &'static str,
    ) -> Result<(), ShareError> {
        self.change_share(move |transaction| {
            let Some(row) = record::load(transaction, &id)? else { return Ok(()) };
            audit::write_rarely(transaction, &call, &Entry { code, ..Entry::of(&row, method) })
        })
        .await
    }

    /// Forgets what was noted of grants too long ago. Answers how many rows went.
    pub async fn tidy_grants(&self, now: Millis) -> Result<u64, ShareError> {
        let mut rows = 0;
        loop {
            match self.change_share(move |transaction| audit::forget_some(transaction, now)).await? {
                0 => return Ok(rows),
                some => rows += some,
            }
        }
    }
}

fn insert(
    transaction: &Transaction<'_>,
    call: &GrantCall,
    parent: Option<&GrantRow>,
    wanted: &NewGrant,
    method: &'static str,
) -> Result<GrantRow, ShareError> {
    if record::count(transaction, &wanted.reference.share)? >= GRANTS_MAX {
        return Err(Refusal::TooLarge(format!("a session has at most {GRANTS_MAX} grants")).into());
    }
    if wanted.label.len() > LABEL_BYTES_MAX || wanted.label.chars().any(char::is_control) {
        return Err(Refusal::Malformed("the label is too long or has control characters".to_owned()).into());
    }
    if wanted.expires.is_some_and(|expires| expires <= call.now) {
        return Err(Refusal::Malformed("a grant cannot expire in the past".to_owned()).into());
    }
    record::insert(
        transaction,
        &NewRecord { wanted, parent, actor: &call.actor, now: call.now, hash: wanted.reference.hash() },
    )?;
    let row = record::load(transaction, &wanted.reference.capability)?.ok_or(Refusal::NotFound)?;
    audit::write(transaction, call, &Entry::of(&row, method))?;
    Ok(row)
}

/// The record with this secret, also when it does not stand any more.
fn present(connection: &Connection, reference: &SturdyRef) -> Result<GrantRow, ShareError> {
    let found = record::load(connection, &reference.capability)?;
    let is_right = is_kept(found.as_ref().map(|row| &row.secret_hash[..]), reference.hash());
    Ok(found.filter(|row| is_right && row.session == reference.share).ok_or(Refusal::Unauthorized)?)
}

/// A grant that this keeper looks after.
fn kept(
    connection: &Connection,
    keeper: &GrantKeeper,
    id: &str,
    now: Millis,
) -> Result<GrantRow, ShareError> {
    let found = record::load(connection, id)?;
    let GrantKeeper::Holder(own) = keeper else { return Ok(found.ok_or(Refusal::NotFound)?) };
    let own = record::load(connection, own)?.ok_or(Refusal::Revoked)?;
    own.stand(now)?;
    let Some(found) = found else { return Err(Refusal::NotFound.into()) };
    let mut next = Some(found.id.clone());
    // At most as many steps as grants may be deep.
    for _ in 0..=GRANT_DEPTH_MAX {
        let Some(id) = next else { break };
        if id == own.id {
            return Ok(found);
        }
        next = record::load(connection, &id)?.and_then(|row| row.parent);
    }
    // The caller may not learn whether it exists.
    Err(Refusal::NotFound.into())
}

/// A grant and those made of it, of a list in which a child comes after its parent.
fn below(own: &GrantRow, rows: Vec<GrantRow>) -> Vec<GrantRow> {
    let mut ids = vec![own.id.clone()];
    rows.into_iter()
        .filter(|row| {
            let is_below = row.parent.as_ref().is_some_and(|parent| ids.contains(parent));
            if is_below {
                ids.push(row.id.clone());
            }
            is_below || row.id == own.id
        })
        .collect()
}

/// The smaller of two limits; none is no limit.
fn narrower(parent: Option<u64>, wanted: Option<u64>) -> Option<u64> {
    match (parent, wanted) {
        (Some(parent), Some(wanted)) => Some(parent.min(wanted)),
        (limit, None) | (None, limit) => limit,
    }
}
