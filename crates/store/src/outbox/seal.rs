//! Sealing: things to be said become numbered operations, stored before anybody sends them.
//!
//! From then on they do not change. The answer moves the batch away and the link on, in one transaction: only that
//! counts as delivered.

use super::changes::settle;
use super::compare::Draft;
use super::link::{self, Link, SnapshotStage};
use crate::Store;
use crate::error::{CommitError, Failure, ReadError};
use crate::share::{BATCH_BYTES_MAX, BATCH_OPS_MAX, Batch, Kind, Operation, SCHEMA};
use rusqlite::{Connection, OptionalExtension as _, Transaction, params};
use sha2::{Digest as _, Sha256};
use std::collections::HashMap;
use sturdy_session::id::SessionId;
use tracing::trace;

/// What became of things to be said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sealed {
    /// There is a batch to send.
    pub is_sealed: bool,
    /// All of them are in it, or need not be said.
    pub took_all: bool,
}

/// What the service said of the sealed batch.
#[derive(Clone, Debug)]
pub struct Answered {
    pub last_seq: u64,
    pub cursor: u64,
    pub epoch: u64,
    /// Operations of this writer that had an effect.
    pub count: u64,
    /// Why some of them had none.
    pub error: Option<String>,
}

impl Store {
    /// Seals the next batch of a link. Nothing happens while one is sealed already, or under another writer.
    /// `is_complete`: nothing else is left to be said, so a snapshot ends with it, and the session is compared.
    pub async fn seal_share(
        &self,
        session: &SessionId,
        writer: &str,
        drafts: Vec<Draft>,
        is_complete: bool,
    ) -> Result<Sealed, CommitError> {
        let session = session.clone();
        let writer = writer.to_owned();
        self.write(move |connection| {
            let transaction = connection.transaction()?;
            let sealed = seal(&transaction, &session, &writer, drafts, is_complete)?;
            transaction.commit()?;
            if sealed.is_sealed {
                trace!("point seal.post");
            }
            Ok(sealed)
        })
        .await
    }

    /// The batch that was sealed and not answered, as it is to be sent.
    pub async fn sealed_batch(&self, session: &SessionId) -> Result<Option<(Link, Batch)>, ReadError> {
        let session = session.clone();
        self.read(move |connection| Ok(load(connection, &session)?)).await
    }

    /// The models that were sealed, by id.
    pub async fn said_models(&self, session: &SessionId) -> Result<Vec<String>, ReadError> {
        const MODELS: &str = "SELECT id FROM share_said WHERE session_id = ?1 AND kind = 'model' ORDER BY id";
        let session = session.clone();
        self.read(move |connection| {
            let mut statement = connection.prepare_cached(MODELS)?;
            let ids = statement.query_map([session.as_str()], |row| row.get(0))?;
            Ok(ids.collect::<Result<_, _>>()?)
        })
        .await
    }

    /// The service has answered: the batch goes, the link moves on. A second answer changes nothing.
    pub async fn share_was_answered(
        &self,
        session: &SessionId,
        writer: &str,
        answered: Answered,
    ) -> Result<(), CommitError> {
        const MOVE: &str =
            "UPDATE share_link SET acked_seq = ?3, acked_chain = sealed_chain, acked_count = ?4,
            cursor = ?5, epoch = ?6, error = ?7, failures = 0, retry_at = 0
            WHERE session_id = ?1 AND writer_id = ?2 AND sealed_seq = ?3 AND acked_seq < ?3";
        const GONE: &str = "DELETE FROM share_sealed WHERE session_id = ?1 AND last_seq = ?2";
        let session = session.clone();
        let writer = writer.to_owned();
        self.write(move |connection| {
            let transaction = connection.transaction()?;
            let moved = transaction.prepare_cached(MOVE)?.execute(params![
                session.as_str(),
                writer,
                answered.last_seq.cast_signed(),
                answered.count.cast_signed(),
                answered.cursor.cast_signed(),
                answered.epoch.cast_signed(),
                answered.error,
            ])?;
            if moved == 1 {
                trace!("point ack.mid");
                transaction.execute(GONE, (session.as_str(), answered.last_seq.cast_signed()))?;
                trace!("point purge.mid");
            }
            transaction.commit()?;
            trace!("point ack.post");
            Ok(())
        })
        .await
    }
}

