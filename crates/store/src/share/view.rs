//! What readers of a share get: the whole, what came after a cursor, and what a capability is.

use super::ShareCall;
use super::append::find_writer;
use super::audit::{self, Entry};
use super::capability::{self, Scope, ShareRow};
use super::chain::chain_start;
use super::reference::ShareAuth;
use super::refusal::{Refusal, ShareError};
use rusqlite::Connection;
use serde::Serialize;
use serde_json::value::RawValue;
use sturdy_session::stamp::Millis;

/// Operations in one answer.
const PAGE_MAX: u64 = 1000;
/// Bytes of payload in one answer; at least one operation is always there.
const PAGE_BYTES_MAX: usize = 4 * 1024 * 1024;

/// A share as its readers see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShareInfo {
    pub session: String,
    pub epoch: u64,
    pub cursor: u64,
    pub log_from: u64,
    pub created: Millis,
    pub updated: Millis,
}

/// What a capability is good for, now.
#[derive(Clone, Debug, Serialize)]
pub struct Redeemed {
    pub share_id: String,
    pub cap_id: String,
    pub scope: Scope,
    pub kinds: Option<Vec<String>>,
    pub epoch: u64,
    pub cursor: u64,
    pub log_from: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub writer: Option<WriterState>,
    pub limits: Limits,
    pub expires_at: Option<Millis>,
    pub visibility: String,
    pub server_time: Millis,
}

#[derive(Clone, Debug, Serialize)]
pub struct WriterState {
    pub writer_id: String,
    pub applied_seq: u64,
    pub applied_count: u64,
    pub chain: String,
}

#[derive(Clone, Copy, Debug, Serialize)]
pub struct Limits {
    pub max_ops: usize,
    pub max_batch_bytes: usize,
    pub max_op_bytes: usize,
}

/// One applied operation. A value that a later one replaced is not shown again: that one follows.
#[derive(Clone, Debug, Serialize)]
pub struct ShownOp {
    pub cursor: u64,
    pub kind: String,
    pub key: String,
    /// None for removals and marks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Box<RawValue>>,
}

/// Where a share stands, and what its payloads take together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShareWeight {
    pub cursor: u64,
    pub bytes: u64,
}

/// What a viewer of a share is sent next.
#[derive(Clone, Debug)]
pub enum ShareUpdate {
    /// Everything; what was known before is dropped.
    Whole(ShareInfo, Vec<ShownOp>),
    Ops(ViewPage),
}

/// Operations after a cursor.
#[derive(Clone, Debug, Serialize)]
pub struct ViewPage {
    pub ops: Vec<ShownOp>,
    /// Where the next page begins.
    pub cursor: u64,
    pub more: bool,
    /// The cursor is older than the log: read the whole first.
    #[serde(skip)]
    pub is_behind: bool,
    /// Of the share: another one than a reader knows means that its right is to be looked at again.
    #[serde(skip)]
    pub epoch: u64,
}

/// That somebody may read a share, and for how long that need not be asked again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    epoch: u64,
    expires: Option<Millis>,
}

impl Standing {
    /// Whether it still holds: no right of the share was changed since, and it has not run out.
    #[must_use]
    pub fn holds(self, epoch: u64, now: Millis) -> bool {
        self.epoch == epoch && self.expires.is_none_or(|expires| now < expires)
    }
}

impl crate::Store {
    /// What the shown capability is good for. Changes nothing but the audit.
    pub async fn redeem_share(
        &self,
        call: ShareCall,
        share: String,
        auth: ShareAuth,
        writer: Option<String>,
    ) -> Result<Redeemed, ShareError> {
        self.change_share(move |transaction| {
            let (row, capability) = capability::authorize(transaction, &share, &auth, call.now)?;
            let writer = writer.map(|id| writer_state(transaction, &share, id)).transpose()?;
            audit::write_rarely(transaction, &call, &Entry::of(&share, &capability.cap_id, "redeem"))?;
            Ok(Redeemed {
                cap_id: capability.cap_id,
                scope: capability.scope,
                kinds: capability.kinds,
                epoch: row.epoch,
                cursor: row.cursor,
                log_from: row.log_from,
                writer,
                limits: Limits {
                    max_ops: call.limits.batch_ops,
                    max_batch_bytes: call.limits.batch_bytes,
                    max_op_bytes: call.limits.op_bytes,
                },
                expires_at: capability.expires,
                visibility: row.visibility,
                server_time: call.now,
                share_id: share,
            })
        })
        .await
    }

