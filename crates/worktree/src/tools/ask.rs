//! Asking for permission, as most tools do it.

use crate::path::Roots;
use crate::tool::{PermissionAsk, ToolFailure, World, map};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use sturdy_session::json::Map;
use sturdy_session::rules;

/// Directories whose files say what runs: hooks, tools, commands.
const SETTINGS_DIRECTORIES: [&str; 3] = [".git", ".opencode", ".claude"];

/// Files that say what runs, or what a model is told before anything else.
const SETTINGS_FILES: [&str; 3] = ["opencode.json", "sturdy.json", "agents.md"];

/// All of them, as they are usually written.
const NAMES: [&str; 8] = [
    ".git",
    ".opencode",
    ".claude",
    "opencode.json",
    "opencode.jsonc",
    "sturdy.json",
    "sturdy.jsonc",
    "AGENTS.md",
];

/// One pattern; "always" allows everything of the kind.
pub(super) async fn permission(
    world: &World,
    permission: &str,
    pattern: &str,
    metadata: Map,
) -> Result<(), ToolFailure> {
    let ask = PermissionAsk::new(permission, vec![pattern.to_owned()], vec!["*".to_owned()], metadata);
    world.ask(ask).await
}

/// For changing files: `edit`, and `settings` for those that are not just files.
pub(super) async fn edit(world: &World, paths: Vec<String>, metadata: Map) -> Result<(), ToolFailure> {
    let shown = metadata.get("diff").cloned().unwrap_or_default();
    let roots = world.roots.clone();
    let named = paths.clone();
    let look = move || Ok(named.into_iter().filter(|path| is_settings(&roots, path)).collect::<Vec<_>>());
    let changed = world.blocking(look).await?;
    world.ask(PermissionAsk::new("edit", paths, vec!["*".to_owned()], metadata)).await?;
    match settings(&changed, json!({ "diff": shown })) {
        Some(ask) => world.ask(ask).await,
        None => Ok(()),
    }
}

/// What is asked before settings are changed. "Always" counts for the same files.
pub(super) fn settings(paths: &[String], shown: Value) -> Option<PermissionAsk> {
    let mut metadata = map(shown);
    metadata.insert("filepath".to_owned(), json!(paths.join(", ")));
    let ask = PermissionAsk::new("settings", paths.to_vec(), paths.to_vec(), metadata);
    (!paths.is_empty()).then_some(ask)
}

/// Whether a path, as the rules name it, is one of the project's settings, or where a link leads that is one.
pub(super) fn is_settings(roots: &Roots, path: &str) -> bool {
    if has_name_of_settings(path) {
        return true;
    }
    let Ok(real) = roots.worktree().canonicalize().map(|worktree| worktree.join(path)) else { return false };
    let leads_there =
        |link: PathBuf| link.is_symlink() && link.canonicalize().is_ok_and(|target| real.starts_with(target));
    [roots.worktree(), roots.directory()].into_iter().any(|top| {
        let mut links = NAMES.iter().map(|name| top.join(name));
        links.any(leads_there)
    })
}

/// Some file systems do not tell large letters from small ones.
fn has_name_of_settings(path: &str) -> bool {
    let path = path.to_lowercase();
    let mut names = path.split('/');
    let last = names.next_back().unwrap_or_default();
    let is_file = |name: &&str| last.strip_prefix(*name).is_some_and(|rest| rest.is_empty() || rest == "c");
    SETTINGS_FILES.iter().any(is_file) || path.split('/').any(|name| SETTINGS_DIRECTORIES.contains(&name))
}

/// The settings that a path with wildcards leads to, if they exist.
pub(super) fn settings_behind_wildcards(path: &Path) -> Option<String> {
    let path = path.to_str()?;
    let names: Vec<&str> = path.split('/').collect();
    let is_wild = |name: &&str| name.contains(['*', '?', '[']);
    names.iter().enumerate().filter(|(_, name)| is_wild(name)).find_map(|(at, pattern)| {
        let before = &names[..at];
        // Where a wildcard stands before it, nobody has looked.
        let exists = |name: &str| {
            before.iter().any(is_wild) || Path::new(&before.join("/")).join(name).symlink_metadata().is_ok()
        };
        let found = NAMES.into_iter().find(|name| may_become(pattern, name) && exists(name))?;
        Some([before, &[found], &names[at + 1..]].concat().join("/"))
    })
}

/// Whether the shell would write this name for a pattern. A wildcard at the start does not stand for a dot.
fn may_become(pattern: &str, name: &str) -> bool {
    if name.starts_with('.') && !pattern.starts_with('.') {
        return false;
    }
    let mut simple = String::new();
    let mut rest = pattern;
    while let Some((before, class)) = rest.split_once('[') {
        let Some((_, after)) = class.get(1..).and_then(|class| class.split_once(']')) else { break };
        simple.push_str(before);
        simple.push('?');
        rest = after;
    }
    simple.push_str(rest);
    rules::matches(&simple.to_lowercase(), &name.to_lowercase())
}
