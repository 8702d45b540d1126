//! What each operation does to the share.

use super::super::ShareCall;
use super::super::capability::{self, CapabilityRow, ShareRow};
use super::super::op::{Kind, OpRefusal, Operation};
use super::super::refusal::{Refusal, ShareError};
use super::Rejected;
use rusqlite::{OptionalExtension as _, Transaction};

const ENTITY: &str =
    "INSERT INTO share_entity (share_id, key, kind, version, schema, generation, payload, cursor)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT (share_id, key) DO UPDATE SET kind = excluded.kind,
    version = excluded.version, schema = excluded.schema, generation = excluded.generation,
    payload = excluded.payload, cursor = excluded.cursor";
const REMOVE: &str = "DELETE FROM share_entity WHERE share_id = ?1 AND key = ?2";
// From the first key of a message's parts to the first key after them: '0' follows '/'.
const REMOVE_PARTS: &str = "DELETE FROM share_entity WHERE share_id = ?1 AND key > ?2 AND key < ?3";
const REMOVE_OLD: &str = "DELETE FROM share_entity WHERE share_id = ?1 AND generation < ?2";
const LOG: &str = "INSERT INTO share_op (share_id, cursor, writer_id, seq, op_id, kind, key, at)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
const REJECT: &str = "INSERT INTO share_reject (share_id, writer_id, seq, op_id, code, message)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
// In bytes, not in letters; and without reading them, which a cast would.
const SIZE: &str = "SELECT COALESCE(sum(octet_length(payload)), 0) FROM share_entity
    WHERE share_id = ?1 AND key >= ?2 AND key <= ?3";
const SIZE_OLD: &str = "SELECT COALESCE(sum(octet_length(payload)), 0) FROM share_entity
    WHERE share_id = ?1 AND generation < ?2";
const WAS_REJECTED: &str = "SELECT 1 FROM share_reject WHERE share_id = ?1 AND op_id = ?2 LIMIT 1";
const WAS_APPLIED: &str = "SELECT 1 FROM share_op WHERE share_id = ?1 AND op_id = ?2";
const SHARE: &str =
    "UPDATE share SET cursor = ?2, generation = ?3, snapshot = ?4, sync_count = ?5, updated = ?6,
    bytes = ?7 WHERE share_id = ?1";
const CUT: &str = "DELETE FROM share_op WHERE share_id = ?1 AND cursor <= ?2";
const MOVE: &str = "UPDATE share SET log_from = ?2 WHERE share_id = ?1 AND log_from < ?2";
const FORGET_REJECTS: &str = "DELETE FROM share_reject WHERE share_id = ?1 AND writer_id = ?2 AND seq < ?3";
/// The log is cut when it has this many rows more than it may, so that not every batch does.
const LOG_SLACK: u64 = 1024;
/// What was refused of so many last numbers of a writer is kept: as many as the largest batch has.
const REJECTS_KEPT: u64 = 4096;
const USED: &str = "UPDATE share_capability SET used_ops = used_ops + ?2 WHERE cap_id = ?1";

/// Applies new operations, one after another.
pub(in crate::share) struct Applier<'a> {
    transaction: &'a Transaction<'a>,
    call: &'a ShareCall,
    share: &'a str,
    writer: &'a str,
    row: ShareRow,
    capability: &'a CapabilityRow,
    /// What it was made of: what is used of it is used of them.
    above: Vec<CapabilityRow>,
}

/// What became of them.
#[derive(Debug, Default)]
pub(in crate::share) struct Applied {
    pub(in crate::share) applied: Vec<String>,
    pub(in crate::share) rejected: Vec<Rejected>,
}

impl<'a> Applier<'a> {
    pub(in crate::share) fn new(
        transaction: &'a Transaction<'a>,
        call: &'a ShareCall,
        share: &'a str,
        writer: &'a str,
        row: ShareRow,
        capability: &'a CapabilityRow,
    ) -> Result<Self, ShareError> {
        let above = capability::above(transaction, capability)?;
        Ok(Self { transaction, call, share, writer, row, capability, above })
    }

