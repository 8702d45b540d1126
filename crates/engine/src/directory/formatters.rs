//! Which formatters a directory has, from its `formatter` setting.
//!
//! Nothing unless the setting says so. `true` is every formatter that is known and here; an object is
//! the same, with its entries put over those of the same name.

use crate::directory::config::Settings;
use serde_json::{Map, Value};
use std::path::Path;
use sturdy_worktree::format::{Formatter, known};

pub(crate) fn formatters(settings: &Settings, directory: &Path, worktree: &Path) -> Vec<Formatter> {
    let mut all = configured(settings, known(directory, worktree));
    // Formatters read settings of the project that are programs (`.prettierrc.js`), whoever switched them on.
    if settings.trust().is_untrusted() {
        all.iter_mut().for_each(|one| one.is_enabled = false);
    }
    all
}

fn configured(settings: &Settings, known: Vec<Formatter>) -> Vec<Formatter> {
    let entries = match settings.formatter() {
        Value::Bool(true) => return known,
        Value::Object(entries) => entries,
        _ => return Vec::new(),
    };
    let mut all = known;
    for (name, entry) in entries {
        let Some(entry) = entry.as_object() else { continue };
        put(&mut all, name, entry);
    }
    all
}

fn put(all: &mut Vec<Formatter>, name: &str, entry: &Map<String, Value>) {
    let place = all.iter().position(|one| one.name == name);
    if entry.get("disabled") == Some(&Value::Bool(true)) {
        if let Some(place) = place {
            all.remove(place);
        }
        return;
    }
    let mut formatter = place.map(|place| all[place].clone()).unwrap_or_else(|| Formatter {
        name: name.to_owned(),
        command: Vec::new(),
        extensions: Vec::new(),
        variables: Vec::new(),
        is_enabled: false,
    });
    if let Some(command) = texts(entry.get("command")).filter(|command| !command.is_empty()) {
        formatter.command = command;
        // Whoever writes a command down means it, found or not: a missing program is then a warning.
        formatter.is_enabled = true;
    }
    if let Some(extensions) = texts(entry.get("extensions")) {
        formatter.extensions = extensions.into_iter().map(with_dot).collect();
    }
    let variables = entry.get("environment").and_then(Value::as_object).into_iter().flatten();
    formatter
        .variables
        .extend(variables.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))));
    match place {
        Some(place) => all[place] = formatter,
        // Without a command there is nothing to run.
        None if formatter.command.is_empty() => {}
        None => all.push(formatter),
    }
}

/// `rs` is meant as `.rs`; a whole name, such as `Makefile`, is taken as it is.
fn with_dot(end: String) -> String {
    let is_plain = end.chars().all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit());
    if is_plain { format!(".{end}") } else { end }
}

fn texts(value: Option<&Value>) -> Option<Vec<String>> {
    let items = value?.as_array()?;
    Some(items.iter().filter_map(|item| item.as_str().map(str::to_owned)).collect())
}
