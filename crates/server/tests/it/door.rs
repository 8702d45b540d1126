//! What strangers' web pages can and cannot do.

use crate::share_pair::receiving;
use crate::world::{Answer, World, prompt};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use sturdy_server::{Password, ServerOptions};

const EVIL: &str = "https://evil.example";

async fn ask(world: &World, method: &str, path: &str, headers: &[(&str, &str)]) -> Answer {
    let mut request = world.request(method, path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    Answer::of(request.send().await.unwrap()).await
}

fn forbidden(message: &str) -> (u16, Value) {
    (403, json!({ "name": "ForbiddenError", "data": { "message": message } }))
}

fn foreign_page() -> (u16, Value) {
    forbidden("Pages of this origin may not use the API. `sturdy serve --cors ORIGIN` lets them.")
}

fn unknown_name(name: &str) -> (u16, Value) {
    forbidden(&format!(
        "This server has no password and does not know the name {name:?}. `sturdy serve --allow-host NAME` \
         makes it known; a password lets every name in."
    ))
}

// Was: a foreign origin got no CORS headers, and its request was carried out all the same.
#[tokio::test]
async fn a_page_of_another_origin_changes_nothing_and_reads_nothing() {
    let world = World::new().await;
    let session = world.session().await;
    let messages = format!("/session/{session}/message");

    for origin in [EVIL, "null", "http://localhost:3000.evil.example"] {
        let posted = world.request("POST", &messages).header("origin", origin).json(&prompt("hello"));
        assert_eq!(Answer::of(posted.send().await.unwrap()).await.both(), foreign_page(), "{origin}");
        for (method, path) in [
            ("DELETE", format!("/session/{session}")),
            ("POST", format!("/session/{session}/abort")),
            ("POST", "/rpc".to_owned()),
            ("GET", "/event".to_owned()),
            ("GET", "/global/event".to_owned()),
            ("GET", "/config".to_owned()),
            ("GET", "/nosuch".to_owned()),
        ] {
            let answer = ask(&world, method, &path, &[("origin", origin)]).await;
            assert_eq!(answer.both(), foreign_page(), "{method} {path} from {origin}");
            assert_eq!(answer.header("access-control-allow-origin"), None);
        }
    }
    let second = ask(&world, "POST", "/api/session", &[("origin", EVIL)]).await;
    assert_eq!((second.status, &second.json()["_tag"]), (403, &json!("ForbiddenError")));

    assert_eq!(world.get(&messages).await.json(), json!([]));
}

/// Every address of the document with each of its methods, and those for people and programs that it does not name.
fn every_route() -> Vec<(String, String)> {
    let document = sturdy_server::document();
    let mut all: Vec<(String, String)> = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        let path = path.replace(['{', '}'], "");
        all.extend(methods.as_object().unwrap().keys().map(|method| (method.to_uppercase(), path.clone())));
    }
    let others = [
        ("GET", "/"),
        ("GET", "/assets/x/y"),
        ("GET", "/share/x"),
        ("GET", "/s/x"),
        ("POST", "/rpc"),
        ("GET", "/rpc"),
        ("GET", "/api/share/x/data"),
        ("GET", "/api/share/x/events"),
        ("POST", "/api/share"),
        ("POST", "/api/share/x/sync"),
        ("GET", "/api/share/rpc"),
        ("GET", "/doc"),
        ("GET", "/nosuch"),
    ];
    all.extend(others.map(|(method, path)| (method.to_owned(), path.to_owned())));
    all
}

// A door beside the one that is watched would be found here.
#[tokio::test]
async fn no_route_is_answered_to_a_page_of_another_origin_or_under_an_unknown_name() {
    let world = World::with(receiving()).await;
    let socket = [
        ("connection", "upgrade"),
        ("upgrade", "websocket"),
        ("sec-websocket-version", "13"),
        ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ];
    let strangers = [("origin", EVIL), ("origin", "null"), ("sec-fetch-site", "cross-site")];
    let routes = every_route();
    assert!(routes.len() > 200, "{} routes", routes.len());

    for (method, path) in &routes {
        for stranger in strangers {
            let plain = ask(&world, method, path, &[stranger]).await;
            let upgrade: Vec<(&str, &str)> = socket.iter().copied().chain([stranger]).collect();
            let upgrade = ask(&world, method, path, &upgrade).await;
            assert_eq!((plain.status, upgrade.status), (403, 403), "{method} {path} from {stranger:?}");
            assert!(plain.text.contains("Pages of this origin may not use the API"), "{}", plain.text);
        }
        let rebound = ask(&world, method, path, &[("host", "evil.example")]).await;
        assert_eq!(rebound.status, 403, "{method} {path} under an unknown name");
        assert!(rebound.text.contains("does not know the name"), "{}", rebound.text);
    }
}

