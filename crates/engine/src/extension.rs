//! What somebody who builds the server into a program of their own can add to a turn.
//!
//! An extension is told at the points where the plugins of OpenCode are, and may change what goes on from there: a
//! request before it is sent, a call before and after it runs, a text when it is complete, the request for a
//! summary. It changes what is done and stored, never what was already stored: the log stays the truth.
//!
//! It may also add tools. Hooks are called one extension after another and waited for, so that one can ask another
//! process (a bridge to plugins that are written in JavaScript, say). One that panics, or does not answer in time, is
//! left out of that point and said in the log; the turn goes on.
//!
//! Not here: loading code from files. Whoever opens the engine hands extensions over.

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;
use sturdy_session::fact::Outcome;
use sturdy_session::id::{MessageId, SessionId};
use sturdy_session::json::Map;
use sturdy_session::talk::Request;
use sturdy_worktree::tool::Tool;
use tracing::{error, warn};

/// A hook asks a program on the same machine at most.
const WAIT_MAX: Duration = Duration::from_secs(10);

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
    /// Tools that it adds: asked for when a directory is opened. One with the name of a built-in tool is left out.
    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        Vec::new()
    }

    /// A request is about to be sent: `chat.params`, `chat.headers`, `experimental.chat.system.transform` and
    /// `experimental.chat.messages.transform` in one.
    fn before_request<'a>(&'a self, _moment: Moment<'a>, _request: &'a mut Request) -> BoxFuture<'a, ()> {
        nothing()
    }

    /// A text is complete: `experimental.text.complete`. What is left in `text` is what is kept.
    fn after_text<'a>(&'a self, _moment: Moment<'a>, _text: &'a mut String) -> BoxFuture<'a, ()> {
        nothing()
    }

    /// A call is about to run: `tool.execute.before`.
    fn before_tool<'a>(&'a self, _moment: ToolMoment<'a>, _input: &'a mut Map) -> BoxFuture<'a, ()> {
        nothing()
    }

    /// A call has run: `tool.execute.after`.
    fn after_tool<'a>(&'a self, _moment: ToolMoment<'a>, _outcome: &'a mut Outcome) -> BoxFuture<'a, ()> {
        nothing()
    }

    /// A conversation is about to be summarised: `experimental.session.compacting`.
    fn before_summary<'a>(
        &'a self,
        _session: &'a SessionId,
        _words: &'a mut SummaryWords,
    ) -> BoxFuture<'a, ()> {
        nothing()
    }
}

fn nothing<'a>() -> BoxFuture<'a, ()> {
    Box::pin(std::future::ready(()))
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

    /// Adds the tools of all of them to those that are there.
    pub(crate) fn add_tools(&self, tools: &mut Vec<Arc<dyn Tool>>) {
        for extension in &self.0 {
            for tool in extension.tools() {
                let name = &tool.spec().name;
                if tools.iter().any(|known| known.spec().name == *name) {
                    warn!(?extension, name, "a tool of an extension is left out: its name is taken");
                } else {
                    tools.push(tool);
                }
            }
        }
    }

    pub(crate) async fn before_request(&self, moment: Moment<'_>, request: &mut Request) {
        for extension in &self.0 {
            guarded(extension, || extension.before_request(moment, request)).await;
        }
    }

    pub(crate) async fn after_text(&self, moment: Moment<'_>, text: &mut String) {
        for extension in &self.0 {
            guarded(extension, || extension.after_text(moment, text)).await;
        }
    }

    pub(crate) async fn before_tool(&self, moment: ToolMoment<'_>, input: &mut Map) {
        for extension in &self.0 {
            guarded(extension, || extension.before_tool(moment, input)).await;
        }
    }

    pub(crate) async fn after_tool(&self, moment: ToolMoment<'_>, outcome: &mut Outcome) {
        for extension in &self.0 {
            guarded(extension, || extension.after_tool(moment, outcome)).await;
        }
    }

    pub(crate) async fn before_summary(&self, session: &SessionId, words: &mut SummaryWords) {
        for extension in &self.0 {
            guarded(extension, || extension.before_summary(session, words)).await;
        }
    }
}

/// Waits for one hook, but not for ever. One that panics or hangs changes nothing more.
async fn guarded<'a>(extension: &Arc<dyn Extension>, hook: impl FnOnce() -> BoxFuture<'a, ()>) {
    let told = async { hook().await };
    match tokio::time::timeout(WAIT_MAX, AssertUnwindSafe(told).catch_unwind()).await {
        Ok(Ok(())) => {}
        Ok(Err(_)) => error!(?extension, "an extension panicked"),
        Err(_) => error!(?extension, patience_s = WAIT_MAX.as_secs(), "an extension did not answer"),
    }
}
