//! How to make a model think more or less.
//!
//! What the family offers (`traits/efforts.rs`), with what the user configured over it; `disabled` takes one away.

use super::{ModelInfo, merge};
use serde_json::Value;
use sturdy_session::json::Map;

pub(super) fn of(model: &ModelInfo) -> Map {
    let mut variants = if model.capabilities.reasoning { model.traits.efforts.clone() } else { Map::new() };
    merge::deep(&mut variants, &model.variants);
    variants.retain(|_, options| options["disabled"] != true);
    for options in variants.values_mut().filter_map(Value::as_object_mut) {
        options.remove("disabled");
    }
    variants
}
