//! Applying a batch: everything that decides and everything that is written is one transaction.
//!
//! A number at or below the writer's watermark is a repeat and has no effect, for ever, whatever is kept of
//! the log. A new batch must continue the hash chain of what came before it, so a writer that was restored
//! from a backup and goes on with used numbers is told that it diverged. Repeats are recognised before the
//! cursor is looked at: otherwise every lost answer would look like a conflict.

mod apply;

pub(super) use apply::{Applied, Applier};

use super::audit::{self, Entry};
use super::capability::{self, CapabilityRow, Scope, ShareRow};
use super::chain::{Chain, chain_start};
use super::op::Operation;
use super::reference::ShareAuth;
use super::refusal::{Refusal, ShareError};
use super::{ShareCall, ShareLimits};
use rusqlite::{OptionalExtension as _, Transaction};
use serde::{Deserialize, Serialize};
use sturdy_session::stamp::Millis;
use tracing::trace;

const WRITER_ID_BYTES_MAX: usize = 64;

/// Operations that a writer sends together, sealed once and repeated unchanged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Batch {
    pub writer_id: String,
    pub batch_id: String,
    pub first_seq: u64,
    pub last_seq: u64,
    pub chain_before: String,
    pub chain_after: String,
    /// The cursor of the last answer; none: do not check.
    #[serde(default)]
    pub expected_cursor: Option<u64>,
    pub capability_epoch: u64,
    pub ops: Vec<Operation>,
}

/// What became of a batch. Every operation is in exactly one of the three lists.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ack {
    pub batch_id: String,
    pub status: String,
    pub cursor: u64,
    pub applied_seq: u64,
    pub applied_count: u64,
    pub chain: String,
    pub epoch: u64,
    pub applied: Vec<String>,
    pub duplicates: Vec<String>,
    pub rejected: Vec<Rejected>,
    pub server_time: Millis,
}

/// An operation that had no effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rejected {
    pub op_id: String,
    pub seq: u64,
    pub code: String,
    pub message: String,
}

impl crate::Store {
    /// Applies a batch exactly once.
    pub async fn append_share(
        &self,
        call: ShareCall,
        share: String,
        auth: ShareAuth,
        batch: Batch,
    ) -> Result<Ack, ShareError> {
        let refused = (call.clone(), share.clone(), auth.clone(), batch.batch_id.clone());
        let done =
            self.change_share(move |transaction| append(transaction, &call, &share, &auth, &batch)).await;
        if let Err(ShareError::Refused(why)) = &done {
            let (call, share, auth, batch) = refused;
            self.note_refusal(call, share, auth, batch, why.code()).await?;
        }
        if done.is_ok() {
            trace!("point srv.commit.post");
        }
        done
    }

    /// A refused batch has changed nothing but the audit.
    async fn note_refusal(
        &self,
        call: ShareCall,
        share: String,
        auth: ShareAuth,
        batch: String,
        code: &'static str,
    ) -> Result<(), ShareError> {
        let noted = self.change_share(move |transaction| {
            // Only of a share and capability that exist: nobody fills the table by guessing.
            if let Some(row) = capability::present(transaction, &share, &auth)? {
                let entry = Entry { code, batch: Some(&batch), ..Entry::of(&share, &row.cap_id, "append") };
                audit::write_rarely(transaction, &call, &entry)?;
            }
            Ok(())
        });
        noted.await
    }
}

/// How far a writer has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Writer {
    pub(super) root: String,
    pub(super) applied_seq: u64,
    pub(super) applied_count: u64,
    pub(super) chain: Chain,
}

fn append(
    transaction: &Transaction<'_>,
    call: &ShareCall,
    share: &str,
    auth: &ShareAuth,
    batch: &Batch,
) -> Result<Ack, ShareError> {
    trace!("point srv.locked");
    let (row, capability) = capability::authorize(transaction, share, auth, call.now)?;
    capability.require(Scope::APPEND, "writing")?;
    if batch.capability_epoch != row.epoch {
        return Err(Refusal::StaleEpoch { epoch: row.epoch }.into());
    }
    check_form(share, batch, call.limits)?;
    let writer = load_writer(transaction, share, &batch.writer_id, &capability, || {
        make_room(transaction, share, &capability, batch, call.limits.writers)
    })?;
    let new_from = classify(batch, &writer)?;
    if new_from == 0 && batch.expected_cursor.is_some_and(|expected| expected != row.cursor) {
        return Err(Refusal::CursorMismatch { cursor: row.cursor, applied_seq: writer.applied_seq }.into());
    }

    let (repeats, new) = batch.ops.split_at(new_from);
    let (duplicates, mut rejected) = repeated(transaction, share, batch, repeats)?;
    let mut applier = Applier::new(transaction, call, share, &batch.writer_id, row, &capability)?;
    let Applied { applied, rejected: refused } = applier.all(new)?;
    let row = applier.finish(applied.len())?;
    rejected.extend(refused);
    let applied_count = writer.applied_count + applied.len() as u64;
    let writer = match new.last() {
        None => writer,
        Some(last) => {
            let chain = Chain::parse(&batch.chain_after).ok_or(Refusal::ChainMismatch)?;
            let writer = Writer { applied_seq: last.seq, applied_count, chain, ..writer };
            store_writer(transaction, call, share, &batch.writer_id, &writer)?;
            trace!("point srv.watermark");
            writer
        }
    };
    let entry = Entry {
        batch: Some(&batch.batch_id),
        applied: applied.len(),
        rejected: rejected.len(),
        ..Entry::of(share, &capability.cap_id, "append")
    };
    audit::write(transaction, call, &entry)?;
    trace!("point srv.commit.pre");
    Ok(ack(batch, &row, &writer, applied, duplicates, rejected, call.now))
}

