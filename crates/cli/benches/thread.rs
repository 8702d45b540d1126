//! Speed and memory of the whole program, beside what it is compared with, in the same run.
//!
//! The server is a process of its own; provider and readers live in this one, so that the server's CPU
//! and memory can be read from `/proc`. Nothing here asserts: it prints a table.
//!
//! `cargo bench -p sturdy` measures the binary built for benchmarks; `STURDY_BIN=…` names another one, and
//! `cargo bench -p sturdy -- turns` measures one group: `feed`, `turns` or `reads`.

#![allow(clippy::unwrap_used, reason = "a measurement that cannot be made has failed")]
#![allow(clippy::disallowed_methods, reason = "readers are tasks of this process")]

#[path = "thread/measure.rs"]
mod measure;
#[path = "thread/reads.rs"]
mod reads;
#[path = "thread/server.rs"]
mod server;
#[path = "thread/turns.rs"]
mod turns;

use measure::{Table, median};
use server::{Reader, Server};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use sturdy_testkit::{Answer, Provider, answer};

const DELTAS: usize = 20_000;

#[tokio::main]
async fn main() {
    let mut table = Table::new();
    let groups: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let wants = |group: &str| groups.is_empty() || groups.iter().any(|wanted| wanted == group);
    if wants("feed") {
        start_and_idle(&mut table).await;
        many_deltas(&mut table, 1).await;
        many_deltas(&mut table, 100).await;
        stalled_readers(&mut table).await;
        latency(&mut table).await;
        prompt_and_abort(&mut table).await;
    }
    if wants("turns") {
        turns::tool_to_request(&mut table).await;
        turns::many_sessions(&mut table).await;
        turns::long_session(&mut table).await;
        turns::large_session(&mut table).await;
    }
    if wants("reads") {
        reads::file_names(&mut table).await;
        reads::titles(&mut table).await;
        reads::long_conversation(&mut table).await;
    }
    table.print();
}

/// Cold start to healthy, and memory before and after a turn.
async fn start_and_idle(table: &mut Table) {
    let mut starts = Vec::new();
    for _ in 0..10 {
        let (server, took) = Server::start(None).await;
        starts.push(took.as_secs_f64() * 1e3);
        server.stop();
    }
    table.row("cold start to healthy", median(&starts), "ms", "under 50 (reference 2,200)");
    let (server, _) = Server::start(None).await;
    table.row("memory, idle", server.memory_mb(), "MB", "under 15 (reference 308)");
    let session = server.session().await;
    server.prompt(&session, "hello").await;
    table.row("memory, after a turn", server.memory_mb(), "MB", "under 30 (reference 614)");
    server.stop();
}

/// An answer of `DELTAS` chunks, as fast as the socket takes them.
fn flood() -> Answer {
    let mut flood = answer();
    for number in 0..DELTAS {
        flood = flood.text(&format!("word{number} "));
    }
    flood.finish("stop")
}

/// The whole text of the flood, in bytes.
fn flood_bytes() -> usize {
    (0..DELTAS).map(|number| format!("word{number} ").len()).sum()
}

/// The time of reading the provider alone, the same client, the same bytes.
async fn provider_alone(provider: &Provider) -> Duration {
    provider.will(flood());
    let began = Instant::now();
    let bytes = server::read_provider(&provider.url()).await;
    assert!(bytes > flood_bytes());
    began.elapsed()
}

async fn many_deltas(table: &mut Table, readers: usize) {
    let provider = Provider::start().await;
    let alone = provider_alone(&provider).await;
    let (server, _) = Server::start(Some(&provider)).await;
    let session = server.session().await;
    let mut following = Vec::new();
    for _ in 0..readers {
        following.push(Reader::connect(&server).await);
    }
    provider.will(flood());
    let cpu = server.cpu_ms();
    let began = Instant::now();
    server.prompt_async(&session, "flood").await;
    let wanted = flood_bytes();
    let reading =
        following.into_iter().map(|mut reader| tokio::spawn(async move { reader.read_text(wanted).await }));
    for reader in reading.collect::<Vec<_>>() {
        reader.await.unwrap();
    }
    let took = began.elapsed();
    let cpu = server.cpu_ms() - cpu;
    let per_thousand = cpu / (DELTAS as f64 / 1000.0);
    if readers == 1 {
        let ratio = took.as_secs_f64() / alone.as_secs_f64();
        table.row("20,000 deltas, provider alone", alone.as_secs_f64() * 1e3, "ms", "");
        table.row("20,000 deltas to one reader", took.as_secs_f64() * 1e3, "ms", "");
        table.row("  as a multiple of the provider alone", ratio, "x", "at most 3 (reference 57)");
        table.row("  CPU per 1,000 deltas", per_thousand, "ms", "at most 25 (reference 300)");
    } else {
        table.row("  CPU per 1,000 deltas, 100 readers", per_thousand, "ms", "at most 60 (reference 1,170)");
    }
    server.stop();
}

/// Ten clients that connect and never read.
async fn stalled_readers(table: &mut Table) {
    let mut grown = Vec::new();
    for stalled in [0, 10] {
        let provider = Provider::start().await;
        let (server, _) = Server::start(Some(&provider)).await;
        let session = server.session().await;
        let mut reader = Reader::connect(&server).await;
        let mut idle = Vec::new();
        for _ in 0..stalled {
            idle.push(Reader::connect(&server).await);
        }
        provider.will(flood());
        server.prompt_async(&session, "flood").await;
        reader.read_text(flood_bytes()).await;
        grown.push(server.memory_mb());
        drop(idle);
        server.stop();
    }
    table.row("ten stalled readers", grown[1] - grown[0], "MB more", "under 5 (reference 1,900)");
}

/// From the provider's send to the reader, at 500 deltas a second.
async fn latency(table: &mut Table) {
    const COUNT: usize = 1000;
    let provider = Provider::start().await;
    let (server, _) = Server::start(Some(&provider)).await;
    let session = server.session().await;
    let mut reader = Reader::connect(&server).await;
    let mut paced = answer();
    for _ in 0..COUNT {
        // The provider writes its clock into the chunk when it sends it.
        paced = paced.pace(Duration::from_millis(2)).text_now(now_us);
    }
    provider.will(paced.finish("stop"));
    server.prompt_async(&session, "pace").await;
    let late = reader.read_stamps(COUNT, now_us).await;
    let sync = measure::fsync_ms(&server.data_dir());
    table.row("fsync of this disk, median", sync, "ms", "");
    table.row(
        "delta at 500/s, provider to SSE, median",
        median(&late),
        "ms",
        "within 5 beyond the fsync (reference 60)",
    );
    server.stop();
}

async fn prompt_and_abort(table: &mut Table) {
    let provider = Provider::start().await;
    let (server, _) = Server::start(Some(&provider)).await;
    let session = server.session().await;
    server.prompt(&session, "warm up").await;
    let mut asked = Vec::new();
    let mut aborted = Vec::new();
    for round in 0..20 {
        provider.will(answer().text("a").hang());
        let began = Instant::now();
        server.prompt_async(&session, "go").await;
        measure::within("the request", provider.wait_for_requests(round + 2)).await;
        asked.push(began.elapsed().as_secs_f64() * 1e3);
        let began = Instant::now();
        server.abort(&session).await;
        while !server.is_idle().await {}
        aborted.push(began.elapsed().as_secs_f64() * 1e3);
    }
    table.row("prompt to provider request, median", median(&asked), "ms", "under 15");
    table.row("abort to idle, median", median(&aborted), "ms", "under 20");
    server.stop();
}

fn now_us() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros() as u64
}
