//! What somebody who builds the server into a program of their own can add to a turn.
//!
//! An extension is told at the points where the plugins of OpenCode are, and may change what goes on from there: a
//! request before it is sent, a call before and after it runs, a text when it is complete, the request for a
//! summary. It changes what is done and stored, never what was already stored: the log stays the truth.
//!
//! Hooks are called one extension after another, on the task that does the work, so they are quick and do not
//! block. One that panics is left out of that point and said in the log; the turn goes on.
//!
//! Not here: loading code from files. Whoever opens the engine hands extensions over.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use sturdy_session::fact::Outcome;
use sturdy_session::id::{MessageId, SessionId};
use sturdy_session::json::Map;
use sturdy_session::talk::Request;
use tracing::error;

/// Where in a conversation a hook is called.
#[derive(Clone, Copy, Debug)]
pub struct Moment<'a> {
    pub session: &'a SessionId,
    /// The answer that is being given.
    pub message: &'a MessageId,
}

/// A call of a tool.
#[derive(Clone, Copy, Debug)]
pub struct ToolMoment<'a> {
    pub session: &'a SessionId,
    pub message: &'a MessageId,
    pub call: &'a str,
    pub tool: &'a str,
}

/// How a summary is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SummaryWords {
    /// What the model should know besides the conversation.
    pub context: Vec<String>,
    /// Stands in place of our own words when it is set.
    pub prompt: Option<String>,
}

/// Something that takes part in turns. Every hook does nothing unless it is written.
pub trait Extension: fmt::Debug + Send + Sync {
    /// A request is about to be sent: `chat.params`, `chat.headers`, `experimental.chat.system.transform` and
    /// `experimental.chat.messages.transform` in one.
    fn before_request(&self, _moment: Moment<'_>, _request: &mut Request) {}

    /// A text is complete: `experimental.text.complete`. What is left in `text` is what is kept.
    fn after_text(&self, _moment: Moment<'_>, _text: &mut String) {}

    /// A call is about to run: `tool.execute.before`.
    fn before_tool(&self, _moment: ToolMoment<'_>, _input: &mut Map) {}

    /// A call has run: `tool.execute.after`.
    fn after_tool(&self, _moment: ToolMoment<'_>, _outcome: &mut Outcome) {}

    /// A conversation is about to be summarised: `experimental.session.compacting`.
    fn before_summary(&self, _session: &SessionId, _words: &mut SummaryWords) {}
}

/// The extensions of an engine, in the order in which they are told.
#[derive(Clone, Debug, Default)]
pub struct Extensions(Vec<Arc<dyn Extension>>);

impl Extensions {
    #[must_use]
    pub fn new(extensions: Vec<Arc<dyn Extension>>) -> Self {
        Self(extensions)
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Tells each of them. A hook that panics changes nothing more.
    pub(crate) fn tell(&self, mut hook: impl FnMut(&dyn Extension)) {
        for extension in &self.0 {
            if catch_unwind(AssertUnwindSafe(|| hook(extension.as_ref()))).is_err() {
                error!(?extension, "an extension panicked");
            }
        }
    }
}
