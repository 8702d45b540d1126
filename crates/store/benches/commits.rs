//! Acknowledged commits a second from many callers, beside raw SQLite writing the same rows in
//! groups of the same size, in the same run.
//!
//! `cargo bench -p sturdy-store` prints the table; `-- 5` measures five seconds for each line.
//! CPU is that of the whole process, callers included, in microseconds for each commit.

#![allow(clippy::unwrap_used, reason = "a measurement that cannot go on says so and ends")]

use rusqlite::{Connection, TransactionBehavior};
use serde_json::json;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use sturdy_session::id::{MessageId, PartId, SessionId};
use sturdy_session::row::{PartRow, RowChange, RowWrite};
use sturdy_store::{Commit, Durability, NewEntry, Options, Store};

/// What one commit holds.
#[derive(Clone, Copy)]
enum Load {
    /// A gathered chunk of text: one small entry.
    Delta,
    /// A part that is written whole: one entry and one row.
    Part,
}

fn main() {
    let seconds = std::env::args().filter_map(|argument| argument.parse().ok()).next().unwrap_or(3);
    let span = Duration::from_secs(seconds);
    println!("load   durability callers  commits/s  group  cpu us  raw commits/s  raw cpu us  cpu ratio");
    for load in [Load::Delta, Load::Part] {
        for durability in [Durability::Full, Durability::Normal] {
            for callers in [1, 20, 100] {
                measure(load, durability, callers, span);
            }
        }
    }
}

fn measure(load: Load, durability: Durability, callers: usize, span: Duration) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let (ours, group) = runtime.block_on(through_store(directory.path(), load, durability, callers, span));
    drop(runtime);
    let directory = tempfile::tempdir().unwrap();
    let raw =
        through_sqlite(directory.path(), load, durability, callers, group.round().max(1.0) as u64, span);

    let name = match load {
        Load::Delta => "delta",
        Load::Part => "part",
    };
    println!(
        "{name:6} {:10} {callers:7} {:10.0} {group:6.1} {:7.1} {:14.0} {:11.1} {:10.2}",
        format!("{durability:?}").to_lowercase(),
        ours.per_second,
        ours.cpu_us,
        raw.per_second,
        raw.cpu_us,
        ours.cpu_us / raw.cpu_us
    );
}

struct Measured {
    per_second: f64,
    cpu_us: f64,
}

fn measured(commits: u64, wall: Duration, cpu: Duration) -> Measured {
    let commits = commits as f64;
    Measured { per_second: commits / wall.as_secs_f64(), cpu_us: cpu.as_secs_f64() * 1e6 / commits }
}

