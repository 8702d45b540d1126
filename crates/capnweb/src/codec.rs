//! Values as text and back. Without a session: plain data only.
//!
//! `json` reads and writes the text, `encode` makes an expression of a value, `evaluate` a value of an expression.

pub(crate) mod encode;
pub(crate) mod evaluate;
pub(crate) mod json;

use crate::{ErrorValue, Limits, Thrown, Value};
use encode::Encoder;
use evaluate::{Evaluator, Scope};

/// The expression a value is written as.
pub fn encode(value: &Value) -> Result<String, Thrown> {
    let depth_max = Limits::default().depth_max;
    let mut encoder = Encoder { out: String::new(), references: None, depth_max, allow_dropped: false };
    encoder.value(value, 0)?;
    Ok(encoder.out)
}

/// The value an expression stands for.
pub fn decode(text: &str) -> Result<Value, Thrown> {
    let limits = Limits::default();
    let mut arena = json::Arena::default();
    let (tree, _) = json::read(text, limits.bracket_depth_max, arena.fresh())
        .map_err(|reason| ErrorValue::named("SyntaxError", reason.to_string()))?;
    Evaluator { scope: Scope::Alone, limits: &limits, origin: &None, fills: false }.value(&tree, 0)
}
