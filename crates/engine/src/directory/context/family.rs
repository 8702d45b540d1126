//! What to say to which models.
//!
//! All get the same text; families with habits of their own get a few lines more.

use sturdy_llm::catalog::Voice;

const BASE: &str = include_str!("base.md");

/// The prompt of an agent that has none of its own.
pub(super) fn prompt(voice: Voice) -> String {
    match addition(voice) {
        Some(addition) => format!("{}\n\n{}", BASE.trim(), addition.trim()),
        None => BASE.trim().to_owned(),
    }
}

fn addition(voice: Voice) -> Option<&'static str> {
    match voice {
        Voice::Plain => None,
        Voice::Claude => Some(include_str!("claude.md")),
        Voice::Codex => Some(include_str!("codex.md")),
        Voice::Gemini => Some(include_str!("gemini.md")),
        Voice::Gpt => Some(include_str!("gpt.md")),
        Voice::Kimi => Some(include_str!("kimi.md")),
        Voice::Muse => Some(include_str!("muse.md")),
        Voice::Persist => Some(include_str!("persist.md")),
        Voice::Trinity => Some(include_str!("trinity.md")),
    }
}
