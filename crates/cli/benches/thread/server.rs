//! The program as a process, and readers of its events.

use crate::measure::within;
use serde_json::{Value, json};
use std::fs;
use std::io::{Read as _, Write as _};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use sturdy_testkit::Provider;
use sturdy_testkit::world::{Disk, scripted};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;

/// What was read and how long that took.
pub(crate) struct Read {
    pub(crate) millis: f64,
    pub(crate) text: String,
}

pub(crate) struct Server {
    child: Child,
    address: String,
    disk: Disk,
}

impl Server {
    /// Starts a server on a free port; tells how long it took to be healthy.
    pub(crate) async fn start(provider: Option<&Provider>) -> (Self, Duration) {
        let disk = Disk::new();
        if let Some(provider) = provider {
            disk.configure(&scripted(&provider.url()));
        }
        let program = std::env::var("STURDY_BIN").unwrap_or_else(|_| env!("CARGO_BIN_EXE_sturdy").to_owned());
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let began = Instant::now();
        let child = Command::new(program)
            .args(["serve", "--port", &port.to_string(), "--durability", "full", "--data-dir"])
            .arg(disk.data())
            .current_dir(disk.project())
            .env("HOME", disk.home())
            .env_remove("XDG_DATA_HOME")
            .env_remove("XDG_CONFIG_HOME")
            .env("STURDY_DEMO_PACE_MS", "0")
            // The project names the provider; without this the first prompt waits for a person who trusts it.
            .env("STURDY_TRUST_ALL", "1")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let server = Self { child, address: format!("127.0.0.1:{port}"), disk };
        while server.request("GET", "/global/health", None).await.is_none() {
            assert!(began.elapsed() < Duration::from_secs(10), "the server does not start");
            tokio::time::sleep(Duration::from_micros(500)).await;
        }
        (server, began.elapsed())
    }

    pub(crate) fn stop(self) {
        drop(self);
    }

    pub(crate) fn data_dir(&self) -> PathBuf {
        self.disk.data()
    }

    pub(crate) fn project_dir(&self) -> PathBuf {
        self.disk.project()
    }

    pub(crate) async fn session(&self) -> String {
        let body = self.request("POST", "/session", Some(json!({ "title": "bench" }))).await.unwrap();
        body["id"].as_str().unwrap().to_owned()
    }

    pub(crate) async fn prompt(&self, session: &str, text: &str) {
        self.request("POST", &format!("/session/{session}/message"), Some(prompt(text))).await.unwrap();
    }

    pub(crate) async fn prompt_async(&self, session: &str, text: &str) {
        self.request("POST", &format!("/session/{session}/prompt_async"), Some(prompt(text))).await.unwrap();
    }

    pub(crate) async fn abort(&self, session: &str) {
        self.request("POST", &format!("/session/{session}/abort"), Some(Value::Null)).await.unwrap();
    }

    pub(crate) async fn is_idle(&self) -> bool {
        self.request("GET", "/session/status", None).await == Some(json!({}))
    }

    /// Resident memory now.
    pub(crate) fn memory_mb(&self) -> f64 {
        self.status_mb("VmRSS:")
    }

    /// The most resident memory so far.
    pub(crate) fn memory_peak_mb(&self) -> f64 {
        self.status_mb("VmHWM:")
    }

