//! The dependency arrows of ARCHITECTURE §3, read from the manifests.

use super::nothing_is_wrong;
use super::tree::{File, file, files};

/// What a crate may know.
struct Rule {
    krate: &'static str,
    /// Crates of this workspace it may use.
    ours: &'static [&'static str],
    /// Crates it must not use, because their work is done elsewhere.
    never: &'static [&'static str],
}

const RULES: [Rule; 9] = [
    Rule { krate: "session", ours: &[], never: &[] },
    Rule { krate: "store", ours: &["session"], never: &["reqwest", "axum", "hyper", "clap"] },
    Rule { krate: "llm", ours: &["session"], never: &["rusqlite", "axum", "clap"] },
    Rule { krate: "worktree", ours: &["session"], never: &["rusqlite", "axum", "clap"] },
    Rule {
        krate: "engine",
        ours: &["session", "store", "llm", "worktree", "capnweb"],
        never: &["rusqlite", "reqwest", "axum", "clap"],
    },
    Rule { krate: "capnweb", ours: &[], never: &["rusqlite", "axum", "clap"] },
    Rule {
        krate: "server",
        ours: &["session", "store", "llm", "worktree", "engine", "capnweb"],
        never: &["rusqlite", "clap"],
    },
    Rule {
        krate: "cli",
        ours: &["session", "store", "llm", "worktree", "engine", "capnweb", "server"],
        never: &["rusqlite"],
    },
    Rule {
        krate: "testkit",
        ours: &["session", "store", "llm", "worktree", "engine", "server"],
        // It plants damage behind the store's back.
        never: &["clap"],
    },
];

/// All that the pure crate may use: data in, data out.
const PURE: [&str; 6] = ["base64", "rand", "serde", "serde_json", "thiserror", "utoipa"];

#[test]
fn every_crate_has_a_rule() {
    let is_manifest = |file: &File| file.path.starts_with("crates/") && file.path.ends_with("/Cargo.toml");
    let unknown = files().into_iter().filter(is_manifest).filter(|manifest| {
        let name = manifest.path.split('/').nth(1).unwrap_or_default();
        !RULES.iter().any(|rule| rule.krate == name)
    });
    nothing_is_wrong("crates without a rule in tidy/arrows.rs", unknown.map(|file| file.path).collect());
}

#[test]
fn arrows_point_down_only() {
    let mut found = Vec::new();
    for rule in &RULES {
        for name in dependencies(rule.krate) {
            let ours = name.strip_prefix("sturdy-");
            let is_allowed = match ours {
                Some(ours) => rule.ours.contains(&ours),
                None => !rule.never.contains(&name.as_str()),
            };
            if !is_allowed {
                found.push(format!("crates/{}/Cargo.toml: {name}", rule.krate));
            }
        }
    }
    nothing_is_wrong("dependencies that ARCHITECTURE §3 forbids", found);
}

/// What is stored is read through `sturdy_engine::reads`. Shares and grants keep records of their own in
/// the store, and are asked for there.
#[test]
fn the_server_reads_through_the_engine() {
    let mut found = Vec::new();
    for file in files().iter().filter(|file| file.path.starts_with("crates/server/src/")) {
        let is_of_shares = file.path.contains("share") || file.path.contains("grant");
        for (number, line) in file.text.lines().enumerate() {
            let names_their_types = line.starts_with("use sturdy_store::share::");
            if !is_of_shares
                && !names_their_types
                && (line.contains("sturdy_store") || line.contains(".store()"))
            {
                found.push(format!("{}:{}: {}", file.path, number + 1, line.trim()));
            }
        }
    }
    nothing_is_wrong("ways past the engine to the store", found);
}

/// Invariant I4: deciding is pure, because nothing else can be reached from there.
#[test]
fn the_session_crate_can_reach_nothing() {
    let impure = dependencies("session").into_iter().filter(|name| !PURE.contains(&name.as_str()));
    nothing_is_wrong("crates/session may not use", impure.collect());

    let manifest = file("crates/session/Cargo.toml").text;
    let rand = manifest.lines().find(|line| line.starts_with("rand ")).expect("crates/session uses rand");
    assert!(
        rand.contains("default-features = false")
            && !rand.contains("sys_rng")
            && !rand.contains("thread_rng"),
        "randomness comes in as a seed, not from the operating system: {rand}"
    );
}

#[test]
fn errors_without_a_type_are_the_programs_alone() {
    let libraries = RULES.iter().filter(|rule| rule.krate != "cli");
    let found = libraries.filter(|rule| dependencies(rule.krate).iter().any(|name| name == "anyhow"));
    nothing_is_wrong("libraries that use anyhow", found.map(|rule| rule.krate.to_owned()).collect());
}

/// The names in `[dependencies]`, also those for one platform. Not those of tests.
fn dependencies(krate: &str) -> Vec<String> {
    names(&file(&format!("crates/{krate}/Cargo.toml")).text)
}

fn names(manifest: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut is_inside = false;
    for line in manifest.lines().map(str::trim) {
        if let Some(section) = line.strip_prefix('[') {
            let section = section.trim_end_matches(']');
            is_inside = section == "dependencies" || section.ends_with(".dependencies");
            if let Some((before, name)) = section.rsplit_once('.')
                && (before == "dependencies" || before.ends_with(".dependencies"))
            {
                names.push(name.to_owned());
            }
        } else if is_inside && line.contains('=') && !line.starts_with('#') {
            let end = line.find(|c: char| c == '.' || c == '=' || c.is_whitespace()).unwrap_or(line.len());
            names.push(line[..end].to_owned());
        }
    }
    names
}

#[test]
fn dependencies_are_read_in_every_notation() {
    let manifest = "[package]\nname = \"x\"\n[dependencies]\na.workspace = true\n# b = 1\nc = \"1\"\n\
        [dependencies.d]\nversion = \"1\"\n[target.'cfg(unix)'.dependencies]\ne = \"1\"\n\
        [dev-dependencies]\nf = \"1\"\n";

    assert_eq!(names(manifest), ["a", "c", "d", "e"]);
}
