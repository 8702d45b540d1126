//! Opening: what is made, what is refused, what is found again.

use crate::bench::{Draft, open, ses};
use std::fs;
use sturdy_store::{
    CommitError, CrashPlan, DriverErrorKind, Durability, OpenError, Options, ReadError, Store,
};

#[tokio::test]
async fn missing_directories_are_made() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a/b/c");

    let store = Store::open(Options::new(&path)).await.unwrap();

    assert!(path.join("sturdy.db").exists());
    assert_eq!((store.head(), store.horizon().await.unwrap(), store.last_time().await.unwrap()), (0, 0, 0));
}

#[cfg(unix)]
#[tokio::test]
async fn nobody_else_on_the_machine_can_read_a_store() {
    use std::os::unix::fs::PermissionsExt as _;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("private");
    let store = Store::open(Options::new(&path)).await.unwrap();
    store.commit(Draft::new("a", 0).idled().commit).await.unwrap();

    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;

    assert_eq!(mode(&path), 0o700);
    for file in ["sturdy.db", "sturdy.db-wal"] {
        assert_eq!(mode(&path.join(file)), 0o600, "{file}");
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_store_that_was_open_to_others_is_closed_to_them() {
    use std::os::unix::fs::PermissionsExt as _;
    let directory = tempfile::tempdir().unwrap();
    let open_to_all = |path: &std::path::Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    // Made by somebody else beforehand, such as a service manager.
    let path = directory.path().join("before");
    fs::create_dir(&path).unwrap();
    open_to_all(&path, 0o755);
    Store::open(Options::new(&path)).await.unwrap().close().await;
    assert_eq!((mode(&path), mode(&path.join("sturdy.db"))), (0o700, 0o600));

    // Opened up, or copied with other modes.
    open_to_all(&path, 0o777);
    open_to_all(&path.join("sturdy.db"), 0o644);
    Store::open(Options::new(&path)).await.unwrap().close().await;
    assert_eq!((mode(&path), mode(&path.join("sturdy.db"))), (0o700, 0o600));

    // A directory for all stays one; the store in it is private.
    let shared = directory.path().join("shared");
    fs::create_dir(&shared).unwrap();
    open_to_all(&shared, 0o1777);
    Store::open(Options::new(&shared)).await.unwrap().close().await;
    assert_eq!((mode(&shared), mode(&shared.join("sturdy.db"))), (0o777, 0o600));
}

#[tokio::test]
async fn a_file_system_that_keeps_no_write_ahead_log_is_refused_and_nothing_is_changed() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(&directory).await;
    store.commit(Draft::new("a", 0).session("kept").commit).await.unwrap();
    store.close().await;

    let crash = CrashPlan::NoWriteAheadLog;
    let refused = Store::open(Options { crash, ..Options::new(directory.path()) }).await;

    let Err(OpenError::NotDurable { what, .. }) = refused else { panic!("{refused:?}") };
    assert!(what.contains("\"delete\" and not a write-ahead log"), "{what}");
    let store = open(&directory).await;
    assert_eq!(store.seq(&ses("a")).await.unwrap(), 1);
}

#[tokio::test]
async fn a_file_in_place_of_the_directory_is_said_to_be_one() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    fs::write(&path, "x").unwrap();

    let opened = Store::open(Options::new(&path)).await;
    let below = Store::open(Options::new(path.join("below"))).await;

    assert!(matches!(opened, Err(OpenError::NotADirectory { .. })), "{opened:?}");
    assert!(matches!(below, Err(OpenError::NotADirectory { .. })), "{below:?}");
}

#[cfg(unix)]
#[tokio::test]
async fn a_directory_that_cannot_be_written_is_said_to_be_one() {
    use std::os::unix::fs::PermissionsExt as _;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("closed");
    fs::create_dir(&path).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o555)).unwrap();
    if fs::write(path.join("probe"), "x").is_ok() {
        // The superuser may write everywhere but where the kernel has files of its own.
        let opened = Store::open(Options::new("/proc/sys/kernel")).await;
        assert!(matches!(opened, Err(OpenError::NotWritable { .. })), "{opened:?}");
        let opened = Store::open(Options::new("/proc/sturdy")).await;
        assert!(matches!(opened, Err(OpenError::NotCreatable { .. })), "{opened:?}");
        return;
    }

    let opened = Store::open(Options::new(&path)).await;
    let below = Store::open(Options::new(path.join("below"))).await;

    assert!(matches!(opened, Err(OpenError::NotWritable { .. })), "{opened:?}");
    assert!(matches!(below, Err(OpenError::NotCreatable { .. })), "{below:?}");
}

