//! A provider that needs no key and no network, and says the same thing every time.
//!
//! `demo/echo` thinks for a moment and repeats the last thing the user wrote. `demo/story` tells
//! a story. Both speak in small chunks at a pace that looks like a model.
//!
//! Options, of the provider, the model, the agent or a variant (the later wins):
//! `paceMs` per chunk (15; 0 is no delay), `chunkChars` (12), `paragraphs` of the story (6).
//! `STURDY_DEMO_PACE_MS` in the environment replaces the default pace.
//!
//! A prompt that begins with `/demo` asks for something special:
//!
//! | Prompt | What happens |
//! |---|---|
//! | `/demo long N` | N chunks of text |
//! | `/demo think N` | N chunks of reasoning, then a word |
//! | `/demo story N` | a story of N paragraphs |
//! | `/demo tool NAME {json}` | a call of that tool; once its result is there, a sentence about it |
//! | `/demo tools N NAME {json}` | N such calls at once |
//! | `/demo error STATUS [after=MS] [message]` | the provider refuses with this HTTP status, and may say when to try again |
//! | `/demo break N` | N chunks, then the connection is lost |
//! | `/demo cut N` | N chunks, then the end without a finish reason |
//! | `/demo hang N` | N chunks, then silence |
//! | `/demo length` | a text that ends because it is too long |
//! | `/demo filter` | a text that ends in the content filter |
//!
//! `script.rs` decides what to say, `story.rs` holds the words, and here they are spoken.

use crate::{Model, ModelError};
use futures_util::stream::{self, BoxStream, StreamExt};
use std::collections::VecDeque;
use std::time::Duration;
use sturdy_session::json::Map;
use sturdy_session::talk::{Request, Said};

mod script;
mod story;

use script::ScriptStep;

pub const PROVIDER: &str = "demo";
/// What the table of models calls it.
pub const PACKAGE: &str = "sturdy-demo";
pub const PACE_VARIABLE: &str = "STURDY_DEMO_PACE_MS";

const PACE_MS: u64 = 15;
const CHUNK_CHARS: u64 = 12;
const PARAGRAPHS: u64 = 6;
/// A prompt cannot ask for more than this many chunks or paragraphs.
const REPEAT_MAX: u64 = 1_000_000;

/// What a demo model does when the prompt asks for nothing special.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Echo,
    Story,
}

/// A model of the provider `demo`.
#[derive(Clone, Debug)]
pub struct Demo {
    kind: Kind,
    pace_ms: u64,
    options: Map,
}

impl Demo {
    /// `options` are the provider's; a request's own options win over them.
    #[must_use]
    pub fn new(kind: Kind, options: Map, pace_ms: Option<u64>) -> Self {
        Self { kind, pace_ms: pace_ms.unwrap_or(PACE_MS), options }
    }

    fn option(&self, request: &Request, name: &str, default: u64) -> u64 {
        let value = request.options.get(name).or_else(|| self.options.get(name));
        value.and_then(serde_json::Value::as_u64).unwrap_or(default)
    }
}

impl Model for Demo {
    fn stream(&self, request: Request) -> BoxStream<'static, Result<Said, ModelError>> {
        let pace = Duration::from_millis(self.option(&request, "paceMs", self.pace_ms));
        let manner = script::ScriptOptions {
            kind: self.kind,
            chunk_chars: self.option(&request, "chunkChars", CHUNK_CHARS).max(1) as usize,
            paragraphs: self.option(&request, "paragraphs", PARAGRAPHS).min(REPEAT_MAX) as usize,
        };
        let beats: VecDeque<ScriptStep> = script::write(&request, manner).into();
        stream::unfold(beats, move |mut beats| async move {
            let beat = beats.pop_front()?;
            let said = match beat {
                ScriptStep::Say(said) => {
                    let is_growth = matches!(*said, Said::TextGrew { .. } | Said::ReasoningGrew { .. });
                    if is_growth && !pace.is_zero() {
                        tokio::time::sleep(pace).await;
                    }
                    Ok(*said)
                }
                ScriptStep::Fail(failure) => {
                    beats.clear();
                    Err(ModelError::new(*failure))
                }
                ScriptStep::Hang => std::future::pending().await,
            };
            Some((said, beats))
        })
        .boxed()
    }
}
