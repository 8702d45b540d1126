//! Random commits against a model that is a few maps.

use crate::bench::{Draft, msg, open, part_json, part_row, prt, ses};
use proptest::prelude::*;
use std::collections::BTreeMap;
use sturdy_session::row::RowChange;
use sturdy_store::{CommitError, MessageQuery, Store};

/// Things that can happen to one of three sessions.
#[derive(Clone, Debug)]
enum Step {
    Message { session: u8, message: u8 },
    Open { session: u8, message: u8 },
    Grow { session: u8, message: u8, text: String },
    Close { session: u8, message: u8 },
    RemoveMessage { session: u8, message: u8 },
    RemoveSession { session: u8 },
    WrongSeq { session: u8, by: u64 },
    Fold,
    Reopen,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let session = 0..3_u8;
    let message = 0..4_u8;
    let step = prop_oneof![
        4 => (session.clone(), message.clone()).prop_map(|(session, message)| Step::Message { session, message }),
        4 => (session.clone(), message.clone()).prop_map(|(session, message)| Step::Open { session, message }),
        8 => (session.clone(), message.clone(), ".{0,12}")
            .prop_map(|(session, message, text)| Step::Grow { session, message, text }),
        3 => (session.clone(), message.clone()).prop_map(|(session, message)| Step::Close { session, message }),
        1 => (session.clone(), message).prop_map(|(session, message)| Step::RemoveMessage { session, message }),
        1 => session.clone().prop_map(|session| Step::RemoveSession { session }),
        1 => (session, 1..9_u64).prop_map(|(session, by)| Step::WrongSeq { session, by }),
        1 => Just(Step::Fold),
        1 => Just(Step::Reopen),
    ];
    proptest::collection::vec(step, 0..60)
}

#[derive(Default)]
struct Model {
    position: u64,
    seqs: BTreeMap<u8, u64>,
    /// Session and message to place and text; one part each.
    messages: BTreeMap<(u8, u8), (u64, Option<String>)>,
    open: BTreeMap<(u8, u8), bool>,
}

/// Ids are unique in the whole store.
fn name(session: u8, message: u8) -> String {
    format!("{session}{message}")
}

async fn commit(store: &Store, model: &mut Model, session: u8, draft: impl FnOnce(Draft) -> Draft) {
    let seq = model.seqs.entry(session).or_default();
    let commit = draft(Draft::new(&session.to_string(), *seq)).commit;
    *seq += commit.entries.len() as u64;
    let committed = store.commit(commit.clone()).await.unwrap();
    assert_eq!((committed.first_position, committed.seq), (model.position + 1, *seq));
    model.position += commit.entries.len() as u64;
}

async fn play(store: &Store, model: &mut Model, step: Step) {
    match step {
        Step::Message { session, message } => {
            let ord = model.seqs.get(&session).copied().unwrap_or(0) + 1;
            commit(store, model, session, |draft| draft.message(&name(session, message), ord, 1)).await;
            model.messages.entry((session, message)).or_insert((ord, None));
        }
        Step::Open { session, message } if model.messages.contains_key(&(session, message)) => {
            let id = name(session, message);
            commit(store, model, session, |draft| draft.open_part(&id, &id, 1)).await;
            model.messages.get_mut(&(session, message)).unwrap().1 = Some(String::new());
            model.open.insert((session, message), true);
        }
        Step::Grow { session, message, text } if model.open.get(&(session, message)) == Some(&true) => {
            let id = name(session, message);
            commit(store, model, session, |draft| draft.grew(&id, &id, &text)).await;
            model.messages.get_mut(&(session, message)).unwrap().1.as_mut().unwrap().push_str(&text);
        }
        Step::Close { session, message } if model.open.get(&(session, message)) == Some(&true) => {
            let id = name(session, message);
            let text = model.messages[&(session, message)].1.clone().unwrap();
            let row = part_row(ses(&session.to_string()).as_str(), &id, &id, 1, &text, false);
            commit(store, model, session, |draft| draft.idled().row(RowChange::Part(row))).await;
            model.open.insert((session, message), false);
        }
        Step::RemoveMessage { session, message } => {
            let gone = RowChange::RemoveMessage(msg(&name(session, message)));
            commit(store, model, session, |draft| draft.idled().row(gone)).await;
            model.messages.remove(&(session, message));
            model.open.remove(&(session, message));
        }
        Step::RemoveSession { session } => {
            let gone = RowChange::RemoveSession(ses(&session.to_string()));
            commit(store, model, session, |draft| draft.idled().row(gone)).await;
            model.messages.retain(|(of, _), _| *of != session);
            model.open.retain(|(of, _), _| *of != session);
        }
        Step::WrongSeq { session, by } => {
            let found = model.seqs.get(&session).copied().unwrap_or(0);
            let refused = store.commit(Draft::new(&session.to_string(), found + by).idled().commit).await;
            assert!(
                matches!(refused, Err(CommitError::Conflict { found: at, .. }) if at == found),
                "{refused:?}"
            );
        }
        Step::Fold => {
            store.fold(u64::MAX).await.unwrap();
        }
        Step::Open { .. } | Step::Grow { .. } | Step::Close { .. } | Step::Reopen => {}
    }
}

async fn compare(store: &Store, model: &Model) {
    assert_eq!(store.head(), model.position);
    for session in 0..3 {
        let page = store.messages(&ses(&session.to_string()), MessageQuery::default()).await.unwrap();
        let read: Vec<_> = page.items.into_iter().map(|message| (message.id, message.parts)).collect();
        let mut expected: Vec<_> = model.messages.iter().filter(|((of, _), _)| *of == session).collect();
        expected.sort_by_key(|(_, (ord, _))| *ord);
        let expected: Vec<_> = expected
            .into_iter()
            .map(|((_, message), (_, text))| {
                let id = name(session, *message);
                (msg(&id), text.iter().map(|text| part_json(&id, text)).collect::<Vec<_>>())
            })
            .collect();
        assert_eq!(read, expected);
        assert_eq!(
            store.seq(&ses(&session.to_string())).await.unwrap(),
            model.seqs.get(&session).copied().unwrap_or(0)
        );
    }
    let mut current = 0;
    for (session, message) in model.messages.keys() {
        let ids = [prt(&name(*session, *message))];
        current += store.rows_of(&ses(&session.to_string()), &[], &ids).await.unwrap().parts.len();
    }
    assert_eq!(current, model.messages.values().filter(|(_, text)| text.is_some()).count());
    // What is left of the log is in order, and no seq of a session occurs twice.
    let entries = store.log_after(0, usize::MAX).await.unwrap();
    assert!(entries.is_sorted_by(|a, b| a.position < b.position));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Whatever is committed, folded and reopened, the store reads what the model says.
    #[test]
    fn the_store_is_its_model(steps in steps()) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let directory = tempfile::tempdir().unwrap();
            let mut store = open(&directory).await;
            let mut model = Model::default();
            for step in steps {
                if matches!(step, Step::Reopen) {
                    drop(store);
                    store = open(&directory).await;
                }
                play(&store, &mut model, step).await;
            }
            compare(&store, &model).await;
        });
    }
}
