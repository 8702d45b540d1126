//! Thoughts that stand as blocks among the content, as Mistral tells them and wants them back.
//!
//! A block is `{"type": "thinking", "thinking": [{"type": "text", …}, …]}`, told in pieces, maybe with a `signature`. It is
//! kept whole where the reference keeps it, in the metadata of the part.

use crate::catalog::BLOCKS_OF_THOUGHT;
use serde_json::{Map, Value, json};

const THINKING: &str = "thinking";

/// Whether an item of the content is a thought.
pub(super) fn is_block(item: &Value) -> bool {
    item["type"] == THINKING
}

/// The words of a block; some servers tell them as one text.
pub(super) fn text(block: &Value) -> String {
    super::details::text(&block[THINKING])
}

/// A block as it grows.
#[derive(Debug, Default)]
pub(super) struct Block(Map<String, Value>);

impl Block {
    pub(super) fn add(&mut self, told: Value) {
        let Value::Object(told) = told else { return };
        for (name, value) in told {
            match (self.0.get_mut(&name), value) {
                (Some(Value::Array(pieces)), Value::Array(more)) if name == THINKING => {
                    more.into_iter().for_each(|piece| add_piece(pieces, piece));
                }
                (_, Value::Null) => {}
                (_, value) => drop(self.0.insert(name, value)),
            }
        }
    }

    /// What the part of this thought is told, if there is one; the next begins anew.
    pub(super) fn take_metadata(&mut self) -> Option<Map<String, Value>> {
        let block = std::mem::take(&mut self.0);
        // One that was told as a text came from somebody else, who does not want it back as a block.
        let is_whole = block.get(THINKING).is_some_and(Value::is_array);
        is_whole.then(|| Map::from_iter([(BLOCKS_OF_THOUGHT.to_owned(), json!({ THINKING: block }))]))
    }
}

/// A piece of text goes on where the one before it ended.
fn add_piece(pieces: &mut Vec<Value>, piece: Value) {
    let is_text = |piece: &Value| piece["type"] == "text" && piece["text"].is_string();
    match pieces.last_mut().filter(|last| is_text(last) && is_text(&piece)) {
        Some(last) => {
            let text = [&last["text"], &piece["text"]].map(|text| text.as_str().unwrap_or_default()).concat();
            last["text"] = Value::String(text);
        }
        None => pieces.push(piece),
    }
}

/// The block that a part holds.
pub(super) fn of_part(metadata: &Option<Map<String, Value>>) -> Option<&Value> {
    metadata.as_ref()?.get(BLOCKS_OF_THOUGHT)?.get(THINKING).filter(|block| is_block(block))
}
