//! Turns: between tool and model, many at once, at the end of a long conversation.
//!
//! Times are taken where the provider and the readers are, in this process, so they contain the sockets.

use crate::measure::{Table, fsync_ms, least, median, within};
use crate::server::{Reader, Server};
use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};
use sturdy_testkit::script::Gate;
use sturdy_testkit::{Provider, answer};

const ROUNDS: usize = 20;

/// From the moment a command ends to the request with its output, in a directory without git.
pub(crate) async fn tool_to_request(table: &mut Table) {
    let provider = Provider::start().await;
    let (server, _) = Server::start(Some(&provider)).await;
    let session = server.session().await;
    let pipe = server.project_dir().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let mut took = Vec::new();
    for round in 0..ROUNDS {
        let command = format!(r#"{{"command":"read line < pipe; echo {round}","description":"waits"}}"#);
        provider.will(answer().call(0, &format!("c{round}"), "bash", &command).finish("tool_calls"));
        provider.will(answer().text("Done.").finish("stop"));
        let mut reader = Reader::connect(&server).await;
        server.prompt_async(&session, "wait for it").await;
        // The step has heard all of the model and waits for the command, which waits for a line.
        within("the end of the answer", provider.wait_for_ends(2 * round + 1)).await;
        reader.read_until(r#""status":"running""#).await;
        let mut line = tokio::task::spawn_blocking({
            let pipe = pipe.clone();
            move || std::fs::OpenOptions::new().write(true).open(pipe).unwrap()
        })
        .await
        .unwrap();
        let began = Instant::now();
        line.write_all(b"go\n").unwrap();
        drop(line);
        within("the next request", provider.wait_for_requests(2 * round + 2)).await;
        took.push(millis(provider.arrivals()[2 * round + 1], began));
        reader.read_until("session.idle").await;
    }
    let shell: Vec<f64> = (0..ROUNDS).map(|_| shell_alone(&pipe)).collect();
    table.row(
        "end of a command to next request, median",
        median(&took),
        "ms",
        "under 3 beyond shell and fsync (reference 117)",
    );
    table.row("  best", least(&took), "ms", "");
    table.row("  of which the shell until it has ended, median", median(&shell), "ms", "");
    table.row("  fsync of this disk, median", fsync_ms(&server.data_dir()), "ms", "");
    server.stop();
}

/// From the line a shell waits for to its end, as the process that started it sees it.
fn shell_alone(pipe: &Path) -> f64 {
    let mut shell = std::process::Command::new("bash");
    let shell = shell.args(["-c", "read line < pipe; echo done"]).current_dir(pipe.parent().unwrap());
    let mut shell = shell.stdout(Stdio::piped()).spawn().unwrap();
    let mut line = std::fs::OpenOptions::new().write(true).open(pipe).unwrap();
    // It has opened the pipe, and reads now.
    std::thread::sleep(Duration::from_millis(5));
    let began = Instant::now();
    line.write_all(b"go\n").unwrap();
    drop(line);
    assert!(shell.wait().unwrap().success());
    millis(Instant::now(), began)
}

/// Fifty sessions that stream at once.
pub(crate) async fn many_sessions(table: &mut Table) {
    const SESSIONS: usize = 50;
    const DELTAS: usize = 200;
    let mut wall = Vec::new();
    let mut cpu = Vec::new();
    let mut memory = Vec::new();
    for _ in 0..3 {
        let provider = Provider::start().await;
        let (server, _) = Server::start(Some(&provider)).await;
        let mut sessions = Vec::new();
        for _ in 0..SESSIONS {
            sessions.push(server.session().await);
            let deltas = (0..DELTAS).fold(answer(), |said, number| said.text(&format!("word{number} ")));
            provider.will(deltas.finish("stop"));
        }
        let mut reader = Reader::connect(&server).await;
        let used = server.cpu_ms();
        let began = Instant::now();
        let asked = sessions.iter().map(|session| server.prompt_async(session, "go"));
        futures_util::future::join_all(asked).await;
        for _ in 0..SESSIONS {
            reader.read_until(r#""session.idle""#).await;
        }
        wall.push(began.elapsed().as_secs_f64() * 1e3);
        cpu.push(server.cpu_ms() - used);
        memory.push(server.memory_peak_mb());
        server.stop();
    }
    table.row("50 sessions x 200 deltas, wall, best", least(&wall), "ms", "under 1,000 (reference 6,500)");
    table.row("  CPU, best", least(&cpu), "ms", "under 1,000 (reference 8,500)");
    table.row(
        "  memory, highest",
        memory.iter().copied().fold(0.0, f64::max),
        "MB",
        "under 80 (reference 980)",
    );
}

const MESSAGES: usize = 2_000;

/// A line of an answer.
const LINE: &str = "A line of an answer that is about as long as lines are. ";

/// The next turn of a conversation of 2,000 messages.
pub(crate) async fn long_session(table: &mut Table) {
    let (asked, ended) = next_turns(&LINE.repeat(10)).await;
    table.row(
        "prompt to request, 2,000 messages, median",
        median(&asked),
        "ms",
        "under 10 (reference 1,200)",
    );
    table.row("  best", least(&asked), "ms", "");
    table.row("last byte to idle, 2,000 messages, median", median(&ended), "ms", "under 20 (reference 650)");
    table.row("  best", least(&ended), "ms", "");
}

/// The same with answers so long that the request has 9 MB.
pub(crate) async fn large_session(table: &mut Table) {
    const REQUEST_BYTES: usize = 9_000_000;
    let (asked, _) = next_turns(&LINE.repeat(REQUEST_BYTES / (MESSAGES / 2) / LINE.len())).await;
    table.row(
        "prompt to request, 2,000 messages of 9 MB, median",
        median(&asked),
        "ms",
        "under 50 (reference 1,200)",
    );
    table.row("  best", least(&asked), "ms", "");
}

/// Of turns behind a conversation with these answers: from prompt to request, and from the last byte to idle.
async fn next_turns(words: &str) -> (Vec<f64>, Vec<f64>) {
    let provider = Provider::start().await;
    let (server, _) = Server::start(Some(&provider)).await;
    provider.keep_no_bodies();
    let session = server.session().await;
    let began = Instant::now();
    for _ in 0..MESSAGES / 2 {
        provider.will(answer().text(words).finish("stop"));
        server.prompt(&session, "please tell me a little more about the next thing in the list").await;
    }
    println!("a session of {MESSAGES} messages is there after {} s", began.elapsed().as_secs());
    let mut asked = Vec::new();
    let mut ended = Vec::new();
    for round in 0..ROUNDS {
        let gate = Gate::new();
        provider.will(answer().text("Good.").gate(&gate).finish("stop"));
        let mut reader = Reader::connect(&server).await;
        let began = Instant::now();
        server.prompt_async(&session, "and now?").await;
        let before = MESSAGES / 2 + round;
        within("the request", provider.wait_for_requests(before + 1)).await;
        asked.push(millis(provider.arrivals()[before], began));
        reader.read_until(r#""delta":"Good.""#).await;
        gate.open();
        reader.read_until(r#""session.idle""#).await;
        let idle = Instant::now();
        within("the end of the answer", provider.wait_for_ends(before + 1)).await;
        ended.push(millis(idle, provider.ends()[before]));
    }
    server.stop();
    (asked, ended)
}

fn millis(later: Instant, earlier: Instant) -> f64 {
    later.saturating_duration_since(earlier).as_secs_f64() * 1e3
}
