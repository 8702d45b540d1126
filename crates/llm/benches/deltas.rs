//! What a delta costs between the socket and our words.
//!
//! `cargo bench -p sturdy-llm` streams 20,000 deltas over loopback twice: once read as bare
//! bytes, once through the model, in the same run. The second must stay a small multiple of the
//! first; a turn's other costs come on top.

use futures_util::StreamExt;
use serde_json::json;
use std::time::{Duration, Instant};
use sturdy_llm::auth::Credentials;
use sturdy_llm::catalog::Sources;
use sturdy_llm::{Catalog, Http};
use sturdy_session::talk::{Request, Said, Turn, UserItem};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const DELTAS: u32 = 20_000;
const ROUNDS: usize = 5;

fn answer() -> Vec<u8> {
    let mut text =
        String::from("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n");
    for at in 0..DELTAS {
        let chunk = json!({
            "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m",
            "choices": [{ "index": 0, "delta": { "content": format!("word {at} ") }, "finish_reason": null }],
        });
        text.push_str(&format!("data: {chunk}\n\n"));
    }
    text.push_str("data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n");
    text.into_bytes()
}

/// Runs in a thread of its own, so that its work is not counted with ours.
fn serve() -> String {
    let (sender, receiver) = std::sync::mpsc::sync_channel(1);
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
            sender.send(listener.local_addr().expect("an address").to_string()).expect("somebody waits");
            let answer = answer();
            while let Ok((mut socket, _)) = listener.accept().await {
                let mut request = [0; 4096];
                let _ = socket.read(&mut request).await;
                let _ = socket.write_all(&answer).await;
            }
        });
    });
    receiver.recv().expect("the server starts")
}

async fn bare(address: &str) -> Duration {
    let begun = Instant::now();
    let mut socket = TcpStream::connect(address).await.expect("the server listens");
    socket.write_all(b"POST / HTTP/1.1\r\n\r\n").await.expect("the server reads");
    let mut bytes = vec![0; 64 * 1024];
    while socket.read(&mut bytes).await.is_ok_and(|count| count > 0) {}
    begun.elapsed()
}

async fn through(catalog: &Catalog) -> Duration {
    let model = catalog.model("p", "m").expect("it is configured").connect().expect("it has an address");
    let request = Request {
        model: "m".to_owned(),
        messages: vec![Turn::User(vec![UserItem::Text("go".to_owned())])],
        ..Request::default()
    };
    let begun = Instant::now();
    let mut answer = model.stream(request);
    let mut grown = 0;
    while let Some(said) = answer.next().await {
        grown += u32::from(matches!(said.expect("the server does not fail"), Said::TextGrew { .. }));
    }
    assert_eq!(grown, DELTAS);
    begun.elapsed()
}

/// What the process holds, where the system tells.
fn resident_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

fn main() {
    let address = serve();
    let config =
        json!({ "p": { "options": { "baseURL": format!("http://{address}") }, "models": { "m": {} } } });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let http = Http::new();
    let begun = Instant::now();
    let catalog = Catalog::build(&Sources {
        redirected: &[],
        cached: &serde_json::Value::Null,
        config: &config,
        enabled: None,
        disabled: &[],
        env: &|_| None,
        credentials: &Credentials::default(),
        http: http.clone(),
    });
    println!("catalog built in {:?}", begun.elapsed());
    let begun = Instant::now();
    let before = resident_kb();
    http.prepare().expect("the system has certificates");
    println!("client built in {:?}, {} KB of memory", begun.elapsed(), resident_kb().saturating_sub(before));
    for _ in 0..ROUNDS {
        let (bare, through) = runtime.block_on(async { (bare(&address).await, through(&catalog).await) });
        let each = through.as_secs_f64() * 1e6 / f64::from(DELTAS);
        println!("{DELTAS} deltas: bare {bare:?}, through the model {through:?} ({each:.2} us each)");
    }
}