#[tokio::test]
async fn a_request_that_a_browser_calls_cross_site_is_refused_without_an_origin_too() {
    let world = World::new().await;
    let cross = ("sec-fetch-site", "cross-site");

    let image = ask(&world, "GET", "/session", &[cross, ("sec-fetch-mode", "no-cors")]).await;
    let form = ask(&world, "POST", "/session", &[cross, ("sec-fetch-mode", "navigate")]).await;
    let frame = [cross, ("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "iframe")];
    let frame = ask(&world, "GET", "/session", &frame).await;
    let link = [cross, ("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "document")];
    let link = ask(&world, "GET", "/session", &link).await;

    assert_eq!(image.both(), foreign_page());
    assert_eq!(form.both(), foreign_page());
    assert_eq!(frame.both(), foreign_page());
    assert_eq!(link.both(), (200, json!([])));
}

#[tokio::test]
async fn pages_that_may_use_the_api_are_not_hindered() {
    let world = World::with(ServerOptions {
        cors: vec!["https://tools.example".to_owned()],
        ..ServerOptions::default()
    })
    .await;
    let own = world.url.clone();
    let cross = ("sec-fetch-site", "cross-site");

    for headers in [
        vec![],
        vec![("origin", own.as_str())],
        vec![("origin", "http://localhost:3000"), ("sec-fetch-site", "same-site")],
        vec![("origin", "http://127.0.0.1:3000"), cross],
        vec![("origin", "https://app.opencode.ai"), cross],
        vec![("origin", "tauri://localhost"), cross],
        vec![("origin", "https://tools.example"), cross],
        // Behind a proxy the page has another origin than `Host` says.
        vec![("origin", "https://agent.example"), ("sec-fetch-site", "same-origin")],
        vec![("sec-fetch-site", "none")],
    ] {
        let answer = ask(&world, "POST", "/session", &headers).await;
        assert_eq!(answer.status, 200, "{headers:?}: {}", answer.text);
    }
}

#[tokio::test]
async fn without_a_password_only_known_names_are_served() {
    let world = World::with(ServerOptions {
        names: vec!["agent.lan".to_owned(), "0.0.0.0".to_owned()],
        ..ServerOptions::default()
    })
    .await;
    let as_host = |host: &'static str, method: &'static str, path: &'static str| {
        let world = &world;
        async move { ask(world, method, path, &[("host", host)]).await }
    };

    for host in [
        "localhost",
        "LOCALHOST:4096",
        "a.localhost",
        "127.0.0.1:1",
        "127.9.9.9",
        "[::1]:4096",
        "agent.lan:80",
    ] {
        assert_eq!(as_host(host, "GET", "/global/health").await.status, 200, "{host}");
    }
    for (host, shown) in [
        ("evil.example", "evil.example"),
        ("evil.example:4096", "evil.example"),
        ("localhost.evil.example", "localhost.evil.example"),
        ("127.0.0.1.evil.example", "127.0.0.1.evil.example"),
        ("192.0.2.7", "192.0.2.7"),
        ("user@localhost", "user@localhost"),
    ] {
        for (method, path) in [
            ("GET", "/global/health"),
            ("POST", "/session"),
            ("GET", "/event"),
            ("OPTIONS", "/session"),
            ("GET", "/"),
        ] {
            assert_eq!(
                as_host(host, method, path).await.both(),
                unknown_name(shown),
                "{method} {path} as {host}"
            );
        }
    }
    // A rebound page: its origin is its host, and both are its own.
    let headers =
        [("host", "evil.example"), ("origin", "http://evil.example"), ("sec-fetch-site", "same-origin")];
    assert_eq!(ask(&world, "POST", "/session", &headers).await.both(), unknown_name("evil.example"));
}

#[tokio::test]
async fn with_a_password_every_name_is_served_to_those_who_know_it() {
    let password = Some(Password::new("ada", "hush".to_owned()));
    let world = World::with(ServerOptions { password, ..ServerOptions::default() }).await;
    let right = format!("Basic {}", BASE64_STANDARD.encode("ada:hush"));

    let known =
        ask(&world, "POST", "/session", &[("host", "agent.example"), ("authorization", &right)]).await;
    let unknown = ask(&world, "POST", "/session", &[("host", "agent.example")]).await;
    // A browser that was given the password sends it along with every request, whoever made it.
    let foreign = ask(&world, "POST", "/session", &[("origin", EVIL), ("authorization", &right)]).await;

    assert_eq!((known.status, unknown.status), (200, 401));
    assert_eq!(foreign.both(), foreign_page());
}

// Was: a body without a type counted as JSON, and a page may send one without asking first.
#[tokio::test]
async fn a_body_says_that_it_is_json() {
    let world = World::new().await;
    let session = world.session().await;
    let messages = format!("/session/{session}/message");
    let body = prompt("hello").to_string();

    let send = |path: &str, kind: Option<&'static str>| {
        let mut request = world.request("POST", path).body(body.clone());
        if let Some(kind) = kind {
            request = request.header("content-type", kind);
        }
        async move { Answer::of(request.send().await.unwrap()).await }
    };

    for path in [messages.as_str(), "/session"] {
        let none = send(path, None).await;
        assert_eq!((none.status, none.text.as_str()), (415, "A body needs a content-type: application/json"));
        for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""]
        {
            assert_eq!(send(path, Some(kind)).await.status, 415, "{kind}");
        }
    }
    assert_eq!(send(&messages, Some("application/json; charset=utf-8")).await.status, 200);
    assert_eq!(world.call("POST", "/session").await.status, 200);
    assert_eq!(world.get(&messages).await.json().as_array().unwrap().len(), 2);
}

/// Batches are plain text, which a page can send without asking first. Who asks decides, and not the type.
#[tokio::test]
async fn a_page_of_another_origin_sends_no_batch_whatever_type_it_claims() {
    let world = World::new().await;
    let batch = "[\"push\",[\"pipeline\",0,[\"echo\"],[1]]]\n[\"pull\",1]";
    let kinds = [None, Some("text/plain;charset=UTF-8"), Some("application/json")];
    let strangers = [("origin", EVIL), ("origin", "null"), ("sec-fetch-site", "cross-site")];

    for kind in kinds {
        let send = |who: Option<(&'static str, &'static str)>| {
            let mut request = world.request("POST", "/rpc").body(batch);
            for (name, value) in who.into_iter().chain(kind.map(|kind| ("content-type", kind))) {
                request = request.header(name, value);
            }
            async move { Answer::of(request.send().await.unwrap()).await }
        };
        for stranger in strangers {
            assert_eq!(send(Some(stranger)).await.both(), foreign_page(), "{kind:?} {stranger:?}");
        }
        let own = send(None).await;
        assert_eq!((own.status, own.text.trim()), (200, "[\"resolve\",1,1]"), "{kind:?}");
    }
}

/// Bash that sends one request to the server and prints the first line of the answer.
#[cfg(target_os = "linux")]
fn call(world: &World, method: &str, path: &str, headers: &str) -> String {
    let port = world.url.rsplit(':').next().unwrap();
    format!(
        "exec 3<>/dev/tcp/127.0.0.1/{port}\n\
         printf '{method} {path} HTTP/1.1\\r\\nhost: localhost\\r\\n{headers}content-length: 0\\r\\n\\r\\n' >&3\n\
         read -r answer <&3\necho \"$answer\"\n"
    )
}

/// What a command prints that the server runs.
#[cfg(target_os = "linux")]
async fn run(world: &World, session: &str, command: &str) -> String {
    let body = json!({ "agent": "build", "command": command });
    let answer = world.send("POST", &format!("/session/{session}/shell"), &body).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    let parts = answer.json()["parts"].as_array().unwrap().clone();
    let tool = parts.iter().find(|part| part["type"] == "tool").unwrap().clone();
    tool["state"]["output"].as_str().unwrap().trim().to_owned()
}

// Was: a command that may call `curl` could allow itself everything else.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_command_of_the_server_changes_nothing_through_it() {
    let world = World::new().await;
    let session = world.session().await;
    let close = "connection: close\\r\\n";
    std::fs::write(world.project().join("change.sh"), call(&world, "POST", "/session", close)).unwrap();
    std::fs::write(world.project().join("look.sh"), call(&world, "GET", "/session", close)).unwrap();

    for command in [
        "bash change.sh",
        // Without the mark in its environment, and in a session of its own.
        "env -i /bin/bash change.sh",
        "env -i setsid --wait /bin/bash change.sh",
    ] {
        assert_eq!(run(&world, &session, command).await, "HTTP/1.1 403 Forbidden", "{command}");
    }
    assert_eq!(run(&world, &session, "bash look.sh").await, "HTTP/1.1 200 OK");
    assert_eq!(world.get("/session").await.json().as_array().unwrap().len(), 1);
}

