//! Who may do what: a stored record, checked inside the transaction that needs it.
//!
//! A capability is presented by a reference (`reference.rs`), of whose secret only a hash is kept. A child's rights are never wider than its parent's
//! (invariant I16).

use super::limits::DEPTH_MAX;
use super::reference::{ShareAuth, SturdyRef, is_kept, secret_hash};
use super::refusal::{Refusal, ShareError};
use rusqlite::{OptionalExtension as _, Row, Transaction};
use serde::Serialize;
use sturdy_session::stamp::Millis;

const COLUMNS: &str = "cap_id, share_id, parent_id, root_id, depth, scope, kinds, expires, max_ops, used_ops,
    label, actor, must_rotate, created, revoked, revoked_by, secret_hash";

const SHARE: &str =
    "SELECT epoch, cursor, log_from, sync_count, generation, snapshot, visibility, session_id,
    created, updated, deleted, bytes FROM share WHERE share_id = ?1";

/// A set of rights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scope(u8);

impl Scope {
    pub const READ: Self = Self(1);
    pub const APPEND: Self = Self(2);
    pub const ADMIN: Self = Self(4);
    pub const VIEWER: Self = Self::READ;
    pub const WRITER: Self = Self(3);
    pub const DROP_BOX: Self = Self::APPEND;
    pub const OWNER: Self = Self(7);

    #[must_use]
    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Reads the names of rights, or of one of the presets. None for an unknown name or none at all.
    #[must_use]
    pub fn parse(names: &[String]) -> Option<Self> {
        let mut bits = 0;
        for name in names {
            bits |= match name.as_str() {
                "read" | "viewer" => Self::READ.0,
                "append" | "drop_box" => Self::APPEND.0,
                "admin" => Self::ADMIN.0,
                "writer" => Self::WRITER.0,
                "owner" => Self::OWNER.0,
                _ => return None,
            };
        }
        (bits != 0).then_some(Self(bits))
    }

    #[must_use]
    pub fn names(self) -> Vec<&'static str> {
        let all = [(Self::READ, "read"), (Self::APPEND, "append"), (Self::ADMIN, "admin")];
        all.into_iter().filter(|(right, _)| self.contains(*right)).map(|(_, name)| name).collect()
    }

    pub(crate) fn bits(self) -> i64 {
        i64::from(self.0)
    }
}

impl Serialize for Scope {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.names().serialize(serializer)
    }
}

/// A capability as its share's owner sees it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CapabilityRow {
    pub cap_id: String,
    #[serde(skip)]
    pub share_id: String,
    pub parent_id: Option<String>,
    pub root_id: String,
    pub depth: u64,
    pub scope: Scope,
    pub kinds: Option<Vec<String>>,
    #[serde(rename = "expires_at")]
    pub expires: Option<Millis>,
    pub max_ops: Option<u64>,
    pub used_ops: u64,
    pub label: String,
    #[serde(rename = "actor_id")]
    pub actor: String,
    pub must_rotate: bool,
    #[serde(rename = "created_at")]
    pub created: Millis,
    #[serde(rename = "revoked_at")]
    pub revoked: Option<Millis>,
    pub revoked_by: Option<String>,
    #[serde(skip)]
    secret_hash: Vec<u8>,
}

impl CapabilityRow {
    /// Whether operations of this kind may be sent with it.
    pub(crate) fn allows_kind(&self, kind: &str) -> bool {
        self.kinds.as_ref().is_none_or(|kinds| kinds.iter().any(|known| known == kind))
    }

    /// Whether it stands now.
    pub(crate) fn stand(&self, now: Millis) -> Result<(), Refusal> {
        if self.revoked.is_some() {
            return Err(Refusal::Revoked);
        }
        match self.expires {
            Some(expires) if expires <= now => Err(Refusal::Expired),
            _ => Ok(()),
        }
    }

    /// Operations that may still be sent with it; none: as many as one likes.
    pub(crate) fn left(&self) -> Option<u64> {
        self.max_ops.map(|most| most.saturating_sub(self.used_ops))
    }

    /// A secret that an old store kept in clear is replaced before it gives anything away.
    pub(crate) fn is_rotated(&self) -> Result<(), Refusal> {
        if self.must_rotate { Err(Refusal::MustRotate) } else { Ok(()) }
    }

