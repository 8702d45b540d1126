//! Operations of shares a second, beside plain rows written in the same groups in the same run.
//!
//! `cargo bench -p sturdy-store --bench shares` prints the table; `-- 5` measures five seconds for each line. Every batch
//! is 100 operations of 200 bytes, sealed with its chain before the clock starts to count it, and acknowledged after the
//! fsync. Plain rows are upserts of the same texts, 100 in one transaction, into a table of the same file.
//!
//! `-- drain` measures something else: a session of 50,000 messages with a part each is sent from one store to another, a
//! page at a time, and the memory that takes beyond what the open stores take: first all of it, as when it is shared, and
//! then all of it again as changes that were noted while the service was away.
//!
//! `-- idle` measures what sharing costs commits: in a store where nothing is shared, where another session is, and where
//! the session itself is.
//!
//! `-- all` does all three. Each line has its goal beside it, and what plain rows in the same file do in the same run.

#![allow(clippy::unwrap_used, reason = "a measurement that cannot go on says so and ends")]

use rusqlite::{Connection, TransactionBehavior};
use serde_json::json;
use std::path::Path;
use std::time::{Duration, Instant};
use sturdy_session::id::{MessageId, PartId, SessionId};
use sturdy_session::row::{PartRow, RowChange, RowWrite};
use sturdy_store::outbox::{Answered, Contract, LinkSecret, Made, WantedLink};
use sturdy_store::share::{
    Ack, Batch, Chain, NewShare, Operation, SCHEMA, ShareAuth, ShareCall, ShareLimits, SturdyRef, Visibility,
    chain_start,
};
use sturdy_store::{Commit, NewEntry, Options, Store};

const MESSAGES: u64 = 50_000;
const SESSION: &str = "ses_0123456789abABCDEFGHIJKLMN";

const SHARE: &str = "AbCdEfGhIjKlMnOpQrStUv";
const BATCH: u64 = 100;
/// Operations a second.
const GOAL_OPS: u64 = 20_000;
/// Of memory, while everything is sent.
const GOAL_MB: u64 = 30;
/// Different keys: after so many operations values replace others.
const KEYS: u64 = 10_000;

fn main() {
    let seconds = std::env::args().filter_map(|argument| argument.parse().ok()).next().unwrap_or(3);
    let span = Duration::from_secs(seconds);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let is_asked = |name: &str| std::env::args().any(|argument| argument == name || argument == "all");
    if is_asked("all") || !(is_asked("drain") || is_asked("idle")) {
        append(&runtime, span);
    }
    if is_asked("drain") {
        runtime.block_on(drain(span));
    }
    if is_asked("idle") {
        runtime.block_on(idle(span));
    }
}