    /// Everything a share shows, in the order of its keys, at one moment.
    pub async fn share_snapshot(
        &self,
        now: Millis,
        share: String,
        auth: Option<ShareAuth>,
    ) -> Result<(ShareInfo, Vec<ShownOp>), ShareError> {
        self.view(move |connection| {
            let (row, _) = may_read(connection, &share, auth.as_ref(), now)?;
            whole(connection, &share, row)
        })
        .await
    }

    /// Where a share stands and how much it holds, whoever asks: to know what reading it would cost. None if it is gone.
    pub async fn share_weight(&self, share: String) -> Result<Option<ShareWeight>, ShareError> {
        self.view(move |connection| match capability::load_share(connection, &share) {
            Ok(row) => Ok(Some(ShareWeight { cursor: row.cursor, bytes: row.bytes })),
            Err(ShareError::Refused(_)) => Ok(None),
            Err(cause) => Err(cause),
        })
        .await
    }

    /// Whether somebody may read a share.
    pub async fn share_standing(
        &self,
        now: Millis,
        share: String,
        auth: Option<ShareAuth>,
    ) -> Result<Standing, ShareError> {
        self.view(move |connection| {
            let (row, expires) = may_read(connection, &share, auth.as_ref(), now)?;
            Ok(Standing { epoch: row.epoch, expires })
        })
        .await
    }

    /// What everybody who may read a share is shown next: what was applied after a cursor, or, without one or with
    /// one that the log does not reach any more, everything. One read for all of them: nobody's right is looked at.
    pub async fn share_update(
        &self,
        share: String,
        after: Option<u64>,
        limit: u64,
    ) -> Result<ShareUpdate, ShareError> {
        self.view(move |connection| {
            let row = capability::load_share(connection, &share)?;
            if let Some(after) = after {
                let page = page(connection, &share, &row, after, limit.clamp(1, PAGE_MAX))?;
                // A snapshot that a writer ended replaces everything.
                let is_replaced = page.ops.iter().any(|op| op.kind == "snapshot.end");
                if !page.is_behind && !is_replaced {
                    return Ok(ShareUpdate::Ops(page));
                }
            }
            let (info, ops) = whole(connection, &share, row)?;
            Ok(ShareUpdate::Whole(info, ops))
        })
        .await
    }

    async fn view<T, F>(&self, view: F) -> Result<T, ShareError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, ShareError> + Send + 'static,
    {
        self.read(move |connection| Ok(view(connection))).await?
    }

    /// What was applied after a cursor, oldest first.
    pub async fn share_ops(
        &self,
        now: Millis,
        share: String,
        auth: Option<ShareAuth>,
        after: u64,
        limit: u64,
    ) -> Result<ViewPage, ShareError> {
        self.view(move |connection| {
            let (row, _) = may_read(connection, &share, auth.as_ref(), now)?;
            page(connection, &share, &row, after, limit.clamp(1, PAGE_MAX))
        })
        .await
    }
}

fn whole(
    connection: &Connection,
    share: &str,
    row: ShareRow,
) -> Result<(ShareInfo, Vec<ShownOp>), ShareError> {
    const ENTITIES: &str =
        "SELECT cursor, kind, key, payload FROM share_entity WHERE share_id = ?1 ORDER BY key";
    let mut statement = connection.prepare_cached(ENTITIES)?;
    let mut found = statement.query([share])?;
    let mut shown = Vec::new();
    while let Some(entity) = found.next()? {
        shown.push(ShownOp {
            cursor: capability::count(entity, 0)?,
            kind: entity.get(1)?,
            key: entity.get(2)?,
            data: Some(raw(entity.get(3)?)?),
        });
    }
    Ok((info(row), shown))
}