    pub(crate) fn has_secret_of(&self, reference: &SturdyRef) -> bool {
        is_kept(Some(&self.secret_hash), reference.hash())
    }

    pub(crate) fn require(&self, right: Scope, what: &'static str) -> Result<(), Refusal> {
        if self.scope.contains(right) { Ok(()) } else { Err(Refusal::ForbiddenScope(what)) }
    }
}

/// The state of a share that decisions are made on.
#[derive(Clone, Debug)]
pub(crate) struct ShareRow {
    pub(crate) epoch: u64,
    pub(crate) cursor: u64,
    pub(crate) log_from: u64,
    pub(crate) sync_count: u64,
    pub(crate) generation: u64,
    pub(crate) snapshot: Option<String>,
    pub(crate) visibility: String,
    pub(crate) session: String,
    pub(crate) created: Millis,
    pub(crate) updated: Millis,
    /// Of all payloads together.
    pub(crate) bytes: u64,
}

/// The share, unless it never existed or is a tombstone.
pub(crate) fn load_share(transaction: &rusqlite::Connection, share: &str) -> Result<ShareRow, ShareError> {
    let mut statement = transaction.prepare_cached(SHARE)?;
    let found = statement
        .query_row([share], |row| {
            let is_deleted = row.get::<_, Option<i64>>(10)?.is_some();
            let share = ShareRow {
                epoch: count(row, 0)?,
                cursor: count(row, 1)?,
                log_from: count(row, 2)?,
                sync_count: count(row, 3)?,
                generation: count(row, 4)?,
                snapshot: row.get(5)?,
                visibility: row.get(6)?,
                session: row.get(7)?,
                created: count(row, 8)?,
                updated: count(row, 9)?,
                bytes: count(row, 11)?,
            };
            Ok((share, is_deleted))
        })
        .optional()?;
    match found {
        None => Err(Refusal::NotFound.into()),
        Some((_, true)) => Err(Refusal::Gone.into()),
        Some((share, false)) => Ok(share),
    }
}

/// The share and the capability that was shown for it. It stands, and its secret is right.
pub(crate) fn authorize(
    connection: &rusqlite::Connection,
    share: &str,
    auth: &ShareAuth,
    now: Millis,
) -> Result<(ShareRow, CapabilityRow), ShareError> {
    let loaded = load_share(connection, share);
    // Computed also when there is no such share: both answers take the same time.
    let capability = present(connection, share, auth)?;
    let loaded = loaded?;
    let capability = capability.ok_or(Refusal::Unauthorized)?;
    capability.stand(now)?;
    Ok((loaded, capability))
}

/// The capability with this secret, also when it does not stand any more.
pub(crate) fn present(
    connection: &rusqlite::Connection,
    share: &str,
    auth: &ShareAuth,
) -> Result<Option<CapabilityRow>, ShareError> {
    match auth {
        ShareAuth::Ref(reference) => {
            let found = load(connection, &reference.capability)?;
            let kept = found.as_ref().map(|row| &row.secret_hash[..]);
            let is_right = is_kept(kept, reference.hash()) && reference.share == share;
            Ok(found.filter(|row| is_right && row.share_id == share))
        }
        ShareAuth::Plain(secret) => {
            // One at most: a share is imported once, and nothing is made of a secret that was kept in clear.
            let found = imported(connection, share)?;
            let named = found.as_ref().map_or("", |row| &row.cap_id);
            let kept = found.as_ref().map(|row| &row.secret_hash[..]);
            let is_right = is_kept(kept, secret_hash(share, named, secret.reveal()));
            Ok(found.filter(|_| is_right))
        }
    }
}

pub(crate) fn load(
    connection: &rusqlite::Connection,
    cap_id: &str,
) -> Result<Option<CapabilityRow>, ShareError> {
    Ok(connection.prepare_cached(&text_of_one())?.query_row([cap_id], read).optional()?)
}

/// Those that a capability was made of, the nearest first.
pub(crate) fn above(
    connection: &rusqlite::Connection,
    row: &CapabilityRow,
) -> Result<Vec<CapabilityRow>, ShareError> {
    let mut line: Vec<CapabilityRow> = Vec::new();
    let mut next = row.parent_id.clone();
    // At most as many as capabilities may be deep.
    while let Some(id) = next.take_if(|_| (line.len() as u64) < DEPTH_MAX) {
        let Some(parent) = load(connection, &id)? else { break };
        next.clone_from(&parent.parent_id);
        line.push(parent);
    }
    Ok(line)
}

