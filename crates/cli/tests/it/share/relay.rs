//! The way from a sender to its service, on which one request can be caught: something happens to the sender while it is
//! under way, and then both ends are cut off or the answer is handed over.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// How far the request has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// The service has its head and nothing else.
    Head,
    /// The service has half of its body.
    Body,
    /// The service has answered, and the sender has not heard that.
    Answer,
}

/// What becomes of a request that was caught.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    Cut,
    GoOn,
}

/// A request that is waited for, and what happens when it has come so far.
pub(super) struct Trap {
    /// The beginning of its first line.
    pub(super) request: &'static str,
    pub(super) stage: Stage,
    pub(super) happens: Box<dyn FnOnce() + Send>,
    pub(super) then: Then,
}

#[derive(Default)]
struct Shared {
    /// Where the service listens.
    service: String,
    trap: Option<Trap>,
    /// What was to happen has.
    has_caught: bool,
}

pub(super) struct Relay {
    pub(super) url: String,
    shared: Arc<Mutex<Shared>>,
}

impl Relay {
    pub(super) fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let shared = Arc::new(Mutex::new(Shared::default()));
        let known = shared.clone();
        // It ends with the test.
        thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                let known = known.clone();
                // Whoever is cut off comes again.
                thread::spawn(move || pass_on(socket, &known));
            }
        });
        Self { url, shared }
    }

    pub(super) fn lead_to(&self, url: &str) {
        url.strip_prefix("http://").unwrap().clone_into(&mut self.shared.lock().unwrap().service);
    }

    pub(super) fn catch(&self, trap: Trap) {
        let mut shared = self.shared.lock().unwrap();
        shared.trap = Some(trap);
        shared.has_caught = false;
    }

    pub(super) fn has_caught(&self) -> bool {
        self.shared.lock().unwrap().has_caught
    }
}

/// One request with its answer. The service is asked to hang up after it, so that its end is known.
fn pass_on(mut sender: TcpStream, shared: &Mutex<Shared>) -> std::io::Result<()> {
    let (head, body) = read_request(&mut sender)?;
    let trap = {
        let mut shared = shared.lock().unwrap();
        let is_it = shared.trap.as_ref().is_some_and(|trap| head.starts_with(trap.request));
        if is_it { shared.trap.take() } else { None }
    };
    let service = shared.lock().unwrap().service.clone();
    let mut service = TcpStream::connect(service)?;
    service.write_all(hang_up_after(&head).as_bytes())?;
    let stage = trap.as_ref().map(|trap| trap.stage);
    let sent = match stage {
        Some(Stage::Head) => 0,
        Some(Stage::Body) => body.len() / 2,
        Some(Stage::Answer) | None => body.len(),
    };
    service.write_all(&body[..sent])?;
    let mut answer = Vec::new();
    if sent == body.len() {
        service.read_to_end(&mut answer)?;
    }
    if let Some(trap) = trap {
        (trap.happens)();
        shared.lock().unwrap().has_caught = true;
        if trap.then == Then::Cut {
            return Ok(());
        }
    }
    sender.write_all(&answer)
}

fn read_request(socket: &mut TcpStream) -> std::io::Result<(String, Vec<u8>)> {
    let mut read = Vec::new();
    let mut buffer = [0; 16 * 1024];
    loop {
        let end = read.windows(4).position(|four| four == b"\r\n\r\n").map(|at| at + 4);
        if let Some(end) = end {
            let head = String::from_utf8_lossy(&read[..end]).into_owned();
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
            });
            if read.len() >= end + length.unwrap_or(0) {
                return Ok((head, read.split_off(end)));
            }
        }
        match socket.read(&mut buffer)? {
            0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
            count => read.extend_from_slice(&buffer[..count]),
        }
    }
}

fn hang_up_after(head: &str) -> String {
    let kept = head.lines().filter(|line| !line.to_ascii_lowercase().starts_with("connection:"));
    let lines: Vec<&str> = kept.filter(|line| !line.is_empty()).collect();
    format!("{}\r\nconnection: close\r\n\r\n", lines.join("\r\n"))
}
