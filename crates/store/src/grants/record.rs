//! A grant as it is stored.

use super::{GRANT_DEPTH_MAX, NewGrant};
use crate::share::{Refusal, ShareError};
use rusqlite::{Connection, OptionalExtension as _, Row, Transaction};
use serde::Serialize;
use sturdy_session::stamp::Millis;

const COLUMNS: &str =
    "grant_id, session_id, parent_id, root_id, depth, rights, expires, max_uses, used, label,
    actor, created, revoked, revoked_by, secret_hash";

/// What may be done with one session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rights(u8);

impl Rights {
    /// The session, its messages and what happens in it.
    pub const READ: Self = Self(1);
    /// Prompts, and stopping what runs.
    pub const PROMPT: Self = Self(2);
    /// Permissions and questions, once each.
    pub const ANSWER: Self = Self(4);

    const ALL: [(Self, &'static str); 3] =
        [(Self::READ, "read"), (Self::PROMPT, "prompt"), (Self::ANSWER, "answer")];

    #[must_use]
    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Reads the names of rights. None for an unknown name or none at all.
    #[must_use]
    pub fn parse<'a>(names: impl IntoIterator<Item = &'a str>) -> Option<Self> {
        let mut bits = 0;
        for name in names {
            bits |= Self::ALL.iter().find(|(_, known)| *known == name)?.0.0;
        }
        (bits != 0).then_some(Self(bits))
    }

    #[must_use]
    pub fn names(self) -> Vec<&'static str> {
        Self::ALL.into_iter().filter(|(right, _)| self.contains(*right)).map(|(_, name)| name).collect()
    }
}

impl Serialize for Rights {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.names().serialize(serializer)
    }
}

/// A grant as people see it in a list.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GrantRow {
    pub id: String,
    #[serde(rename = "sessionID")]
    pub session: String,
    /// The grant it was made of.
    pub parent: Option<String>,
    #[serde(skip)]
    pub root: String,
    pub depth: u64,
    pub rights: Rights,
    pub expires: Option<Millis>,
    pub max_uses: Option<u64>,
    pub used: u64,
    pub label: String,
    /// Who made it.
    pub actor: String,
    pub created: Millis,
    pub revoked: Option<Millis>,
    pub revoked_by: Option<String>,
    #[serde(skip)]
    pub(super) secret_hash: Vec<u8>,
}

impl GrantRow {
    /// Whether it counts now.
    pub fn stand(&self, now: Millis) -> Result<(), Refusal> {
        if self.revoked.is_some() {
            return Err(Refusal::Revoked);
        }
        match self.expires {
            Some(expires) if expires <= now => Err(Refusal::Expired),
            _ => Ok(()),
        }
    }
}

pub(super) fn load(connection: &Connection, id: &str) -> Result<Option<GrantRow>, ShareError> {
    let text = format!("SELECT {COLUMNS} FROM session_grant WHERE grant_id = ?1");
    Ok(connection.prepare_cached(&text)?.query_row([id], read).optional()?)
}

/// Those that a grant was made of, the nearest first.
pub(super) fn above(connection: &Connection, row: &GrantRow) -> Result<Vec<GrantRow>, ShareError> {
    let mut line: Vec<GrantRow> = Vec::new();
    let mut next = row.parent.clone();
    // At most as many as grants may be deep.
    while let Some(id) = next.take_if(|_| (line.len() as u64) < GRANT_DEPTH_MAX) {
        let Some(parent) = load(connection, &id)? else { break };
        next.clone_from(&parent.parent);
        line.push(parent);
    }
    Ok(line)
}

/// Those that fit, a child after its parent.
pub(super) fn list(
    connection: &Connection,
    session: Option<&str>,
    actor: Option<&str>,
) -> Result<Vec<GrantRow>, ShareError> {
    let text = format!(
        "SELECT {COLUMNS} FROM session_grant WHERE (?1 IS NULL OR session_id = ?1)
        AND (?2 IS NULL OR actor = ?2) ORDER BY created, depth, grant_id"
    );
    let mut statement = connection.prepare_cached(&text)?;
    let rows = statement.query_map((session, actor), read)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

pub(super) fn count(connection: &Connection, session: &str) -> Result<u64, ShareError> {
    const COUNT: &str = "SELECT count(*) FROM session_grant WHERE session_id = ?1";
    let count: i64 = connection.prepare_cached(COUNT)?.query_row([session], |row| row.get(0))?;
    Ok(count.cast_unsigned())
}

pub(super) fn children(connection: &Connection, id: &str) -> Result<Vec<String>, ShareError> {
    const CHILDREN: &str = "SELECT grant_id FROM session_grant WHERE parent_id = ?1";
    let mut statement = connection.prepare_cached(CHILDREN)?;
    let rows = statement.query_map([id], |row| row.get(0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// 1 if it stood until now.
pub(super) fn revoke(
    transaction: &Transaction<'_>,
    id: &str,
    now: Millis,
    by: &str,
) -> Result<u64, ShareError> {
    const REVOKE: &str =
        "UPDATE session_grant SET revoked = ?2, revoked_by = ?3 WHERE grant_id = ?1 AND revoked IS NULL";
    Ok(transaction.prepare_cached(REVOKE)?.execute((id, now.cast_signed(), by))? as u64)
}

/// A grant that is not stored yet.
pub(super) struct NewRecord<'a> {
    pub(super) wanted: &'a NewGrant,
    pub(super) parent: Option<&'a GrantRow>,
    pub(super) actor: &'a str,
    pub(super) now: Millis,
    pub(super) hash: [u8; 32],
}

pub(super) fn insert(transaction: &Transaction<'_>, new: &NewRecord<'_>) -> Result<(), ShareError> {
    const INSERT: &str =
        "INSERT INTO session_grant (grant_id, session_id, parent_id, root_id, depth, secret_hash, rights,
        expires, max_uses, used, label, actor, created) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 0, ?10, ?11, ?12)";
    let id = &new.wanted.reference.capability;
    let root = new.parent.map_or(id, |parent| &parent.root);
    let depth = new.parent.map_or(0, |parent| parent.depth + 1);
    transaction.prepare_cached(INSERT)?.execute(rusqlite::params![
        id,
        new.wanted.reference.share,
        new.parent.map(|parent| &parent.id),
        root,
        depth.cast_signed(),
        new.hash,
        i64::from(new.wanted.rights.0),
        new.wanted.expires.map(u64::cast_signed),
        new.wanted.max_uses.map(u64::cast_signed),
        new.wanted.label,
        new.actor,
        new.now.cast_signed(),
    ])?;
    Ok(())
}

fn read(row: &Row<'_>) -> rusqlite::Result<GrantRow> {
    let bits: i64 = row.get(5)?;
    let number = |index: usize| row.get::<_, i64>(index).map(i64::cast_unsigned);
    let optional = |index: usize| row.get::<_, Option<i64>>(index).map(|n| n.map(i64::cast_unsigned));
    Ok(GrantRow {
        id: row.get(0)?,
        session: row.get(1)?,
        parent: row.get(2)?,
        root: row.get(3)?,
        depth: number(4)?,
        rights: Rights(u8::try_from(bits & 7).unwrap_or_default()),
        expires: optional(6)?,
        max_uses: optional(7)?,
        used: number(8)?,
        label: row.get(9)?,
        actor: row.get(10)?,
        created: number(11)?,
        revoked: optional(12)?,
        revoked_by: row.get(13)?,
        secret_hash: row.get(14)?,
    })
}