fn text_of_one() -> String {
    format!("SELECT {COLUMNS} FROM share_capability WHERE cap_id = ?1")
}

pub(crate) fn all(connection: &rusqlite::Connection, share: &str) -> Result<Vec<CapabilityRow>, ShareError> {
    let text = format!("SELECT {COLUMNS} FROM share_capability WHERE share_id = ?1 ORDER BY created, cap_id");
    let mut statement = connection.prepare_cached(&text)?;
    let rows = statement.query_map([share], read)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn imported(connection: &rusqlite::Connection, share: &str) -> Result<Option<CapabilityRow>, ShareError> {
    Ok(connection.prepare_cached(&text_of_imported())?.query_row([share], read).optional()?)
}

fn text_of_imported() -> String {
    format!("SELECT {COLUMNS} FROM share_capability WHERE share_id = ?1 AND must_rotate = 1 LIMIT 1")
}

fn read(row: &Row<'_>) -> rusqlite::Result<CapabilityRow> {
    let kinds: Option<String> = row.get(6)?;
    let bits: i64 = row.get(5)?;
    Ok(CapabilityRow {
        cap_id: row.get(0)?,
        share_id: row.get(1)?,
        parent_id: row.get(2)?,
        root_id: row.get(3)?,
        depth: count(row, 4)?,
        scope: Scope(u8::try_from(bits & 7).unwrap_or_default()),
        // Damaged kinds allow nothing rather than everything.
        kinds: kinds.map(|text| serde_json::from_str(&text).unwrap_or_default()),
        expires: optional_count(row, 7)?,
        max_ops: optional_count(row, 8)?,
        used_ops: count(row, 9)?,
        label: row.get(10)?,
        actor: row.get(11)?,
        must_rotate: row.get::<_, i64>(12)? != 0,
        created: count(row, 13)?,
        revoked: optional_count(row, 14)?,
        revoked_by: row.get(15)?,
        secret_hash: row.get(16)?,
    })
}

/// A capability that is not stored yet.
pub(crate) struct NewCapability<'a> {
    pub(crate) share: &'a str,
    pub(crate) cap_id: &'a str,
    pub(crate) hash: [u8; 32],
    pub(crate) parent: Option<&'a CapabilityRow>,
    pub(crate) scope: Scope,
    pub(crate) kinds: Option<&'a [String]>,
    pub(crate) expires: Option<Millis>,
    pub(crate) max_ops: Option<u64>,
    pub(crate) label: &'a str,
    pub(crate) actor: &'a str,
    pub(crate) must_rotate: bool,
    pub(crate) now: Millis,
}

pub(crate) fn insert(transaction: &Transaction<'_>, new: &NewCapability<'_>) -> Result<(), ShareError> {
    const INSERT: &str =
        "INSERT INTO share_capability (cap_id, share_id, parent_id, root_id, depth, secret_hash, scope,
        kinds, expires, max_ops, used_ops, label, actor, must_rotate, created)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, 0, ?11, ?12, ?13, ?14)";
    let kinds = new.kinds.map(|kinds| serde_json::Value::from(kinds.to_vec()).to_string());
    let root = new.parent.map_or(new.cap_id, |parent| &parent.root_id);
    let depth = new.parent.map_or(0, |parent| parent.depth + 1);
    transaction.prepare_cached(INSERT)?.execute(rusqlite::params![
        new.cap_id,
        new.share,
        new.parent.map(|parent| &parent.cap_id),
        root,
        depth.cast_signed(),
        new.hash,
        new.scope.bits(),
        kinds,
        new.expires.map(u64::cast_signed),
        new.max_ops.map(u64::cast_signed),
        new.label,
        new.actor,
        i64::from(new.must_rotate),
        new.now.cast_signed(),
    ])?;
    Ok(())
}

/// A number that was stored as one.
pub(crate) fn count(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    row.get::<_, i64>(column).map(i64::cast_unsigned)
}

pub(crate) fn optional_count(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<u64>> {
    Ok(row.get::<_, Option<i64>>(column)?.map(i64::cast_unsigned))
}

#[cfg(test)]
mod tests;
