//! Finds and removes those settings of a project that could harm somebody who only opened it.
//!
//! Whoever wrote a checkout may say how agents behave and what commands are called. What starts a program,
//! opens a connection, reads something outside the checkout or loosens a permission waits until a person has
//! trusted the checkout: it is taken out of the layer and remembered as a [`Danger`], with the words it is
//! asked about. The hash over all of them is what is trusted; a change asks again.
//!
//! Permissions stay in their layer. That they do not loosen anything is the floor of an agent (`agents.rs`).

use super::hide::bare_address;
use super::merge::{Keys, Layer, Source};
use super::places::Places;
use super::read::without_placeholders;
use serde_json::{Map, Value, json};
use std::path::{Component, Path, PathBuf};
use sturdy_session::command::snippets;
use sturdy_session::mention::mentions;
use sturdy_session::rules::{self, matches};
use sturdy_session::types::session::{Action, Rule};

/// A line for people is not longer than this.
const TEXT_CHARS_MAX: usize = 200;
/// Of what follows in the end, so much is shown: padding hides nothing.
const TAIL_CHARS: usize = 80;
/// Longer than anything that a person would read to its end.
const WHOLE_CHARS_MAX: usize = 10_000;

/// One thing that waits for trust.
#[derive(Clone, Debug, PartialEq)]
pub struct Danger {
    /// What would happen, in words, on one line.
    pub text: String,
    /// As seen from the checkout.
    pub file: String,
    pub line: Option<usize>,
    /// The keys that lead to it.
    keys: Vec<String>,
    /// What the file says, for the hash.
    said: Value,
}

impl Danger {
    /// The words with the place, of a length that can be read at a glance.
    #[must_use]
    pub fn sentence(&self) -> String {
        self.with_place(&self.short())
    }

    /// All words with the place.
    #[must_use]
    pub fn whole_sentence(&self) -> String {
        self.with_place(&self.text)
    }

    /// Beginning and end of the words.
    pub(super) fn short(&self) -> String {
        shortened(&self.text, TEXT_CHARS_MAX)
    }

    fn with_place(&self, text: &str) -> String {
        match self.line {
            Some(line) => format!("{text} ({}:{line})", self.file),
            None => format!("{text} ({})", self.file),
        }
    }
}

/// The hash of everything dangerous: the same words in the same files have the same.
pub(super) fn hash(dangers: &[Danger]) -> String {
    let mut said: Vec<String> = dangers
        .iter()
        .map(|danger| json!([danger.file, danger.keys, danger.said, danger.text]).to_string())
        .collect();
    said.sort();
    blake3::hash(said.join("\n").as_bytes()).to_hex().to_string()
}

/// Removes what is dangerous from the layers of a project.
pub(super) struct DangerFilter<'a> {
    pub(super) places: &'a Places,
    /// Built-in rules and the user's that ask or forbid.
    pub(super) cautions: Vec<Rule>,
    pub(super) found: Vec<Danger>,
    /// MCP servers that were taken out.
    pub(super) servers: Vec<String>,
}