// The same for every other kind of program that the server starts.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_call_of_a_model_an_mcp_server_and_a_formatter_change_nothing_through_it() {
    let world = World::new().await;
    let write = |name: &str, text: String| std::fs::write(world.project().join(name), text).unwrap();
    write("change.sh", call(&world, "POST", "/session", "connection: close\\r\\n"));
    write("note.sh", "bash change.sh > \"$1.part\" && mv \"$1.part\" \"$1\"\n".to_owned());
    let noting = |name: &str| json!(["bash", "note.sh", name]);
    let config = json!({
        "mcp": { "server": { "type": "local", "command": noting("by-server") } },
        "formatter": { "mine": { "command": noting("by-formatter"), "extensions": [".txt"] } },
    });
    write("opencode.json", config.to_string());
    let session = world.session().await;

    world.ask(&session, r#"/demo tool bash {"command":"bash note.sh by-model","description":"Asks"}"#).await;
    world.ask(&session, r#"/demo tool write {"filePath":"a.txt","content":"text"}"#).await;

    for name in ["by-server", "by-model", "by-formatter"] {
        let file = world.project().join(name);
        while !file.exists() {
            tokio::task::yield_now().await;
        }
        let said = std::fs::read_to_string(&file).unwrap();
        assert_eq!(said.trim(), "HTTP/1.1 403 Forbidden", "{name}");
    }
    assert_eq!(world.get("/session").await.json().as_array().unwrap().len(), 1);
}

/// Bash that says wrong passwords until it is told to come back later.
#[cfg(target_os = "linux")]
fn guess(world: &World) -> String {
    let port = world.url.rsplit(':').next().unwrap();
    let wrong = BASE64_STANDARD.encode("ada:wrong");
    format!(
        "for number in {{1..60}}; do\n\
         exec {{connection}}<>/dev/tcp/127.0.0.1/{port}\n\
         printf 'GET /session HTTP/1.1\\r\\nhost: localhost\\r\\nauthorization: Basic {wrong}\\r\\n\\r\\n' >&$connection\n\
         if read -t 0.1 -r answer <&$connection && [[ $answer == *429* ]]; then echo told to wait; exit; fi\n\
         done\n"
    )
}

// Was: a command that said ten wrong passwords locked out whoever uses the server from the same machine.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_command_that_guesses_the_password_does_not_lock_its_user_out() {
    let password = Some(Password::new("ada", "hush".to_owned()));
    let world = World::with(ServerOptions { password, ..ServerOptions::default() }).await;
    let as_user = |method: &str, path: &str, secret: &str| {
        world.request(method, path).basic_auth("ada", Some(secret.to_owned()))
    };
    let made = Answer::of(as_user("POST", "/session", "hush").send().await.unwrap()).await.json();
    std::fs::write(world.project().join("guess.sh"), guess(&world)).unwrap();
    let path = format!("/session/{}/shell", made["id"].as_str().unwrap());
    let body = json!({ "agent": "build", "command": "bash guess.sh" });

    let guessed = Answer::of(as_user("POST", &path, "hush").json(&body).send().await.unwrap()).await;
    let wrong = as_user("GET", "/session", "mistyped").send().await.unwrap();
    let right = as_user("GET", "/session", "hush").send().await.unwrap();

    assert!(guessed.text.contains("told to wait"), "{}", guessed.text);
    assert_eq!((wrong.status().as_u16(), right.status().as_u16()), (401, 200));
}