fn seal(
    transaction: &Transaction<'_>,
    session: &SessionId,
    writer: &str,
    drafts: Vec<Draft>,
    is_complete: bool,
) -> Result<Sealed, CommitError> {
    const COMPARED: &str = "UPDATE share_link SET is_compared = 1 WHERE session_id = ?1";
    let nothing = Sealed { is_sealed: false, took_all: false };
    let Some(link) = link::find(transaction, session)? else { return Ok(nothing) };
    if link.writer != writer || link.sealed_seq != link.acked_seq {
        return Ok(nothing);
    }
    let mut sealing = Sealing::new(&link);
    if link.snapshot == SnapshotStage::Wanted {
        sealing.add(&sealing.mark(Kind::SnapshotBegin));
    }
    let mut took_all = true;
    for draft in &drafts {
        if need_not_be_said(transaction, session, draft)? {
            remember(transaction, session, draft)?;
        } else if sealing.has_room_for(draft) {
            sealing.add(draft);
            remember(transaction, session, draft)?;
        } else {
            took_all = false;
            break;
        }
    }
    let mut stage = if link.snapshot == SnapshotStage::Wanted { SnapshotStage::Open } else { link.snapshot };
    let end = sealing.mark(Kind::SnapshotEnd);
    if stage == SnapshotStage::Open && is_complete && took_all && sealing.has_room_for(&end) {
        sealing.add(&end);
        stage = SnapshotStage::None;
    }
    if is_complete && took_all && stage == SnapshotStage::None && !link.is_compared {
        transaction.prepare_cached(COMPARED)?.execute([session.as_str()])?;
    }
    if sealing.ops.is_empty() {
        return Ok(Sealed { is_sealed: false, took_all });
    }
    store(transaction, &link, &sealing, stage)?;
    trace!("point seal.mid");
    Ok(Sealed { is_sealed: true, took_all })
}

/// A batch in the making.
struct Sealing<'a> {
    link: &'a Link,
    ops: Vec<Operation>,
    bytes: usize,
    /// Operations of this batch by their keys.
    by_key: HashMap<String, String>,
}

impl<'a> Sealing<'a> {
    fn new(link: &'a Link) -> Self {
        Self { link, ops: Vec::new(), bytes: 0, by_key: HashMap::new() }
    }

    fn mark(&self, kind: Kind) -> Draft {
        let id = self.link.generation.to_string();
        Draft { kind, id, parent: String::new(), version: 0, payload: None }
    }

    /// One that is too large for any batch has one for itself.
    fn has_room_for(&self, draft: &Draft) -> bool {
        let fits = self.bytes + draft.bytes() <= BATCH_BYTES_MAX;
        self.ops.len() < BATCH_OPS_MAX && (fits || self.ops.is_empty())
    }

    fn add(&mut self, draft: &Draft) {
        let seq = self.link.sealed_seq + 1 + self.ops.len() as u64;
        // The writer's id is random, so no other writer has it.
        let op_id = format!("op_{}_{seq}", self.link.writer.trim_start_matches("wr_"));
        let key = draft.key();
        let message = match draft.kind {
            Kind::Part => self.by_key.get(&format!("message/{}", draft.parent)),
            Kind::Session
            | Kind::Message
            | Kind::SessionDiff
            | Kind::Model
            | Kind::MessageRemove
            | Kind::PartRemove
            | Kind::SnapshotBegin
            | Kind::SnapshotEnd => None,
        };
        let depends_on: Vec<String> = message.cloned().into_iter().collect();
        self.bytes += draft.bytes();
        self.by_key.insert(key.clone(), format!("{op_id}@{seq}"));
        self.ops.push(Operation {
            op_id,
            seq,
            kind: draft.kind.as_str().to_owned(),
            key,
            version: draft.version,
            schema: SCHEMA,
            depends_on,
            payload_json: draft.payload.clone(),
        });
    }
}

