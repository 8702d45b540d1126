//! What the documents say of the code is true of the code.

use super::nothing_is_wrong;
use super::tree::{File, file, files, root};
use std::collections::{BTreeMap, BTreeSet};

/// Documents whose tables name tests.
const PROOFS: [&str; 5] =
    ["README.md", "ARCHITECTURE.md", "docs/guarantees.md", "docs/matrix.md", "docs/share.md"];
/// A name with this many underscores is a sentence, so it is a test.
const UNDERSCORES_OF_A_SENTENCE: usize = 3;
/// What somebody new reads beside ARCHITECTURE.md before the first change.
const FILES_OF_A_NEWCOMER: usize = 5;
const LINES_OF_A_NEWCOMER: usize = 900;

/// The table of ARCHITECTURE §12 and the comments `Invariant I5:` belong together, both ways.
#[test]
fn every_built_invariant_is_named_where_it_is_kept() {
    let table = file("ARCHITECTURE.md").text;
    let rows: Vec<(String, bool)> = table.lines().filter_map(invariant).collect();
    assert_eq!(rows.len(), 18, "ARCHITECTURE §12 has one row for each of the 18 invariants");
    let all = files();
    let is_code = |file: &&File| file.is_in_crates() || file.path == "clippy.toml";
    let code: String = all.iter().filter(is_code).map(|file| file.text.to_lowercase()).collect();

    let mut found = Vec::new();
    for (tag, is_built) in rows {
        let is_named = has_tag(&code, &tag);
        match (is_built, is_named) {
            (true, false) => found.push(format!("{tag} is built, but no comment says `Invariant {tag}`")),
            (false, true) => found.push(format!("{tag} is named in the code, but said to be planned")),
            _ => {}
        }
    }
    nothing_is_wrong("invariants", found);
}

/// The names drawn below each crate of the tree in ARCHITECTURE: files, and directories with a slash.
fn drawn_names() -> BTreeMap<String, Vec<String>> {
    let page = file("ARCHITECTURE.md").text;
    let drawing = page.split("## 14. The tree").nth(1).expect("ARCHITECTURE has a tree");
    let mut drawn: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut source = String::new();
    for line in drawing.lines() {
        let Some((_, names)) = line.split_once("─ ") else { continue };
        if let Some((name, _)) = names.split_once("/src/") {
            source = format!("crates/{name}/src");
            drawn.entry(source.clone()).or_default();
        } else if line.starts_with("│  │  ") || line.starts_with("│     ") {
            // What stands behind the names, and a wide gap, is said of them.
            let names = names.split("   ").next().unwrap_or_default().split(' ');
            let paths = names.filter(|name| name.ends_with(".rs") || name.ends_with('/')).map(str::to_owned);
            drawn.entry(source.clone()).or_default().extend(paths);
        }
    }
    drawn
}

#[test]
fn every_file_of_the_drawn_tree_exists() {
    let mut found = Vec::new();
    for (source, names) in drawn_names() {
        let missing = names.into_iter().filter(|path| !root().join(&source).join(path).exists());
        found.extend(missing.map(|path| format!("{source}/{path}")));
    }
    nothing_is_wrong("files that are drawn and not there", found);
}

/// A directory may stand for the file of its name, and the other way round.
#[test]
fn every_file_at_the_top_of_a_crate_is_drawn() {
    let drawn = drawn_names();
    assert_eq!(drawn.len(), 9, "crates of the tree: {:?}", drawn.keys());
    let mut found = Vec::new();
    for (source, names) in drawn {
        let is_drawn = |stem: &str| {
            let mut tops = names.iter().filter_map(|name| name.split('/').next());
            tops.any(|top| top.trim_end_matches(".rs") == stem)
        };
        let below = format!("{source}/");
        let all = files();
        let tops = all.iter().filter_map(|file| file.path.strip_prefix(&below)?.split('/').next());
        let stems: BTreeSet<&str> = tops.map(|top| top.trim_end_matches(".rs")).collect();
        let missing = stems.into_iter().filter(|stem| !["lib", "main"].contains(stem) && !is_drawn(stem));
        found.extend(missing.map(|stem| format!("{source}/{stem}")));
    }
    nothing_is_wrong("files at the top of a crate that are not drawn", found);
}

#[test]
fn every_test_that_a_document_names_exists() {
    let all = files();
    let tests: String = all
        .iter()
        .filter(|file| file.is_in_crates() && file.is_rust())
        .map(|file| file.text.as_str())
        .collect();
    let mut found = Vec::new();
    for path in PROOFS {
        for name in quoted(&file(path).text) {
            let name = name.rsplit("::").next().unwrap_or_default();
            let is_sentence = name.matches('_').count() >= UNDERSCORES_OF_A_SENTENCE
                && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
            if is_sentence && !tests.contains(&format!("fn {name}(")) {
                found.push(format!("{path}: {name}"));
            }
        }
    }
    nothing_is_wrong("tests that do not exist", found);
}

