//! Collecting what the system text is made of: from the instance, the disk and the clock.

use super::{AnsweringModel, Inputs, Workplace, system};
use crate::directory::agents::Agent;
use crate::directory::instance::Instance;
use crate::directory::instructions::Instruction;
use crate::directory::scratch::scratch_dir;
use crate::directory::skills::Skill;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use sturdy_llm::ModelEntry;
use sturdy_session::rules::{self, action};
use sturdy_session::types::session::Action;

/// The system text of a step: one message.
pub(crate) fn system_text(
    instance: &Instance,
    agent: &Agent,
    entry: &ModelEntry,
    mut instructions: Vec<Instruction>,
    structured: bool,
    extra: Option<&str>,
) -> Vec<String> {
    instructions.extend(instance.fetched.all());
    let skills = skills(instance, agent);
    let servers = servers(instance, agent);
    let date = Timestamp::now().to_zoned(TimeZone::UTC).strftime("%A, %Y-%m-%d").to_string();
    let environment = &instance.settings.places().environment;
    let scratch = scratch_dir(environment).display().to_string();
    let temporary = environment.temporary_dir().display().to_string();
    let inputs = Inputs {
        agent_prompt: agent.prompt.as_deref(),
        model: AnsweringModel {
            name: &entry.info.name,
            provider_id: &entry.info.provider_id,
            model_id: &entry.info.id,
            voice: entry.info.traits.voice,
        },
        place: Workplace {
            directory: &instance.directory,
            worktree: &instance.worktree,
            is_git: instance.project.vcs.is_some(),
            platform: std::env::consts::OS,
            scratch: &scratch,
            temporary: &temporary,
            date: &date,
        },
        instructions: &instructions,
        servers: &servers,
        skills: Some(&skills),
        structured,
        user_system: extra,
        ..Inputs::default()
    };
    vec![system(&inputs)]
}

/// The skills that the agent may load.
fn skills(instance: &Instance, agent: &Agent) -> Vec<Skill> {
    if rules::is_hidden("skill", &agent.permission) {
        return Vec::new();
    }
    let is_denied = |name: &str| {
        [&agent.permission, &agent.floor].iter().any(|rules| action("skill", name, rules) == Action::Deny)
    };
    instance.settings.skills().iter().filter(|skill| !is_denied(&skill.name)).cloned().collect()
}

/// What MCP servers say about themselves, unless the agent may use nothing of theirs.
fn servers(instance: &Instance, agent: &Agent) -> Vec<(String, String)> {
    let is_usable = |tools: &[String]| {
        tools.is_empty() || tools.iter().any(|tool| !rules::is_hidden(tool, &agent.permission))
    };
    let all = instance.mcp.instructions().into_iter();
    all.filter(|(_, _, tools)| is_usable(tools)).map(|(name, words, _)| (name, words)).collect()
}
