//! Reading all layers in their order.
//!
//! User files, `OPENCODE_CONFIG`, project files, directories with markdown, then
//! `OPENCODE_CONFIG_CONTENT` and the few switches of the environment: later wins.
//!
//! The layers of the project are read twice. The first look replaces nothing and finds what is dangerous
//! (`danger.rs`); only if that is trusted, or there is none, are they taken as they stand.
//!
//! Touches the disk and does not wait for anything else; call it where blocking is allowed.

use super::danger::{self, DangerFilter};
use super::error::ConfigError;
use super::markdown::{self, whole};
use super::merge::{Layer, Level, Merged, Source};
use super::places::Places;
use super::read::{Placeholders, Text, parse, text_of};
use super::settings::{Loaded, Settings};
use super::trust::{Standing, Trust, TrustKey};
use super::warning::Warning;
use crate::directory::skills;
use crate::environment::Environment;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};
use sturdy_session::types::session::{Action, Rule};

/// What decides about the settings of a project.
pub struct Judge<'a> {
    /// Built-in rules that ask or forbid: a project that allows the same waits for trust.
    pub cautions: &'a [Rule],
    /// Whether a checkout is trusted with what its hash stands for.
    pub is_trusted: &'a dyn Fn(&TrustKey) -> bool,
}

impl std::fmt::Debug for Judge<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Judge").field("cautions", &self.cautions).finish_non_exhaustive()
    }
}

/// The settings of a directory, where no project is trusted unless all are.
pub fn load(directory: &Path, worktree: &Path, environment: &Environment) -> Result<Settings, ConfigError> {
    load_judged(directory, worktree, environment, &Judge { cautions: &[], is_trusted: &|_| false })
}

/// The settings of a directory.
pub fn load_judged(
    directory: &Path,
    worktree: &Path,
    environment: &Environment,
    judge: &Judge<'_>,
) -> Result<Settings, ConfigError> {
    load_from(&Places::new(directory, worktree, environment), judge)
}

/// The same, for whoever knows the places.
pub(crate) fn load_from(places: &Places, judge: &Judge<'_>) -> Result<Settings, ConfigError> {
    let mut reader = Reader::new(places);
    let found = reader.everything()?;
    let global = merged(found.iter().filter(|one| one.is_global), places)?;
    let user = merged(found.iter().filter(|one| one.level() == Level::User), places)?;

    let mut sieve = DangerFilter {
        places,
        cautions: cautions(&user, judge, places),
        found: Vec::new(),
        servers: Vec::new(),
    };
    let mut harmless = Merged::default();
    for one in &found {
        let mut layer = one.layer(Placeholders::Keep, places)?;
        if one.level() == Level::Project {
            sieve.sift(&mut layer, &one.source());
        }
        harmless.add(layer);
    }
    for link in reader.links.iter().cloned().chain(linked(places)) {
        sieve.link(&link);
    }

    for program in own_programs(&harmless, places) {
        sieve.own_program(&program);
    }

    let key = TrustKey { checkout: real(places.checkout()), hash: danger::hash(&sieve.found) };
    let standing = match () {
        () if places.environment.trusts_all() => Standing::Trusted,
        () if sieve.found.is_empty() => Standing::Plain,
        () if (judge.is_trusted)(&key) => Standing::Trusted,
        () => Standing::Untrusted,
    };
    let (taken, withheld_servers) = match standing {
        Standing::Untrusted => (harmless, sieve.servers),
        Standing::Plain | Standing::Trusted if reader.links.is_empty() => {
            (merged(found.iter(), places)?, Vec::new())
        }
        Standing::Plain | Standing::Trusted => {
            reader = Reader { follows_links: true, ..Reader::new(places) };
            (merged(reader.everything()?.iter(), places)?, Vec::new())
        }
    };
    let trust = Trust { standing, key, dangers: sieve.found };
    if standing == Standing::Untrusted {
        reader.warnings.extend(trust.warnings(places));
    }
    let warnings = reader.warnings;
    Settings::check(Loaded { merged: taken, user, global, trust, withheld_servers, warnings }, places)
}

