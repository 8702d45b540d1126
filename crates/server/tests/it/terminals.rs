//! Terminals over HTTP: how many there may be, and that they end with the server.

use crate::world::World;
use futures_util::future::join_all;
use serde_json::{Value, json};
use std::path::Path;

/// As many as the server allows.
const RUNNING_MAX: usize = 32;

/// A program that runs until it is ended.
fn idle() -> Value {
    json!({ "command": "/bin/sh", "args": ["-c", "read line"] })
}

#[tokio::test]
async fn no_more_terminals_run_than_there_may_be_however_many_are_asked_for_at_once() {
    let world = World::new().await;

    // Was: all that looked before the first was counted were let in.
    let answers = join_all((0..RUNNING_MAX + 8).map(|_| {
        let world = &world;
        async move { world.send("POST", "/pty", &idle()).await }
    }))
    .await;

    let made = answers.iter().filter(|answer| answer.status == 200).count();
    assert!(made <= RUNNING_MAX, "{made}");
    // One that is being started still holds the sockets of this process, and may be taken for who asks.
    let refused = loop {
        let answer = world.send("POST", "/pty", &idle()).await;
        if answer.status != 200 {
            break answer;
        }
    };
    assert_eq!((refused.status, &refused.json()["name"]), (503, &json!("OverloadedError")));
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert_eq!(world.get("/pty").await.json().as_array().unwrap().len(), RUNNING_MAX);
    let second = world.send("POST", "/api/pty", &idle()).await;
    assert_eq!((second.status, &second.json()["_tag"]), (503, &json!("OverloadedError")));
}

#[tokio::test]
async fn a_terminal_keeps_its_title_when_it_is_given_an_empty_one() {
    let world = World::new().await;
    let made = world.send("POST", "/pty", &idle()).await.json();
    let path = format!("/pty/{}", made["id"].as_str().unwrap());

    let unnamed = world.send("PUT", &path, &json!({ "title": "" })).await.json();
    let named = world.send("PUT", &path, &json!({ "title": "Build" })).await.json();

    assert_eq!((&unnamed["title"], &named["title"]), (&made["title"], &json!("Build")));
}

#[tokio::test]
async fn a_title_that_is_too_long_is_refused() {
    let world = World::new().await;
    let mut new = idle();
    new["title"] = json!("x".repeat(100_000));

    // Was: it was kept in memory and told to everybody, as long as a body may be.
    assert_eq!(world.send("POST", "/pty", &new).await.status, 400);
    let made = world.send("POST", "/pty", &idle()).await.json();
    let path = format!("/pty/{}", made["id"].as_str().unwrap());
    let refused = world.send("PUT", &path, &json!({ "title": new["title"] })).await;

    assert_eq!(refused.status, 400);
    assert_eq!(world.get(&path).await.json()["title"], made["title"]);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_terminal_ends_with_the_server() {
    let world = World::new().await;
    let made = world.send("POST", "/pty", &idle()).await.json();
    let process = format!("/proc/{}", made["pid"]);
    assert!(Path::new(&process).exists());

    let _root = world.close().await;

    assert!(!Path::new(&process).exists(), "{made}");
}

#[tokio::test]
async fn a_terminal_in_a_directory_that_hangs_is_started_where_nobody_else_waits() {
    let (world, hang) = World::about_to_hang().await;
    assert_eq!(world.get("/pty").await.status, 200, "the directory is known");
    hang.begin();
    let idle = idle();
    let mut starting = Box::pin(world.send("POST", "/pty", &idle));
    let hangs = async {
        while hang.threads() == 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        answer = &mut starting => panic!("it was started where it may not hang: {}", answer.text),
        () = hangs => {}
    }

    assert_eq!(world.get("/global/health").await.status, 200);
    hang.let_go();

    assert_eq!(starting.await.status, 200);
    world.close().await;
}