/// CONTRIBUTING's recipes name whole paths, and each is there.
#[test]
fn every_file_that_a_recipe_names_exists() {
    let page = file("CONTRIBUTING.md").text;
    let recipes = section(&page, "## Four recipes");
    let is_path = |name: &&&str| name.contains('/') && !name.contains(char::is_whitespace);
    let names = quoted(recipes);
    let paths: Vec<&&str> = names.iter().filter(is_path).collect();
    assert!(paths.len() >= 20, "only {} paths are named", paths.len());

    let is_missing = |path: &&&str| !root().join("crates").join(path).exists() && !root().join(path).exists();
    let missing = paths.into_iter().filter(is_missing).map(ToString::to_string).collect();
    nothing_is_wrong("files that a recipe names and that are not there", missing);
}

/// What a newcomer is told to read is there, and can be read at a sitting.
#[test]
fn the_path_of_a_newcomer_is_short() {
    let page = file("ARCHITECTURE.md").text;
    let line = page.lines().find(|line| line.starts_with("A newcomer reads")).expect("a path for newcomers");
    let names = quoted(line);
    let lines = |name: &&str| file(&format!("crates/{name}")).text.lines().count();
    let total: usize = names.iter().map(lines).sum();

    assert!((1..=FILES_OF_A_NEWCOMER).contains(&names.len()), "{names:?}");
    assert!(total <= LINES_OF_A_NEWCOMER, "{total} lines in {names:?}");
}

#[test]
fn every_link_between_documents_leads_somewhere() {
    let mut found = Vec::new();
    for document in files().into_iter().filter(|file| is_document(&file.path)) {
        let dir = root().join(&document.path).parent().unwrap().to_owned();
        for target in links(&document.text) {
            let path = target.split('#').next().unwrap_or_default();
            let is_elsewhere = path.is_empty() || path.contains("://") || path.starts_with("mailto:");
            if !is_elsewhere && !dir.join(path).exists() {
                found.push(format!("{}: {target}", document.path));
            }
        }
    }
    nothing_is_wrong("links that lead nowhere", found);
}

/// What stands below a heading, up to the next of its kind.
fn section<'a>(page: &'a str, heading: &str) -> &'a str {
    let below = page.split(heading).nth(1).unwrap_or_else(|| panic!("no section {heading:?}"));
    below.split("\n## ").next().unwrap_or_default()
}

fn is_document(path: &str) -> bool {
    path.ends_with(".md") && (!path.contains('/') || path.starts_with("docs/"))
}

/// A row `| I5 | … | built |` as its tag and whether it is built.
fn invariant(line: &str) -> Option<(String, bool)> {
    let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
    let tag = cells.first()?;
    let state = cells.last()?;
    let number = tag.strip_prefix('I')?;
    number.parse::<u32>().ok()?;
    Some(((*tag).to_owned(), *state == "built"))
}

fn has_tag(code: &str, tag: &str) -> bool {
    let wanted = format!("invariant {}", tag.to_lowercase());
    code.match_indices(&wanted).any(|(at, _)| {
        let after = code[at + wanted.len()..].chars().next();
        !after.is_some_and(|c| c.is_ascii_digit())
    })
}

/// What stands between backticks, outside of code blocks.
fn quoted(text: &str) -> BTreeSet<&str> {
    let mut is_code = false;
    let mut names = BTreeSet::new();
    for line in text.lines() {
        if line.starts_with("```") {
            is_code = !is_code;
        } else if !is_code {
            names.extend(line.split('`').skip(1).step_by(2));
        }
    }
    names
}

fn links(text: &str) -> Vec<&str> {
    let starts = text.match_indices("](").map(|(at, found)| at + found.len());
    starts
        .filter_map(|start| text[start..].split(')').next())
        .filter(|target| !target.contains(' '))
        .collect()
}

#[test]
fn a_tag_is_not_found_inside_a_longer_one() {
    assert!(has_tag("// invariant i1: first", "I1"));
    assert!(!has_tag("// invariant i12: twelfth", "I1"));
}

#[test]
fn a_row_of_the_table_is_read() {
    assert_eq!(
        invariant("| I5 | a call ends once | `x.rs` | oracle | built |"),
        Some(("I5".to_owned(), true))
    );
    assert_eq!(invariant("| I14 | revert | – | – | planned |"), Some(("I14".to_owned(), false)));
    assert_eq!(invariant("| Input | something |"), None);
}
