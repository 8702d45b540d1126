//! Shares under faults: a death around every change of authority, a full disk, a clock that jumps.

use crate::share::{SHARE, Sender, append, at, call, create, message, narrowed, owner, shown};
use serde_json::json;
use std::path::Path;
use std::time::Duration;
use sturdy_store::share::{
    Attenuation, Batch, LegacyItem, OldShare, Scope, ShareAuth, ShareCall, ShareError, ShareLimits,
    SturdyRef, Visibility,
};
use sturdy_store::{CrashPlan, Options, Store};

/// A change of a share that is one write.
#[derive(Clone, Copy, Debug)]
enum Change {
    Revoke,
    RevokeAll,
    Attenuate,
    Rotate,
    Hide,
    Import,
    Compact,
    Delete,
}

const CHANGES: [Change; 8] = [
    Change::Revoke,
    Change::RevokeAll,
    Change::Attenuate,
    Change::Rotate,
    Change::Hide,
    Change::Import,
    Change::Compact,
    Change::Delete,
];

/// Short logs, so that there is something to cut.
fn short() -> ShareLimits {
    ShareLimits { log_rows: 2, ..ShareLimits::default() }
}

impl Change {
    async fn make(self, store: &Store) -> Result<(), ShareError> {
        let share = SHARE.to_owned();
        match self {
            Self::Revoke => {
                let target = "viewer".to_owned();
                store.revoke_share_capability(call(), share, owner(), target).await.map(drop)
            }
            Self::RevokeAll => store.revoke_all_share_capabilities(call(), share, owner()).await.map(drop),
            Self::Attenuate => {
                let wanted = Attenuation {
                    reference: SturdyRef::new(SHARE, "late", "secret-of-late"),
                    scope: Scope::VIEWER,
                    kinds: None,
                    expires: None,
                    max_ops: None,
                    label: "late".to_owned(),
                };
                store.attenuate_share(call(), share, owner(), wanted).await.map(drop)
            }
            Self::Rotate => {
                let fresh = SturdyRef::new(SHARE, "fresh", "secret-of-fresh");
                store.rotate_share(call(), share, owner(), fresh).await.map(drop)
            }
            Self::Hide => {
                store.set_share_visibility(call(), share, owner(), Visibility::Private).await.map(drop)
            }
            Self::Import => {
                let item = LegacyItem { kind: "session".to_owned(), data: json!({ "id": "ses_old" }) };
                let old = OldShare {
                    share: "oldshare".to_owned(),
                    session: "ses_old".to_owned(),
                    secret: ShareAuth::parse("a-plain-old-secret"),
                    capability: "oldowner".to_owned(),
                    items: vec![item],
                };
                store.import_share(call(), old).await.map(drop)
            }
            Self::Compact => store.tidy_shares(1_000_000, short()).await.map(drop),
            Self::Delete => store.delete_share(call(), share, owner()).await,
        }
    }
}

/// Everything that shares have in the database.
fn tables(path: &Path) -> String {
    let raw = rusqlite::Connection::open(path.join("sturdy.db")).unwrap();
    let names = [
        "share",
        "share_capability",
        "share_writer",
        "share_entity",
        "share_op",
        "share_reject",
        "share_audit",
        "share_create",
    ];
    let mut text = String::new();
    for name in names {
        let mut statement = raw.prepare(&format!("SELECT * FROM {name} ORDER BY 1, 2")).unwrap();
        let columns = statement.column_count();
        let mut rows = statement.query(()).unwrap();
        while let Some(row) = rows.next().unwrap() {
            let values: Vec<rusqlite::types::Value> =
                (0..columns).map(|column| row.get(column).unwrap()).collect();
            text.push_str(&format!("{name} {values:?}\n"));
        }
    }
    text
}

/// A store with a share in it that has something to lose.
async fn filled(path: &Path) {
    let store = Store::open(Options::new(path)).await.unwrap();
    create(&store).await;
    narrowed(&store, "viewer", Scope::VIEWER, |_| {}).await;
    let mut sender = Sender::new("wr_1");
    for number in 0..5 {
        append(&store, &sender.seal(vec![message(&format!("msg_{number}"), "text")])).await.unwrap();
    }
    store.close().await;
}

/// T-SRV-12: srv.revoke, srv.attenuate, srv.compact, srv.delete, rotations and imports.
#[tokio::test]
async fn a_change_of_authority_that_meets_a_death_is_made_whole_or_not_at_all() {
    for change in CHANGES {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("made");
        filled(&path).await;
        let before = tables(&path);
        let store = Store::open(Options::new(&path)).await.unwrap();
        change.make(&store).await.unwrap();
        store.close().await;
        let after = tables(&path);
        assert_ne!(before, after, "{change:?} changes something");

        for (plan, expected) in [(CrashPlan::BeforeWrite(1), &before), (CrashPlan::AfterWrite(1), &after)] {
            let path = directory.path().join(format!("{plan:?}"));
            filled(&path).await;
            let store = Store::open(Options { crash: plan, ..Options::new(&path) }).await.unwrap();
            assert!(change.make(&store).await.is_err(), "{change:?} {plan:?}");
            drop(store);
            assert_eq!(tables(&path), *expected, "{change:?} {plan:?}");

            // Whoever did not hear of it asks again.
            let store = Store::open(Options::new(&path)).await.unwrap();
            let again = change.make(&store).await;
            assert!(!matches!(again, Err(ShareError::Store(_))), "{change:?} {plan:?}: {again:?}");
            assert_eq!(store.verify(|_| {}).await.unwrap().findings, [], "{change:?} {plan:?}");
            store.close().await;
        }
    }
}