fn store(
    transaction: &Transaction<'_>,
    link: &Link,
    sealing: &Sealing<'_>,
    stage: SnapshotStage,
) -> Result<(), CommitError> {
    const KEEP: &str =
        "INSERT INTO share_sealed (session_id, first_seq, last_seq, ops) VALUES (?1, ?2, ?3, ?4)";
    const MOVE: &str =
        "UPDATE share_link SET sealed_seq = ?2, sealed_chain = ?3, snapshot = ?4 WHERE session_id = ?1";
    let ops = serde_json::to_string(&sealing.ops).expect("BUG: an operation is always JSON");
    let first = link.sealed_seq + 1;
    let last = link.sealed_seq + sealing.ops.len() as u64;
    let chain = sealing.ops.iter().fold(link.sealed_chain, |chain, op| chain.after(op));
    let session = link.session.as_str();
    transaction.prepare_cached(KEEP)?.execute((session, first.cast_signed(), last.cast_signed(), ops))?;
    transaction.prepare_cached(MOVE)?.execute((
        session,
        last.cast_signed(),
        chain.to_string(),
        stage.as_str(),
    ))?;
    Ok(())
}

/// Whether exactly this was the last thing that was said of it, or it is the removal of what was never said.
fn need_not_be_said(connection: &Connection, session: &SessionId, draft: &Draft) -> Result<bool, Failure> {
    const SAID: &str = "SELECT hash FROM share_said WHERE session_id = ?1 AND kind = ?2 AND id = ?3";
    let key = (session.as_str(), draft.kind.of_row().as_str(), &draft.id);
    let said: Option<Vec<u8>> =
        connection.prepare_cached(SAID)?.query_row(key, |row| row.get(0)).optional()?;
    Ok(match &draft.payload {
        Some(payload) => said.is_some_and(|said| said == hash(payload)),
        None => said.is_none(),
    })
}

fn remember(connection: &Connection, session: &SessionId, draft: &Draft) -> Result<(), Failure> {
    const SAY: &str = "INSERT INTO share_said (session_id, kind, id, parent, version, hash)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (session_id, kind, id) DO UPDATE SET
        parent = excluded.parent, version = excluded.version, hash = excluded.hash";
    const FORGET: &str = "DELETE FROM share_said WHERE session_id = ?1 AND kind = ?2 AND id = ?3";
    const FORGET_PARTS: &str =
        "DELETE FROM share_said WHERE session_id = ?1 AND kind = 'part' AND parent = ?2";
    let session = session.as_str();
    settle(connection, session, draft.kind.of_row(), &draft.id, draft.version)?;
    match draft.kind {
        Kind::Session | Kind::Message | Kind::Part | Kind::SessionDiff | Kind::Model => {
            let hash = hash(draft.payload.as_deref().unwrap_or_default());
            connection.prepare_cached(SAY)?.execute(params![
                session,
                draft.kind.as_str(),
                draft.id,
                draft.parent,
                draft.version.cast_signed(),
                hash,
            ])?;
        }
        Kind::MessageRemove => {
            connection.execute(FORGET, (session, Kind::Message.as_str(), &draft.id))?;
            connection.execute(FORGET_PARTS, (session, &draft.id))?;
        }
        Kind::PartRemove => {
            connection.execute(FORGET, (session, Kind::Part.as_str(), &draft.id))?;
        }
        Kind::SnapshotBegin | Kind::SnapshotEnd => {}
    }
    Ok(())
}

fn hash(payload: &str) -> Vec<u8> {
    Sha256::digest(payload).to_vec()
}

fn load(connection: &Connection, session: &SessionId) -> Result<Option<(Link, Batch)>, Failure> {
    const SEALED: &str = "SELECT first_seq, last_seq, ops FROM share_sealed WHERE session_id = ?1";
    let Some(link) = link::find(connection, session)? else { return Ok(None) };
    let mut statement = connection.prepare_cached(SEALED)?;
    let found = statement.query_row([session.as_str()], |row| {
        Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, String>(2)?))
    });
    let Some((first, last, ops)) = found.optional()? else { return Ok(None) };
    let damaged = |cause| Failure::broken(format!("the share of session {session}"), cause);
    let ops: Vec<Operation> = serde_json::from_str(&ops).map_err(damaged)?;
    let batch = Batch {
        writer_id: link.writer.clone(),
        batch_id: format!("bt_{}_{first}", link.writer.trim_start_matches("wr_")),
        first_seq: first.cast_unsigned(),
        last_seq: last.cast_unsigned(),
        chain_before: link.acked_chain.to_string(),
        chain_after: link.sealed_chain.to_string(),
        expected_cursor: Some(link.cursor),
        capability_epoch: link.epoch,
        ops,
    };
    Ok(Some((link, batch)))
}
