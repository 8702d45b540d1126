//! How full the context window of a model is.
//!
//! A model has a window; a part of it belongs to the answer. What is left is `usable`, and a
//! step that used as much means that the next one would not fit.

use crate::json::utf16_len;
use crate::types::usage::Tokens;

/// More than this is never asked of a model in one answer, unless the settings say so.
pub const OUTPUT_TOKENS_MAX: u64 = 32_000;
/// Kept free below an input limit, so that the summary itself still fits.
const RESERVED_TOKENS: u64 = 20_000;

/// What a model can take, in tokens. Zero means unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    pub context: u64,
    pub input: Option<u64>,
    pub output: u64,
}

/// The settings that matter here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Whether a full window is compacted without being asked.
    pub auto: bool,
    pub reserved: Option<u64>,
    /// Ceiling for one answer.
    pub output_tokens_max: u64,
}

impl Default for Budget {
    fn default() -> Self {
        Self { auto: true, reserved: None, output_tokens_max: OUTPUT_TOKENS_MAX }
    }
}

impl Limits {
    /// How long an answer may be.
    #[must_use]
    pub fn answer(&self, ceiling: u64) -> u64 {
        match self.output.min(ceiling) {
            0 => ceiling,
            tokens => tokens,
        }
    }

    /// How much history fits, or `None` when the window is unknown.
    #[must_use]
    pub fn usable(&self, budget: &Budget) -> Option<u64> {
        let answer = self.answer(budget.output_tokens_max);
        if self.context == 0 {
            return None;
        }
        match self.input {
            Some(input) if input > 0 => {
                let reserved = budget.reserved.unwrap_or(RESERVED_TOKENS.min(answer));
                Some(input.saturating_sub(reserved))
            }
            Some(_) | None => Some(self.context.saturating_sub(answer)),
        }
    }

    /// Whether a step that used so much fills the window.
    #[must_use]
    pub fn is_full(&self, tokens: &Tokens, budget: &Budget) -> bool {
        let Some(usable) = self.usable(budget) else { return false };
        budget.auto && tokens.used() >= usable
    }
}

/// About how many tokens a text is.
#[must_use]
pub fn estimate(text: &str) -> u64 {
    estimate_chars(utf16_len(text) as u64)
}

/// About how many tokens so many characters are: a quarter, rounded.
#[must_use]
pub fn estimate_chars(chars: u64) -> u64 {
    chars.saturating_add(2) / 4
}
