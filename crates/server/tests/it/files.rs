//! Files of a directory: lists, contents, searches, and what is told of them.

use crate::stream::{Frame, Stream};
use crate::world::{World, prompt};
use serde_json::json;
use std::io::Write as _;
use std::time::Duration;
use sturdy_worktree::search::limit;

async fn world() -> World {
    let world = World::new().await;
    std::fs::write(world.project().join("a.txt"), "hello\nworld\n").unwrap();
    std::fs::create_dir(world.project().join("src")).unwrap();
    std::fs::write(world.project().join("src/lib.rs"), "fn hello() {}\n").unwrap();
    std::fs::write(world.project().join("blob"), b"\x00\x01").unwrap();
    world
}

#[tokio::test]
async fn names_and_contents_are_those_on_the_disk() {
    let world = world().await;
    let project = world.project();

    let list = world.get("/file?path=").await.json();
    let text = world.get("/file/content?path=a.txt").await.json();
    let binary = world.get("/file/content?path=blob").await.json();

    assert_eq!(
        list[0],
        json!({ "name": "src", "path": "src/", "absolute": project.join("src"), "type": "directory", "ignored": false })
    );
    assert_eq!(list.as_array().unwrap().len(), 3);
    assert_eq!(text, json!({ "type": "text", "content": "hello\nworld" }));
    assert_eq!(
        (&binary["type"], &binary["encoding"], &binary["content"]),
        (&json!("binary"), &json!("base64"), &json!("AAE="))
    );
    let empty = world.get("/file/content?path=nosuch").await.json();
    assert_eq!(empty, json!({ "type": "text", "content": "" }));
    assert_eq!(world.get("/file/status").await.json(), json!([]));
}

#[tokio::test]
async fn names_and_lines_are_found() {
    let world = world().await;

    let names = world.get("/find/file?query=lib").await.json();
    let second = world.get("/api/fs/find?query=lib&limit=20&").await.json();
    let lines = world.get("/find?pattern=hel%2Bo").await.json();

    assert_eq!(names[0], "src/lib.rs");
    assert_eq!(second["data"][0], json!({ "path": "src/lib.rs", "type": "file" }));
    assert_eq!(lines[0]["path"]["text"], "a.txt");
    assert_eq!(
        (&lines[0]["line_number"], &lines[0]["submatches"][0]["match"]["text"]),
        (&json!(1), &json!("hello"))
    );
    let listed = world.get("/api/fs/list?path=src").await.json();
    assert_eq!(listed["data"], json!([{ "path": "src/lib.rs", "type": "file" }]));
    assert_eq!(world.get("/find/symbol?query=x").await.json(), json!([]));
}

#[tokio::test]
async fn what_lies_outside_or_makes_no_sense_is_refused() {
    let world = world().await;
    for path in [
        "/file?path=../..",
        "/file/content?path=/etc/passwd",
        "/find",
        "/find/file",
        "/find?pattern=(",
        "/find/file?query=a&type=x",
    ] {
        let (status, body) = world.get(path).await.both();
        assert_eq!(
            (status, &body["name"], &body["data"]["kind"]),
            (400, &json!("BadRequest"), &json!("Query")),
            "{path}"
        );
    }
    let missing = world.get("/file?path=nosuch").await;
    assert_eq!((missing.status, &missing.json()["name"]), (404, &json!("NotFoundError")));
}

#[tokio::test]
async fn tools_are_listed_by_name_and_in_full() {
    let world = world().await;
    let ids = world.get("/experimental/tool/ids").await.json();
    let tools = world.get("/experimental/tool?provider=demo&model=echo").await.json();
    assert_eq!(ids.as_array().unwrap()[..3], [json!("invalid"), json!("question"), json!("bash")]);
    let named: Vec<_> = tools.as_array().unwrap().iter().map(|tool| &tool["id"]).collect();
    assert!(named.contains(&&json!("edit")) && !named.contains(&&json!("apply_patch")), "{named:?}");
    assert!(tools[0]["description"].is_string() && tools[0]["parameters"].is_object());
    assert_eq!(world.get("/experimental/tool").await.status, 400);
    let patching = world.get("/experimental/tool?provider=any&model=gpt-5").await.json();
    let named: Vec<_> = patching.as_array().unwrap().iter().map(|tool| &tool["id"]).collect();
    assert!(!named.contains(&&json!("edit")) && named.contains(&&json!("apply_patch")), "{named:?}");
}