/// The settings of the user alone, for what belongs to no directory.
pub fn load_global(environment: &Environment) -> Result<Settings, ConfigError> {
    load_global_from(&Places::new(&environment.home, &environment.home, environment))
}

/// The same, for whoever knows the places.
pub(crate) fn load_global_from(places: &Places) -> Result<Settings, ConfigError> {
    let mut reader = Reader::new(places);
    let mut found = Vec::new();
    reader.add_files(&mut found, &places.global_files(), Level::User)?;
    let global = merged(found.iter(), places)?;
    reader.add_markdown(&mut found, &places.config_dir, Level::User)?;
    let user = merged(found.iter(), places)?;
    let key = TrustKey { checkout: real(places.checkout()), hash: danger::hash(&[]) };
    let trust = Trust { standing: Standing::Plain, key, dangers: Vec::new() };
    let warnings = reader.warnings;
    let loaded = Loaded { merged: user.clone(), user, global, trust, withheld_servers: Vec::new(), warnings };
    Settings::check(loaded, places)
}

fn merged<'a>(found: impl Iterator<Item = &'a Found>, places: &Places) -> Result<Merged, ConfigError> {
    let mut merged = Merged::default();
    for one in found {
        merged.add(one.layer(Placeholders::Replace, places)?);
    }
    Ok(merged)
}

/// Formatters and language servers among the project's packages that would be started because they are there.
fn own_programs(settings: &Merged, places: &Places) -> Vec<PathBuf> {
    let is_on = |key: &str| matches!(settings.value.get(key), Some(Value::Bool(true) | Value::Object(_)));
    let directory = &places.directory;
    let top = places.checkout();
    let mut commands = Vec::new();
    if is_on("formatter") {
        let enabled = sturdy_worktree::format::known(directory, top).into_iter().filter(|one| one.is_enabled);
        commands.extend(enabled.map(|one| one.command));
    }
    if is_on("lsp") {
        commands.extend(sturdy_worktree::lsp::known(directory, top).into_iter().map(|one| one.command));
    }
    let programs = commands.into_iter().filter_map(|command| command.into_iter().next().map(PathBuf::from));
    let mut own: Vec<PathBuf> = programs.filter(|program| program.starts_with(top)).collect();
    own.sort();
    own.dedup();
    own
}

/// What asks or forbids before a project says anything.
fn cautions(user: &Merged, judge: &Judge<'_>, places: &Places) -> Vec<Rule> {
    let home = places.environment.home.to_string_lossy();
    let own = user.value.get("permission").unwrap_or(&Value::Null);
    let own = sturdy_session::rules::from_config(own, &home).unwrap_or_default();
    judge.cautions.iter().cloned().chain(own).filter(|rule| rule.action != Action::Allow).collect()
}

/// Instructions and skills of the project that are really somewhere else.
fn linked(places: &Places) -> Vec<PathBuf> {
    let mut all = places.instruction_files();
    all.extend(skills::in_project(places));
    all.retain(|path| places.leads_outside(path));
    all
}

fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// Something that was found, in the order in which it counts.
struct Found {
    content: Content,
    /// Of the user's own directory, and no agent or command.
    is_global: bool,
}

enum Content {
    Text(Text),
    Read(Source, Box<Layer>),
}

impl Found {
    fn level(&self) -> Level {
        match &self.content {
            Content::Text(text) => text.level,
            Content::Read(_, layer) => layer.level,
        }
    }

    fn source(&self) -> Source {
        match &self.content {
            Content::Text(text) => text.source.clone(),
            Content::Read(source, _) => source.clone(),
        }
    }

    /// The layer. What the user wrote is always replaced.
    fn layer(&self, placeholders: Placeholders, places: &Places) -> Result<Layer, ConfigError> {
        match &self.content {
            Content::Text(text) if text.level == Level::User => parse(text, Placeholders::Replace, places),
            Content::Text(text) => parse(text, placeholders, places),
            Content::Read(_, layer) => Ok(Layer::clone(layer)),
        }
    }
}

/// Reads files, and notes those that are not obeyed.
struct Reader<'a> {
    places: &'a Places,
    warnings: Vec<Warning>,
    /// Files of the project that lead outside the checkout.
    links: Vec<PathBuf>,
    follows_links: bool,
}

