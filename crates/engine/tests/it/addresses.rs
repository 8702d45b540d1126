//! Instructions that are fetched from a URL.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use sturdy_engine::{Engine, Environment};
use sturdy_store::CrashPlan;
use sturdy_testkit::world::{Disk, options, scripted};
use sturdy_testkit::{Provider, World, answer};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

/// A page server; counts who asks. `/slow` never answers.
#[allow(clippy::disallowed_methods, reason = "a server of the test's own")]
async fn pages() -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = asked.clone();
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            counted.fetch_add(1, Ordering::SeqCst);
            tokio::spawn(async move {
                let mut head = vec![0; 4096];
                let count = socket.read(&mut head).await.unwrap_or(0);
                let head = String::from_utf8_lossy(&head[..count]).into_owned();
                let answer = if head.starts_with("GET /rules") {
                    "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\nconnection: close\r\ncontent-length: 18\r\n\r\nAlways be concise."
                } else {
                    "HTTP/1.1 404 Not Found\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
                };
                let _ = socket.write_all(answer.as_bytes()).await;
            });
        }
    });
    (url, asked)
}

/// Whose settings name the pages.
enum Whose {
    User,
    Project,
}

async fn world(reaches_everything: bool, pages: &str, whose: Whose) -> World {
    let disk = Disk::new();
    let provider = Provider::start().await;
    let mut config = scripted(&provider.url());
    let named = serde_json::json!([format!("{pages}/rules.md"), format!("{pages}/missing.md")]);
    match whose {
        Whose::User => {
            let place = disk.home().join(".config/opencode");
            std::fs::create_dir_all(&place).unwrap();
            let own = serde_json::json!({ "instructions": named });
            std::fs::write(place.join("opencode.json"), own.to_string()).unwrap();
        }
        Whose::Project => config["instructions"] = named,
    }
    disk.configure(&config);
    let mut options = options(&disk, CrashPlan::Never);
    let home = ("HOME".to_owned(), disk.home().to_string_lossy().into_owned());
    let switch = ("STURDY_REACH_PRIVATE".to_owned(), if reaches_everything { "1" } else { "0" }.to_owned());
    options.environment = Environment::new([home, switch].into()).trusting_all();
    let engine = Engine::open(options).await.unwrap();
    World { engine, disk, provider }
}

#[tokio::test]
async fn a_page_among_the_instructions_is_put_before_the_model_and_kept_for_a_while() {
    let (pages, asked) = pages().await;
    let world = world(true, &pages, Whose::Project).await;
    let session = world.session().await;

    for _ in 0..2 {
        world.provider.will(answer().text("Yes.").finish("stop"));
        world.ask(&session.id, "go").await.unwrap();
    }

    for request in world.provider.requests() {
        assert!(request.to_string().contains("Always be concise."), "{request}");
    }
    assert_eq!(asked.load(Ordering::SeqCst), 2, "each address once");
}

#[tokio::test]
async fn a_page_of_this_machine_that_the_user_named_is_put_before_the_model() {
    let (pages, _) = pages().await;
    let world = world(false, &pages, Whose::User).await;
    let session = world.session().await;
    world.provider.will(answer().text("Yes.").finish("stop"));

    world.ask(&session.id, "go").await.unwrap();

    // Was: left out, and only the log told.
    assert!(world.provider.requests()[0].to_string().contains("Always be concise."));
}

#[tokio::test]
async fn a_page_of_this_machine_that_a_project_named_is_not_fetched_unless_that_is_allowed() {
    let (pages, asked) = pages().await;
    let world = world(false, &pages, Whose::Project).await;
    let session = world.session().await;
    world.provider.will(answer().text("Yes.").finish("stop"));

    world.ask(&session.id, "go").await.unwrap();

    assert!(!world.provider.requests()[0].to_string().contains("concise"));
    assert_eq!(asked.load(Ordering::SeqCst), 0);
}
