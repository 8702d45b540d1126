//! Commands: prompts with a name and places for arguments.
//!
//! Built in, from the configuration and its markdown files, prompts of MCP servers, and skills whose
//! name is free; a later one with the same name takes the place of an earlier one, except skills.
//!
//! Not here: putting arguments in (`sturdy_session::command`) and running shell snippets.

use crate::directory::config::{CommandEntry, Level, Settings};
use crate::directory::skills::Skill;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};
use sturdy_session::command::hints;

const INIT: &str = include_str!("commands/init.md");
const REVIEW: &str = include_str!("commands/review.md");

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    pub name: String,
    pub description: Option<String>,
    pub agent: Option<String>,
    /// `provider/model`.
    pub model: Option<String>,
    pub variant: Option<String>,
    pub source: Source,
    pub template: String,
    /// Runs in a session of its own.
    pub subtask: Option<bool>,
    pub hints: Vec<String>,
    /// Snippets run and files are attached; not those of a project that nobody trusts.
    pub is_obeyed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    Native,
    Config,
    /// A prompt of an MCP server.
    Mcp,
    Skill,
}

impl Command {
    #[must_use]
    pub fn new(name: &str, source: Source, template: impl Into<String>) -> Self {
        let template = template.into();
        Self {
            name: name.to_owned(),
            description: None,
            agent: None,
            model: None,
            variant: None,
            source,
            // A skill is a document: a dollar sign in it is a dollar sign.
            hints: if source == Source::Skill { Vec::new() } else { hints(&template) },
            template,
            subtask: None,
            is_obeyed: true,
        }
    }
}

/// All commands, in the order clients show them.
#[must_use]
pub fn commands(settings: &Settings, prompts: Vec<Command>) -> Vec<Command> {
    let mut all = native(settings);
    let is_obeyed = |name: &str| {
        let level = settings.level(&["command", name, "template"]);
        level == Level::User || !settings.trust().is_untrusted()
    };
    let configured = settings
        .commands()
        .iter()
        .map(|(name, entry)| Command { is_obeyed: is_obeyed(name), ..from_config(name, entry) });
    for command in configured.chain(prompts) {
        match all.iter_mut().find(|known| known.name == command.name) {
            Some(known) => *known = command,
            None => all.push(command),
        }
    }
    for skill in settings.skills() {
        if !all.iter().any(|known| known.name == skill.name) {
            let command = Command::new(&skill.name, Source::Skill, document(skill));
            all.push(Command { description: skill.description.clone(), ..command });
        }
    }
    all
}

/// A skill as a prompt, with the place of the files it speaks of.
fn document(skill: &Skill) -> String {
    let place = skill.directory();
    format!(
        "{}\n\nBase directory: {}\nPaths in the skill are relative to it.",
        skill.content.trim(),
        place.display()
    )
}

fn native(settings: &Settings) -> Vec<Command> {
    let worktree = settings.places().worktree.display().to_string();
    let place = if worktree == "/" { settings.places().directory.display().to_string() } else { worktree };
    let init = Command {
        description: Some("write or improve AGENTS.md for this project".to_owned()),
        ..Command::new("init", Source::Native, INIT.trim().replace("{{place}}", &place))
    };
    let review = Command {
        description: Some(
            "review changes: a commit, a branch or a pull request; else what is not committed".to_owned(),
        ),
        subtask: Some(true),
        ..Command::new("review", Source::Native, REVIEW.trim())
    };
    vec![init, review]
}

fn from_config(name: &str, entry: &CommandEntry) -> Command {
    let entry = entry.clone();
    Command {
        description: entry.description,
        agent: entry.agent,
        model: entry.model,
        variant: entry.variant,
        subtask: entry.subtask,
        ..Command::new(name, Source::Config, entry.template.unwrap_or_default())
    }
}

/// The keys clients know, in the order they know. A configured command says `null` for what it leaves
/// open, the others say nothing.
impl Serialize for Command {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let source = match self.source {
            Source::Native | Source::Config => "command",
            Source::Mcp => "mcp",
            Source::Skill => "skill",
        };
        let fields = [
            ("name", json!(self.name)),
            ("description", json!(self.description)),
            ("agent", json!(self.agent)),
            ("model", json!(self.model)),
            ("source", json!(source)),
            ("template", json!(self.template)),
            ("subtask", json!(self.subtask)),
            ("hints", json!(self.hints)),
        ];
        let is_said = |value: &Value| self.source == Source::Config || !value.is_null();
        serializer
            .collect_map(fields.iter().filter(|(_, value)| is_said(value)).map(|(key, value)| (key, value)))
    }
}
