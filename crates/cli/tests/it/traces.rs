//! Spans that a collector receives.

use crate::program::Place;
use serde_json::Value;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;

/// Far longer than any machine needs.
const WAIT_MAX: Duration = Duration::from_secs(60);

/// Takes every export and hands over its spans, each with the headers it came with.
fn collector() -> (String, Receiver<(String, Value)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (sender, spans) = sync_channel(64);
    std::thread::spawn(move || {
        while let Ok((stream, _)) = listener.accept() {
            let mut reader = BufReader::new(stream);
            loop {
                let mut head = String::new();
                let mut length = 0;
                loop {
                    let mut line = String::new();
                    if reader.read_line(&mut line).unwrap_or(0) == 0 || line == "\r\n" {
                        break;
                    }
                    let lower = line.to_lowercase();
                    if let Some(count) = lower.strip_prefix("content-length:") {
                        length = count.trim().parse().unwrap();
                    }
                    head.push_str(&lower);
                }
                if head.is_empty() {
                    break;
                }
                let mut body = vec![0; length];
                reader.read_exact(&mut body).unwrap();
                let body: Value = serde_json::from_slice(&body).unwrap();
                if sender.send((head, body)).is_err() {
                    return;
                }
                let answer =
                    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}";
                reader.get_mut().write_all(answer.as_bytes()).unwrap();
            }
        }
    });
    (url, spans)
}

fn attribute<'v>(of: &'v Value, key: &str) -> Option<&'v Value> {
    let all = of["attributes"].as_array()?;
    all.iter().find(|one| one["key"] == key)?["value"].as_object()?.values().next()
}

#[test]
fn requests_models_and_tools_are_told_to_the_collector_of_the_environment() {
    let (url, exports) = collector();
    let place = Place::new()
        .with("OTEL_EXPORTER_OTLP_ENDPOINT", &url)
        .with("OTEL_EXPORTER_OTLP_HEADERS", "x-key=abc")
        .with("OTEL_SERVICE_NAME", "desk");
    let server = place.serve(&["--trust-all"]);

    let data = place.data().display().to_string();
    let asked = place.run(&[
        "run",
        "--data-dir",
        &data,
        "--model",
        "demo/echo",
        "/demo tool glob {\"pattern\":\"*.none\"}",
    ]);
    assert_eq!(asked.code, Some(0), "{}", asked.stderr);

    let mut found: Vec<Value> = Vec::new();
    let has = |found: &[Value], name: &str| found.iter().any(|span| span["name"] == name);
    while !["request", "model", "tool"].iter().all(|name| has(&found, name)) {
        let (head, body) = exports.recv_timeout(WAIT_MAX).expect("spans arrive");
        assert!(head.starts_with("post /v1/traces "), "{head}");
        assert!(head.contains("x-key: abc"), "{head}");
        let of_server = &body["resourceSpans"][0];
        assert_eq!(attribute(&of_server["resource"], "service.name").unwrap(), "desk");
        found.extend(of_server["scopeSpans"][0]["spans"].as_array().unwrap().iter().cloned());
    }
    let one = |name: &str| found.iter().find(|span| span["name"] == name).unwrap();
    assert_eq!(attribute(one("tool"), "gen_ai.tool.name").unwrap(), "glob");
    assert_eq!(attribute(one("model"), "gen_ai.request.model").unwrap(), "echo");
    assert!(attribute(one("request"), "http.response.status_code").is_some());
    // The model that called and the tool it called are one trace.
    let traces = |name: &str| -> Vec<&Value> {
        found.iter().filter(|span| span["name"] == name).map(|span| &span["traceId"]).collect()
    };
    assert!(traces("tool").iter().all(|trace| traces("model").contains(trace)), "{found:#?}");
    drop(server);
}
