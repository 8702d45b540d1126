//! Which formatters a directory has, from its `formatter` setting.
//!
//! Nothing unless the setting says so. `true` is every formatter that is known and here; an object is
//! the same, with its entries put over those of the same name.

use crate::directory::config::{FormatterEntry, Programs, Settings};
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
    let mut all = known;
    match settings.formatters() {
        Programs::Off => all.clear(),
        Programs::Known => {}
        Programs::Changed(entries) => entries.iter().for_each(|(name, entry)| put(&mut all, name, entry)),
    }
    all
}

fn put(all: &mut Vec<Formatter>, name: &str, entry: &FormatterEntry) {
    let place = all.iter().position(|one| one.name == name);
    if entry.disabled == Some(true) {
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
    if let Some(command) = entry.command.as_ref().filter(|command| !command.is_empty()) {
        formatter.command = command.clone();
        // Whoever writes a command down means it, found or not: a missing program is then a warning.
        formatter.is_enabled = true;
    }
    if let Some(extensions) = &entry.extensions {
        formatter.extensions = extensions.iter().cloned().map(with_dot).collect();
    }
    formatter.variables.extend(entry.environment.iter().cloned());
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
