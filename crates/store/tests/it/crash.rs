//! Dying on purpose: what was answered is there, what was not may be.

use crate::bench::{Draft, open, ses};
use sturdy_store::{CommitError, CrashPlan, Options, ReadError, Store};
use tempfile::TempDir;

async fn doomed(directory: &TempDir, crash: CrashPlan) -> Store {
    Store::open(Options { crash, ..Options::new(directory.path()) }).await.unwrap()
}

#[tokio::test]
async fn a_crash_before_a_commit_loses_it_and_keeps_all_before() {
    let directory = tempfile::tempdir().unwrap();
    let store = doomed(&directory, CrashPlan::before_commit(2)).await;
    let (first, second, third, blob) = tokio::join!(
        store.commit(Draft::new("a", 0).idled().commit),
        store.commit(Draft::new("a", 1).idled().commit),
        store.commit(Draft::new("b", 0).idled().commit),
        store.put_blob(vec![1]),
    );

    assert_eq!(first.unwrap().seq, 1);
    assert!(matches!(second, Err(CommitError::Crashed)), "{second:?}");
    assert!(matches!(third, Err(CommitError::Crashed)), "{third:?}");
    assert!(matches!(blob, Err(CommitError::Crashed)), "{blob:?}");
    assert!(store.was_crashed());

    // The lock is free although handles are still about.
    let reopened = open(&directory).await;
    assert_eq!(reopened.head(), 1);
    assert_eq!(reopened.sizes().await.unwrap().blobs, 0);
    assert_eq!(reopened.seq(&ses("a")).await.unwrap(), 1);
}

#[tokio::test]
async fn a_crash_after_a_commit_keeps_it_and_tells_nobody() {
    let directory = tempfile::tempdir().unwrap();
    let store = doomed(&directory, CrashPlan::after_commit(3)).await;
    let (first, refused, second, third) = tokio::join!(
        store.commit(Draft::new("a", 0).idled().commit),
        store.commit(Draft::new("a", 9).idled().commit),
        store.commit(Draft::new("a", 1).idled().commit),
        store.commit(Draft::new("b", 0).idled().commit),
    );

    assert_eq!(first.unwrap().seq, 1);
    // A commit that was refused is counted.
    assert!(matches!(refused, Err(CommitError::Conflict { .. })), "{refused:?}");
    assert!(matches!(second, Err(CommitError::Crashed)), "{second:?}");
    assert!(matches!(third, Err(CommitError::Crashed)), "{third:?}");
    drop(store);

    let reopened = open(&directory).await;
    assert_eq!(reopened.seq(&ses("a")).await.unwrap(), 2);
    assert_eq!(reopened.seq(&ses("b")).await.unwrap(), 0);
}

#[tokio::test]
async fn a_crash_can_wait_for_a_kind_of_entry() {
    for (plan, kept) in
        [(CrashPlan::BeforeKind("session.compacted.1"), 1), (CrashPlan::AfterKind("session.compacted.1"), 2)]
    {
        let directory = tempfile::tempdir().unwrap();
        let store = doomed(&directory, plan).await;
        let (first, second, third) = tokio::join!(
            store.commit(Draft::new("a", 0).fact("turn.stopping.1", "{}").commit),
            store.commit(Draft::new("a", 1).idled().commit),
            store.commit(Draft::new("a", 2).fact("turn.stopping.1", "{}").commit),
        );

        assert_eq!(first.unwrap().seq, 1);
        assert!(matches!(second, Err(CommitError::Crashed)), "{second:?}");
        assert!(matches!(third, Err(CommitError::Crashed)), "{third:?}");
        drop(store);
        assert_eq!(open(&directory).await.seq(&ses("a")).await.unwrap(), kept);
    }
}

#[tokio::test]
async fn a_crashed_store_refuses_everything() {
    let directory = tempfile::tempdir().unwrap();
    let store = doomed(&directory, CrashPlan::before_commit(1)).await;
    store.commit(Draft::new("a", 0).idled().commit).await.unwrap_err();

    let commit = store.commit(Draft::new("a", 0).idled().commit).await;
    let read = store.log_after(0, 1).await;
    let blob = store.put_blob(vec![1]).await;

    assert!(matches!(commit, Err(CommitError::Crashed)), "{commit:?}");
    assert!(matches!(read, Err(ReadError::Unavailable(_))), "{read:?}");
    assert!(matches!(blob, Err(CommitError::Crashed)), "{blob:?}");
    store.close().await;
}