impl DangerFilter<'_> {
    /// Leaves in a layer what is harmless.
    pub(super) fn sift(&mut self, layer: &mut Layer, source: &Source) {
        let mut at = At { file: self.shown(source), layer };
        self.servers(&mut at);
        self.programs(&mut at);
        self.providers(&mut at);
        self.outside(&mut at);
        self.sharing(&mut at);
        self.templates(&at);
        self.permissions(&at);
        self.placeholders(&mut at);
    }

    /// A file of the project that is really somewhere else.
    pub(super) fn link(&mut self, path: &Path) {
        let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let file = self.shown(&Source::File(path.to_owned()));
        let text = format!("reads {}, to which this file leads", target.display());
        let said = Value::String(target.display().to_string());
        self.note(Danger { text, file, line: None, keys: Vec::new(), said });
    }

    /// A program of the project that is started because it is there.
    pub(super) fn own_program(&mut self, path: &Path) {
        let file = self.shown(&Source::File(path.to_owned()));
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let text = format!("runs its own {name} on files that are read or changed");
        let said = Value::String(file.clone());
        self.note(Danger { text, file, line: None, keys: Vec::new(), said });
    }

    fn shown(&self, source: &Source) -> String {
        match source {
            Source::File(path) => {
                path.strip_prefix(self.places.checkout()).unwrap_or(path).display().to_string()
            }
            Source::Variable(name) => (*name).to_owned(),
        }
    }

    fn note(&mut self, mut danger: Danger) {
        danger.text = plain(&danger.text);
        self.found.push(danger);
    }

    /// Takes a value out and says what it would have done.
    fn take(&mut self, at: &mut At<'_>, path: &[&str], text: String) {
        let line = at.layer.line(path);
        let Some(said) = at.layer.remove(path) else { return };
        let keys = path.iter().map(|key| (*key).to_owned()).collect();
        self.note(Danger { text, file: at.file.clone(), line, keys, said });
    }

    fn servers(&mut self, at: &mut At<'_>) {
        for (name, entry) in at.objects(&["mcp"]) {
            // Switching a server off is no danger.
            if entry.len() == 1 && entry.get("enabled") == Some(&Value::Bool(false)) {
                continue;
            }
            let text = match (entry.get("command"), entry.get("url").and_then(Value::as_str)) {
                (Some(command), _) => format!("starts the MCP server {name}: {}", words(command)),
                (None, Some(url)) => format!("connects to the MCP server {name}: {}", bare_address(url)),
                (None, None) => format!("changes the MCP server {name}"),
            };
            self.take(at, &["mcp", &name], text);
            self.servers.push(name);
        }
    }

    /// Language servers, formatters, the shell.
    fn programs(&mut self, at: &mut At<'_>) {
        for (section, what) in [("lsp", "language server"), ("formatter", "formatter")] {
            if at.layer.value.get(section) == Some(&Value::Bool(true)) {
                self.take(at, &[section], format!("starts every {what} that is known and here"));
            }
            let switches_on = at.layer.value.get(section).is_some_and(Value::is_object);
            for (name, entry) in at.objects(&[section]) {
                if entry.get("disabled") == Some(&Value::Bool(true)) {
                    continue;
                }
                let command = entry.get("command").map(words).unwrap_or_default();
                self.take(at, &[section, &name], format!("starts the {what} {name}: {command}"));
            }
            // An object switches on what is known, whatever it says itself.
            if switches_on {
                self.take(at, &[section], format!("starts every {what} that is known and here"));
            }
        }
        if let Some(shell) = at.layer.value.get("shell").map(words) {
            self.take(at, &["shell"], format!("runs commands with {shell}"));
        }
    }

    fn providers(&mut self, at: &mut At<'_>) {
        const OF_PROVIDER: [&str; 5] = ["options", "env", "api", "npm", "id"];
        const OF_MODEL: [&str; 2] = ["headers", "provider"];
        for (name, entry) in at.objects(&["provider"]) {
            for key in OF_PROVIDER.into_iter().filter(|key| entry.contains_key(*key)) {
                let text = match (key, entry[key].get("baseURL").and_then(Value::as_str)) {
                    ("options", Some(url)) => {
                        format!("sends what you ask the provider {name} to {}", bare_address(url))
                    }
                    _ => format!("changes \"{key}\" of the provider {name}"),
                };
                self.take(at, &["provider", &name, key], text);
            }
            for (model, entry) in at.objects(&["provider", &name, "models"]) {
                for key in OF_MODEL.into_iter().filter(|key| entry.contains_key(*key)) {
                    let text = format!("changes \"{key}\" of the model {name}/{model}");
                    self.take(at, &["provider", &name, "models", &model, key], text);
                }
            }
        }
    }

    /// Instructions and skills that do not stand in the checkout.
    fn outside(&mut self, at: &mut At<'_>) {
        for (path, what) in
            [(["instructions"].as_slice(), "instructions"), (["skills", "paths"].as_slice(), "skills")]
        {
            let Some(Value::Array(entries)) = at.value(path).cloned() else { continue };
            let (kept, outside): (Vec<Value>, Vec<Value>) =
                entries.into_iter().partition(|entry| !self.is_outside(entry.as_str().unwrap_or_default()));
            let line = at.layer.line(path);
            for said in outside.iter().cloned() {
                let text = format!("reads {what} from {}", bare_address(&words(&said)));
                let keys = path.iter().map(|key| (*key).to_owned()).collect();
                self.note(Danger { text, file: at.file.clone(), line, keys, said });
            }
            if !outside.is_empty() {
                let keys: Keys = path.iter().map(|key| (*key).to_owned()).collect();
                if let Some(place) = at.layer.get_mut(&keys) {
                    *place = Value::Array(kept);
                }
            }
        }
    }

    /// An address, a path in the home directory, or one that leaves the checkout.
    fn is_outside(&self, entry: &str) -> bool {
        if entry.contains("://") || entry.starts_with('~') {
            return true;
        }
        let path = Path::new(entry);
        if path.is_absolute() {
            return !resolved(path).starts_with(resolved(self.places.checkout()));
        }
        path.components().any(|part| part == Component::ParentDir)
            || self.places.leads_outside(&self.places.directory.join(path))
    }

    fn sharing(&mut self, at: &mut At<'_>) {
        if at.layer.value.get("share") == Some(&json!("auto")) {
            self.take(at, &["share"], "shares every session".to_owned());
        }
        if at.layer.value.get("autoshare") == Some(&Value::Bool(true)) {
            self.take(at, &["autoshare"], "shares every session".to_owned());
        }
        if at.layer.value.contains_key("enterprise") {
            self.take(at, &["enterprise"], "changes where sessions are shared".to_owned());
        }
    }

    /// Commands that run something or attach files. They stay, as the text they are.
    fn templates(&mut self, at: &At<'_>) {
        for (name, entry) in at.objects(&["command"]) {
            let template = entry.get("template").and_then(Value::as_str).unwrap_or_default();
            let text = match (snippets(template).first(), mentions(template).first()) {
                (Some(snippet), _) => format!("runs a snippet in the command /{name}: {}", snippet.command),
                (None, Some(mention)) => format!("attaches a file in the command /{name}: {}", mention.name),
                (None, None) => continue,
            };
            let path = ["command", &name, "template"];
            let line = at.layer.line(&path);
            let keys = path.iter().map(|key| (*key).to_owned()).collect();
            self.note(Danger { text, file: at.file.clone(), line, keys, said: json!(template) });
        }
    }

    /// Rules that allow what would be asked about or forbidden.
    fn permissions(&mut self, at: &At<'_>) {
        let mut holders = vec![(Vec::new(), at.layer.value.clone())];
        for section in ["mode", "agent"] {
            for (name, entry) in at.objects(&[section]) {
                holders.push((vec![section.to_owned(), name], entry));
            }
        }
        let home = self.places.environment.home.to_string_lossy().into_owned();
        for (mut keys, holder) in holders {
            keys.push("permission".to_owned());
            let path: Vec<&str> = keys.iter().map(String::as_str).collect();
            let line = at.layer.line(&path);
            let mut loosening = rules_of(&holder, &home);
            loosening.retain(|rule| self.loosens(rule));
            for rule in loosening {
                let text = format!("allows {} for {} without asking", rule.permission, rule.pattern);
                let said = json!([rule.permission, rule.pattern]);
                self.note(Danger { text, file: at.file.clone(), line, keys: keys.clone(), said });
            }
        }
    }

    fn loosens(&self, rule: &Rule) -> bool {
        let overlap = |one: &str, other: &str| matches(one, other) || matches(other, one);
        rule.action == Action::Allow
            && self.cautions.iter().any(|caution| {
                overlap(&rule.permission, &caution.permission) && overlap(&rule.pattern, &caution.pattern)
            })
    }

    /// What is left of `{env:…}` and `{file:…}` becomes nothing.
    fn placeholders(&mut self, at: &mut At<'_>) {
        for keys in std::mem::take(&mut at.layer.unreplaced) {
            let path: Vec<&str> = keys.iter().map(String::as_str).collect();
            let line = at.layer.line(&path);
            let Some(value) = at.layer.get_mut(&keys) else { continue };
            let said = value.clone();
            blank(value);
            let text = format!("fills in variables or files: {}", words(&said));
            self.note(Danger { text, file: at.file.clone(), line, keys, said });
        }
    }
}

