//! What a batch costs beyond its JSON, in this process alone.

use std::{
    process::ExitCode,
    time::{Duration, Instant},
};

use sturdy_capnweb::{Options, batch};

use crate::service::Service;

pub(crate) async fn run() -> ExitCode {
    for pipelined in [false, true] {
        let body = body(pipelined);
        let mut rounds = Vec::new();
        for _ in 0..400 {
            let start = Instant::now();
            let answer = batch::serve(Service::root(), body.as_bytes(), Options::default()).await;
            let served = start.elapsed();
            assert!(answer.is_ok_and(|answer| !answer.is_empty()), "the batch is answered");
            let start = Instant::now();
            let texts: Vec<String> = body.lines().map(json_alone).collect();
            let alone = start.elapsed();
            assert!(!texts.is_empty());
            rounds.push((served, alone));
        }
        let median = |pick: fn(&(Duration, Duration)) -> Duration| {
            let mut times: Vec<Duration> = rounds.iter().map(pick).collect();
            times.sort();
            times[times.len() / 2].as_secs_f64() * 1e3
        };
        let (served, alone) = (median(|round| round.0), median(|round| round.1));
        let kind = if pipelined { "each on the one before" } else { "independent" };
        println!(
            "batch  1000 calls, {kind}, {} KB: {served:.2} ms, its JSON alone {alone:.2} ms, {:.2}x",
            body.len() / 1000,
            served / alone
        );
    }
    ExitCode::SUCCESS
}

/// A thousand calls in about 100 KB, the last of them wanted.
fn body(pipelined: bool) -> String {
    let mut lines: Vec<String> = (1..=1000)
        .map(|id| {
            let before = if pipelined && id > 1 { format!("[\"pipeline\",{},[\"n\"]]", id - 1) } else { "0".to_owned() };
            let text = "x".repeat(if pipelined { 15 } else { 33 });
            format!("[\"push\",[\"pipeline\",0,[\"echo\"],[{{\"text\":\"{text}\",\"n\":{id},\"before\":{before}}}]]]")
        })
        .collect();
    lines.push("[\"pull\",1000]".to_owned());
    lines.join("\n")
}

/// Read and written again, without meaning.
fn json_alone(line: &str) -> String {
    let tree: serde_json::Value = serde_json::from_str(line).unwrap_or_default();
    tree.to_string()
}
