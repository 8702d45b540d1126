//! An open part is its row plus its growth.

use crate::bench::{Draft, msg, open, part_json, part_row, prt, ses};
use std::slice;
use sturdy_session::row::RowChange;
use sturdy_store::{MessageQuery, ReadError};

stores! {
    async fn an_open_part_is_read_with_its_growth_everywhere(store: Store) {
        let draft = Draft::new("a", 0).session("s").message("1", 2, 1).open_part("1", "x", 3);
        store.commit(draft.grew("1", "x", "Hel").commit).await.unwrap();
        store.commit(Draft::new("a", 4).grew("1", "x", "lo").commit).await.unwrap();

        let grown = part_json("x", "Hello");
        let page = store.messages(&ses("a"), MessageQuery::default()).await.unwrap();
        assert_eq!(page.items[0].parts, slice::from_ref(&grown));
        let message = store.message(&ses("a"), &msg("1")).await.unwrap().unwrap();
        assert_eq!(message, page.items[0]);
        assert_eq!(store.load(&ses("a")).await.unwrap().unwrap().open_parts, slice::from_ref(&grown));
        assert_eq!(store.parts_of(&ses("a"), &msg("1")).await.unwrap(), slice::from_ref(&grown));
        let rows = store.rows_of(&ses("a"), &[msg("1"), msg("gone")], &[prt("gone"), prt("x")]).await.unwrap();
        assert_eq!(rows.parts, [(prt("x"), grown)]);
        assert_eq!(rows.messages.len(), 1);
        // As stored, for whoever compares it with the log.
        assert_eq!(store.rows_of_session(&ses("a")).await.unwrap().parts[0].data, part_json("x", ""));
    }

    async fn a_closed_part_is_its_row(store: Store) {
        let draft = Draft::new("a", 0).session("s").message("1", 2, 1).open_part("1", "x", 3);
        store.commit(draft.grew("1", "x", "Hel").grew("1", "x", "lo").commit).await.unwrap();
        let closed = Draft::new("a", 5).part("1", "x", 99, "Hello");
        store.commit(closed.commit).await.unwrap();

        assert_eq!(store.parts_of(&ses("a"), &msg("1")).await.unwrap(), [part_json("x", "Hello")]);
        let loaded = store.load(&ses("a")).await.unwrap().unwrap();
        assert_eq!((loaded.seq, loaded.open_parts), (6, vec![]));
    }

    async fn parts_that_are_open_at_once_grow_apart(store: Store) {
        let draft = Draft::new("a", 0).session("s").message("1", 2, 1).open_part("1", "x", 3).open_part("1", "y", 4);
        let draft = draft.grew("1", "x", "a").grew("1", "y", "1").grew("1", "x", "b").grew("1", "y", "2");
        store.commit(draft.commit).await.unwrap();
        let other = Draft::new("b", 0).session("s").message("2", 2, 1).open_part("2", "z", 3).grew("2", "z", "other");
        store.commit(other.commit).await.unwrap();

        assert_eq!(store.parts_of(&ses("a"), &msg("1")).await.unwrap(), [part_json("x", "ab"), part_json("y", "12")]);
        let rows = store.rows_of(&ses("a"), &[], &[prt("z"), prt("y")]).await.unwrap();
        assert_eq!(rows.parts, [(prt("y"), part_json("y", "12"))]);
        let rows = store.rows_of(&ses("b"), &[], &[prt("z"), prt("y")]).await.unwrap();
        assert_eq!(rows.parts, [(prt("z"), part_json("z", "other"))]);
    }

    async fn growth_before_a_row_that_was_written_again_is_not_added_twice(store: Store) {
        let draft = Draft::new("a", 0).session("s").message("1", 2, 1).open_part("1", "x", 3).grew("1", "x", "one ");
        store.commit(draft.commit).await.unwrap();
        let row = part_row("ses_a", "1", "x", 3, "one two ", true);
        let again = Draft::new("a", 4).grew("1", "x", "two ").row(RowChange::Part(row)).grew("1", "x", "three");
        store.commit(again.commit).await.unwrap();

        assert_eq!(store.parts_of(&ses("a"), &msg("1")).await.unwrap(), [part_json("x", "one two three")]);
    }

    async fn any_text_survives(store: Store) {
        let pieces = ["\u{0}\u{1f}", "\"\\", "\u{2028}é\u{301}", "👩‍👩‍👧", "\u{fffd}", "\n\r\t</script>"];
        let mut draft = Draft::new("a", 0).session("s").message("1", 2, 1).open_part("1", "x", 3);
        for piece in pieces {
            draft = draft.grew("1", "x", piece);
        }
        store.commit(draft.commit).await.unwrap();

        assert_eq!(store.parts_of(&ses("a"), &msg("1")).await.unwrap(), [part_json("x", &pieces.concat())]);
    }
}

#[tokio::test]
async fn growth_that_is_damaged_is_told_where_it_is_read_and_refused_where_it_is_gone_on_with() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(&directory).await;
    let draft = Draft::new("a", 0).session("s").message("1", 2, 1).open_part("1", "x", 3);
    store
        .commit(draft.grew("1", "x", "one ").grew("1", "x", "two ").grew("1", "x", "three").commit)
        .await
        .unwrap();
    let raw = rusqlite::Connection::open(directory.path().join("sturdy.db")).unwrap();
    let second = "(SELECT position FROM log WHERE kind = 'text.grew.1' ORDER BY position LIMIT 1 OFFSET 1)";
    raw.execute_batch(&format!("UPDATE log SET data = '{{' WHERE position = {second}")).unwrap();

    let read = store.message(&ses("a"), &msg("1")).await.unwrap().unwrap();

    // Was: nothing of the message could be read.
    assert!(read.parts[0].contains("one \\n[A piece of this text is damaged"), "{}", read.parts[0]);
    assert!(read.parts[0].contains("three"), "{}", read.parts[0]);
    assert!(matches!(store.whole_message(&ses("a"), &msg("1")).await, Err(ReadError::Broken { .. })));
    assert!(matches!(store.load(&ses("a")).await, Err(ReadError::Broken { .. })));
}
