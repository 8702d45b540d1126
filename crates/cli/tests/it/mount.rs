//! A project on a mount that is suddenly gone (`mount.c`): whoever looks at its files waits for good. Everybody else is
//! served as ever.

use crate::preload::library;
use crate::program::{Place, Server};
use serde_json::{Value, json};
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// As many as there are workers that serve, and one more: each would take one of them.
const AT_ONCE: usize = 3;

/// A place beside which a mount can be taken away.
struct Mount {
    place: Place,
    directory: PathBuf,
    gone: PathBuf,
}

impl Mount {
    /// With everything in it that starts a program: git, a formatter, a language server, an MCP server.
    fn new() -> Self {
        let place = Place::new();
        let directory = place.home().canonicalize().unwrap().join("mount");
        let gone = place.home().join("gone");
        fs::create_dir(&directory).unwrap();
        let settings = json!({
            "permission": "allow",
            "formatter": { "plain": { "command": ["true", "$FILE"], "extensions": [".txt"] } },
            "lsp": { "plain": { "command": ["sleep", "1000"], "extensions": [".txt"] } },
            "mcp": { "plain": { "type": "local", "command": ["sleep", "1000"] } },
        });
        fs::write(directory.join("opencode.json"), settings.to_string()).unwrap();
        fs::write(directory.join("note.txt"), "a note\n").unwrap();
        let git = |arguments: &[&str]| {
            let who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-C"];
            let mut command = Command::new("git");
            command.args(who).arg(&directory).args(arguments).env("HOME", place.home());
            assert!(command.status().unwrap().success());
        };
        git(&["init", "--quiet"]);
        git(&["add", "."]);
        git(&["commit", "--quiet", "--message", "Begin"]);
        let place = place
            .with("LD_PRELOAD", &library("mount.c"))
            .with("STURDY_TRUST_ALL", "1")
            .with("STURDY_TEST_MOUNT", &directory.display().to_string())
            .with("STURDY_TEST_GONE", &gone.display().to_string());
        Self { place, directory, gone }
    }

    fn take_away(&self) {
        fs::write(&self.gone, "").unwrap();
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        // Whoever waits for it in a process that is left goes on.
        let _ = fs::remove_file(&self.gone);
    }
}

/// One request that nobody waits for.
fn send(server: &Server, directory: &str, (method, path, body): &(String, String, String)) -> TcpStream {
    let mut socket = TcpStream::connect(server.url.strip_prefix("http://").unwrap()).unwrap();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\nx-opencode-directory: {directory}\r\nx-opencode-ticket: 1\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    socket.write_all(head.as_bytes()).unwrap();
    socket
}

/// Fails if the server does not answer although others hang.
fn assert_healthy(server: &Server, behind: &str) {
    let mut socket = TcpStream::connect(server.url.strip_prefix("http://").unwrap()).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    write!(socket, "GET /global/health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").unwrap();
    let mut health = String::new();
    let read = socket.read_to_string(&mut health);
    assert!(read.is_ok() && health.starts_with("HTTP/1.1 200"), "nobody is served behind {behind}: {health}");
}

/// Every address of the document, filled in. Not those that end the server or what it knows of the directory.
fn every_request(document: &Value, session: &str) -> Vec<(String, String, String)> {
    let mut all = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        if path.contains("dispose") || path.contains("upgrade") {
            continue;
        }
        let named = |part: &str| match part {
            "{sessionID}" => session.to_owned(),
            part if part.starts_with('{') => "unknown".to_owned(),
            part => part.to_owned(),
        };
        let filled: Vec<String> = path.split('/').map(named).collect();
        let query = "path=note.txt&query=note&pattern=note&mode=git&provider=demo&model=echo";
        for method in methods.as_object().unwrap().keys().filter(|method| *method != "delete") {
            let body = if method == "get" { "" } else { "{}" };
            all.push((method.to_uppercase(), format!("{}?{query}", filled.join("/")), body.to_owned()));
        }
    }
    all
}

