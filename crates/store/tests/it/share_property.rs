//! Whatever is lost, repeated or restored on the way, a share ends as what was sent last.

use crate::share::{SHARE, Sender, append, create, message, shown};
use proptest::prelude::*;
use std::collections::BTreeMap;
use sturdy_store::Store;
use sturdy_store::share::{Batch, Refusal};

/// What happens to a writer's next batch.
#[derive(Clone, Debug)]
enum Way {
    Arrives,
    /// Applied, and the answer is lost: sent again.
    AnswerLost,
    /// Sent again after later ones, from some log of the past.
    Late {
        back: usize,
    },
    /// The viewer reads a page.
    Look,
}

fn ways() -> impl Strategy<Value = Vec<(u8, u8, Way)>> {
    let way = prop_oneof![
        5 => Just(Way::Arrives),
        3 => Just(Way::AnswerLost),
        2 => (0..5_usize).prop_map(|back| Way::Late { back }),
        3 => Just(Way::Look),
    ];
    proptest::collection::vec((0..2_u8, 0..4_u8, way), 1..40)
}

/// A viewer that folds what it is shown.
#[derive(Default)]
struct Viewer {
    cursor: u64,
    seen: BTreeMap<String, String>,
}

impl Viewer {
    async fn look(&mut self, store: &Store) {
        loop {
            let page = store.share_ops(1, SHARE.to_owned(), None, self.cursor, 3).await.unwrap();
            for op in page.ops {
                match op.data {
                    Some(data) => self.seen.insert(op.key, data.get().to_owned()),
                    None => self.seen.remove(&op.key),
                };
            }
            self.cursor = page.cursor;
            if !page.more {
                return;
            }
        }
    }
}

async fn run(ways: Vec<(u8, u8, Way)>) {
    let directory = tempfile::tempdir().unwrap();
    let store = crate::bench::open(&directory).await;
    create(&store).await;
    let mut senders = [Sender::new("wr_0"), Sender::new("wr_1")];
    let mut past: Vec<Batch> = Vec::new();
    let mut expected: BTreeMap<String, String> = BTreeMap::new();
    let mut viewer = Viewer::default();
    for (step, (writer, key, way)) in ways.into_iter().enumerate() {
        let id = format!("msg_{key}");
        match way {
            Way::Look => viewer.look(&store).await,
            Way::Late { back } => {
                if let Some(old) = past.iter().rev().nth(back) {
                    let ack = append(&store, old).await.unwrap();
                    assert_eq!(ack.duplicates.len(), old.ops.len());
                }
            }
            Way::Arrives | Way::AnswerLost => {
                let batch = senders[usize::from(writer)].seal(vec![message(&id, &format!("at {step}"))]);
                append(&store, &batch).await.unwrap();
                if matches!(way, Way::AnswerLost) {
                    let ack = append(&store, &batch).await.unwrap();
                    assert!(ack.applied.is_empty());
                }
                let payload = batch.ops[0].payload_json.clone().unwrap();
                expected.insert(batch.ops[0].key.clone(), payload);
                past.push(batch);
            }
        }
    }
    viewer.look(&store).await;

    let stands: BTreeMap<_, _> = shown(&store).await.into_iter().collect();
    assert_eq!(stands, expected);
    assert_eq!(viewer.seen, expected);
    // One that was restored and goes on with used numbers is never believed.
    for sender in &senders {
        let mut restored = Sender::new(&sender.id);
        let other = restored.seal(vec![message("msg_0", "from a backup")]);
        let known = past.iter().any(|batch| batch.writer_id == sender.id);
        if known {
            let refused = append(&store, &other).await;
            let is_seen = past.iter().filter(|batch| batch.writer_id == sender.id).count() > 1;
            if is_seen {
                assert_eq!(refused.map(|ack| ack.applied.len()), Ok(0));
            } else {
                assert_eq!(refused, Err(Refusal::Diverged { applied_seq: 1 }));
            }
        }
    }
    store.close().await;
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn a_share_ends_as_what_was_sent_last(ways in ways()) {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(run(ways));
    }
}
