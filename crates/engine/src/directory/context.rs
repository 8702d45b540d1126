//! The system text of a request.
//!
//! [`system`] is pure: the same inputs give the same text, byte by byte, so that a provider's cache
//! keeps it. Its parts stand in this order: who the model is here, where it is, what the person and
//! the project ask of it, what it can load, and what this one prompt adds.
//!
//! `gather.rs` collects the inputs; `family.rs` knows what to say to which models.

mod family;
mod gather;

pub(crate) use gather::system_text;

use crate::directory::instructions::Instruction;
use crate::directory::skills::Skill;
use sturdy_llm::catalog::PromptStyle;

const STRUCTURED: &str = "The answer to this prompt is an object, not a text. When you have what you need, call the tool \
     StructuredOutput once with the finished object; it ends your work. Nothing you write instead of that call is read.";

/// Everything that goes into the text.
#[derive(Clone, Debug, Default)]
pub struct Inputs<'a> {
    /// Replaces the family's prompt.
    pub agent_prompt: Option<&'a str>,
    pub model: AnsweringModel<'a>,
    pub place: Workplace<'a>,
    /// Directories beside the worktree that the person described.
    pub references: &'a [Reference],
    pub instructions: &'a [Instruction],
    /// What servers of tools say about themselves: name and text.
    pub servers: &'a [(String, String)],
    /// None when the tool to load them is not offered.
    pub skills: Option<&'a [Skill]>,
    /// An object is wanted, not a text.
    pub structured: bool,
    pub user_system: Option<&'a str>,
}

/// The model that will answer, as the system text names it.
#[derive(Clone, Copy, Debug, Default)]
pub struct AnsweringModel<'a> {
    pub name: &'a str,
    pub provider_id: &'a str,
    pub model_id: &'a str,
    /// The habits of its family.
    pub voice: PromptStyle,
}

/// Where the work is done.
#[derive(Clone, Copy, Debug, Default)]
pub struct Workplace<'a> {
    pub directory: &'a str,
    pub worktree: &'a str,
    pub is_git: bool,
    pub platform: &'a str,
    /// For files that nobody keeps; using it is not asked about.
    pub scratch: &'a str,
    /// The same of the system's: commands may write there.
    pub temporary: &'a str,
    /// A day, not an hour: the text changes once a day.
    pub date: &'a str,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    pub name: String,
    pub path: String,
    pub description: String,
}

/// The system text.
#[must_use]
pub fn system(inputs: &Inputs<'_>) -> String {
    let mut parts = vec![match inputs.agent_prompt {
        Some(prompt) if !prompt.trim().is_empty() => prompt.to_owned(),
        _ => family::prompt(inputs.model.voice),
    }];
    parts.push(environment(&inputs.model, &inputs.place));
    parts.extend(references(inputs.references));
    parts.extend(inputs.instructions.iter().map(instruction));
    parts.extend(servers(inputs.servers));
    parts.extend(inputs.skills.and_then(skills));
    parts.extend(inputs.structured.then(|| STRUCTURED.to_owned()));
    parts.extend(inputs.user_system.map(str::to_owned));
    parts.retain(|part| !part.trim().is_empty());
    parts.join("\n")
}

fn environment(model: &AnsweringModel<'_>, place: &Workplace<'_>) -> String {
    let AnsweringModel { name, provider_id, model_id, .. } = model;
    let Workplace { directory, worktree, is_git, platform, scratch, temporary, date } = place;
    let git = if *is_git { "yes" } else { "no" };
    format!(
        "You are the model {name}, id {provider_id}/{model_id}. This is where you work:\n<env>\n  directory: \
         {directory}\n  worktree: {worktree}\n  git repository: {git}\n  platform: {platform}\n  scratch directory: \
         {scratch}\n  temporary directory: {temporary}\n  date: {date}\n</env>"
    )
}

fn references(references: &[Reference]) -> Option<String> {
    let line = |reference: &Reference| {
        format!("- {} ({}): {}", reference.name, reference.path, one_line(&reference.description))
    };
    let lines: Vec<String> = references.iter().map(line).collect();
    (!lines.is_empty()).then(|| {
        format!(
            "Beside the worktree you may read these directories:\n<references>\n{}\n</references>",
            lines.join("\n")
        )
    })
}

fn instruction(instruction: &Instruction) -> String {
    format!("Instructions from: {}\n{}", instruction.source, instruction.text.trim_end())
}

fn servers(servers: &[(String, String)]) -> Option<String> {
    let entry = |(name, text): &(String, String)| format!("## {name}\n{}", text.trim());
    let entries: Vec<String> =
        servers.iter().filter(|(_, text)| !text.trim().is_empty()).map(entry).collect();
    (!entries.is_empty()).then(|| {
        format!("<mcp_instructions>\nWhat the connected MCP servers say about their use:\n{}\n</mcp_instructions>", entries.join("\n"))
    })
}

fn skills(skills: &[Skill]) -> Option<String> {
    let line = |skill: &Skill| {
        let description = skill.description.as_deref().unwrap_or("no description");
        format!("- {}: {}", skill.name, one_line(description))
    };
    let lines: Vec<String> = skills.iter().map(line).collect();
    (!lines.is_empty()).then(|| {
        format!(
            "These skills hold directions for particular kinds of work. When one fits what you are about to do, load it \
             with the skill tool first:\n<skills>\n{}\n</skills>",
            lines.join("\n")
        )
    })
}

/// A description of several lines would look like several entries.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