/// A layer and the file it stands in.
struct At<'a> {
    file: String,
    layer: &'a mut Layer,
}

impl At<'_> {
    fn value(&self, path: &[&str]) -> Option<&Value> {
        let (first, below) = path.split_first()?;
        below.iter().try_fold(self.layer.value.get(*first)?, |value, key| value.get(*key))
    }

    /// The objects in an object, by name.
    fn objects(&self, path: &[&str]) -> Vec<(String, Map<String, Value>)> {
        let map = self.value(path).and_then(Value::as_object).into_iter().flatten();
        map.filter_map(|(name, entry)| Some((name.clone(), entry.as_object()?.clone()))).collect()
    }
}

/// What a `permission` and the older `tools` beside it say; nothing where they make no sense, which is said elsewhere.
fn rules_of(holder: &Map<String, Value>, home: &str) -> Vec<Rule> {
    let tools = holder.get("tools").and_then(Value::as_object).into_iter().flatten();
    let mut all = rules::from_tools(tools.filter_map(|(name, on)| Some((name.as_str(), on.as_bool()?))));
    all.extend(
        rules::from_config(holder.get("permission").unwrap_or(&Value::Null), home).unwrap_or_default(),
    );
    all
}

fn blank(value: &mut Value) {
    match value {
        Value::String(text) => *text = without_placeholders(text),
        Value::Array(items) => items.iter_mut().for_each(blank),
        Value::Object(map) => map.values_mut().for_each(blank),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// All of what a value says. Nothing of a command is hidden: whoever is asked has to see what would run.
fn words(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(words).collect::<Vec<_>>().join(" "),
        other => other.to_string(),
    }
}

/// One line without padding: whoever wrote it wants it to look harmless.
fn plain(text: &str) -> String {
    let mut words = String::with_capacity(text.len());
    for letter in text.chars() {
        let is_space = letter.is_control() || letter.is_whitespace();
        match is_space {
            true if words.ends_with(' ') => {}
            true => words.push(' '),
            false => words.push(letter),
        }
    }
    shortened(&words, WHOLE_CHARS_MAX)
}

/// Beginning and end of a text that is longer than this.
fn shortened(text: &str, chars_max: usize) -> String {
    let count = text.chars().count();
    if count <= chars_max {
        return text.to_owned();
    }
    let start: String = text.chars().take(chars_max - TAIL_CHARS).collect();
    let end: String = text.chars().skip(count - TAIL_CHARS).collect();
    format!("{start} … {end}")
}

fn resolved(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}
