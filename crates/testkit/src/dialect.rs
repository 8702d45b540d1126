//! The wire protocols a scripted provider speaks, chosen by the URL it is asked at.
//!
//! An [`Encoder`] turns what an answer says, one thing after another, into the frames of its protocol. It
//! keeps what the protocol wants told: which block is open, how many there were, what was said so far.
//!
//! Not here: what is said and when (`script.rs`), sockets (`provider.rs`).

mod anthropic;
mod chat;
mod gemini;
mod responses;

use serde_json::Value;

/// A wire protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// OpenAI chat completions, as compatible servers speak it.
    Chat,
    /// Anthropic Messages.
    Anthropic,
    /// OpenAI Responses.
    Responses,
    /// Google Gemini.
    Gemini,
}

impl Dialect {
    pub const ALL: [Self; 4] = [Self::Chat, Self::Anthropic, Self::Responses, Self::Gemini];

    /// The npm package by which a configuration names it.
    #[must_use]
    pub fn npm(self) -> &'static str {
        match self {
            Self::Chat => "@ai-sdk/openai-compatible",
            Self::Anthropic => "@ai-sdk/anthropic",
            Self::Responses => "@ai-sdk/openai",
            Self::Gemini => "@ai-sdk/google",
        }
    }

    pub(crate) fn encoder(self) -> Box<dyn Encoder> {
        match self {
            Self::Chat => Box::new(chat::Chat),
            Self::Anthropic => Box::new(anthropic::Anthropic::default()),
            Self::Responses => Box::new(responses::Responses::default()),
            Self::Gemini => Box::new(gemini::Gemini::default()),
        }
    }
}

/// One thing a model says.
#[derive(Clone, Debug)]
pub(crate) enum Saying {
    Text(String),
    Reasoning(String),
    /// What the provider wants to have back with the reasoning before it: a signature, or its content in
    /// encrypted form.
    Seal(String),
    /// A whole tool call.
    Call {
        index: u32,
        id: String,
        name: String,
        arguments: String,
    },
    /// The normal end. `reason` is chat completions' word.
    Finish {
        reason: String,
        usage: Usage,
    },
}

/// What an answer cost, in chat completions' counting: cached input is part of the input.
#[derive(Clone, Debug)]
pub(crate) enum Usage {
    Counted {
        input: u64,
        output: u64,
    },
    /// As it stands; only chat completions can say it.
    Chat(Value),
}

impl Usage {
    /// Input and output.
    fn counts(&self) -> (u64, u64) {
        match self {
            Self::Counted { input, output } => (*input, *output),
            Self::Chat(usage) => {
                let count = |name: &str| usage[name].as_u64().unwrap_or_default();
                (count("prompt_tokens"), count("completion_tokens"))
            }
        }
    }
}

/// Writes an answer in one protocol.
pub(crate) trait Encoder: Send {
    /// The frames of one thing that is said, ready to be sent.
    fn say(&mut self, saying: &Saying) -> String;
}

/// A frame without a name.
fn data(value: &Value) -> String {
    format!("data: {value}\n\n")
}

/// A frame named by its `type`.
fn event(value: &Value) -> String {
    let name = value["type"].as_str().unwrap_or_default();
    format!("event: {name}\ndata: {value}\n\n")
}
