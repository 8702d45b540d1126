//! What to say to which models.
//!
//! All get the same text; families with habits of their own get a few lines more. The family is told
//! from the provider's name for the model, first match.

const BASE: &str = include_str!("base.md");

/// The prompt of an agent that has none of its own.
pub(super) fn prompt(api_id: &str, provider_id: &str) -> String {
    match addition(&api_id.to_lowercase(), &provider_id.to_lowercase()) {
        Some(addition) => format!("{}\n\n{}", BASE.trim(), addition.trim()),
        None => BASE.trim().to_owned(),
    }
}

fn addition(api_id: &str, provider_id: &str) -> Option<&'static str> {
    let has = |word: &str| api_id.contains(word);
    if has("muse") {
        return Some(include_str!("muse.md"));
    }
    if has("gpt-4") || has("o1") || has("o3") {
        return Some(include_str!("persist.md"));
    }
    if has("gpt") {
        return Some(if has("codex") { include_str!("codex.md") } else { include_str!("gpt.md") });
    }
    if has("gemini-") {
        return Some(include_str!("gemini.md"));
    }
    if has("claude") {
        return Some(include_str!("claude.md"));
    }
    if has("trinity") {
        return Some(include_str!("trinity.md"));
    }
    let is_kimi = has("kimi") || provider_id.contains("moonshot") || provider_id.contains("kimi");
    is_kimi.then_some(include_str!("kimi.md"))
}