    /// Operations that the capability, and every one that it was made of, still allow. Counted for itself alone, a quota
    /// would be as many times as large as somebody makes capabilities of it.
    fn left(&self) -> Option<u64> {
        let own = self.capability.left().into_iter();
        own.chain(self.above.iter().filter_map(CapabilityRow::left)).min()
    }

    pub(in crate::share) fn all(&mut self, ops: &[Operation]) -> Result<Applied, ShareError> {
        // A quota is a promise to whoever gave it: a batch that does not fit is refused whole.
        if self.left().is_some_and(|left| (ops.len() as u64) > left) {
            return Err(Refusal::TooLarge("the capability's quota is used up".to_owned()).into());
        }
        let more: usize = ops.iter().map(Operation::payload_bytes).sum();
        if let Some(budget) = self.call.budget.filter(|_| more > 0) {
            budget.check(self.transaction, 0, more as u64)?;
        }
        if more > 0 && self.row.bytes.saturating_add(more as u64) > self.call.limits.share_bytes {
            return Err(Refusal::Full.into());
        }
        let mut done = Applied::default();
        let first = ops.first().map_or(0, |op| op.seq);
        for op in ops {
            match self.judge(op, first)? {
                Ok(kind) => {
                    self.apply(op, kind)?;
                    tracing::trace!("point srv.op");
                    done.applied.push(op.op_id.clone());
                }
                Err(why) => done.rejected.push(self.reject(op, why)?),
            }
        }
        Ok(done)
    }

    /// Stores where the share stands now.
    pub(in crate::share) fn finish(mut self, applied: usize) -> Result<ShareRow, ShareError> {
        self.row.sync_count += 1;
        self.cut_log()?;
        self.transaction.prepare_cached(SHARE)?.execute(rusqlite::params![
            self.share,
            self.row.cursor.cast_signed(),
            self.row.generation.cast_signed(),
            self.row.snapshot,
            self.row.sync_count.cast_signed(),
            self.call.now.cast_signed(),
            self.row.bytes.cast_signed(),
        ])?;
        if applied > 0 {
            for used in self.above.iter().chain([self.capability]) {
                self.transaction.prepare_cached(USED)?.execute((&used.cap_id, applied as i64))?;
            }
        }
        Ok(self.row)
    }

    /// Nobody fills the disk between two rounds of upkeep.
    fn cut_log(&mut self) -> Result<(), ShareError> {
        let most = self.call.limits.log_rows;
        if self.row.cursor - self.row.log_from > most + LOG_SLACK {
            self.row.log_from = self.row.cursor - most;
            let cut = (self.share, self.row.log_from.cast_signed());
            self.transaction.prepare_cached(CUT)?.execute(cut)?;
            self.transaction.prepare_cached(MOVE)?.execute(cut)?;
        }
        Ok(())
    }

    fn judge(&self, op: &Operation, first: u64) -> Result<Result<Kind, OpRefusal>, ShareError> {
        let kind = match op.check(self.call.limits.op_bytes) {
            Ok(kind) => kind,
            Err(why) => return Ok(Err(why)),
        };
        if !self.capability.allows_kind(&op.kind) {
            let why = format!("the capability does not allow {}", op.kind);
            return Ok(Err(OpRefusal::new("kind_forbidden", why)));
        }
        if kind == Kind::SnapshotEnd && self.row.snapshot.as_deref() != Some(&op.key) {
            return Ok(Err(OpRefusal::new("invalid_payload", "no such snapshot was begun")));
        }
        if self.exists(WAS_APPLIED, &op.op_id)? {
            return Ok(Err(OpRefusal::new("invalid_payload", "the operation's id was used before")));
        }
        for dependency in &op.depends_on {
            if let Some(why) = self.unmet(dependency, op.seq, first)? {
                return Ok(Err(why));
            }
        }
        Ok(Ok(kind))
    }

    /// Why a dependency does not hold: `op@seq` of this writer, or `op` of another one.
    fn unmet(&self, dependency: &str, seq: u64, first: u64) -> Result<Option<OpRefusal>, ShareError> {
        let (op, number) = match dependency.rsplit_once('@') {
            Some((op, number)) => (op, number.parse::<u64>().ok()),
            None => (dependency, None),
        };
        if self.exists(WAS_REJECTED, op)? {
            let why = format!("it depends on {op}, which was rejected");
            return Ok(Some(OpRefusal::new("dependency_rejected", why)));
        }
        let is_met = match number {
            // Below the batch: at or below the watermark. Within it: already looked at.
            Some(number) if dependency.contains('@') => number < first || number < seq,
            _ => self.exists(WAS_APPLIED, op)?,
        };
        let why = || OpRefusal::new("dependency_missing", format!("it depends on {op}, which is not here"));
        Ok((!is_met).then(why))
    }

