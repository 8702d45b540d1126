//! Upkeep of shares: what goes, when, and how much of it at once.

use crate::share::{SHARE, Sender, append, at, call, create, message, owner, refused};
use std::path::Path;
use sturdy_store::share::{NewShare, Refusal, ShareLimits, SturdyRef, Visibility};
use sturdy_store::{CrashPlan, Options, Store};

const DAY: u64 = 24 * 60 * 60 * 1_000;

fn unused() -> NewShare {
    NewShare {
        share: "unused".to_owned(),
        owner: SturdyRef::new("unused", "cap", "secret"),
        session: "ses_b".to_owned(),
        request: Some("request".to_owned()),
        visibility: Visibility::Link,
        label: String::new(),
    }
}

async fn refusal_of(store: &Store, share: &str) -> Refusal {
    refused(store.share_snapshot(1_000_000, share.to_owned(), None).await)
}

async fn tidy(store: &Store, now: u64) -> (u64, u64) {
    store.tidy_shares(now, ShareLimits::default()).await.unwrap()
}

fn raw(path: &Path) -> rusqlite::Connection {
    rusqlite::Connection::open(path.join("sturdy.db")).unwrap()
}

fn rows(path: &Path, table: &str) -> u32 {
    raw(path).query_row(&format!("SELECT COUNT(*) FROM {table}"), (), |row| row.get(0)).unwrap()
}

stores! {
    // Was: a tombstone was kept for ever.
    async fn a_deleted_share_is_remembered_as_long_as_its_audit(store: Store) {
        create(&store).await;
        append(&store, &Sender::new("wr_1").seal(vec![message("msg_1", "a")])).await.unwrap();
        let deleted = 10 * DAY;
        store.delete_share(at(deleted), SHARE.to_owned(), owner()).await.unwrap();

        assert_eq!(tidy(&store, deleted + 364 * DAY).await, (0, 2), "two rows of the audit are older than a year");
        assert_eq!(refusal_of(&store, SHARE).await, Refusal::Gone);
        store.delete_share(at(deleted + 364 * DAY), SHARE.to_owned(), owner()).await.unwrap();
        assert_eq!(tidy(&store, deleted + 365 * DAY + 1).await.0, 1);

        assert_eq!(refusal_of(&store, SHARE).await, Refusal::NotFound);
        let again = store.delete_share(call(), SHARE.to_owned(), owner()).await;
        assert_eq!(refused(again), Refusal::NotFound);
    }

    async fn of_a_share_that_was_never_written_to_nothing_is_left_after_two_days(store: Store) {
        store.create_share(call(), unused()).await.unwrap();
        let first = 1_000_000 + DAY + 1;

        assert_eq!(tidy(&store, first).await, (1, 0));
        assert_eq!(tidy(&store, first + DAY).await, (0, 0));
        assert_eq!(refusal_of(&store, "unused").await, Refusal::Gone);
        assert_eq!(refused(store.create_share(call(), unused()).await), Refusal::Gone, "of the same request");
        assert_eq!(tidy(&store, first + DAY + 1).await, (1, 0));

        assert_eq!(refusal_of(&store, "unused").await, Refusal::NotFound);
        assert!(store.create_share(call(), unused()).await.unwrap().is_new);
    }

    async fn an_empty_share_that_is_written_to_in_time_is_kept(store: Store) {
        for number in 0..40 {
            let share = format!("unused{number}");
            let owner = SturdyRef::new(&share, format!("cap{number}"), "secret");
            store.create_share(call(), NewShare { share, owner, request: None, ..unused() }).await.unwrap();
        }
        create(&store).await;
        append(&store, &Sender::new("wr_1").seal(vec![message("msg_1", "a")])).await.unwrap();

        assert_eq!(tidy(&store, 1_000_000 + DAY + 1).await, (40, 0), "more than one transaction deletes");
        store.share_snapshot(1_000_000, SHARE.to_owned(), None).await.unwrap();
    }
}

