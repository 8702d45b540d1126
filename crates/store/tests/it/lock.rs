//! One process serves a store; the next one is told which.

use crate::bench::{Draft, open};
use std::fs::Permissions;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use sturdy_store::{OpenError, Options, Owner, Store};

const DIRECTORY: &str = "STURDY_STORE_TEST_DIRECTORY";

/// The other process: opens the store, says so, and holds it until it is killed.
#[tokio::test]
#[ignore = "started by the tests below"]
async fn other_process() {
    let Ok(directory) = std::env::var(DIRECTORY) else { return };
    match Store::open(Options::new(directory)).await {
        Ok(store) => {
            store.announce("http://127.0.0.1:4096", None).unwrap();
            store.commit(Draft::new("a", 0).idled().commit).await.unwrap();
            println!("\nopened");
            // Goes on until it is killed; a parent that is gone breaks the pipe.
            for seq in 1..1_000_000 {
                store.commit(Draft::new("a", seq).idled().commit).await.unwrap();
                println!("acknowledged {}", seq + 1);
            }
        }
        Err(OpenError::Locked { owner, .. }) => println!("\nlocked by {}", owner.pid),
        Err(other) => println!("\n{other:?}"),
    }
}

fn start(directory: &Path) -> (Child, String, impl Iterator<Item = String>) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "lock::other_process", "--ignored", "--nocapture"])
        .env(DIRECTORY, directory)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let said = lines.find(|line| line.starts_with("opened") || line.starts_with("locked"));
    (child, said.unwrap_or_default(), lines)
}

#[tokio::test]
async fn a_second_process_is_told_who_serves() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(&directory).await;

    let (mut child, said, _) = start(directory.path());
    child.wait().unwrap();

    assert_eq!(said, format!("locked by {}", std::process::id()));
    store.commit(Draft::new("a", 0).idled().commit).await.unwrap();
}

#[tokio::test]
async fn a_killed_process_leaves_neither_the_lock_nor_a_loss() {
    let directory = tempfile::tempdir().unwrap();
    let (mut child, said, lines) = start(directory.path());
    assert_eq!(said, "opened");

    let refused = Store::open(Options::new(directory.path())).await;
    let Err(OpenError::Locked { owner, .. }) = refused else { panic!("not locked: {refused:?}") };
    assert_eq!(owner.pid, child.id());
    assert_eq!(owner.address.as_deref(), Some("http://127.0.0.1:4096"));
    assert!(!owner.host.is_empty() && owner.since > 0);

    let mut acknowledged = lines.filter_map(|line| line.strip_prefix("acknowledged ")?.parse::<u64>().ok());
    assert_eq!(acknowledged.nth(50), Some(52));
    child.kill().unwrap();
    child.wait().unwrap();
    let last = acknowledged.last().unwrap_or(52);

    let store = open(&directory).await;
    // One more may have become durable while its answer was on the way.
    assert!(store.head() == last || store.head() == last + 1, "acknowledged {last}, found {}", store.head());
    assert_eq!(store.verify(|_| {}).await.unwrap().findings, []);
}

#[tokio::test]
async fn the_same_process_cannot_open_it_twice_either() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(&directory).await;

    let second = Store::open(Options::new(directory.path())).await;

    assert!(matches!(second, Err(OpenError::Locked { .. })), "{second:?}");
    drop(store);
    open(&directory).await.close().await;
}

#[tokio::test]
async fn the_file_that_names_the_server_holds_its_key_and_is_private() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("sturdy.lock");
    // A file of an earlier version that everybody could read.
    std::fs::write(&file, "").unwrap();
    std::fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
    let store = open(&directory).await;

    store.announce("http://127.0.0.1:4096", Some("a-key-of-this-process")).unwrap();

    let owner = Owner::read(directory.path()).unwrap();
    assert_eq!(owner.address.as_deref(), Some("http://127.0.0.1:4096"));
    assert_eq!(owner.key.as_deref(), Some("a-key-of-this-process"));
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(!format!("{owner:?} {owner}").contains("a-key"));
    store.close().await;
    assert_eq!(Owner::read(directory.path()), None);
}