    fn exists(&self, statement: &str, op: &str) -> Result<bool, ShareError> {
        let found: Option<i64> = self
            .transaction
            .prepare_cached(statement)?
            .query_row((self.share, op), |row| row.get(0))
            .optional()?;
        Ok(found.is_some())
    }

    fn apply(&mut self, op: &Operation, kind: Kind) -> Result<(), ShareError> {
        self.row.cursor += 1;
        match kind {
            Kind::Session | Kind::Message | Kind::Part | Kind::SessionDiff | Kind::Model => {
                self.shrink(&op.key, &op.key)?;
                self.row.bytes += op.payload_bytes() as u64;
                self.transaction.prepare_cached(ENTITY)?.execute(rusqlite::params![
                    self.share,
                    op.key,
                    op.kind,
                    op.version.cast_signed(),
                    op.schema.cast_signed(),
                    self.row.generation.cast_signed(),
                    op.payload_json,
                    self.row.cursor.cast_signed(),
                ])?;
            }
            Kind::MessageRemove => {
                self.shrink(&op.key, &op.key)?;
                self.transaction.prepare_cached(REMOVE)?.execute((self.share, &op.key))?;
                let message = op.key.trim_start_matches("message/");
                let first = format!("part/{message}/");
                let after = format!("part/{message}0");
                self.shrink(&first, &after)?;
                self.transaction.prepare_cached(REMOVE_PARTS)?.execute((self.share, first, after))?;
            }
            Kind::PartRemove => {
                self.shrink(&op.key, &op.key)?;
                self.transaction.prepare_cached(REMOVE)?.execute((self.share, &op.key))?;
            }
            Kind::SnapshotBegin => {
                self.row.generation += 1;
                self.row.snapshot = Some(op.key.clone());
            }
            Kind::SnapshotEnd => {
                let generation = self.row.generation.cast_signed();
                let old = (self.share, generation);
                let gone = self.transaction.prepare_cached(SIZE_OLD)?.query_row(old, |row| row.get(0))?;
                self.row.bytes = self.row.bytes.saturating_sub(i64::cast_unsigned(gone));
                self.transaction.prepare_cached(REMOVE_OLD)?.execute((self.share, generation))?;
                self.row.snapshot = None;
            }
        }
        self.transaction.prepare_cached(LOG)?.execute(rusqlite::params![
            self.share,
            self.row.cursor.cast_signed(),
            self.writer,
            op.seq.cast_signed(),
            op.op_id,
            op.kind,
            op.key,
            self.call.now.cast_signed(),
        ])?;
        Ok(())
    }

    /// What stands under these keys is replaced or goes.
    fn shrink(&mut self, first: &str, last: &str) -> Result<(), ShareError> {
        let keys = (self.share, first, last);
        let gone = self.transaction.prepare_cached(SIZE)?.query_row(keys, |row| row.get(0))?;
        self.row.bytes = self.row.bytes.saturating_sub(i64::cast_unsigned(gone));
        Ok(())
    }

    fn reject(&self, op: &Operation, why: OpRefusal) -> Result<Rejected, ShareError> {
        self.transaction.prepare_cached(REJECT)?.execute(rusqlite::params![
            self.share,
            self.writer,
            op.seq.cast_signed(),
            op.op_id,
            why.code,
            why.message,
        ])?;
        // Older ones are asked for by nobody: a batch is sent again until it is answered, and then the next one comes.
        let oldest = op.seq.saturating_sub(REJECTS_KEPT).cast_signed();
        self.transaction.prepare_cached(FORGET_REJECTS)?.execute((self.share, self.writer, oldest))?;
        Ok(Rejected { op_id: op.op_id.clone(), seq: op.seq, code: why.code.to_owned(), message: why.message })
    }
}
