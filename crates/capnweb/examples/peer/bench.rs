//! What a batch costs beyond its JSON, in this process alone.

use std::{
    process::ExitCode,
    time::{Duration, Instant},
};

use sturdy_capnweb::{Options, batch};

use crate::service::Service;

/// Rounds of which the median is taken.
const ROUNDS: usize = 600;

pub(crate) async fn run() -> ExitCode {
    for pipelined in [false, true] {
        let body = body(pipelined);
        let mut rounds = Vec::new();
        for round in 0..ROUNDS {
            // Who comes first takes turns, so that neither always finds the caches as the other left them.
            let (served, alone) = if round % 2 == 0 {
                let served = serve(&body).await;
                (served, read_and_write(&body))
            } else {
                let alone = read_and_write(&body);
                (serve(&body).await, alone)
            };
            rounds.push((served, alone));
        }
        let served = median(rounds.iter().map(|round| round.0.as_secs_f64() * 1e3).collect());
        let alone = median(rounds.iter().map(|round| round.1.as_secs_f64() * 1e3).collect());
        let ratio = median(rounds.iter().map(|(served, alone)| served.div_duration_f64(*alone)).collect());
        let kind = if pipelined { "each on the one before" } else { "independent" };
        println!(
            "batch  1000 calls, {kind}, {} KB: {served:.2} ms, its JSON alone {alone:.2} ms, {ratio:.2}x",
            body.len() / 1000,
        );
    }
    ExitCode::SUCCESS
}

async fn serve(body: &str) -> Duration {
    let start = Instant::now();
    let answer = batch::serve(Service::root(), body.as_bytes(), Options::default()).await;
    let served = start.elapsed();
    assert!(answer.is_ok_and(|answer| !answer.is_empty()), "the batch is answered");
    served
}

fn read_and_write(body: &str) -> Duration {
    let start = Instant::now();
    let texts: Vec<String> = body.lines().map(json_alone).collect();
    let alone = start.elapsed();
    assert!(!texts.is_empty());
    alone
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
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
