//! Files that hang when they are opened, as on a network mount that is gone.

use crate::program::Place;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::Command;
use std::time::Duration;

/// Fails if the server does not answer although others hang.
fn is_healthy(address: &str) {
    let mut socket = TcpStream::connect(address).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    write!(socket, "GET /global/health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").unwrap();
    let mut health = String::new();
    socket.read_to_string(&mut health).expect("an answer while others hang");
    assert!(health.starts_with("HTTP/1.1 200"), "{health}");
}

#[test]
fn files_that_hang_stop_neither_health_nor_shutdown() {
    let place = Place::new();
    let shared = place.home().join(".local/share/opencode");
    std::fs::create_dir_all(&shared).unwrap();
    // Nobody ever writes into this pipe: whoever opens it to read waits for good.
    assert!(Command::new("mkfifo").arg(shared.join("auth.json")).status().unwrap().success());
    let server = place.serve(&[]);
    let address = server.url.strip_prefix("http://").unwrap();

    let mut waiting = Vec::new();
    for number in 0..12 {
        let directory = place.home().join(number.to_string());
        std::fs::create_dir(&directory).unwrap();
        let mut socket = TcpStream::connect(address).unwrap();
        let path = format!("/config?directory={}", directory.display());
        write!(socket, "GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
        waiting.push(socket);

        // Was: each held a worker, and there are two.
        is_healthy(address);
    }
    server.signal("TERM");

    // Was: the end waited for every thread.
    assert_eq!(server.ended().0, Some(0));
    drop(waiting);
}

// Was: a token was written by one of the two threads that serve everybody, with all tokens locked meanwhile.
#[test]
fn a_disk_that_hangs_under_a_token_stops_nobody() {
    let place = Place::new();
    let server = place.serve(&[]);
    let new = r#"{"name":"a program","scopes":["write"]}"#;
    let known = server.json("POST", "/sturdy/token", new);
    // Nobody ever reads from this pipe: whoever opens it to write waits for good.
    assert!(Command::new("mkfifo").arg(place.data().join("tokens.new")).status().unwrap().success());
    let address = server.url.strip_prefix("http://").unwrap();
    let ask = |text: String| {
        let mut socket = TcpStream::connect(address).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        socket.write_all(text.as_bytes()).unwrap();
        socket
    };
    let answer = |text: String| {
        let mut answer = String::new();
        ask(text).read_to_string(&mut answer).expect("an answer while others hang");
        answer
    };

    let mut waiting = Vec::new();
    for _ in 0..4 {
        let head = "content-type: application/json\r\nhost: localhost\r\n";
        waiting.push(ask(format!(
            "POST /sturdy/token HTTP/1.1\r\n{head}content-length: {}\r\n\r\n{new}",
            new.len()
        )));

        let secret = known["secret"].as_str().unwrap();
        let health =
            answer("GET /global/health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n".to_owned());
        let let_in = answer(format!(
            "GET /session HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {secret}\r\nconnection: close\r\n\r\n"
        ));
        assert!(health.starts_with("HTTP/1.1 200"), "{health}");
        assert!(let_in.starts_with("HTTP/1.1 200"), "{let_in}");
    }
    assert_eq!(
        server.json("GET", "/sturdy/token", "").as_array().unwrap().len(),
        1,
        "what is not on disk does not count"
    );
    server.signal("TERM");
    assert_eq!(server.ended().0, Some(0));
}

// Was: whoever gave or took trust was answered by one of the two threads that serve everybody, which read the list.
#[test]
fn a_disk_that_hangs_under_the_list_of_trusted_projects_stops_nobody() {
    let place = Place::new();
    let server = place.serve(&[]);
    // Nobody ever writes into this pipe: whoever opens it to read waits for good.
    assert!(Command::new("mkfifo").arg(place.data().join("trust.json")).status().unwrap().success());
    let address = server.url.strip_prefix("http://").unwrap();
    let danger = r#"{ "mcp": { "x": { "type": "local", "command": ["true"], "enabled": false } } }"#;

    let mut waiting = Vec::new();
    for number in 0..4 {
        let directory = place.home().join(number.to_string());
        std::fs::create_dir(&directory).unwrap();
        std::fs::write(directory.join("opencode.json"), danger).unwrap();
        for method in ["POST", "DELETE"] {
            let mut socket = TcpStream::connect(address).unwrap();
            let path = format!("/sturdy/trust?directory={}", directory.display());
            let head = "host: localhost\r\ncontent-type: application/json\r\ncontent-length: 2\r\n";
            write!(socket, "{method} {path} HTTP/1.1\r\n{head}\r\n{{}}").unwrap();
            waiting.push(socket);

            is_healthy(address);
        }
    }

    server.signal("TERM");
    assert_eq!(server.ended().0, Some(0));
}