impl<'a> Reader<'a> {
    fn new(places: &'a Places) -> Self {
        let follows_links = places.environment.trusts_all();
        Self { places, warnings: Vec::new(), links: Vec::new(), follows_links }
    }

    fn everything(&mut self) -> Result<Vec<Found>, ConfigError> {
        let places = self.places;
        let mut found = Vec::new();
        self.add_files(&mut found, &places.global_files(), Level::User)?;
        found.iter_mut().for_each(|one| one.is_global = true);
        self.add_files(&mut found, places.named_file().as_slice(), Level::User)?;
        self.add_files(&mut found, &places.project_files(), Level::Project)?;
        for (level, dir) in places.leveled_directories() {
            // The user's own files are in already; their agents come here, before the project's.
            if dir != places.config_dir {
                self.add_files(&mut found, &Places::files_in(&dir), level)?;
            }
            self.add_markdown(&mut found, &dir, level)?;
        }
        found.extend(from_environment(places));
        // Whoever runs the machine has the last word.
        self.add_files(&mut found, &places.managed_files(), Level::User)?;
        Ok(found)
    }

    fn add_files(
        &mut self,
        found: &mut Vec<Found>,
        paths: &[PathBuf],
        level: Level,
    ) -> Result<(), ConfigError> {
        for path in paths {
            let is_there = path.is_file();
            let draft = self.places.draft_of(path).map(str::to_owned);
            // Nobody else has written what is not there.
            if is_there && !self.is_read(path, level) {
                continue;
            }
            let text = match draft {
                Some(draft) => Some(draft),
                None if is_there => text_of(path)?,
                None => None,
            };
            let Some(text) = text else { continue };
            let base = path.parent().unwrap_or(Path::new("/")).to_owned();
            let text = Text { source: Source::File(path.clone()), level, text, base };
            found.push(Found { content: Content::Text(text), is_global: false });
        }
        Ok(())
    }

    fn add_markdown(&mut self, found: &mut Vec<Found>, dir: &Path, level: Level) -> Result<(), ConfigError> {
        if dir.is_dir() && !self.is_read(dir, level) {
            return Ok(());
        }
        let layers = markdown::layers(dir, level, &mut |path| self.is_read(path, level))?;
        found.extend(layers.into_iter().map(|(source, layer)| Found {
            content: Content::Read(source, Box::new(layer)),
            is_global: false,
        }));
        Ok(())
    }

    /// Whether a file is obeyed: nobody else could have written it, and it stands where it seems to.
    fn is_read(&mut self, path: &Path, level: Level) -> bool {
        if let Some(why) = self.places.refusal(path) {
            self.warnings.push(Warning::about(path, format!("is ignored: {why}")));
            return false;
        }
        let is_skipped = !self.follows_links && level == Level::Project && self.places.leads_outside(path);
        if is_skipped {
            self.links.push(path.to_owned());
        }
        !is_skipped
    }
}

fn from_environment(places: &Places) -> Vec<Found> {
    const CONTENT: &str = "OPENCODE_CONFIG_CONTENT";
    const PERMISSION: &str = "OPENCODE_PERMISSION";
    let mut found = Vec::new();
    let mut add = |content| found.push(Found { content, is_global: false });
    let text = |name: &'static str, text: String| {
        let base = places.directory.clone();
        Content::Text(Text { source: Source::Variable(name), level: Level::User, text, base })
    };
    if let Some(said) = places.environment.filled(CONTENT) {
        add(text(CONTENT, said.to_owned()));
    }
    if let Some(said) = places.environment.filled(PERMISSION) {
        add(text(PERMISSION, format!("{{\"permission\":{said}\n}}")));
    }
    for (name, key) in [("OPENCODE_DISABLE_AUTOCOMPACT", "auto"), ("OPENCODE_DISABLE_PRUNE", "prune")] {
        if places.is_on(name) {
            let mut value = Map::new();
            value.insert("compaction".to_owned(), json!({ key: false }));
            let source = Source::Variable(name);
            add(Content::Read(source.clone(), Box::new(whole(source, Level::User, value))));
        }
    }
    found
}
