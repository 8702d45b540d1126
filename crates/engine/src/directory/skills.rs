//! Skills: instructions a model loads when it needs them.
//!
//! A skill is a directory with a `SKILL.md`: a head with name and description, and a text. They stand
//! beside agents and commands, and in the places other programs use for them. A skill that cannot be
//! read is left out with a warning: it may belong to another program.

use crate::directory::config::{Places, files_below, read_document};
use serde::Serialize;
use serde_json::Value;
use std::path::{Path, PathBuf};
use tracing::warn;

/// A skill as clients see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Skill {
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The file.
    pub location: String,
    pub content: String,
}

impl Skill {
    /// Where the files are that the skill speaks of.
    #[must_use]
    pub fn directory(&self) -> PathBuf {
        Path::new(&self.location).parent().unwrap_or(Path::new("/")).to_owned()
    }
}

/// All skills of a directory, by name; of two with one name, the nearer. `paths` are those of the
/// configuration.
pub(crate) fn find(places: &Places, paths: &[String]) -> Vec<Skill> {
    let mut skills: Vec<Skill> = Vec::new();
    for root in roots(places, paths) {
        for path in files_below(&root, true, &is_skill) {
            if let Some(why) = places.refusal(&path) {
                warn!(file = %path.display(), why, "a skill is ignored");
                continue;
            }
            let Some(skill) = read(&path) else { continue };
            match skills.iter_mut().find(|known| known.name == skill.name) {
                Some(known) if known.location == skill.location => {}
                Some(known) => {
                    warn!(
                        name = skill.name,
                        kept = skill.location,
                        hidden = known.location,
                        "two skills with one name"
                    );
                    *known = skill;
                }
                None => skills.push(skill),
            }
        }
    }
    skills.sort_by(|a, b| a.name.cmp(&b.name));
    skills
}

/// The files of skills in the usual places of the project.
pub(crate) fn in_project(places: &Places) -> Vec<PathBuf> {
    let in_checkout = |root: &PathBuf| root.starts_with(places.checkout());
    let roots = roots(places, &[]).into_iter().filter(in_checkout);
    roots.flat_map(|root| files_below(&root, true, &is_skill)).collect()
}

fn is_skill(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == "SKILL.md")
}

/// Where skills may stand, later wins.
fn roots(places: &Places, paths: &[String]) -> Vec<PathBuf> {
    let mut roots = Vec::new();
    if !places.is_on("OPENCODE_DISABLE_EXTERNAL_SKILLS") {
        let mut shared = vec![".agents/skills"];
        if !places.is_on("OPENCODE_DISABLE_CLAUDE_CODE")
            && !places.is_on("OPENCODE_DISABLE_CLAUDE_CODE_SKILLS")
        {
            shared.insert(0, ".claude/skills");
        }
        let home = places.environment.home.clone();
        for dir in std::iter::once(home).chain(places.downwards()) {
            roots.extend(shared.iter().map(|name| dir.join(name)));
        }
    }
    for dir in places.directories() {
        roots.extend(["skill", "skills"].map(|name| dir.join(name)));
    }
    roots.extend(paths.iter().map(|path| places.resolve(path, &places.directory)));

    let mut seen = Vec::new();
    roots.retain(|root| {
        let is_new = !seen.contains(root);
        seen.push(root.clone());
        is_new
    });
    roots
}

fn read(path: &Path) -> Option<Skill> {
    let document = match read_document(path) {
        Ok(document) => document?,
        Err(error) => {
            warn!(%error, "a skill cannot be read");
            return None;
        }
    };
    let text = |key: &str| {
        document.head.get(key).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty())
    };
    let directory = path.parent()?.file_name()?.to_string_lossy().into_owned();
    Some(Skill {
        name: text("name").map_or(directory, str::to_owned),
        description: text("description").map(str::to_owned),
        location: path.display().to_string(),
        content: document.untrimmed,
    })
}