fn ack(
    batch: &Batch,
    row: &ShareRow,
    writer: &Writer,
    applied: Vec<String>,
    duplicates: Vec<String>,
    rejected: Vec<Rejected>,
    now: Millis,
) -> Ack {
    Ack {
        batch_id: batch.batch_id.clone(),
        status: "ok".to_owned(),
        cursor: row.cursor,
        applied_seq: writer.applied_seq,
        applied_count: writer.applied_count,
        chain: writer.chain.to_string(),
        epoch: row.epoch,
        applied,
        duplicates,
        rejected,
        server_time: now,
    }
}

/// What can be told from the batch alone.
fn check_form(share: &str, batch: &Batch, limits: ShareLimits) -> Result<(), Refusal> {
    let malformed = |why: &str| Err(Refusal::Malformed(why.to_owned()));
    if batch.ops.is_empty() {
        return malformed("a batch has at least one operation");
    }
    if batch.ops.len() > limits.batch_ops {
        return Err(Refusal::TooLarge(format!("a batch has at most {} operations", limits.batch_ops)));
    }
    let bytes: usize = batch.ops.iter().map(Operation::payload_bytes).sum();
    if bytes > limits.batch_bytes && batch.ops.len() > 1 {
        let most = limits.batch_bytes;
        return Err(Refusal::TooLarge(format!("a batch has at most {most} bytes of payload")));
    }
    if batch.writer_id.is_empty() || batch.writer_id.len() > WRITER_ID_BYTES_MAX {
        return malformed("the writer id is missing or too long");
    }
    // The service writes under this name for clients without numbers.
    if batch.writer_id.starts_with(super::legacy::WRITER_PREFIX) {
        return malformed("the writer id is reserved");
    }
    if !batch.ops.iter().all(Operation::is_well_formed) {
        return malformed("an id, kind or key is missing, too long or has control characters");
    }
    let numbers = batch.first_seq..=batch.last_seq;
    if batch.first_seq == 0 || !batch.ops.iter().map(|op| op.seq).eq(numbers) {
        return malformed("the operations are not numbered from first_seq to last_seq");
    }
    let Some(before) = Chain::parse(&batch.chain_before) else { return Err(Refusal::ChainMismatch) };
    if batch.first_seq == 1 && before != chain_start(share, &batch.writer_id) {
        return Err(Refusal::ChainMismatch);
    }
    let after = batch.ops.iter().fold(before, |chain, op| chain.after(op));
    if after.to_string() != batch.chain_after {
        return Err(Refusal::ChainMismatch);
    }
    Ok(())
}

/// How many operations of the batch are repeats. The chain proves that they are the same ones.
fn classify(batch: &Batch, writer: &Writer) -> Result<usize, Refusal> {
    let applied_seq = writer.applied_seq;
    if batch.first_seq > applied_seq + 1 {
        return Err(Refusal::Gap { applied_seq });
    }
    if batch.last_seq < applied_seq {
        // Its chain is no longer known; the number alone says that it was seen.
        return Ok(batch.ops.len());
    }
    let repeats = usize::try_from(applied_seq + 1 - batch.first_seq).unwrap_or(usize::MAX);
    let Some(before) = Chain::parse(&batch.chain_before) else { return Err(Refusal::ChainMismatch) };
    let at_watermark = batch.ops.iter().take(repeats).fold(before, |chain, op| chain.after(op));
    if at_watermark != writer.chain {
        return Err(Refusal::Diverged { applied_seq });
    }
    Ok(repeats)
}