/// T-DSK-01: the service's disk is full.
#[tokio::test]
async fn a_full_disk_refuses_a_batch_whole_and_takes_it_once_when_there_is_room() {
    let directory = tempfile::tempdir().unwrap();
    filled(directory.path()).await;
    let size = std::fs::metadata(directory.path().join("sturdy.db")).unwrap().len();
    let full = Options {
        bytes_max: Some(size + 16 * 1024),
        patience: Duration::ZERO,
        ..Options::new(directory.path())
    };
    let store = Store::open(full).await.unwrap();
    let before = shown(&store).await;
    let mut sender = Sender::new("wr_2");
    let large = "x".repeat(300_000);
    let batch = sender.seal(vec![message("msg_small", "a"), message("msg_large", &large)]);
    let send =
        async |store: &Store| store.append_share(call(), SHARE.to_owned(), owner(), batch.clone()).await;

    let refused = send(&store).await;

    assert!(matches!(refused, Err(ShareError::Store(_))), "{refused:?}");
    assert_eq!(shown(&store).await, before);
    store.close().await;
    let store = Store::open(Options::new(directory.path())).await.unwrap();
    let seen = store.redeem_share(call(), SHARE.to_owned(), owner(), Some("wr_2".to_owned())).await.unwrap();
    assert_eq!((seen.cursor, seen.writer.unwrap().applied_seq), (5, 0));
    assert_eq!(send(&store).await.unwrap().applied.len(), 2);
    assert_eq!(send(&store).await.unwrap().duplicates.len(), 2);
    assert_eq!(store.verify(|_| {}).await.unwrap().findings, []);
    store.close().await;
}

stores! {
    /// T-CLK-01: order and repeats do not depend on clocks, and a clock that was wrong for a while keeps nothing away.
    async fn a_clock_that_jumps_changes_no_order_and_no_outcome(store: Store) {
        const DAY: u64 = 24 * 60 * 60 * 1_000;
        create(&store).await;
        let now = 100 * DAY;
        let mut sender = Sender::new("wr_1");
        let names = ["msg_a", "msg_b", "msg_c", "msg_d"];
        let batches: Vec<Batch> = names.iter().map(|name| sender.seal(vec![message(name, "text")])).collect();
        let times = [now, now + DAY, now - DAY, now];

        for (time, batch) in times.iter().zip(&batches) {
            let sent = store.append_share(at(*time), SHARE.to_owned(), owner(), batch.clone()).await.unwrap();
            assert_eq!(sent.applied.len(), 1);
        }
        let again = store.append_share(at(now - DAY), SHARE.to_owned(), owner(), batches[1].clone()).await.unwrap();

        assert_eq!(again.duplicates.len(), 1);
        let page = store.share_ops(now, SHARE.to_owned(), None, 0, 100).await.unwrap();
        let order: Vec<(u64, &str)> = page.ops.iter().map(|op| (op.cursor, op.key.as_str())).collect();
        let wanted = [(1, "message/msg_a"), (2, "message/msg_b"), (3, "message/msg_c"), (4, "message/msg_d")];
        assert_eq!(order, wanted);
        // A round of upkeep a day ahead, then the clock is right again.
        store.tidy_shares(now + DAY, ShareLimits::default()).await.unwrap();
        store.tidy_shares(now, ShareLimits::default()).await.unwrap();
        let page = store.share_ops(now, SHARE.to_owned(), None, 0, 100).await.unwrap();
        assert_eq!(page.ops.len(), 4);
    }
}

/// T-CAP-01
#[tokio::test]
async fn redeeming_gives_the_same_identity_after_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    filled(directory.path()).await;
    let redeem = async |store: &Store| {
        let call = ShareCall { actor: "viewer".to_owned(), ..call() };
        let redeemed = store.redeem_share(call, SHARE.to_owned(), owner(), Some("wr_1".to_owned())).await;
        serde_json::to_value(redeemed.unwrap()).unwrap()
    };
    let store = Store::open(Options::new(directory.path())).await.unwrap();

    let before = redeem(&store).await;
    store.close().await;
    let store = Store::open(Options::new(directory.path())).await.unwrap();
    let after = redeem(&store).await;

    assert_eq!(before, after);
    assert_eq!((&after["cap_id"], &after["cursor"]), (&json!("owner"), &json!(5)));
    assert_eq!(after["writer"]["applied_seq"], 5);
    store.close().await;
}
