//! Rules about stored texts: they become types in one place.

use super::nothing_is_wrong;
use super::tree::{File, files};
use std::collections::BTreeSet;

/// The place that parses what the store gives out. Damage is said there, with the name of the record.
const RECORDS: &str = "crates/engine/src/records.rs";

/// Files of the engine and the server that parse JSON which no row of the store holds, and what it is.
const NOT_ROWS: [(&str, &str); 18] = [
    ("crates/engine/src/directory/checkouts.rs", "a file beside the store"),
    ("crates/engine/src/directory/config/read.rs", "configuration"),
    ("crates/engine/src/directory/trust/list.rs", "a file beside the store"),
    ("crates/engine/src/environment.rs", "lists of models in the cache"),
    ("crates/engine/src/requests/revert/note.rs", "notes beside the captured trees"),
    ("crates/engine/src/run/trees/journal.rs", "notes beside the captured trees"),
    ("crates/engine/src/share/target.rs", "answers of a share service"),
    ("crates/server/src/access/devices.rs", "a file beside the store"),
    ("crates/server/src/access/tokens.rs", "a file beside the store"),
    ("crates/server/src/routes/server/openapi.rs", "a file in the program"),
    ("crates/server/src/routes/server/sync.rs", "events"),
    ("crates/server/src/routes/v2/events.rs", "events"),
    ("crates/server/src/routes/v2/messages.rs", "a cursor"),
    ("crates/server/src/routes/v2/session_list.rs", "a cursor"),
    ("crates/server/src/rpc/failure.rs", "an answer of ours"),
    ("crates/server/src/share/refuse.rs", "an answer of ours"),
    ("crates/server/src/sse/filter.rs", "events"),
    ("crates/server/src/wire/page.rs", "a cursor"),
];

#[test]
fn stored_texts_become_types_in_one_place() {
    let mut found = Vec::new();
    let mut parsing = BTreeSet::new();
    for file in files().into_iter().filter(is_program) {
        if file.text.contains("read_stored") && file.path != RECORDS {
            found.push(format!("{} reads stored texts: {RECORDS} does", file.path));
        }
        if parses_json(&file.text) {
            parsing.insert(file.path);
        }
    }
    let listed: BTreeSet<String> = NOT_ROWS.iter().map(|(path, _)| (*path).to_owned()).collect();
    for path in parsing.difference(&listed) {
        found
            .push(format!("{path} parses JSON: if that is a row, {RECORDS} does; if not, it is listed here"));
    }
    for path in listed.difference(&parsing) {
        found.push(format!("{path} parses no JSON any more: take it off the list"));
    }
    nothing_is_wrong("stored texts", found);
}

/// Of the engine or the server, and not a test.
fn is_program(file: &File) -> bool {
    let is_ours = ["crates/engine/src/", "crates/server/src/"].iter().any(|top| file.path.starts_with(top));
    is_ours && file.is_rust() && !file.path.ends_with("tests.rs")
}

/// Reads JSON from a text, in what stands before the tests of a file.
fn parses_json(text: &str) -> bool {
    let program = text.split("#[cfg(test)]").next().unwrap_or_default();
    let mut code = program.lines().map(|line| line.split("//").next().unwrap_or_default());
    let names = ["from_str", "from_slice", "from_reader"];
    code.any(|line| {
        let is_import = line.trim_start().starts_with("use serde_json::");
        names
            .iter()
            .any(|name| line.contains(&format!("serde_json::{name}")) || (is_import && line.contains(name)))
    })
}