fn append(runtime: &tokio::runtime::Runtime, span: Duration) {
    println!("round  operations/s  goal  plain rows/s  ratio");
    for round in 1..=3 {
        let directory = tempfile::tempdir().unwrap();
        let ours = runtime.block_on(through_share(directory.path(), span));
        let plain = through_rows(directory.path(), span);
        println!("{round:5} {ours:13.0} {GOAL_OPS:5} {plain:13.0} {:6.2}", ours / plain);
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
        visibility: Visibility::Link,
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
    const PUT: &str = "INSERT INTO plain_row (key, payload) VALUES (?1, ?2)
        ON CONFLICT (key) DO UPDATE SET payload = excluded.payload";
    let mut connection = Connection::open(path.join("sturdy.db")).unwrap();
    connection
        .execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
            CREATE TABLE plain_row (key TEXT PRIMARY KEY, payload TEXT NOT NULL)",
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

/// A session as long as a day of work, written as rows.
fn fill(path: &Path) {
    const MESSAGE: &str =
        "INSERT INTO message (id, session_id, ord, created, data, position) VALUES (?1, ?2, ?3, 1, ?4, ?3)";
    const PART: &str = "INSERT INTO part (id, message_id, session_id, ord, is_open, data, position)
        VALUES (?1, ?2, ?3, 1, 0, ?4, ?5)";
    let mut connection = Connection::open(path.join("sturdy.db")).unwrap();
    let transaction = connection.transaction().unwrap();
    let record = json!({ "id": SESSION, "title": "long" }).to_string();
    transaction
        .execute(
            "INSERT INTO session (id, project_id, directory, title, created, updated, archived, data, machine, position)
            VALUES (?1, 'p', '/', 'long', 1, 1, 0, ?2, '', 1)",
            (SESSION, record),
        )
        .unwrap();
    for number in 1..=MESSAGES {
        let message = format!("msg_{number:06}");
        let ord = number as i64;
        let data = json!({ "id": message, "sessionID": SESSION, "role": "user" }).to_string();
        transaction.prepare_cached(MESSAGE).unwrap().execute((&message, SESSION, ord, data)).unwrap();
        let data = json!({ "id": format!("prt_{number:06}"), "text": "x".repeat(160) }).to_string();
        let part = (format!("prt_{number:06}"), &message, SESSION, data, ord);
        transaction.prepare_cached(PART).unwrap().execute(part).unwrap();
    }
    transaction.commit().unwrap();
}

async fn drain(span: Duration) {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path().join("here");
    Store::open(Options::new(&here)).await.unwrap().close().await;
    fill(&here);
    let sender = Store::open(Options::new(&here)).await.unwrap();
    let receiver = Store::open(Options::new(directory.path().join("there"))).await.unwrap();
    let owner = SturdyRef::new(SHARE, "owner", "a-secret-of-the-owner");
    let new = NewShare {
        share: SHARE.to_owned(),
        owner: owner.clone(),
        session: SESSION.to_owned(),
        request: None,
        visibility: Visibility::Link,
        label: String::new(),
    };
    receiver.create_share(call(), new).await.unwrap();
    link(&sender, SESSION, &owner).await;
    send_all("whole session", &sender, &receiver, &owner).await;
    change_all(&here);
    send_all("changes", &sender, &receiver, &owner).await;
    sender.close().await;
    receiver.close().await;
    println!("plain rows in the same file: {:.0} a second", through_rows(&here, span));
}

/// Shares a session, as far as the sender's store is concerned.
async fn link(store: &Store, session: &str, owner: &SturdyRef) {
    let secret = LinkSecret::new(owner.reveal());
    let wanted = WantedLink {
        session: SessionId::parse(session).unwrap(),
        target: String::new(),
        request: "rq_1".to_owned(),
        secret: secret.clone(),
        writer: "wr_1".to_owned(),
        visibility: Visibility::Link,
        actor: String::new(),
    };
    let link = store.want_share(wanted, 1).await.unwrap();
    let made = Made {
        share: SHARE.to_owned(),
        url: "https://share.example".to_owned(),
        secret,
        contract: Contract::Ops,
        epoch: 1,
        cursor: 0,
    };
    store.share_was_made(&link, made).await.unwrap();
}

/// Every row is another one, and noted, as commits would have left it.
fn change_all(path: &Path) {
    let connection = Connection::open(path.join("sturdy.db")).unwrap();
    connection
        .execute_batch(
            "UPDATE message SET data = replace(data, 'user', 'User'), position = position + 1000000;
            UPDATE part SET data = replace(data, 'x', 'y'), position = position + 1000000;
            INSERT INTO share_unsent SELECT session_id, 'message', id, position, position FROM message;
            INSERT INTO share_unsent SELECT session_id, 'part', id, position, position FROM part;",
        )
        .unwrap();
}

async fn send_all(what: &str, sender: &Store, receiver: &Store, owner: &SturdyRef) {
    let session = SessionId::parse(SESSION).unwrap();
    let before = memory_kb();
    let mut most = before;
    let begun = Instant::now();
    let mut from = 0;
    let mut sent = 0;
    loop {
        let link = sender.share_link(&session).await.unwrap().unwrap();
        let found = if link.is_compared {
            sender.share_changes(&session).await.unwrap().unwrap()
        } else {
            sender.share_differences(&session, from).await.unwrap().unwrap()
        };
        let is_last = found.next.is_none();
        let sealed = sender.seal_share(&session, &link.writer, found.drafts, is_last).await.unwrap();
        if sealed.took_all {
            from = found.next.unwrap_or(0);
        }
        let Some((_, batch)) = sender.sealed_batch(&session).await.unwrap() else {
            if link.is_compared && is_last {
                break;
            }
            continue;
        };
        sent += batch.ops.len();
        let last_seq = batch.last_seq;
        let auth = ShareAuth::Ref(owner.clone());
        let ack = receiver.append_share(call(), SHARE.to_owned(), auth, batch).await.unwrap();
        let Ack { cursor, epoch, applied_count: count, .. } = ack;
        let answered = Answered { last_seq, cursor, epoch, count, error: None };
        sender.share_was_answered(&session, &link.writer, answered).await.unwrap();
        most = most.max(memory_kb());
    }
    let took = begun.elapsed().as_secs_f64();
    let more = (most - before) as f64 / 1024.0;
    println!(
        "{what}: {sent} operations in {took:.1} s, {:.0} a second; at most {more:.1} MB more (goal {GOAL_MB})",
        sent as f64 / took
    );
}

/// Commits a second of a session that writes one part again and again.
async fn idle(span: Duration) {
    let owner = SturdyRef::new(SHARE, "owner", "a-secret-of-the-owner");
    println!("shared            commits/s  of the first  plain rows/s");
    let mut first = None;
    for (what, shared) in
        [("nothing", None), ("another session", Some("ses_other")), ("this session", Some("ses_a"))]
    {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(Options::new(directory.path())).await.unwrap();
        if let Some(session) = shared {
            link(&store, session, &owner).await;
        }
        let mut expected = 0;
        let begun = Instant::now();
        while begun.elapsed() < span {
            // One after another: each builds on the one before.
            store.commit(written(expected)).await.unwrap();
            expected += 1;
        }
        let commits = expected as f64 / begun.elapsed().as_secs_f64();
        store.close().await;
        let ratio = commits / *first.get_or_insert(commits);
        let plain = through_rows(directory.path(), span);
        println!("{what:16} {commits:10.0} {ratio:13.2} {plain:13.0}");
    }
    println!(
        "(goal: where nothing is shared, sharing costs nothing; so another session's costs next to nothing)"
    );
}

fn written(expected: u64) -> Commit {
    let session = SessionId::parse("ses_a").unwrap();
    let row = PartRow {
        id: PartId::parse("prt_1").unwrap(),
        message_id: MessageId::parse("msg_1").unwrap(),
        session_id: session.clone(),
        ord: 1,
        is_open: false,
        data: payload(expected),
    };
    let entry = NewEntry {
        kind: "session.compacted.1",
        subject: None,
        at: 1_000,
        data: "{}".to_owned(),
        actor: None,
        tells: 0,
    };
    let rows = vec![RowWrite { entry: 0, change: RowChange::Part(row) }];
    Commit { session, expected, entries: vec![entry], rows, parent: None, grant: None }
}

/// What this process has in memory.
fn memory_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}