#[tokio::test]
async fn a_store_that_was_dropped_opens_with_everything_in_it() {
    let directory = tempfile::tempdir().unwrap();
    for round in 0..3 {
        let store = open(&directory).await;
        assert_eq!(store.head(), round);
        store.commit(Draft::new("a", round).idled().commit).await.unwrap();
        drop(store);
    }
}

#[tokio::test]
async fn a_closed_store_says_so_to_its_other_handles() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(&directory).await;
    let other = store.clone();
    store.commit(Draft::new("a", 0).idled().commit).await.unwrap();

    store.close().await;

    let Err(CommitError::Unavailable(driver)) = other.commit(Draft::new("a", 1).idled().commit).await else {
        panic!()
    };
    assert_eq!(driver.kind, DriverErrorKind::Closed);
    let Err(ReadError::Unavailable(driver)) = other.session(&ses("a")).await else { panic!() };
    assert_eq!(driver.kind, DriverErrorKind::Closed);
    // Everything is in the one file.
    let wal = fs::metadata(directory.path().join("sturdy.db-wal")).map_or(0, |file| file.len());
    assert_eq!(wal, 0);
    assert_eq!(open(&directory).await.head(), 1);
    other.close().await;
}

#[tokio::test]
async fn what_was_sent_before_closing_is_written() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(&directory).await;
    let closing = store.clone();

    let (commit, ()) = tokio::join!(store.commit(Draft::new("a", 0).idled().commit), closing.close());

    commit.unwrap();
    assert_eq!(open(&directory).await.head(), 1);
}

#[tokio::test]
async fn normal_durability_keeps_the_same_promises_to_a_living_process() {
    let directory = tempfile::tempdir().unwrap();
    let options = Options { durability: Durability::Normal, ..Options::new(directory.path()) };
    let store = Store::open(options).await.unwrap();
    store.commit(Draft::new("a", 0).session("s").commit).await.unwrap();
    drop(store);

    assert_eq!(open(&directory).await.head(), 1);
}

/// What is copied of a store: its database and, if all of the directory is, the marks beside it.
fn copy_of(from: &std::path::Path, to: &std::path::Path, files: &[&str]) {
    fs::create_dir_all(to).unwrap();
    for file in files {
        fs::copy(from.join(file), to.join(file)).unwrap();
    }
}

#[tokio::test]
async fn a_store_that_is_opened_again_keeps_its_epoch() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let store = Store::open(Options::new(&path)).await.unwrap();
    assert!(!store.replace_mark().await.unwrap());
    let epoch = store.epoch();
    // Once more, as a server does every few minutes, and then it dies.
    assert!(!store.replace_mark().await.unwrap());
    store.die().await;

    let store = Store::open(Options::new(&path)).await.unwrap();

    assert!(!store.replace_mark().await.unwrap());
    assert_eq!(store.epoch(), epoch);
}

#[tokio::test]
async fn a_copy_that_was_put_back_gets_another_epoch() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let backup = directory.path().join("backup");
    let store = Store::open(Options::new(&path)).await.unwrap();
    store.replace_mark().await.unwrap();
    let epoch = store.epoch();
    store.close().await;
    copy_of(&path, &backup, &["sturdy.db"]);
    let store = Store::open(Options::new(&path)).await.unwrap();
    store.replace_mark().await.unwrap();
    store.commit(Draft::new("a", 0).idled().commit).await.unwrap();
    store.close().await;

    // Over the file that is there, and into a directory of its own.
    copy_of(&backup, &path, &["sturdy.db"]);
    let elsewhere = directory.path().join("elsewhere");
    copy_of(&backup, &elsewhere, &["sturdy.db"]);

    for place in [path, elsewhere] {
        let store = Store::open(Options::new(&place)).await.unwrap();
        assert!(store.replace_mark().await.unwrap());
        let renewed = store.epoch();
        assert_ne!(renewed, epoch);
        store.close().await;
        let store = Store::open(Options::new(&place)).await.unwrap();
        assert!(!store.replace_mark().await.unwrap());
        assert_eq!(store.epoch(), renewed);
    }
}

#[tokio::test]
async fn a_process_that_died_between_the_marks_and_the_database_left_no_copy() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let store = Store::open(Options::new(&path)).await.unwrap();
    store.replace_mark().await.unwrap();
    let epoch = store.epoch();
    store.close().await;

    let marks = fs::read_to_string(path.join("sturdy.marks")).unwrap();
    fs::write(path.join("sturdy.marks"), marks.replace("\"]", "\",\"0123456789abcdef\"]")).unwrap();

    let store = Store::open(Options::new(&path)).await.unwrap();
    assert!(!store.replace_mark().await.unwrap());
    assert_eq!(store.epoch(), epoch);
}
