//! Who answers: the built-in agents, and those of the configuration.
//!
//! `native.rs` has the built-in ones with their rules, `overlay.rs` lays the configuration over them.
//! Rules stand in this order, last match wins: defaults, the agent's own, the user's, the agent's
//! from the configuration.
//!
//! Not here: judging a call (`sturdy_session::rules`), reading files (`config`).

mod native;
mod overlay;

use crate::directory::config::{AgentEntry, ConfigError, Settings, Standing};
use serde::{Deserialize, Serialize};
use sturdy_session::json::{Map, Num};
use sturdy_session::types::session::Rule;

/// An agent as clients see it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Agent {
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    pub mode: Mode,
    /// Built in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub native: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hidden: Option<bool>,
    #[serde(rename = "topP", skip_serializing_if = "Option::is_none", serialize_with = "as_number")]
    pub top_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "as_number")]
    pub temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub color: Option<String>,
    pub permission: Vec<Rule>,
    /// No call is judged more loosely than by these, whatever a project says: the last that matches counts, and
    /// the first allows everything. Of a trusted project they are the user's own rules; of any other also the
    /// built-in ones.
    #[serde(skip)]
    pub floor: Vec<Rule>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<AgentModel>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    /// The system text in place of the model family's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// Passed on to the provider.
    pub options: Map,
    /// Most steps of a turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// A person talks to it.
    Primary,
    /// Another agent talks to it.
    Subagent,
    All,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AgentModel {
    #[serde(rename = "providerID")]
    pub provider_id: String,
    #[serde(rename = "modelID")]
    pub model_id: String,
}

impl AgentModel {
    /// `provider/model`, where the model's name may have slashes of its own.
    fn parse(text: &str) -> Option<Self> {
        let (provider, model) = text.split_once('/')?;
        let is_whole = !provider.is_empty() && !model.is_empty();
        is_whole.then(|| Self { provider_id: provider.to_owned(), model_id: model.to_owned() })
    }
}

impl Agent {
    #[must_use]
    pub fn is_hidden(&self) -> bool {
        self.hidden == Some(true)
    }

    /// Whether a person may begin with it.
    #[must_use]
    pub fn can_lead(&self) -> bool {
        self.mode != Mode::Subagent && !self.is_hidden()
    }
}

/// All agents of a directory.
#[derive(Clone, Debug)]
pub struct Agents {
    /// The default one first, then by name.
    list: Vec<Agent>,
    default: Result<String, ConfigError>,
}

impl Agents {
    /// Puts the agents together.
    pub fn build(settings: &Settings) -> Result<Self, ConfigError> {
        let grounds = native::OutsideAccess::of(settings);
        let mut list = assemble(settings, settings.rules(), settings.agents(), &grounds)?;
        let users = assemble(settings, settings.user_rules(), settings.user_agents(), &grounds)?;
        for agent in &mut list {
            agent.floor = floor(&agent.name, &users, settings, &grounds)?;
        }

        let default = default_name(&list, settings);
        let first = settings.default_agent().unwrap_or("build");
        list.sort_by(|a, b| (a.name != first, &a.name).cmp(&(b.name != first, &b.name)));
        Ok(Self { list, default })
    }

    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Agent> {
        self.list.iter().find(|agent| agent.name == name)
    }

    /// As clients list them.
    #[must_use]
    pub fn all(&self) -> &[Agent] {
        &self.list
    }

    /// Those a person or an agent may choose.
    pub fn visible(&self) -> impl Iterator<Item = &Agent> {
        self.list.iter().filter(|agent| !agent.is_hidden())
    }

    /// Those a task may be given to.
    pub fn delegates(&self) -> impl Iterator<Item = &Agent> {
        self.visible().filter(|agent| agent.mode != Mode::Primary)
    }

    /// Name and description of those that can be given work and pass.
    pub(crate) fn delegated(&self, passes: impl Fn(&str) -> bool) -> Vec<(String, String)> {
        let described = |agent: &Agent| (agent.name.clone(), agent.description.clone().unwrap_or_default());
        self.delegates().filter(|agent| passes(&agent.name)).map(described).collect()
    }

    /// The agent of a prompt that names none. A `default_agent` that cannot lead is an error here and not
    /// earlier: prompts that name their agent go on working.
    pub fn default_agent(&self) -> Result<&Agent, ConfigError> {
        let name = self.default.as_ref().map_err(Clone::clone)?;
        Ok(self.get(name).expect("BUG: the default agent is one of the list"))
    }
}

/// The rules that ask or forbid when nobody has said anything.
#[must_use]
pub fn cautions() -> Vec<Rule> {
    native::asked_by_default()
}

/// The built-in agents with these rules, changed by these entries.
fn assemble(
    settings: &Settings,
    rules: &[Rule],
    entries: Vec<Entry<'_>>,
    grounds: &native::OutsideAccess,
) -> Result<Vec<Agent>, ConfigError> {
    let mut list = native::agents(settings, rules, grounds);
    overlay::apply(&mut list, settings, rules, entries, grounds)?;
    list.iter_mut().for_each(|agent| native::open_saved_output(agent, grounds));
    Ok(list)
}

/// Section, name and entry of the configuration.
type Entry<'a> = (&'static str, &'a str, &'a AgentEntry);

fn floor(
    name: &str,
    users: &[Agent],
    settings: &Settings,
    grounds: &native::OutsideAccess,
) -> Result<Vec<Rule>, ConfigError> {
    if settings.trust().standing == Standing::Trusted {
        let mut rules = vec![native::allow_all()];
        rules.extend(settings.user_rules().iter().cloned());
        for (section, _, entry) in settings.user_agents().into_iter().filter(|(_, own, _)| *own == name) {
            rules.extend(settings.rules_of(&entry.tools, &entry.permission, &[section, name])?);
        }
        return Ok(rules);
    }
    let own = users.iter().find(|agent| agent.name == name).cloned();
    let unknown = || {
        let mut agent = native::unknown(name, settings.user_rules(), grounds);
        native::open_saved_output(&mut agent, grounds);
        agent
    };
    Ok(own.unwrap_or_else(unknown).permission)
}

fn default_name(list: &[Agent], settings: &Settings) -> Result<String, ConfigError> {
    let wrong = |message: String| settings.wrong(&["default_agent"], message);
    let Some(name) = settings.default_agent() else {
        let first = list.iter().find(|agent| agent.can_lead());
        return first
            .map(|agent| agent.name.clone())
            .ok_or_else(|| settings.wrong(&["agent"], "There is no agent left that a person can talk to"));
    };
    match list.iter().find(|agent| agent.name == name) {
        None => Err(wrong(format!("There is no agent \"{name}\""))),
        Some(agent) if agent.mode == Mode::Subagent => {
            Err(wrong(format!("The agent \"{name}\" is a subagent and cannot be the default")))
        }
        Some(agent) if agent.is_hidden() => {
            Err(wrong(format!("The agent \"{name}\" is hidden and cannot be the default")))
        }
        Some(agent) => Ok(agent.name.clone()),
    }
}

/// `1`, not `1.0`: as the clients' language writes numbers.
fn as_number<S: serde::Serializer>(number: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    number.map(Num).serialize(serializer)
}