async fn through_store(
    path: &Path,
    load: Load,
    durability: Durability,
    callers: usize,
    span: Duration,
) -> (Measured, f64) {
    let options = Options { durability, ..Options::new(path) };
    let store = Store::open(options).await.unwrap();
    let commits = Arc::new(AtomicU64::new(0));
    let stop = Arc::new(AtomicBool::new(false));
    let start = Instant::now();
    let cpu = cpu_time();
    let mut tasks = tokio::task::JoinSet::new();
    for caller in 0..callers {
        let store = store.clone();
        let commits = Arc::clone(&commits);
        let stop = Arc::clone(&stop);
        tasks.spawn(async move {
            let session = session_id(caller);
            let mut expected = 0;
            while !stop.load(Ordering::Relaxed) {
                let commit = commit(load, &session, caller, expected);
                expected = store.commit(commit).await.unwrap().seq;
                commits.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    tokio::time::sleep(span).await;
    stop.store(true, Ordering::Relaxed);
    while tasks.join_next().await.is_some() {}
    let commits = commits.load(Ordering::Relaxed);
    let result = measured(commits, start.elapsed(), cpu_time() - cpu);
    let group = commits as f64 / store.transactions() as f64;
    store.close().await;
    (result, group)
}

/// The least a program could do: the same tables, the same rows, the same groups, one loop.
fn through_sqlite(
    path: &Path,
    load: Load,
    durability: Durability,
    callers: usize,
    group: u64,
    span: Duration,
) -> Measured {
    let mut connection = Connection::open(path.join("raw.db")).unwrap();
    let synchronous = format!("{durability:?}").to_uppercase();
    let schema = include_str!("../migrations/0001_log_and_rows.sql")
        .replace("BIGINT PRIMARY KEY", "INTEGER PRIMARY KEY");
    connection
        .execute_batch(&format!("PRAGMA journal_mode=WAL; PRAGMA synchronous={synchronous}; {schema}"))
        .unwrap();

    let sessions: Vec<_> = (0..callers).map(session_id).collect();
    let mut seqs = vec![0_u64; callers];
    let start = Instant::now();
    let cpu = cpu_time();
    let mut commits = 0;
    while start.elapsed() < span {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
        for _ in 0..group {
            let caller = commits as usize % callers;
            let commit = commit(load, &sessions[caller], caller, seqs[caller]);
            commits += 1;
            seqs[caller] += 1;
            write_raw(&transaction, &commit, commits as i64, seqs[caller] as i64);
        }
        transaction.commit().unwrap();
    }
    measured(commits, start.elapsed(), cpu_time() - cpu)
}

fn write_raw(connection: &Connection, commit: &Commit, position: i64, seq: i64) {
    for entry in &commit.entries {
        connection
            .prepare_cached(
                "INSERT INTO log (position, session_id, seq, kind, at, data) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )
            .unwrap()
            .execute((position, commit.session.as_str(), seq, entry.kind, entry.at as i64, &entry.data))
            .unwrap();
    }
    for row in &commit.rows {
        let RowChange::Part(part) = &row.change else { continue };
        connection
            .prepare_cached(
                "INSERT INTO part (id, message_id, session_id, ord, is_open, data, position)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (id) DO UPDATE SET
                 is_open = excluded.is_open, data = excluded.data, position = excluded.position",
            )
            .unwrap()
            .execute((
                part.id.as_str(),
                part.message_id.as_str(),
                part.session_id.as_str(),
                part.ord as i64,
                i64::from(part.is_open),
                &part.data,
                position,
            ))
            .unwrap();
    }
}

fn session_id(caller: usize) -> SessionId {
    SessionId::parse(&format!("ses_0123456789ab{caller:014}")).unwrap()
}

fn commit(load: Load, session: &SessionId, caller: usize, seq: u64) -> Commit {
    // A new part every hundred commits, as a turn would have it.
    let part = PartId::parse(&format!("prt_0123456789ab{caller:05}{:09}", seq / 100)).unwrap();
    let message = MessageId::parse(&format!("msg_0123456789ab{caller:014}")).unwrap();
    let at = 1_700_000_000_000 + seq;
    match load {
        Load::Delta => {
            let data = json!({ "message": message, "part": part, "delta": "forty characters of text, or a little bit more" });
            let entry = NewEntry {
                kind: "text.grew.1",
                subject: None,
                at,
                data: data.to_string(),
                actor: None,
                tells: 0,
            };
            Commit {
                session: session.clone(),
                expected: seq,
                entries: vec![entry],
                rows: vec![],
                parent: None,
                grant: None,
            }
        }
        Load::Part => {
            let text = "x".repeat(400);
            let data =
                json!({ "id": part, "sessionID": session, "messageID": message, "type": "text", "text": text }).to_string();
            let entry = NewEntry {
                kind: "part.written.1",
                subject: None,
                at,
                data: format!("{{\"part\":{data}}}"),
                actor: None,
                tells: 0,
            };
            let row = PartRow {
                id: part,
                message_id: message,
                session_id: session.clone(),
                ord: seq + 1,
                is_open: false,
                data,
            };
            let rows = vec![RowWrite { entry: 0, change: RowChange::Part(row) }];
            Commit {
                session: session.clone(),
                expected: seq,
                entries: vec![entry],
                rows,
                parent: None,
                grant: None,
            }
        }
    }
}

/// User and system time of this process.
fn cpu_time() -> Duration {
    // Fields 14 and 15, in hundredths of a second; the name before them may contain spaces.
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks: u64 =
        after_name.split_whitespace().skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 10)
}
