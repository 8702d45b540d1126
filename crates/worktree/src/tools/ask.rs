//! Asking for permission, as most tools do it.

use crate::tool::{PermissionAsk, ToolFailure, World, map};
use serde_json::{Value, json};
use sturdy_session::json::Map;

/// Directories whose files say what runs: hooks, tools, commands.
const SETTINGS_DIRECTORIES: [&str; 3] = [".git", ".opencode", ".claude"];

/// Files that say what runs, or what a model is told before anything else.
const SETTINGS_FILES: [&str; 3] = ["opencode.json", "sturdy.json", "agents.md"];

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
    let changed: Vec<String> = paths.iter().filter(|path| is_settings(path)).cloned().collect();
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

/// Whether a path, as the rules name it, is one of the project's settings. Some file systems do not
/// tell large letters from small ones.
pub(super) fn is_settings(path: &str) -> bool {
    let path = path.to_lowercase();
    let mut names = path.split('/');
    let last = names.next_back().unwrap_or_default();
    let is_file = |name: &&str| last.strip_prefix(*name).is_some_and(|rest| rest.is_empty() || rest == "c");
    SETTINGS_FILES.iter().any(is_file) || path.split('/').any(|name| SETTINGS_DIRECTORIES.contains(&name))
}