#[tokio::test]
async fn the_fifth_search_waits_for_one_of_the_four() {
    let world = world().await;
    let mut others = Vec::new();
    for _ in 0..4 {
        others.push(limit::place().await);
    }

    let mut waiting = Box::pin(world.get("/find?pattern=hello"));
    // Other requests are answered meanwhile, and this one is not.
    tokio::select! {
        biased;
        _ = &mut waiting => panic!("a fifth search"),
        answer = world.get("/global/health") => assert_eq!(answer.status, 200),
    }
    others.pop();

    assert_eq!(waiting.await.json().as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn a_search_says_how_many_files_it_left_out() {
    let world = world().await;
    let before = world.get("/find?pattern=hello").await;
    let config = json!({ "permission": { "read": { "*": "allow", "*.txt": "deny" } } });
    std::fs::write(world.project().join("opencode.json"), config.to_string()).unwrap();
    world.call("POST", "/instance/dispose").await;

    let after = world.get("/find?pattern=hello").await;

    assert_eq!((before.header("x-skipped-files"), before.json().as_array().unwrap().len()), (None, 2));
    assert_eq!(after.header("x-skipped-files"), Some("1"));
    let found = after.json();
    assert_eq!((found.as_array().unwrap().len(), &found[0]["path"]["text"]), (1, &json!("src/lib.rs")));
}

#[tokio::test]
async fn a_search_that_nobody_waits_for_any_more_makes_room() {
    let world = world().await;
    let large = world.project().join("large.txt");
    std::fs::write(&large, "x\n".repeat(32 * 1024 * 1024)).unwrap();
    // A terabyte: no search on any machine comes to its end before the test is given up.
    for number in 0..16_000 {
        std::fs::hard_link(&large, world.project().join(format!("large-{number}.txt"))).unwrap();
    }
    let mut others = Vec::new();
    for _ in 0..3 {
        others.push(limit::place().await);
    }
    let mut socket = std::net::TcpStream::connect(world.url.strip_prefix("http://").unwrap()).unwrap();
    let request = "GET /find?pattern=%5B0-9%5D%2B%5Ba-w%5D HTTP/1.1\r\nhost: localhost\r\n\r\n";
    socket.write_all(request.as_bytes()).unwrap();
    let is_free = || async {
        tokio::select! {
            biased;
            _ = limit::place() => true,
            () = tokio::task::yield_now() => false,
        }
    };
    while is_free().await {
        tokio::task::yield_now().await;
    }

    drop(socket);

    let place = tokio::time::timeout(Duration::from_secs(120), limit::place()).await;
    assert!(place.is_ok(), "the search goes on");
}

#[tokio::test]
async fn files_that_a_command_changed_are_told_of_once() {
    let world = World::new().await;
    let project = world.project();
    std::fs::write(project.join("opencode.json"), r#"{"permission":"allow"}"#).unwrap();
    std::fs::write(project.join("changed"), "1").unwrap();
    std::fs::write(project.join("removed"), "1").unwrap();
    let session = world.session().await;
    let mut stream = Stream::open(&world, "/event").await;

    let command = "echo 2 > changed; rm removed; mkdir empty; echo 1 > new";
    let call = format!(r#"/demo tool bash {{"command":"{command}","description":"Changes files"}}"#);
    world.send("POST", &format!("/session/{session}/prompt_async"), &prompt(&call)).await;
    let frames = stream.until(Frame::is_idle).await;

    let told = frames.iter().filter(|frame| frame.kind() == "file.watcher.updated");
    let root = project.canonicalize().unwrap();
    let expected = [("changed", "change"), ("new", "add"), ("removed", "unlink")];
    let expected = expected.map(|(name, event)| json!({ "file": root.join(name), "event": event }));
    assert_eq!(told.map(|frame| frame.json()["properties"].clone()).collect::<Vec<_>>(), expected);
}
