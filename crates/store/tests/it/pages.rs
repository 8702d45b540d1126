//! Pages of messages: newest first to find, oldest first to read.

use crate::bench::{Draft, msg, open, part_row, prt, ses};
use serde_json::json;
use sturdy_session::row::RowChange;
use sturdy_store::{
    Before, Found, MessagePage, MessageQuery, PagePlaces, PartShape, SearchQuery, Slice, Store,
};

/// Five messages whose ids sort the other way round, as after the wrap of the id's time.
async fn five(store: &Store) {
    let mut draft = Draft::new("a", 0).session("s");
    for (ord, id) in (2..).zip(["e", "d", "c", "b", "a"]) {
        draft = draft.message(id, ord, ord * 100);
    }
    store.commit(draft.commit).await.unwrap();
}

async fn page(store: &Store, limit: u32, before: Option<Before>) -> (Vec<String>, bool) {
    let query = MessageQuery { limit: Some(limit), before };
    let MessagePage { items, more, position: _ } = store.messages(&ses("a"), query).await.unwrap();
    (items.iter().map(|message| message.id.as_str().trim_start_matches("msg_").to_owned()).collect(), more)
}

fn before(id: &str, time: u64) -> Option<Before> {
    Some(Before { id: msg(id), time })
}

stores! {
    async fn a_page_is_the_newest_in_the_order_they_came(store: Store) {
        five(&store).await;

        assert_eq!(page(&store, 2, None).await, (vec!["b".to_owned(), "a".to_owned()], true));
        assert!(!page(&store, 5, None).await.1);
        assert_eq!(page(&store, 0, None).await, (["e", "d", "c", "b", "a"].map(str::to_owned).to_vec(), false));
    }

    async fn a_cursor_leads_through_all_pages(store: Store) {
        five(&store).await;

        assert_eq!(page(&store, 2, before("b", 500)).await, (vec!["d".to_owned(), "c".to_owned()], true));
        assert_eq!(page(&store, 2, before("d", 300)).await, (vec!["e".to_owned()], false));
        assert_eq!(page(&store, 2, before("e", 200)).await, (vec![], false));
    }

    async fn a_cursor_at_a_message_that_is_gone_counts_by_its_time(store: Store) {
        five(&store).await;
        let gone = Draft::new("a", 6).idled().row(RowChange::RemoveMessage(msg("c")));
        store.commit(gone.commit).await.unwrap();

        assert_eq!(page(&store, 9, before("c", 400)).await, (vec!["e".to_owned(), "d".to_owned()], false));
        assert_eq!(page(&store, 9, before("never", u64::MAX)).await.0.len(), 4);
    }

    async fn messages_of_one_place_are_each_on_one_page(store: Store) {
        let draft = Draft::new("a", 0).session("s").message("a", 2, 1).message("b", 2, 1).message("c", 2, 1);
        store.commit(draft.commit).await.unwrap();

        assert_eq!(page(&store, 2, None).await, (vec!["b".to_owned(), "c".to_owned()], true));
        assert_eq!(page(&store, 2, before("b", 1)).await, (vec!["a".to_owned()], false));
    }

    async fn a_row_keeps_its_place_when_it_is_written_again(store: Store) {
        five(&store).await;
        store.commit(Draft::new("a", 6).message("e", 999, 200).commit).await.unwrap();

        assert_eq!(page(&store, 0, None).await.0[0], "e");
    }

    async fn a_message_is_found_in_its_own_session_only(store: Store) {
        five(&store).await;

        assert!(store.message(&ses("a"), &msg("c")).await.unwrap().is_some());
        assert!(store.message(&ses("b"), &msg("c")).await.unwrap().is_none());
        assert!(store.message(&ses("a"), &msg("z")).await.unwrap().is_none());
    }

    async fn certain_messages_are_read_until_there_is_enough_and_those_that_are_gone_are_left_out(store: Store) {
        five(&store).await;
        let ids = ["e", "gone", "d", "c"].map(msg).to_vec();
        let read = async |bytes_max| {
            let session = ses("a");
            let read = store.messages_of_within(&session, ids.clone(), PartShape::STORED, bytes_max);
            let (found, looked_at) = read.await.unwrap();
            let names = found.iter().map(|message| message.id.as_str().trim_start_matches("msg_").to_owned());
            (names.collect::<Vec<_>>().concat(), looked_at)
        };

        assert_eq!(read(usize::MAX).await, ("edc".to_owned(), 4));
        assert_eq!(read(0).await, ("e".to_owned(), 1), "at least one");
        assert_eq!(read(40).await, ("ed".to_owned(), 3));
    }

    async fn a_long_page_is_read_in_slices_that_leave_nothing_out_and_repeat_nothing(store: Store) {
        let mut draft = Draft::new("a", 0).session("s");
        // Two of them have one place.
        for (ord, id) in [(2, "e"), (3, "d"), (3, "f"), (4, "c"), (5, "b"), (6, "a")] {
            draft = draft.message(id, ord, ord * 100).part(id, &format!("of_{id}"), ord, "text");
        }
        store.commit(draft.commit).await.unwrap();
        let query = MessageQuery { limit: Some(5), before: None };
        let PagePlaces { places, next } = store.message_places(&ses("a"), query).await.unwrap();
        assert_eq!(next, before("d", 300));
        let gone = Draft::new("a", 13).idled().row(RowChange::RemoveMessage(msg("b")));
        store.commit(gone.commit).await.unwrap();

        let session = ses("a");
        for bytes_max in [0, 40, 300, usize::MAX] {
            let mut unread = places.as_slice();
            let mut names = String::new();
            while let (Some(first), Some(last)) = (unread.first(), unread.iter().take(3).next_back()) {
                let read = store.slice_of_messages(&session, first, last, PartShape::STORED, bytes_max);
                let Slice { messages, reached } = read.await.unwrap();
                assert!(messages.iter().all(|message| message.parts.len() == 1));
                names.extend(messages.iter().map(|message| message.id.as_str().trim_start_matches("msg_").to_owned()));
                unread = &unread[unread.partition_point(|place| *place <= reached)..];
            }
            assert_eq!(names, "dfca", "{bytes_max}");
        }
    }

    async fn parts_come_in_order_of_place(store: Store) {
        let draft = Draft::new("a", 0).session("s").message("1", 2, 1);
        let draft = draft.part("1", "z", 3, "first").part("1", "a", 4, "second").part("1", "z", 9, "first again");
        store.commit(draft.commit).await.unwrap();

        let parts = store.parts_of(&ses("a"), &msg("1")).await.unwrap();
        assert!(parts[0].contains("first again") && parts[1].contains("second"), "{parts:?}");
    }

    // Was: a search held as many parts as it may find, and two letters stand in every image.
    async fn a_search_ends_with_what_is_large_and_looks_at_the_name_of_a_file_only(store: Store) {
        let file = |id: &str, name: &str| {
            let mut row = part_row("ses_a", "1", id, 3, "", false);
            let url = format!("data:image/png;base64,{}", "needle".repeat(10_000));
            row.data = json!({ "id": prt(id), "type": "file", "filename": name, "url": url }).to_string();
            RowChange::Part(row)
        };
        let draft = Draft::new("a", 0).session("s").message("1", 2, 1).part("1", "small", 3, "a needle");
        let draft = draft.part("1", "large", 3, &"needle ".repeat(400_000)).part("1", "new", 3, "the needle");
        let draft = draft.idled().row(file("image", "cat.png")).idled().row(file("named", "Needle \"1\".png"));
        store.commit(draft.commit).await.unwrap();
        let query = SearchQuery { text: "needle".to_owned(), limit: 100, ..SearchQuery::default() };

        let first = store.search(query.clone()).await.unwrap();
        let rest = store.search(SearchQuery { before: first.before, ..query.clone() }).await.unwrap();
        let quoted = store.search(SearchQuery { text: "needle \"1\"".to_owned(), ..query }).await.unwrap();

        let names = |found: &Found| found.parts.iter().map(|part| part.part.clone()).collect::<Vec<_>>();
        assert_eq!(names(&first), ["prt_named", "prt_new", "prt_large"]);
        assert_eq!((names(&rest), rest.before), (vec!["prt_small".to_owned()], None));
        assert_eq!(names(&quoted), ["prt_named"]);
    }
}

// Was: who wanted to know whose a message is read all of its parts, for every call of a tool.
#[tokio::test]
async fn the_head_of_a_message_is_read_without_its_parts() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(&directory).await;
    store
        .commit(Draft::new("a", 0).session("s").message("1", 2, 1).part("1", "x", 3, "text").commit)
        .await
        .unwrap();
    let raw = rusqlite::Connection::open(directory.path().join("sturdy.db")).unwrap();

    raw.execute_batch("ALTER TABLE part RENAME TO hidden").unwrap();

    let head = store.message_info(&ses("a"), &msg("1")).await.unwrap().unwrap();
    assert_eq!(head, serde_json::json!({ "id": msg("1"), "ord": 2 }).to_string());
    assert!(store.parts_of(&ses("a"), &msg("1")).await.is_err(), "the parts cannot be read");
}
