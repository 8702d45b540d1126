//! Which system text each model family gets.
//!
//! All get the same text; families with habits of their own get a few lines more.

use sturdy_llm::catalog::PromptStyle;

const BASE: &str = include_str!("base.md");

/// The prompt of an agent that has none of its own.
pub(super) fn prompt(voice: PromptStyle) -> String {
    match addition(voice) {
        Some(addition) => format!("{}\n\n{}", BASE.trim(), addition.trim()),
        None => BASE.trim().to_owned(),
    }
}

fn addition(voice: PromptStyle) -> Option<&'static str> {
    match voice {
        PromptStyle::Plain => None,
        PromptStyle::Claude => Some(include_str!("claude.md")),
        PromptStyle::Codex => Some(include_str!("codex.md")),
        PromptStyle::Gemini => Some(include_str!("gemini.md")),
        PromptStyle::Gpt => Some(include_str!("gpt.md")),
        PromptStyle::Kimi => Some(include_str!("kimi.md")),
        PromptStyle::Muse => Some(include_str!("muse.md")),
        PromptStyle::Persist => Some(include_str!("persist.md")),
        PromptStyle::Trinity => Some(include_str!("trinity.md")),
    }
}