    fn status_mb(&self, field: &str) -> f64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with(field)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<f64>().unwrap() / 1024.0
    }

    /// CPU time so far, user and system.
    pub(crate) fn cpu_ms(&self) -> f64 {
        const TICK_MS: f64 = 10.0;
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap();
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
        (fields[11].parse::<f64>().unwrap() + fields[12].parse::<f64>().unwrap()) * TICK_MS
    }

    /// One answer as it is, and how long it took on a connection that was there.
    pub(crate) async fn read(&self, path: &str) -> Read {
        let mut wire = TcpStream::connect(&self.address).await.unwrap();
        let began = Instant::now();
        let head = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
        wire.write_all(head.as_bytes()).await.unwrap();
        let mut bytes = Vec::new();
        wire.read_to_end(&mut bytes).await.unwrap();
        let millis = began.elapsed().as_secs_f64() * 1e3;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        assert!(text.starts_with("HTTP/1.1 2"), "{path}: {text}");
        Read { millis, text }
    }

    /// How long `/global/health` takes, again and again, until the guard is asked. On a thread of its own: what else this
    /// process does is not to be measured.
    pub(crate) fn ask_health(&self) -> HealthAsker {
        let address = self.address.clone();
        let is_over = Arc::new(AtomicBool::new(false));
        let stop = is_over.clone();
        let asking = thread::spawn(move || {
            let mut took = Vec::new();
            while !stop.load(Ordering::Relaxed) {
                let mut wire = std::net::TcpStream::connect(&address).unwrap();
                let began = Instant::now();
                wire.write_all(
                    b"GET /global/health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n",
                )
                .unwrap();
                let mut answer = Vec::new();
                wire.read_to_end(&mut answer).unwrap();
                took.push(began.elapsed().as_secs_f64() * 1e3);
                thread::sleep(Duration::from_millis(1));
            }
            took
        });
        HealthAsker { is_over, asking }
    }

    /// Ends the server as a person would, and waits for it.
    pub(crate) fn end(&mut self) {
        let asked = Command::new("kill").arg(self.child.id().to_string()).status().unwrap();
        assert!(asked.success());
        self.child.wait().unwrap();
    }

    async fn request(&self, method: &str, path: &str, body: Option<Value>) -> Option<Value> {
        let mut wire = TcpStream::connect(&self.address).await.ok()?;
        let body = body.map(|body| body.to_string()).unwrap_or_default();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        wire.write_all(format!("{head}{body}").as_bytes()).await.ok()?;
        let mut answer = String::new();
        within(path, wire.read_to_string(&mut answer)).await.ok()?;
        let (head, body) = answer.split_once("\r\n\r\n")?;
        assert!(head.starts_with("HTTP/1.1 2"), "{method} {path}: {answer}");
        // Chunked or not, the JSON is the line that begins like JSON.
        let json = body.lines().find(|line| line.starts_with(['{', '[', 't', 'f']));
        Some(json.and_then(|line| serde_json::from_str(line).ok()).unwrap_or(Value::Null))
    }
}

/// Asks for the server's health in the background.
pub(crate) struct HealthAsker {
    is_over: Arc<AtomicBool>,
    asking: JoinHandle<Vec<f64>>,
}

impl HealthAsker {
    /// How long each took.
    pub(crate) fn finish(self) -> Vec<f64> {
        self.is_over.store(true, Ordering::Relaxed);
        self.asking.join().unwrap()
    }
}

impl Drop for Server {
    /// Also when a measurement has failed: nothing is left running.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn prompt(text: &str) -> Value {
    json!({ "parts": [{ "type": "text", "text": text }] })
}

/// One client of `/event`.
pub(crate) struct Reader {
    lines: BufReader<TcpStream>,
}

impl Reader {
    /// Connected when the first frame was read.
    pub(crate) async fn connect(server: &Server) -> Self {
        let mut wire = TcpStream::connect(&server.address).await.unwrap();
        wire.write_all(b"GET /event HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
        let mut reader = Self { lines: BufReader::with_capacity(64 * 1024, wire) };
        while !reader.line().await.contains("server.connected") {}
        reader
    }

    /// Reads deltas until so many bytes of text have come.
    pub(crate) async fn read_text(&mut self, bytes: usize) {
        let mut seen = 0;
        while seen < bytes {
            seen += self.delta().await.len();
        }
    }

    /// Reads on until a line contains this.
    pub(crate) async fn read_until(&mut self, words: &str) {
        while !self.line().await.contains(words) {}
    }

    /// How late each stamp was when it arrived, in milliseconds.
    pub(crate) async fn read_stamps(&mut self, count: usize, now_us: fn() -> u64) -> Vec<f64> {
        let mut late = Vec::new();
        while late.len() < count {
            let delta = self.delta().await;
            let now = now_us();
            late.extend(delta.split_whitespace().filter_map(|stamp| {
                let sent: u64 = stamp.parse().ok()?;
                Some(now.saturating_sub(sent) as f64 / 1e3)
            }));
        }
        late
    }

    /// The next chunk of text.
    async fn delta(&mut self) -> String {
        loop {
            let line = self.line().await;
            let Some(at) = line.find("\"delta\":\"") else { continue };
            let rest = &line[at + "\"delta\":\"".len()..];
            return rest[..rest.find('"').unwrap_or(rest.len())].to_owned();
        }
    }

    async fn line(&mut self) -> String {
        let mut line = String::new();
        let read = within("a line of /event", self.lines.read_line(&mut line)).await.unwrap();
        assert!(read > 0, "the stream ended");
        line
    }
}

/// Reads one whole answer of a provider and throws it away.
pub(crate) async fn read_provider(url: &str) -> usize {
    let address = url.trim_start_matches("http://").trim_end_matches("/v1");
    let mut wire = TcpStream::connect(address).await.unwrap();
    let request = "POST /v1/chat/completions HTTP/1.1\r\nhost: bench\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}";
    wire.write_all(request.as_bytes()).await.unwrap();
    let mut lines = BufReader::with_capacity(64 * 1024, wire);
    let mut bytes = 0;
    let mut line = String::new();
    loop {
        line.clear();
        match lines.read_line(&mut line).await.unwrap() {
            0 => return bytes,
            read => bytes += read,
        }
    }
}
