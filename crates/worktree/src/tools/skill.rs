//! `skill`: loads a text of instructions by name.

use crate::tool::{Call, Done, PermissionAsk, Skill, Tool, ToolFailure, World, spec, text};
use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::json;
use std::path::{Path, PathBuf};
use sturdy_session::json::Map;
use sturdy_session::talk::ToolSpec;

/// How many of the files beside a skill are named.
const FILES_MAX: usize = 10;

/// How many entries beside a skill are looked at.
const ENTRIES_MAX: usize = 1_000;

#[derive(Debug)]
pub struct SkillTool(ToolSpec);

#[derive(Deserialize)]
struct Input {
    name: String,
}

impl SkillTool {
    /// Which skills there are stands in the system text: not every agent may load each of them.
    #[must_use]
    pub fn new() -> Self {
        let description = include_str!("skill.md").trim_end();
        Self(spec("skill", description, json!({ "name": text("The name of the skill") }), &["name"]))
    }
}

impl Default for SkillTool {
    fn default() -> Self {
        Self::new()
    }
}

impl Tool for SkillTool {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn run<'a>(&'a self, call: Call, world: &'a World) -> BoxFuture<'a, Result<Done, ToolFailure>> {
        Box::pin(async move {
            let Input { name } = call.decode()?;
            let skills = &world.settings.skills;
            let Some(skill) = skills.iter().find(|skill| skill.name == name).cloned() else {
                let names: Vec<&str> = skills.iter().map(|skill| skill.name.as_str()).collect();
                let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
                return Err(ToolFailure::failed(format!("There is no skill {name}. Known skills: {known}.")));
            };
            let ask = PermissionAsk::new("skill", vec![name.clone()], vec![name], Map::new());
            world.ask(ask).await?;

            let directory = skill.directory.clone();
            let files = world.blocking(move || Ok(beside(&directory))).await?;
            Ok(Done::new(
                format!("Loaded skill: {}", skill.name),
                told(&skill, &files),
                json!({
                    "name": skill.name,
                    "dir": skill.directory,
                }),
            ))
        })
    }
}

fn told(skill: &Skill, files: &[PathBuf]) -> String {
    let mut text = format!(
        "<skill_content name=\"{0}\">\n# Skill: {0}\n\n{1}\n\nBase directory: {2}\nPaths in the skill are relative to it.",
        skill.name,
        skill.content.trim(),
        skill.directory.display()
    );
    let files: Vec<String> = files.iter().map(|file| format!("<file>{}</file>", file.display())).collect();
    text.push_str(&format!("\n\n<skill_files>\n{}\n</skill_files>", files.join("\n")));
    text.push_str("\n</skill_content>");
    text
}

/// Files that came with the skill, at any depth. The directory was configured by the user, and only names
/// are read.
fn beside(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut looked_at = 0;
    let mut waiting = vec![directory.to_owned()];
    while let Some(here) = waiting.pop() {
        let Ok(entries) = std::fs::read_dir(&here) else { continue };
        for entry in entries.flatten().take(ENTRIES_MAX.saturating_sub(looked_at)) {
            looked_at += 1;
            // Links are not followed: they may lead anywhere, and round in circles.
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => waiting.push(entry.path()),
                Ok(kind) if kind.is_file() && entry.file_name() != "SKILL.md" => files.push(entry.path()),
                Ok(_) | Err(_) => {}
            }
        }
    }
    files.sort();
    files.truncate(FILES_MAX);
    files
}