fn page(
    connection: &Connection,
    share: &str,
    row: &ShareRow,
    after: u64,
    limit: u64,
) -> Result<ViewPage, ShareError> {
    const OPS: &str =
        "SELECT share_op.cursor, share_op.kind, share_op.key, share_entity.payload, share_entity.cursor
        FROM share_op LEFT JOIN share_entity
        ON share_entity.share_id = share_op.share_id AND share_entity.key = share_op.key
        WHERE share_op.share_id = ?1 AND share_op.cursor > ?2 ORDER BY share_op.cursor LIMIT ?3";
    if after < row.log_from || after > row.cursor {
        let epoch = row.epoch;
        return Ok(ViewPage { ops: Vec::new(), cursor: row.cursor, more: false, is_behind: true, epoch });
    }
    let mut statement = connection.prepare_cached(OPS)?;
    let mut found = statement.query((share, after.cast_signed(), limit.cast_signed()))?;
    let mut ops = Vec::new();
    let mut cursor = after;
    let mut bytes = 0;
    while let Some(op) = found.next()? {
        if bytes >= PAGE_BYTES_MAX {
            break;
        }
        cursor = capability::count(op, 0)?;
        let kind: String = op.get(1)?;
        let newest = capability::optional_count(op, 4)?;
        let carries = super::op::Kind::parse(&kind).is_some_and(super::op::Kind::carries_payload);
        // A later operation wrote or removed it, and follows.
        if carries && newest != Some(cursor) {
            continue;
        }
        let data = match op.get::<_, Option<String>>(3)? {
            Some(payload) if carries => {
                bytes += payload.len();
                Some(raw(payload)?)
            }
            _ => None,
        };
        ops.push(ShownOp { cursor, kind, key: op.get(2)?, data });
    }
    Ok(ViewPage { ops, cursor, more: cursor < row.cursor, is_behind: false, epoch: row.epoch })
}

/// Whoever has the address may read a share that is visible by its link; others need a capability to read. Answers
/// also when the right ends by itself.
fn may_read(
    connection: &Connection,
    share: &str,
    auth: Option<&ShareAuth>,
    now: Millis,
) -> Result<(ShareRow, Option<Millis>), ShareError> {
    match auth {
        None => {
            let row = capability::load_share(connection, share)?;
            if row.visibility == "link" { Ok((row, None)) } else { Err(Refusal::Unauthorized.into()) }
        }
        Some(auth) => {
            let (row, capability) = capability::authorize(connection, share, auth, now)?;
            capability.require(Scope::READ, "reading")?;
            Ok((row, capability.expires))
        }
    }
}

fn writer_state(connection: &Connection, share: &str, writer_id: String) -> Result<WriterState, ShareError> {
    let found = find_writer(connection, share, &writer_id)?;
    Ok(match found {
        Some(writer) => WriterState {
            applied_seq: writer.applied_seq,
            applied_count: writer.applied_count,
            chain: writer.chain.to_string(),
            writer_id,
        },
        None => WriterState {
            applied_seq: 0,
            applied_count: 0,
            chain: chain_start(share, &writer_id).to_string(),
            writer_id,
        },
    })
}

fn info(row: ShareRow) -> ShareInfo {
    ShareInfo {
        session: row.session,
        epoch: row.epoch,
        cursor: row.cursor,
        log_from: row.log_from,
        created: row.created,
        updated: row.updated,
    }
}

fn raw(payload: String) -> Result<Box<RawValue>, crate::ReadError> {
    RawValue::from_string(payload)
        .map_err(|why| crate::ReadError::Broken { what: why.to_string(), place: "a shared value".to_owned() })
}
