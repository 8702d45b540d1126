//! The shapes of a chat completion chunk, read leniently.
//!
//! Compatible servers send `null` for lists, objects where text is expected, numbers as floats.
//! None of that is worth losing an answer for.

use super::thinking;
use serde::de::{self, Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use std::fmt;
use sturdy_session::types::usage::Usage;

#[derive(Debug, serde::Deserialize)]
pub(super) struct Chunk {
    #[serde(default, deserialize_with = "or_default")]
    pub(super) choices: Vec<Choice>,
    #[serde(default)]
    pub(super) usage: Option<WireUsage>,
    #[serde(default)]
    pub(super) error: Option<Value>,
}

#[derive(Debug, serde::Deserialize)]
pub(super) struct Choice {
    #[serde(default, deserialize_with = "or_default")]
    pub(super) delta: Delta,
    #[serde(default)]
    pub(super) finish_reason: Text,
}

#[derive(Debug, Default, serde::Deserialize)]
pub(super) struct Delta {
    #[serde(default)]
    pub(super) content: Content,
    #[serde(default)]
    pub(super) reasoning_content: Text,
    #[serde(default)]
    pub(super) reasoning: Text,
    /// Text, pieces or anything else.
    #[serde(default)]
    pub(super) reasoning_details: Value,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) tool_calls: Vec<CallDelta>,
}

#[derive(Debug, serde::Deserialize)]
pub(super) struct CallDelta {
    #[serde(default)]
    pub(super) index: Option<u64>,
    #[serde(default)]
    pub(super) id: Text,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) function: FunctionDelta,
    #[serde(default)]
    pub(super) extra_content: Value,
}

#[derive(Debug, Default, serde::Deserialize)]
pub(super) struct FunctionDelta {
    #[serde(default)]
    pub(super) name: Text,
    #[serde(default)]
    pub(super) arguments: Arguments,
}

#[derive(Debug, Default, serde::Deserialize)]
pub(super) struct WireUsage {
    prompt_tokens: Option<f64>,
    completion_tokens: Option<f64>,
    total_tokens: Option<f64>,
    prompt_tokens_details: Option<PromptDetails>,
    completion_tokens_details: Option<CompletionDetails>,
    prompt_cache_hit_tokens: Option<f64>,
}

#[derive(Debug, serde::Deserialize)]
struct PromptDetails {
    cached_tokens: Option<f64>,
    cache_write_tokens: Option<f64>,
}

#[derive(Debug, serde::Deserialize)]
struct CompletionDetails {
    reasoning_tokens: Option<f64>,
}

impl WireUsage {
    pub(super) fn usage(&self) -> Usage {
        let count = |value: Option<f64>| value.filter(|value| *value >= 0.0).map(|value| value as u64);
        let prompt = self.prompt_tokens_details.as_ref();
        let input = count(self.prompt_tokens);
        let total = count(self.total_tokens);
        let reasoning = count(self.completion_tokens_details.as_ref().and_then(|part| part.reasoning_tokens));
        let output = count(self.completion_tokens).map(|output| {
            // Some count reasoning beside the output instead of inside; the total tells.
            let thought = reasoning.unwrap_or(0);
            let beside = thought > 0 && total == Some(input.unwrap_or(0) + output + thought);
            if beside { output + thought } else { output }
        });
        Usage {
            input,
            output,
            reasoning,
            cache_read: count(prompt.and_then(|part| part.cached_tokens).or(self.prompt_cache_hit_tokens)),
            cache_write: count(prompt.and_then(|part| part.cache_write_tokens)),
            total,
        }
    }
}

fn or_default<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// What is said: text, or a list of blocks, among which thoughts may stand.
#[derive(Debug, Default)]
pub(super) struct Content {
    pub(super) text: String,
    pub(super) thoughts: Vec<Value>,
}

impl From<String> for Content {
    fn from(text: String) -> Self {
        Self { text, thoughts: Vec::new() }
    }
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ContentVisitor)
    }
}

/// Reads a list item by item, and everything else as text.
struct ContentVisitor;

impl<'de> Visitor<'de> for ContentVisitor {
    type Value = Content;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        TextVisitor.expecting(f)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Content, E> {
        Ok(text.to_owned().into())
    }

    fn visit_string<E: de::Error>(self, text: String) -> Result<Content, E> {
        Ok(text.into())
    }

    fn visit_unit<E: de::Error>(self) -> Result<Content, E> {
        Ok(Content::default())
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Content, E> {
        TextVisitor.visit_bool(value).map(Content::from)
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Content, E> {
        TextVisitor.visit_u64(number).map(Content::from)
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Content, E> {
        TextVisitor.visit_i64(number).map(Content::from)
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Content, E> {
        TextVisitor.visit_f64(number).map(Content::from)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Content, A::Error> {
        let mut content = Content::default();
        while let Some(item) = items.next_element::<Value>()? {
            if thinking::is_block(&item) {
                content.thoughts.push(item);
            } else {
                let Text(text) = Text::deserialize(item).map_err(de::Error::custom)?;
                content.text.push_str(&text);
            }
        }
        Ok(content)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Content, A::Error> {
        TextVisitor.visit_map(map).map(Content::from)
    }
}

/// Text; or the texts inside a list of blocks; or nothing, for anything else.
#[derive(Debug, Default)]
pub(super) struct Text(pub(super) String);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextVisitor).map(Self)
    }
}

struct TextVisitor;

impl<'de> Visitor<'de> for TextVisitor {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<String, E> {
        Ok(text.to_owned())
    }

    fn visit_string<E: de::Error>(self, text: String) -> Result<String, E> {
        Ok(text)
    }

    fn visit_unit<E: de::Error>(self) -> Result<String, E> {
        Ok(String::new())
    }

    fn visit_bool<E: de::Error>(self, _: bool) -> Result<String, E> {
        Ok(String::new())
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<String, E> {
        Ok(number.to_string())
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<String, E> {
        Ok(number.to_string())
    }

    fn visit_f64<E: de::Error>(self, _: f64) -> Result<String, E> {
        Ok(String::new())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<String, A::Error> {
        let mut all = String::new();
        while let Some(Text(text)) = items.next_element()? {
            all.push_str(&text);
        }
        Ok(all)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<String, A::Error> {
        let mut text = String::new();
        while let Some(name) = map.next_key::<String>()? {
            match name.as_str() {
                "text" | "summary" => text = map.next_value::<Text>()?.0,
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(text)
    }
}

/// Arguments as text; some servers send the object itself.
#[derive(Debug, Default)]
pub(super) struct Arguments(pub(super) String);

impl<'de> Deserialize<'de> for Arguments {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(match Value::deserialize(deserializer)? {
            Value::String(text) => text,
            Value::Null => String::new(),
            other => other.to_string(),
        }))
    }
}
