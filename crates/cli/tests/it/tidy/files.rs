//! Rules about single files: how long, how they begin, what they must not contain.

use super::nothing_is_wrong;
use super::tree::{File, files};

/// A longer file has two subjects, or repeats itself.
const SOURCE_LINES_MAX: usize = 500;
/// Tests of one subject read as one list.
const TEST_LINES_MAX: usize = 800;

/// Words that promise work to somebody who will not come. Taken apart, so that this file passes.
const PROMISES: [[&str; 2]; 4] = [["TO", "DO"], ["FIX", "ME"], ["XX", "X"], ["HA", "CK"]];
const STUBS: [[&str; 2]; 3] = [["todo", "!("], ["unimplemented", "!("], ["#[ign", "ore"]];
/// An ignored test is allowed if another test starts it as a process of its own.
const STARTED: [&str; 2] = ["#[ign", "ore = \"started by"];

/// Directories of one machine; nobody else has them.
const MACHINE: [[&str; 2]; 3] = [["/wo", "rk/"], ["/ro", "ot/"], ["/tmp/", "target"]];

#[test]
fn files_are_small() {
    let mut sizes: Vec<(usize, File)> =
        files().into_iter().filter(File::is_rust).map(|file| (file.lines(), file)).collect();
    sizes.sort_by_key(|(lines, file)| (std::cmp::Reverse(*lines), file.path.clone()));

    println!("the ten largest of {} files, median {} lines", sizes.len(), sizes[sizes.len() / 2].0);
    for (lines, file) in sizes.iter().take(10) {
        println!("{lines:>6}  {}", file.path);
    }
    let too_long = sizes.iter().filter(|(lines, file)| {
        let is_source = file.path.contains("/src/") && !file.path.ends_with("tests.rs");
        *lines > if is_source { SOURCE_LINES_MAX } else { TEST_LINES_MAX }
    });
    let too_long = too_long.map(|(lines, file)| format!("{}: {lines} lines", file.path));
    nothing_is_wrong("long files", too_long.collect());
}

#[test]
fn every_module_begins_by_saying_what_it_is_for() {
    let silent = files().into_iter().filter(|file| file.is_rust() && !file.text.starts_with("//! "));
    nothing_is_wrong("files without a module doc", silent.map(|file| file.path).collect());
}

#[test]
fn nothing_is_left_for_later() {
    let mut found = Vec::new();
    for file in files().iter().filter(|file| file.is_in_crates()) {
        for (number, line) in file.text.lines().enumerate() {
            let promise = PROMISES.iter().any(|word| has_word(line, &word.concat()));
            let stub = STUBS.iter().any(|word| line.contains(&word.concat()));
            if promise || (stub && file.is_rust() && !line.contains(&STARTED.concat())) {
                found.push(format!("{}:{}: {}", file.path, number + 1, line.trim()));
            }
        }
    }
    nothing_is_wrong("left for later", found);
}

#[test]
fn no_file_names_a_directory_of_one_machine() {
    let mut found = Vec::new();
    for file in files() {
        for (number, line) in file.text.lines().enumerate() {
            if MACHINE.iter().any(|path| line.contains(&path.concat())) {
                found.push(format!("{}:{}: {}", file.path, number + 1, line.trim()));
            }
        }
    }
    nothing_is_wrong("machine paths", found);
}

/// A lock file or a setting that names a registry works for whoever wrote it.
#[test]
fn no_file_names_a_registry() {
    const NONE_IN_LOCKS: &str = "omit-lockfile-registry-resolved=true";
    const PUBLIC: &str = "source = \"registry+https://github.com/rust-lang/crates.io-index\"";
    let mut found = Vec::new();
    for file in files() {
        let name = file.path.rsplit('/').next().unwrap_or_default();
        let is_setting =
            matches!(name, ".npmrc" | ".yarnrc" | ".yarnrc.yml") || file.path.contains(".cargo/config");
        for (number, line) in file.text.lines().enumerate() {
            let names_one = match name {
                "Cargo.lock" => line.starts_with("source = ") && line != PUBLIC,
                "package-lock.json" | "npm-shrinkwrap.json" => line.contains("\"resolved\": \"http"),
                _ => is_setting && line.contains("registry") && line != NONE_IN_LOCKS,
            };
            if names_one {
                found.push(format!("{}:{}: {}", file.path, number + 1, line.trim()));
            }
        }
    }
    nothing_is_wrong("registries", found);
}

/// A file nobody lists is not compiled: its tests pass for ever.
#[test]
fn every_source_file_is_listed_by_its_parent() {
    let all = files();
    let rust: Vec<&File> = all.iter().filter(|file| file.is_in_crates() && file.is_rust()).collect();
    let mut found = Vec::new();
    for file in &rust {
        if file.path.ends_with("/mod.rs") {
            found.push(format!("{}: a module is `name.rs` beside `name/`", file.path));
        }
        let Some(parents) = parents_of(&file.path) else { continue };
        let name = stem(&file.path);
        let mut parents = rust.iter().filter(|parent| parents.contains(&parent.path));
        if !parents.any(|parent| lists(&parent.text, name)) {
            found.push(format!(
                "{}: no `mod {name};` in {}",
                file.path,
                parents_of(&file.path).unwrap().join(" or ")
            ));
        }
    }
    nothing_is_wrong("unlisted files", found);
}

/// The files that may list this one; none for those that cargo finds by itself.
fn parents_of(path: &str) -> Option<Vec<String>> {
    let (dir, name) = path.rsplit_once('/')?;
    let (top, inside) = split_at_root(dir)?;
    if inside.is_empty() {
        let is_root = matches!(name, "lib.rs" | "main.rs");
        return (!is_root).then(|| vec![format!("{top}/lib.rs"), format!("{top}/main.rs")]);
    }
    Some(vec![format!("{dir}.rs")])
}

/// `crates/x/src/a/b` is the root `crates/x/src` and what is inside it, `a/b`.
fn split_at_root(dir: &str) -> Option<(&str, &str)> {
    for root in ["src", "tests/it"] {
        let marker = format!("/{root}");
        if let Some(at) = dir.find(&marker) {
            let (top, inside) = dir.split_at(at + marker.len());
            return Some((top, inside.trim_start_matches('/')));
        }
    }
    None
}

fn stem(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path).trim_end_matches(".rs")
}

fn lists(text: &str, name: &str) -> bool {
    let wanted = format!("mod {name};");
    text.lines().any(|line| {
        let line = line.trim_start();
        let rest = line.strip_prefix("pub").map_or(line, |rest| rest.trim_start_matches(|c| c != 'm'));
        rest.trim_start() == wanted
    })
}

fn has_word(line: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

#[test]
fn a_word_is_found_only_where_it_stands_alone() {
    let word = PROMISES[0].concat();

    assert!(has_word(&format!("// {word}: later"), &word));
    assert!(!has_word(&format!("{word}S_MAX"), &word));
    assert!(!has_word("todo list", &word));
}

#[test]
fn a_listed_module_is_recognised_in_every_visibility() {
    assert!(lists("mod one;", "one"));
    assert!(lists("pub mod one;", "one"));
    assert!(lists("    pub(crate) mod one;", "one"));
    assert!(!lists("// mod one;", "one"));
    assert!(!lists("mod one_more;", "one"));
}
