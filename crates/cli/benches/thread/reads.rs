//! Reading: names of files, titles, long conversations, and the list a person asks for first.

use crate::measure::{Table, median, most};
use crate::server::Server;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;
use sturdy_testkit::{Provider, answer};

const ROUNDS: usize = 21;

/// A file by a few letters of its name, among 50,000.
pub(crate) async fn file_names(table: &mut Table) {
    const DIRECTORIES: usize = 500;
    const FILES_EACH: usize = 100;
    let (server, _) = Server::start(None).await;
    for number in 0..DIRECTORIES {
        let directory = server.project_dir().join(format!("part{:02}/room{number:03}", number % 20));
        fs::create_dir_all(&directory).unwrap();
        for file in 0..FILES_EACH {
            fs::write(directory.join(format!("file_{number}_{file}.rs")), "").unwrap();
        }
    }
    let first = server.read("/find/file?query=file_7_7").await;
    table.row("file name among 50,000, first", first.millis, "ms", "under 150");
    // What was written a moment ago is looked at again.
    tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    server.read("/find/file?query=file").await;
    let used = server.cpu_ms();
    let mut took = Vec::new();
    for letters in ["f", "fi", "file", "file_7", "room2f9", "zzz"] {
        for _ in 0..ROUNDS {
            took.push(server.read(&format!("/find/file?query={letters}")).await.millis);
        }
    }
    let cpu = (server.cpu_ms() - used) / took.len() as f64;
    table.row("  warm, median", median(&took), "ms", "under 3 (reference 24)");
    table.row("  CPU of each", cpu, "ms", "under 3");
    server.stop();
}

/// A title among 10,000, and one that is not there.
pub(crate) async fn titles(table: &mut Table) {
    const SESSIONS: usize = 10_000;
    let (server, _) = Server::start(None).await;
    for _ in 0..SESSIONS / 50 {
        futures_util::future::join_all((0..50).map(|_| server.session())).await;
    }
    for (what, words) in [("found", "bench"), ("missed", "nowhere to be found")] {
        let path = format!("/session?limit=50&search={}", words.replace(' ', "%20"));
        let mut took = Vec::new();
        for _ in 0..ROUNDS {
            took.push(server.read(&path).await.millis);
        }
        let goal = "under 1 (reference 3 to 6)";
        table.row(&format!("search of 10,000 titles, {what}"), median(&took), "ms", goal);
    }
    let program = std::env::var("STURDY_BIN").unwrap_or_else(|_| env!("CARGO_BIN_EXE_sturdy").to_owned());
    let mut took = Vec::new();
    for _ in 0..ROUNDS {
        took.push(first_byte(&program, &server.project_dir(), &server.data_dir()));
    }
    table.row("`sturdy session list`, first byte", median(&took), "ms", "under 30");
    server.stop();
}

/// Until the program has printed something.
fn first_byte(program: &str, project: &Path, data: &Path) -> f64 {
    use std::io::Read as _;
    let began = Instant::now();
    let mut child = Command::new(program)
        .args(["session", "list", "--data-dir"])
        .arg(data)
        // Sessions of this directory are listed.
        .current_dir(project)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
    let took = began.elapsed().as_secs_f64() * 1e3;
    child.wait().unwrap();
    took
}

/// A conversation of 2,000 messages and 12 MB.
pub(crate) async fn long_conversation(table: &mut Table) {
    const MESSAGES: usize = 2_000;
    const BYTES: usize = 12_000_000;
    let provider = Provider::start().await;
    provider.keep_no_bodies();
    let (mut server, _) = Server::start(Some(&provider)).await;
    let session = server.session().await;
    let line = "A line of an answer that is about as long as lines are, more or less. ";
    let words = line.repeat(BYTES / (MESSAGES / 2) / line.len());
    for _ in 0..MESSAGES / 2 {
        provider.will(answer().text(&words).finish("stop"));
        server.prompt(&session, "please tell me a little more about the next thing in the list").await;
    }
    let before = server.memory_mb();
    let all = format!("/session/{session}/message?limit=2000");
    let newest = format!("/session/{session}/message?limit=50");
    let mut message = String::new();
    for (what, path, goal) in [
        ("all messages of 2,000 with 12 MB", &all, "under 60 (reference 299)"),
        ("  newest 50", &newest, "under 1.5 (reference 7.6)"),
    ] {
        let mut took = Vec::new();
        let health = server.ask_health();
        for _ in 0..ROUNDS {
            server.read(path).await;
        }
        let health = health.finish();
        for _ in 0..ROUNDS {
            let read = server.read(path).await;
            took.push(read.millis);
            if let Some(at) = read.text.find("\"id\":\"msg") {
                message = read.text[at + 6..].split('"').next().unwrap_or_default().to_owned();
            }
        }
        table.row(what, median(&took), "ms", goal);
        table.row("    `/global/health` meanwhile, median", median(&health), "ms", "under 5");
        table.row("    longest", most(&health), "ms", "under 5");
    }
    let one = format!("/session/{session}/message/{message}");
    let mut took = Vec::new();
    for _ in 0..ROUNDS {
        took.push(server.read(&one).await.millis);
    }
    table.row("  one message", median(&took), "ms", "under 0.25 (reference 1.6)");
    table.row(
        "  memory that reading added",
        server.memory_peak_mb() - before,
        "MB",
        "a page, not the session",
    );
    let running = megabytes(&server.data_dir());
    table.row("  on disk, with the write-ahead log", running, "MB", "");
    server.end();
    table.row("  on disk", megabytes(&server.data_dir()), "MB", "under 20 (reference 53)");
    server.stop();
}

fn megabytes(directory: &Path) -> f64 {
    let size = |entry: fs::DirEntry| {
        let path = entry.path();
        if path.is_dir() {
            megabytes(&path)
        } else {
            entry.metadata().map_or(0.0, |of| of.len() as f64 / 1e6)
        }
    };
    fs::read_dir(directory).unwrap().filter_map(Result::ok).map(size).sum()
}
