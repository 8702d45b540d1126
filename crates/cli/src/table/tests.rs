//! What tables show.

use super::{Table, ago, dollars, printable};

#[test]
fn a_narrow_terminal_shortens_the_flexible_column_and_a_pipe_shortens_nothing() {
    let mut table = Table::new(&["ID", "TITLE", "COST"], 1);
    table.row(vec!["ses_1".to_owned(), "A title that is rather long".to_owned(), "–".to_owned()]);

    assert_eq!(
        table.lines(None),
        ["ID     TITLE                        COST", "ses_1  A title that is rather long  –"]
    );
    assert_eq!(table.lines(Some(30)), ["ID     TITLE              COST", "ses_1  A title that is …  –"]);
}

#[test]
fn a_title_cannot_move_the_cursor() {
    assert_eq!(printable("\u{1b}[2Jgone\r\nnext\tcell"), "\u{fffd}[2Jgone\u{fffd}\nnext\tcell");
    let mut table = Table::new(&["TITLE"], 0);
    table.row(vec!["one\ntwo\u{7}".to_owned()]);
    assert_eq!(table.lines(None)[1], "one two\u{fffd}");
}

#[test]
fn times_are_told_in_the_largest_unit_that_fits() {
    let minute = 60_000;
    let hour = 60 * minute;
    let day = 24 * hour;
    let now = 1_700_000_000_000;
    let told = |before: i64| ago(now, now - before);
    assert_eq!(told(59_999), "just now");
    assert_eq!(told(-5), "just now");
    assert_eq!(told(2 * minute), "2 min ago");
    assert_eq!(told(23 * hour), "23 h ago");
    assert_eq!(told(day), "yesterday");
    assert_eq!(told(12 * day), "12 days ago");
    assert_eq!(told(31 * day), "2023-10-14");
}

#[test]
fn small_amounts_are_not_rounded_away() {
    assert_eq!([dollars(0.0), dollars(0.0004), dollars(1.899)], ["–", "$0.0004", "$1.90"]);
}
