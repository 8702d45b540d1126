//! Operations of shares a second, beside plain rows written in the same groups in the same run.
//!
//! `cargo bench -p sturdy-store --bench shares` prints the table; `-- 5` measures five seconds for each line. Every batch
//! is 100 operations of 200 bytes, sealed with its chain before the clock starts to count it, and acknowledged after the
//! fsync. Plain rows are upserts of the same texts, 100 in one transaction, into one table of an own file.

#![allow(clippy::unwrap_used, reason = "a measurement that cannot go on says so and ends")]

use rusqlite::{Connection, TransactionBehavior};
use serde_json::json;
use std::path::Path;
use std::time::{Duration, Instant};
use sturdy_store::share::{
    Batch, Chain, NewShare, Operation, SCHEMA, ShareAuth, ShareCall, ShareLimits, SturdyRef, chain_start,
};
use sturdy_store::{Options, Store};

const SHARE: &str = "AbCdEfGhIjKlMnOpQrStUv";
const BATCH: u64 = 100;
/// Different keys: after so many operations values replace others.
const KEYS: u64 = 10_000;

fn main() {
    let seconds = std::env::args().filter_map(|argument| argument.parse().ok()).next().unwrap_or(3);
    let span = Duration::from_secs(seconds);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    println!("round  operations/s  plain rows/s  ratio");
    for round in 1..=3 {
        let directory = tempfile::tempdir().unwrap();
        let ours = runtime.block_on(through_share(directory.path(), span));
        let plain = through_rows(directory.path(), span);
        println!("{round:5} {ours:13.0} {plain:13.0} {:6.2}", ours / plain);
    }
}

fn call() -> ShareCall {
    ShareCall {
        now: 1_000,
        actor: "bench".to_owned(),
        transport: "bench",
        address: String::new(),
        budget: None,
        limits: ShareLimits::default(),
    }
}

fn payload(seq: u64) -> String {
    json!({ "id": format!("prt_{}", seq % KEYS), "text": "x".repeat(160), "seq": seq }).to_string()
}

async fn through_share(path: &Path, span: Duration) -> f64 {
    let store = Store::open(Options::new(path)).await.unwrap();
    let owner = SturdyRef::new(SHARE, "owner", "a-secret-of-the-owner");
    let new = NewShare {
        share: SHARE.to_owned(),
        owner: owner.clone(),
        session: "ses_a".to_owned(),
        request: None,
        visibility: "link".to_owned(),
        label: String::new(),
    };
    store.create_share(call(), new).await.unwrap();
    let mut chain = chain_start(SHARE, "wr_bench");
    let mut next = 1;
    let mut spent = Duration::ZERO;
    let mut done = 0;
    while spent < span {
        let batch = seal(&mut chain, next);
        next += BATCH;
        let begun = Instant::now();
        store.append_share(call(), SHARE.to_owned(), ShareAuth::Ref(owner.clone()), batch).await.unwrap();
        spent += begun.elapsed();
        done += BATCH;
    }
    store.close().await;
    done as f64 / spent.as_secs_f64()
}

fn seal(chain: &mut Chain, first: u64) -> Batch {
    let before = *chain;
    let mut ops = Vec::new();
    for seq in first..first + BATCH {
        let op = Operation {
            op_id: format!("op_{seq}"),
            seq,
            kind: "part".to_owned(),
            key: format!("part/msg_1/prt_{}", seq % KEYS),
            version: seq,
            schema: SCHEMA,
            depends_on: Vec::new(),
            payload_json: Some(payload(seq)),
        };
        *chain = chain.after(&op);
        ops.push(op);
    }
    Batch {
        writer_id: "wr_bench".to_owned(),
        batch_id: format!("bt_{first}"),
        first_seq: first,
        last_seq: first + BATCH - 1,
        chain_before: before.to_string(),
        chain_after: chain.to_string(),
        expected_cursor: None,
        capability_epoch: 1,
        ops,
    }
}

fn through_rows(path: &Path, span: Duration) -> f64 {
    const PUT: &str = "INSERT INTO entity (key, payload) VALUES (?1, ?2)
        ON CONFLICT (key) DO UPDATE SET payload = excluded.payload";
    let mut connection = Connection::open(path.join("plain.db")).unwrap();
    connection
        .execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
            CREATE TABLE entity (key TEXT PRIMARY KEY, payload TEXT NOT NULL)",
        )
        .unwrap();
    let mut seq = 0;
    let mut spent = Duration::ZERO;
    while spent < span {
        let rows: Vec<(String, String)> =
            (seq..seq + BATCH).map(|seq| (format!("part/msg_1/prt_{}", seq % KEYS), payload(seq))).collect();
        seq += BATCH;
        let begun = Instant::now();
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
        for (key, payload) in &rows {
            transaction.prepare_cached(PUT).unwrap().execute((key, payload)).unwrap();
        }
        transaction.commit().unwrap();
        spent += begun.elapsed();
    }
    seq as f64 / spent.as_secs_f64()
}