/// An address of this machine that is not the loopback one, if it has one.
#[cfg(target_os = "linux")]
fn other_address() -> std::net::IpAddr {
    let socket = std::net::UdpSocket::bind("0.0.0.0:0").unwrap();
    // Nothing is sent: the system only chooses the address it would send from.
    match socket.connect("192.0.2.1:9") {
        Ok(()) => socket.local_addr().unwrap().ip(),
        Err(_) => "127.0.0.2".parse().unwrap(),
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
#[ignore = "started by a_command_that_connects_from_another_address_is_known"]
async fn change_from_another_address() {
    let port: u16 = std::env::var("CHANGE_AT_PORT").unwrap().parse().unwrap();
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind((other_address(), 0).into()).unwrap();
    let mut stream = socket.connect(([127, 0, 0, 1], port).into()).await.unwrap();
    let request =
        "POST /session HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    tokio::io::AsyncWriteExt::write_all(&mut stream, request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    tokio::io::AsyncReadExt::read_to_string(&mut stream, &mut answer).await.unwrap();
    println!("{answer}");
}

// Was: only connections from the loopback address, or from the one that was connected to, were looked up.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_command_that_connects_from_another_address_is_known() {
    let world = World::new().await;
    let session = world.session().await;
    let port = world.url.rsplit(':').next().unwrap();
    let program = std::env::current_exe().unwrap();
    let child = "--ignored --exact --nocapture door::change_from_another_address";

    let command = format!("CHANGE_AT_PORT={port} {} {child}", program.display());
    let said = run(&world, &session, &command).await;

    assert!(said.contains("HTTP/1.1 403 Forbidden"), "{said}");
}

/// Runs a script in a terminal until it has ended.
#[cfg(target_os = "linux")]
async fn in_terminal(world: &World, script: &str) {
    let made = world.send("POST", "/pty", &json!({ "command": "/bin/bash", "args": [script] })).await;
    assert_eq!(made.status, 200, "{}", made.text);
    let path = format!("/pty/{}", made.json()["id"].as_str().unwrap());
    while world.get(&path).await.json()["status"] != "exited" {
        tokio::task::yield_now().await;
    }
}

// Was: what a person typed into a terminal of the page was refused as if a model had written it.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_persons_own_terminal_may_use_the_server_and_no_command_may_borrow_it() {
    let world = World::new().await;
    let session = world.session().await;
    let close = "connection: close\\r\\n";
    let upgrade = "connection: upgrade\\r\\nupgrade: websocket\\r\\n";
    let write = |name: &str, text: String| std::fs::write(world.project().join(name), text).unwrap();
    write("change.sh", call(&world, "POST", "/session", close));
    write("terminal.sh", "env -u STURDY_COMMAND setsid --wait bash change.sh > by-child\nbash change.sh > by-shell\nprintf %s \"$STURDY_COMMAND\" > mark\n".to_owned());
    write("open.sh", call(&world, "POST", "/pty", close));
    write("type.sh", call(&world, "GET", "/pty/pty_0123456789abABCDEFGHIJKLMN/connect", upgrade));

    in_terminal(&world, "terminal.sh").await;

    let read = |name: &str| std::fs::read_to_string(world.project().join(name)).unwrap().trim().to_owned();
    assert_eq!(read("by-shell"), "HTTP/1.1 200 OK");
    assert_eq!(read("by-child"), "HTTP/1.1 200 OK");
    let borrowed = format!("STURDY_COMMAND={} bash change.sh", read("mark"));
    for command in ["bash open.sh", "bash type.sh", &borrowed, &format!("exec env {borrowed}")] {
        assert_eq!(run(&world, &session, command).await, "HTTP/1.1 403 Forbidden", "{command}");
    }
    assert_eq!(world.get("/session").await.json().as_array().unwrap().len(), 3);
}
