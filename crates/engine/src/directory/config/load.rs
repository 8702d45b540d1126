//! Reading all layers in their order.
//!
//! User files, `OPENCODE_CONFIG`, project files, directories with markdown, then
//! `OPENCODE_CONFIG_CONTENT` and the few switches of the environment: later wins.
//!
//! Touches the disk and does not wait for anything else; call it where blocking is allowed.

use super::error::ConfigError;
use super::markdown::{self, mark};
use super::merge::{Layer, Merged, Origin, Source};
use super::places::Places;
use super::read::{parse, text_of};
use super::settings::Settings;
use crate::environment::Environment;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The settings of a directory.
pub fn load(directory: &Path, worktree: &Path, environment: &Environment) -> Result<Settings, ConfigError> {
    let places = &Places::new(directory, worktree, environment);
    let mut merged = global(places)?;
    let user_level = merged.clone();

    add_files(&mut merged, places.named_file().as_slice(), places)?;
    add_files(&mut merged, &places.project_files(), places)?;
    for dir in places.directories() {
        // The user's own files are in already; their agents come here, before the project's.
        if dir != places.config_dir {
            add_files(&mut merged, &Places::files_in(&dir), places)?;
        }
        markdown::layers(&dir)?.into_iter().for_each(|layer| merged.add(layer));
    }
    for layer in from_environment(places)? {
        merged.add(layer);
    }
    Settings::check(merged, user_level, places)
}

/// The settings of the user alone, for what belongs to no directory.
pub fn load_global(environment: &Environment) -> Result<Settings, ConfigError> {
    let places = &Places::new(&environment.home, &environment.home, environment);
    let mut merged = global(places)?;
    let user_level = merged.clone();
    markdown::layers(&places.config_dir)?.into_iter().for_each(|layer| merged.add(layer));
    Settings::check(merged, user_level, places)
}

fn global(places: &Places) -> Result<Merged, ConfigError> {
    let mut merged = Merged::default();
    add_files(&mut merged, &places.global_files(), places)?;
    Ok(merged)
}

fn add_files(merged: &mut Merged, paths: &[PathBuf], places: &Places) -> Result<(), ConfigError> {
    for path in paths {
        let Some(text) = text_of(path)? else { continue };
        let base = path.parent().unwrap_or(Path::new("/")).to_owned();
        merged.add(parse(Source::File(path.clone()), &text, base, places)?);
    }
    Ok(())
}

fn from_environment(places: &Places) -> Result<Vec<Layer>, ConfigError> {
    const CONTENT: &str = "OPENCODE_CONFIG_CONTENT";
    const PERMISSION: &str = "OPENCODE_PERMISSION";
    let mut layers = Vec::new();
    let mut read = |name: &'static str, text: &str| {
        layers.push(parse(Source::Variable(name), text, places.directory.clone(), places)?);
        Ok(())
    };
    if let Some(text) = places.environment.filled(CONTENT) {
        read(CONTENT, text)?;
    }
    if let Some(text) = places.environment.filled(PERMISSION) {
        read(PERMISSION, &format!("{{\"permission\":{text}\n}}"))?;
    }

    for (name, key) in [("OPENCODE_DISABLE_AUTOCOMPACT", "auto"), ("OPENCODE_DISABLE_PRUNE", "prune")] {
        if places.is_on(name) {
            let mut value = Map::new();
            value.insert("compaction".to_owned(), json!({ key: false }));
            layers.push(said_by(name, value));
        }
    }
    Ok(layers)
}

fn said_by(variable: &'static str, value: Map<String, Value>) -> Layer {
    let origin = Origin { source: Arc::new(Source::Variable(variable)), line: None, replaced: false };
    let mut origins = BTreeMap::new();
    mark(&value, &mut Vec::new(), &origin, &mut origins);
    Layer { value, origins }
}
