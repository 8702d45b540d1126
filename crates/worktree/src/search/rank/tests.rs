//! Names in the order a person expects.

use super::{Query, letters};

fn ranked<'n>(query: &str, names: &[&'n str]) -> Vec<&'n str> {
    let query = Query::new(query);
    let matching = names.iter().filter(|name| query.may_match(letters(name)));
    let mut scored: Vec<_> =
        matching.filter_map(|name| query.score(name).map(|score| (-score, name.len(), *name))).collect();
    scored.sort_unstable();
    scored.into_iter().map(|(_, _, name)| name).collect()
}

#[test]
fn a_name_that_is_typed_whole_comes_first() {
    let names = ["src/remain.rs", "src/main_window.rs", "src/main.rs", "main/other.rs"];

    assert_eq!(
        ranked("main", &names),
        ["src/main.rs", "src/main_window.rs", "src/remain.rs", "main/other.rs"]
    );
}

#[test]
fn beginnings_of_words_count_for_more_than_letters_inside() {
    let names = ["src/useful.rs", "src/user_form.rs", "src/UserFlow.rs"];

    assert_eq!(ranked("uf", &names), ["src/user_form.rs", "src/UserFlow.rs", "src/useful.rs"]);
}

#[test]
fn letters_across_directories_match_in_their_order() {
    let names = ["src/main.rs", "main/src.rs", "lib.rs"];

    assert_eq!(ranked("smain", &names), ["src/main.rs"]);
    assert_eq!(ranked("src/ma", &names), ["src/main.rs"]);
    assert_eq!(ranked("SRC main", &names), ["src/main.rs"]);
}

#[test]
fn a_name_without_the_letters_is_ruled_out_unread() {
    let query = Query::new("qux");

    assert!(!query.may_match(letters("src/main.rs")));
    assert_eq!(query.score("src/main.rs"), None);
}

#[test]
fn letters_outside_of_ascii_match_themselves() {
    assert_eq!(ranked("größe", &["src/größe.rs", "src/grosse.rs"]), ["src/größe.rs"]);
}
