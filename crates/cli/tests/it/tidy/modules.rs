//! Rules about the rooms of a crate: its modules form no cycle, and a directory can be taken in at a glance.

use super::nothing_is_wrong;
use super::tree::{File, files};
use std::collections::{BTreeMap, BTreeSet};

/// More source files than this in one directory are looked through, not looked at.
const FILES_MAX: usize = 20;

type Uses = BTreeMap<String, BTreeSet<String>>;

#[test]
fn modules_of_a_crate_form_no_cycle() {
    let mut crates: BTreeMap<String, Vec<File>> = BTreeMap::new();
    for file in files().into_iter().filter(File::is_rust) {
        let names: Vec<&str> = file.path.split('/').collect();
        if let ["crates", name, "src", ..] = names[..] {
            crates.entry(name.to_owned()).or_default().push(file);
        }
    }
    let mut found = Vec::new();
    for (name, files) in crates {
        let cycle = cycle(&uses(&files));
        if !cycle.is_empty() {
            found.push(format!("{name}: each of these leads to the others: {}", cycle.join(" ")));
        }
    }
    nothing_is_wrong("cycles of modules", found);
}

#[test]
fn a_directory_can_be_taken_in_at_a_glance() {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for file in files().into_iter().filter(File::is_rust) {
        let Some((directory, _)) = file.path.rsplit_once('/') else { continue };
        if directory.contains("/src") {
            *counts.entry(directory.to_owned()).or_default() += 1;
        }
    }
    let mut found = Vec::new();
    for (directory, count) in counts {
        if count > FILES_MAX {
            found.push(format!("{directory}: {count} files"));
        }
    }
    nothing_is_wrong(&format!("directories of more than {FILES_MAX} source files"), found);
}

/// Which module of the crate's root uses which.
fn uses(files: &[File]) -> Uses {
    let modules: BTreeSet<String> = files.iter().filter_map(|file| module_of(&file.path)).collect();
    let mut uses = Uses::new();
    for file in files.iter().filter(|file| !file.path.ends_with("tests.rs")) {
        let Some(module) = module_of(&file.path) else { continue };
        let used = uses.entry(module.clone()).or_default();
        for line in file.text.split(';').map(without_comments) {
            let named = line.split("crate::").skip(1).flat_map(first_names);
            used.extend(named.filter(|name| *name != module && modules.contains(name)));
        }
    }
    uses
}

/// `session/src/turn/step.rs` is in `turn`; the root belongs to nobody.
fn module_of(path: &str) -> Option<String> {
    let below = path.split("/src/").nth(1)?;
    let name = below.split('/').next()?.trim_end_matches(".rs");
    (name != "lib" && name != "main").then(|| name.to_owned())
}

fn without_comments(text: &str) -> String {
    text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// The modules that stand behind `crate::`: one, or those of a list.
fn first_names(after: &str) -> Vec<String> {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let Some(list) = after.strip_prefix('{') else {
        return vec![after.chars().take_while(|c| is_name(*c)).collect()];
    };
    let mut depth = 0;
    let mut names = vec![String::new()];
    let mut is_first = true;
    for c in list.chars() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                names.push(String::new());
                is_first = true;
            }
            c if depth == 0 && is_first && is_name(c) => names.last_mut().unwrap().push(c),
            c if c.is_whitespace() => {}
            _ => is_first = false,
        }
    }
    names
}

/// Modules that reach themselves.
fn cycle(uses: &Uses) -> Vec<String> {
    let reached = |from: &String| {
        let mut reached = BTreeSet::new();
        let mut open: Vec<&String> = uses.get(from).into_iter().flatten().collect();
        while let Some(module) = open.pop() {
            if reached.insert(module.clone()) {
                open.extend(uses.get(module).into_iter().flatten());
            }
        }
        reached
    };
    uses.keys().filter(|module| reached(module).contains(*module)).cloned().collect()
}
