//! Rules about the web page: its built files are those of its sources, its folders know only what they may, and
//! nothing in it makes markup from text.
//!
//! Needs no Node: the build writes down which sources it was made of, and here they are compared. That
//! building again gives the same bytes is shown by `interop/page/run`.

use super::nothing_is_wrong;
use super::tree::{File, file, files, root};
use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest as _, Sha256};
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Write as _;

const LINES_MAX: usize = 400;

/// What the page adds to the program: its files, each packed as the build of the server packs it.
const PACKED_BYTES_MAX: usize = 600_000;

/// Ways from text to markup, code or inline style. Taken apart, so that nobody finds them here.
const FORBIDDEN: [[&str; 2]; 9] = [
    ["inner", "HTML"],
    ["outer", "HTML"],
    ["insertAdjacent", "HTML"],
    ["document.", "write("],
    ["ev", "al("],
    ["new Func", "tion("],
    [" style=", "\""],
    ["console", "."],
    [": a", "ny"],
];

/// Which folders of `web/src` a folder may import from, besides itself. A folder that is not here may use all.
const MAY_KNOW: [(&str, &[&str]); 4] =
    [("wire", &[]), ("sync", &["wire"]), ("words", &[]), ("text", &["kit", "words"])];

fn sources() -> Vec<File> {
    files().into_iter().filter(|file| file.path.starts_with("web/src/")).collect()
}

#[test]
fn the_built_page_is_that_of_its_sources() {
    let listed = file("web/dist/sources.sha256");
    let mut wrong = Vec::new();
    let mut known = BTreeSet::new();
    for line in listed.text.lines() {
        let (hash, path) = line.split_once("  ").expect("a line is a hash and a path");
        known.insert(format!("web/{path}"));
        let found = std::fs::read(root().join("web").join(path)).map(|bytes| hex(&bytes));
        if found.ok().as_deref() != Some(hash) {
            wrong.push(format!("web/{path}: changed since the build; run `npm run build` in web/"));
        }
    }
    let unbuilt = sources().into_iter().map(|source| source.path).filter(|path| !known.contains(path));
    wrong.extend(unbuilt.map(|path| format!("{path}: not in the build; run `npm run build` in web/")));
    nothing_is_wrong("web/dist is older than its sources", wrong);
}

#[test]
fn the_page_adds_little_to_the_program() {
    let mut packed = Vec::new();
    for entry in std::fs::read_dir(root().join("web/dist")).unwrap() {
        let entry = entry.unwrap();
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(&std::fs::read(entry.path()).unwrap()).unwrap();
        packed.push((encoder.finish().unwrap().len(), entry.file_name()));
    }

    packed.sort_by_key(|(bytes, _)| Reverse(*bytes));
    let sum: usize = packed.iter().map(|(bytes, _)| bytes).sum();
    assert!(sum <= PACKED_BYTES_MAX, "{sum} bytes; the largest: {:?}", &packed[..5]);
}

#[test]
fn no_source_of_the_page_makes_markup_from_text() {
    let mut found = Vec::new();
    for source in sources().iter().filter(|source| is_script(source)) {
        for (number, line) in source.text.lines().enumerate() {
            if FORBIDDEN.iter().any(|words| line.contains(&words.concat())) {
                found.push(format!("{}:{}: {}", source.path, number + 1, line.trim()));
            }
        }
    }
    nothing_is_wrong("forbidden in the page", found);
}

#[test]
fn sources_of_the_page_are_small_and_begin_by_saying_what_they_are_for() {
    let mut found = Vec::new();
    for source in sources() {
        let opening = if source.path.ends_with(".css") { "/* " } else { "// " };
        if !source.text.starts_with(opening) {
            found.push(format!("{}: does not begin with what it is for", source.path));
        }
        if source.lines() > LINES_MAX {
            found.push(format!("{}: {} lines", source.path, source.lines()));
        }
    }
    nothing_is_wrong("sources of the page", found);
}

#[test]
fn folders_of_the_page_know_only_what_they_may() {
    let mut found = Vec::new();
    for source in sources().iter().filter(|source| is_script(source)) {
        let folder = folder(&source.path);
        let Some((_, allowed)) = MAY_KNOW.iter().find(|(name, _)| *name == folder) else { continue };
        for line in source.text.lines().filter(|line| line.contains(" from \"../")) {
            let other = line.split("\"../").nth(1).unwrap().split('/').next().unwrap();
            if !allowed.contains(&other) {
                found.push(format!("{}: {}", source.path, line.trim()));
            }
        }
    }
    nothing_is_wrong("arrows of the page", found);
}

fn is_script(source: &File) -> bool {
    source.path.ends_with(".ts") || source.path.ends_with(".tsx")
}

/// `web/src/sync/line.ts` is in `sync`.
fn folder(path: &str) -> &str {
    path.strip_prefix("web/src/").and_then(|rest| rest.split('/').next()).unwrap_or_default()
}

fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
