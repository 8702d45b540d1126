//! Files that hang when they are opened, as on a network mount that is gone.

use crate::program::Place;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::Command;
use std::time::Duration;

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
        let mut socket = TcpStream::connect(address).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        write!(socket, "GET /global/health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
            .unwrap();
        let mut health = String::new();
        socket.read_to_string(&mut health).expect("an answer while others hang");
        assert!(health.starts_with("HTTP/1.1 200"), "{health}");
    }
    server.signal("TERM");

    // Was: the end waited for every thread.
    assert_eq!(server.ended().0, Some(0));
    drop(waiting);
}
