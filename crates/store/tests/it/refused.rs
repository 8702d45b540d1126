//! A disk that says no: for a moment, for long, and for good.

use crate::bench::{Draft, open, ses};
use sturdy_store::{CommitError, CrashPlan, DriverErrorKind, Options, Store};
use tempfile::TempDir;

/// The tries one group has; the plan refuses without pauses, so they take no time.
const TRIES: u64 = 60;

async fn open_with(directory: &TempDir, crash: CrashPlan) -> Store {
    Store::open(Options { crash, ..Options::new(directory.path()) }).await.unwrap()
}

fn named(session: &str, expected: u64) -> sturdy_store::Commit {
    Draft::new(session, expected).session("a session").commit
}

fn is_full<T>(outcome: &Result<T, CommitError>) -> bool {
    matches!(outcome, Err(CommitError::Unavailable(driver)) if driver.kind == DriverErrorKind::DiskFull)
}

#[tokio::test]
async fn a_commit_that_a_full_disk_refuses_is_kept_and_written_when_there_is_room() {
    let directory = tempfile::tempdir().unwrap();
    let store = open_with(&directory, CrashPlan::DiskFull { first: 2, tries: TRIES - 1 }).await;
    store.commit(named("a", 0)).await.unwrap();

    let (one, two) = tokio::join!(store.commit(named("a", 1)), store.commit(named("b", 0)));

    // Was: every turn of the group ended with the first refusal.
    assert_eq!((one.unwrap().seq, two.unwrap().seq), (2, 1));
    assert_eq!(store.verify(|_| {}).await.unwrap().findings, []);
}

// Was: after five seconds of that, every turn of the group ended.
#[tokio::test]
async fn commits_wait_for_another_program_that_holds_the_database() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(&directory).await;
    store.commit(named("a", 0)).await.unwrap();
    let raw = rusqlite::Connection::open(directory.path().join("sturdy.db")).unwrap();
    raw.execute_batch("BEGIN IMMEDIATE").unwrap();
    let let_go = async {
        // Tried, refused and kept.
        while store.meters().refused.get() == 0 {
            tokio::task::yield_now().await;
        }
        raw.execute_batch("ROLLBACK").unwrap();
    };

    let (one, two, ()) = tokio::join!(store.commit(named("a", 1)), store.commit(named("b", 0)), let_go);

    assert_eq!((one.unwrap().seq, two.unwrap().seq), (2, 1));
}

#[tokio::test]
async fn commits_that_wait_to_be_written_are_counted() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(&directory).await;
    assert_eq!(store.queued(), 0);
    let raw = rusqlite::Connection::open(directory.path().join("sturdy.db")).unwrap();
    raw.execute_batch("BEGIN IMMEDIATE").unwrap();
    let later = async {
        // The first was taken by the writer, which cannot go on; these stay where they are.
        while store.meters().refused.get() == 0 {
            tokio::task::yield_now().await;
        }
        tokio::join!(store.commit(named("b", 0)), store.commit(named("c", 0)))
    };
    let let_go = async {
        while store.queued() < 2 {
            tokio::task::yield_now().await;
        }
        raw.execute_batch("ROLLBACK").unwrap();
    };

    let (first, (second, third), ()) = tokio::join!(store.commit(named("a", 0)), later, let_go);

    assert!(first.is_ok() && second.is_ok() && third.is_ok());
    assert_eq!(store.queued(), 0);
}

#[tokio::test]
async fn a_commit_that_meets_damage_fails_alone() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(&directory).await;
    store.commit(named("a", 0)).await.unwrap();
    store.close().await;
    let raw = rusqlite::Connection::open(directory.path().join("sturdy.db")).unwrap();
    raw.execute("UPDATE log SET seq = 'x' WHERE session_id = 'ses_a'", []).unwrap();
    let store = open(&directory).await;
    // While this is held, the first commit waits and the others queue up behind it: they make one group.
    raw.execute_batch("BEGIN IMMEDIATE").unwrap();
    let let_go = async { raw.execute_batch("ROLLBACK").unwrap() };

    let (first, damaged, last, ()) = tokio::join!(
        store.commit(named("c", 0)),
        store.commit(named("a", 1)),
        store.commit(named("b", 0)),
        let_go
    );

    // Was: whoever shared the group was refused as well.
    assert!(matches!(damaged, Err(CommitError::Broken { .. })), "{damaged:?}");
    assert_eq!((first.unwrap().seq, last.unwrap().seq), (1, 1));
}

#[tokio::test]
async fn after_a_commit_was_given_up_the_next_are_refused_at_once_until_one_succeeds() {
    let directory = tempfile::tempdir().unwrap();
    let store = open_with(&directory, CrashPlan::DiskFull { first: 2, tries: TRIES + 2 }).await;
    store.commit(named("a", 0)).await.unwrap();

    let given_up = store.commit(named("a", 1)).await;
    let second = store.commit(named("a", 1)).await;
    let third = store.commit(named("a", 1)).await;
    let fourth = store.commit(named("a", 1)).await;

    assert!(is_full(&given_up), "{given_up:?}");
    // One try each, or the plan would have run out before.
    assert!(is_full(&second) && is_full(&third), "{second:?} {third:?}");
    assert_eq!(fourth.unwrap().seq, 2);
}

#[tokio::test]
async fn a_panic_of_the_writing_thread_is_told_and_nobody_waits_for_ever() {
    let directory = tempfile::tempdir().unwrap();
    let store = open_with(&directory, CrashPlan::Panic(2)).await;
    store.commit(named("a", 0)).await.unwrap();
    assert!(!store.is_broken());

    let met = store.commit(named("a", 1)).await;
    store.broke().await;
    let after = store.commit(named("a", 1)).await;

    assert!(matches!(met, Err(CommitError::Unknown(_))), "{met:?}");
    assert!(matches!(after, Err(CommitError::Unknown(_))), "{after:?}");
    assert!(store.is_broken());
    assert_eq!(store.seq(&ses("a")).await.unwrap(), 1, "reading goes on");
    drop(store);
    let store = open(&directory).await;
    assert_eq!(store.commit(named("a", 1)).await.unwrap().seq, 2);
}