// Was: all of it in one transaction, for which the commits of every session waited.
#[tokio::test]
async fn a_long_audit_and_a_long_log_are_cut_slice_by_slice() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let store = Store::open(Options::new(path)).await.unwrap();
    create(&store).await;
    append(&store, &Sender::new("wr_1").seal(vec![message("msg_1", "a")])).await.unwrap();
    store.close().await;
    let more = |table: &str, columns: &str, values: &str| {
        format!(
            "INSERT INTO {table} ({columns}) WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 2500)
             SELECT {values} FROM n;"
        )
    };
    let audit = "share_id, at, cap_id, actor, method, code, applied, rejected, transport, address";
    let audit =
        more("share_audit", audit, &format!("'{SHARE}', 1000000, 'owner', '', 'append', 'ok', 0, 0, '', ''"));
    let log = "share_id, cursor, writer_id, seq, op_id, kind, key, at";
    let log = more(
        "share_op",
        log,
        &format!("'{SHARE}', i, 'wr_1', i, 'op' || i, 'message', 'message/m', 1000000"),
    );
    let share =
        "UPDATE share SET cursor = 2500; UPDATE share_writer SET applied_seq = 2500, applied_count = 2500;";
    raw(path).execute_batch(&format!("{audit}{log}{share}")).unwrap();
    let few = ShareLimits { log_rows: 100, audit_rows: 100, ..ShareLimits::default() };

    // Two writes: the first slice of the log is stored, and the second.
    for (logged, plan) in [(1_500, CrashPlan::AfterWrite(1)), (500, CrashPlan::AfterWrite(1))] {
        let store = Store::open(Options { crash: plan, ..Options::new(path) }).await.unwrap();
        store.tidy_shares(1_000_000, few).await.unwrap_err();
        drop(store);
        assert_eq!((rows(path, "share_op"), rows(path, "share_audit")), (logged, 2_501));
    }
    let store = Store::open(Options::new(path)).await.unwrap();
    assert_eq!(store.tidy_shares(1_000_000, few).await.unwrap(), (0, 400 + 2_401));

    assert_eq!((rows(path, "share_op"), rows(path, "share_audit")), (100, 100));
    assert_eq!(store.tidy_shares(1_000_000, few).await.unwrap(), (0, 0));
    assert_eq!(store.verify(|_| {}).await.unwrap().findings, []);
    store.close().await;
}

#[tokio::test]
async fn tombstones_are_bounded_in_number() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    Store::open(Options::new(path)).await.unwrap().close().await;
    let columns = "share_id, session_id, owner_actor, visibility, epoch, cursor, log_from, sync_count, generation, created,
        updated, deleted";
    let many = format!(
        "INSERT INTO share ({columns}) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100040)
         SELECT 'share' || i, 'ses_a', '', 'link', 2, 1, 1, 1, 0, 1, 1, i FROM n"
    );
    raw(path).execute(&many, ()).unwrap();
    let store = Store::open(Options::new(path)).await.unwrap();

    assert_eq!(store.tidy_shares(1_000_000, ShareLimits::default()).await.unwrap(), (40, 0));

    assert_eq!(refusal_of(&store, "share40").await, Refusal::NotFound);
    assert_eq!(refusal_of(&store, "share41").await, Refusal::Gone);
    store.close().await;
}

#[tokio::test]
async fn a_long_audit_of_grants_is_cut_slice_by_slice() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    Store::open(Options::new(path)).await.unwrap().close().await;
    let many = "INSERT INTO grant_audit (grant_id, session_id, at, actor, method, code, transport, address)
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2500)
        SELECT 'g', 'ses_a', i, '', 'use', 'ok', '', '' FROM n";
    raw(path).execute(many, ()).unwrap();
    let now = 90 * DAY + 2_001;

    let store = Store::open(Options { crash: CrashPlan::AfterWrite(1), ..Options::new(path) }).await.unwrap();
    store.tidy_grants(now).await.unwrap_err();
    drop(store);
    assert_eq!(rows(path, "grant_audit"), 1_500);

    let store = Store::open(Options::new(path)).await.unwrap();
    assert_eq!(store.tidy_grants(now).await.unwrap(), 1_000, "the last five hundred are younger");
    store.close().await;
}
