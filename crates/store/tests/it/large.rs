//! What is large stands in a blob, once; what is odd is stored as it is.

use crate::bench::{Draft, msg, part_json, ses};
use serde_json::json;
use sturdy_store::ENTRY_BYTES_MAX;

stores! {
    async fn a_large_fact_is_stored_as_a_blob_and_read_as_if_it_were_not(store: Store) {
        let output = "🦀".repeat(ENTRY_BYTES_MAX);
        let data = json!({ "part": "prt_x", "outcome": { "failed": { "error": output } }, "end": 1 }).to_string();
        let draft = Draft::new("a", 0).fact("tool.ended.1", &data).fact("tool.ended.1", &data).idled();
        store.commit(draft.commit).await.unwrap();

        // Large entries come a few at a time; whoever reads goes on behind the last.
        let mut entries = Vec::new();
        while entries.len() < 3 {
            let page = store.log_after(entries.len() as u64, 10).await.unwrap();
            assert!(!page.is_empty());
            entries.extend(page);
        }

        assert_eq!(entries[0].data, data);
        assert_eq!(entries[1].data, data);
        assert_eq!(entries[2].data, "{}");
        let sizes = store.sizes().await.unwrap();
        assert_eq!((sizes.blobs, sizes.blob_bytes), (1, data.len() as u64));
    }

    async fn an_entry_of_just_the_limit_stays_in_the_log(store: Store) {
        let empty = json!({ "request": "que_1", "answers": [[""]] }).to_string().len();
        for (session, more) in [("a", 0), ("b", 1)] {
            let answer = "x".repeat(ENTRY_BYTES_MAX - empty + more);
            let data = json!({ "request": "que_1", "answers": [[answer]] });
            store.commit(Draft::new(session, 0).fact("question.replied.1", data).commit).await.unwrap();
        }

        assert_eq!(store.sizes().await.unwrap().blobs, 1);
        assert_eq!(store.entries_of(&ses("a")).await.unwrap()[0].data.len(), ENTRY_BYTES_MAX);
        assert_eq!(store.entries_of(&ses("b")).await.unwrap()[0].data.len(), ENTRY_BYTES_MAX + 1);
    }

    async fn large_growth_is_added_like_any_other(store: Store) {
        let piece = "long ".repeat(ENTRY_BYTES_MAX / 4);
        let draft = Draft::new("a", 0).session("s").message("1", 2, 1).open_part("1", "x", 3);
        store.commit(draft.grew("1", "x", &piece).grew("1", "x", "end").commit).await.unwrap();

        assert_eq!(store.parts_of(&ses("a"), &msg("1")).await.unwrap(), [part_json("x", &format!("{piece}end"))]);
    }

    async fn text_is_kept_byte_for_byte(store: Store) {
        // Key order, spaces, escaped NUL, numbers as they were written.
        let data = r#"{ "name":"\u0000\u001f", "arguments": "1.0 \ud83e\udd80","message" :"msg_1" }"#;
        store.commit(Draft::new("a", 0).fact("command.executed.1", data).commit).await.unwrap();

        assert_eq!(store.log_after(0, 1).await.unwrap()[0].data, data);
    }

    async fn the_same_bytes_are_one_blob(store: Store) {
        let first = store.put_blob(vec![0, 255, 7]).await.unwrap();
        let second = store.put_blob(vec![0, 255, 7]).await.unwrap();

        assert_eq!(first, second);
        assert_eq!(store.blob(&first).await.unwrap(), Some(vec![0, 255, 7]));
        assert_eq!(store.blob("none").await.unwrap(), None);
        assert_eq!(store.sizes().await.unwrap().blobs, 1);
    }
}