/// What does more than an empty body can ask for.
fn more_requests(directory: &str, session: &str) -> Vec<(String, String, String)> {
    let prompt = |text: String| json!({ "parts": [{ "type": "text", "text": text }] }).to_string();
    let write = json!({ "filePath": format!("{directory}/note.txt"), "content": "another\n" });
    let bash = json!({ "command": "ls", "description": "Lists" });
    let attached = json!({ "noReply": true, "parts": [
        { "type": "file", "mime": "text/plain", "url": format!("file://{directory}/note.txt") },
    ] });
    let of_session = |name: &str| format!("/session/{session}/{name}");
    let mcp = json!({ "name": "more", "config": { "type": "local", "command": ["sleep", "1000"] } });
    let all = [
        ("POST", of_session("prompt_async"), prompt(format!("/demo tool write {write}"))),
        ("POST", of_session("message"), attached.to_string()),
        ("POST", "/session".to_owned(), "{}".to_owned()),
        ("POST", of_session("abort"), "{}".to_owned()),
        ("POST", of_session("shell"), json!({ "agent": "build", "command": "ls" }).to_string()),
        ("POST", of_session("prompt_async"), prompt(format!("/demo tool bash {bash}"))),
        ("POST", of_session("prompt_async"), prompt("/demo tool grep {\"pattern\":\"note\"}".to_owned())),
        ("POST", "/pty".to_owned(), "{}".to_owned()),
        ("POST", "/mcp".to_owned(), mcp.to_string()),
        ("POST", "/vcs/apply".to_owned(), json!({ "patch": "x" }).to_string()),
        ("POST", "/experimental/worktree".to_owned(), json!({ "name": "linked" }).to_string()),
        ("POST", "/experimental/worktree/reset".to_owned(), json!({ "directory": directory }).to_string()),
        ("DELETE", "/experimental/worktree".to_owned(), json!({ "directory": directory }).to_string()),
        ("PATCH", "/config".to_owned(), json!({ "username": "ada" }).to_string()),
        ("DELETE", of_session(""), String::new()),
    ];
    all.into_iter().map(|(method, path, body)| (method.to_owned(), path, body)).collect()
}

// Was: whoever asked for a branch, an MCP server, a language server or a formatter started its program on one of the two
// threads that serve everybody, and waited there with the directory of the program.
#[test]
fn a_mount_that_is_gone_stops_nobody_whatever_is_asked_of_it() {
    let mount = Mount::new();
    let server = mount.place.serve(&[]);
    let directory = mount.directory.display().to_string();
    let of_mount = |path: &str| format!("{path}?directory={directory}");
    let session = server.json("POST", &of_mount("/session"), "{}")["id"].as_str().unwrap().to_owned();
    let prompt = json!({ "parts": [{ "type": "text", "text": "hello" }] }).to_string();
    let answered = server.json("POST", &format!("/session/{session}/message"), &prompt);
    assert!(answered["info"]["error"].is_null(), "{answered}");
    let document = server.json("GET", "/doc", "");
    let mut all = every_request(&document, &session);
    assert!(all.len() > 150, "the document has {} requests", all.len());
    all.extend(more_requests(&directory, &session));

    mount.take_away();
    for request in &all {
        let waiting: Vec<TcpStream> = (0..AT_ONCE).map(|_| send(&server, &directory, request)).collect();
        assert_healthy(&server, &format!("{} {}", request.0, request.1));
        drop(waiting);
    }

    // Not only the threads that serve: those for files are not all held either.
    let other = mount.place.home().join("other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("here.txt"), "here\n").unwrap();
    let of_other = |path: &str| format!("{path}?directory={}", other.display());
    let session = server.json("POST", &of_other("/session"), "{}")["id"].as_str().unwrap().to_owned();
    let command = json!({ "agent": "build", "command": "cat here.txt" }).to_string();
    let ran = server.json("POST", &format!("/session/{session}/shell"), &command);
    assert_eq!(ran["parts"][0]["state"]["output"].as_str().map(str::trim), Some("here"), "{ran}");
    let found = server.json("GET", &format!("{}&query=here", of_other("/find/file")), "");
    assert_eq!(found, json!(["here.txt"]));

    server.signal("TERM");
    assert_eq!(server.ended().0, Some(0));
}