/// Repeats are told apart as they were the first time.
fn repeated(
    transaction: &Transaction<'_>,
    share: &str,
    batch: &Batch,
    ops: &[Operation],
) -> Result<(Vec<String>, Vec<Rejected>), ShareError> {
    const REJECT: &str =
        "SELECT code, message FROM share_reject WHERE share_id = ?1 AND writer_id = ?2 AND seq = ?3";
    let mut duplicates = Vec::new();
    let mut rejected = Vec::new();
    let mut statement = transaction.prepare_cached(REJECT)?;
    for op in ops {
        let key = (share, &batch.writer_id, op.seq.cast_signed());
        let known: Option<(String, String)> =
            statement.query_row(key, |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
        match known {
            None => duplicates.push(op.op_id.clone()),
            Some((code, message)) => {
                rejected.push(Rejected { op_id: op.op_id.clone(), seq: op.seq, code, message });
            }
        }
    }
    Ok((duplicates, rejected))
}

pub(super) fn find_writer(
    connection: &rusqlite::Connection,
    share: &str,
    writer: &str,
) -> Result<Option<Writer>, ShareError> {
    const WRITER: &str = "SELECT root_id, applied_seq, applied_count, chain FROM share_writer
        WHERE share_id = ?1 AND writer_id = ?2";
    let mut statement = connection.prepare_cached(WRITER)?;
    let found = statement.query_row((share, writer), |row| {
        let chain: String = row.get(3)?;
        Ok((row.get(0)?, capability::count(row, 1)?, capability::count(row, 2)?, chain))
    });
    let Some((root, applied_seq, applied_count, chain)) = found.optional()? else { return Ok(None) };
    let broken =
        || crate::CommitError::Broken { what: "a chain".to_owned(), place: format!("writer {writer}") };
    let chain = Chain::parse(&chain).ok_or_else(broken)?;
    Ok(Some(Writer { root, applied_seq, applied_count, chain }))
}

/// The writer, or the beginning of a new one.
pub(super) fn load_writer(
    transaction: &Transaction<'_>,
    share: &str,
    writer: &str,
    capability: &CapabilityRow,
    make_room: impl FnOnce() -> Result<(), ShareError>,
) -> Result<Writer, ShareError> {
    if let Some(found) = find_writer(transaction, share, writer)? {
        if found.root != capability.root_id {
            return Err(Refusal::WriterForbidden.into());
        }
        return Ok(found);
    }
    make_room()?;
    Ok(Writer {
        root: capability.root_id.clone(),
        applied_seq: 0,
        applied_count: 0,
        chain: chain_start(share, writer),
    })
}

/// A share that has as many writers as it may takes another one only of an owner, in the place of the one that was
/// silent longest: strangers with a right to write do not shut the owner out by using up the places.
///
/// What a forgotten writer sent is not applied again: in a full share a new writer must name the cursor, and that has
/// moved on since.
fn make_room(
    transaction: &Transaction<'_>,
    share: &str,
    capability: &CapabilityRow,
    batch: &Batch,
    writers_max: u64,
) -> Result<(), ShareError> {
    const COUNT: &str = "SELECT count(*) FROM share_writer WHERE share_id = ?1 AND writer_id NOT LIKE ?2";
    const OLDEST: &str = "SELECT writer_id FROM share_writer WHERE share_id = ?1 AND writer_id NOT LIKE ?2
        ORDER BY updated, writer_id LIMIT 1";
    const FORGET: &str = "DELETE FROM share_writer WHERE share_id = ?1 AND writer_id = ?2";
    // Those for clients without numbers are as many as capabilities, and never forgotten: they count on.
    let without_numbers = format!("{}%", super::legacy::WRITER_PREFIX);
    let among = (share, &without_numbers);
    let known = transaction.prepare_cached(COUNT)?.query_row(among, |row| capability::count(row, 0))?;
    if known < writers_max {
        return Ok(());
    }
    if !capability.scope.contains(Scope::ADMIN) || batch.expected_cursor.is_none() {
        return Err(Refusal::TooLarge(format!("a share has at most {writers_max} writers")).into());
    }
    let oldest: String = transaction.prepare_cached(OLDEST)?.query_row(among, |row| row.get(0))?;
    transaction.execute(FORGET, (share, oldest))?;
    Ok(())
}

pub(super) fn store_writer(
    transaction: &Transaction<'_>,
    call: &ShareCall,
    share: &str,
    id: &str,
    writer: &Writer,
) -> Result<(), ShareError> {
    const STORE: &str =
        "INSERT INTO share_writer (share_id, writer_id, root_id, applied_seq, applied_count, chain, updated)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (share_id, writer_id) DO UPDATE SET
        applied_seq = excluded.applied_seq, applied_count = excluded.applied_count, chain = excluded.chain,
        updated = excluded.updated";
    transaction.prepare_cached(STORE)?.execute(rusqlite::params![
        share,
        id,
        writer.root,
        writer.applied_seq.cast_signed(),
        writer.applied_count.cast_signed(),
        writer.chain.to_string(),
        call.now.cast_signed(),
    ])?;
    Ok(())
}
