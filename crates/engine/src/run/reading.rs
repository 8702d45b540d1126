//! What a step needs beside its conversation, read while something else is waited for.
//!
//! The scan of the worktree before a step, or the look at what a call has changed, takes as long as the disk does.
//! Meanwhile the prompt, the session, the instructions and the tools are read, so that the request is written as soon as
//! the step is durable.
//!
//! Whoever uses it checks first that it is still current ([`StepReading::is_of`]); otherwise it is read again.

use crate::directory::instance::Instance;
use crate::directory::instructions::{self, Instruction};
use crate::error::EngineError;
use crate::run::Sessions;
use std::sync::Arc;
use std::time::Duration;
use sturdy_llm::ModelEntry;
use sturdy_session::talk::ToolSpec;
use sturdy_session::turn::Ready;
use sturdy_session::types::message::UserMessage;
use sturdy_session::types::session::Session;
use sturdy_worktree::tool::Tool;
use sturdy_worktree::tools::is_offered;
use tokio::time::timeout;

/// A disk that is slower than this is waited for where the request is written, whose failure clients are shown.
const WAIT_MAX: Duration = Duration::from_millis(50);

/// What the request of a step is made of, beside the conversation.
#[derive(Debug)]
pub(crate) struct StepReading {
    pub(crate) user: UserMessage,
    pub(crate) info: Session,
    pub(crate) instance: Arc<Instance>,
    pub(crate) instructions: Vec<Instruction>,
    pub(crate) offered: Vec<ToolSpec>,
}

/// What is known of a step before it begins.
#[derive(Clone, Debug)]
pub(crate) struct NextStep {
    pub(crate) reading: Arc<StepReading>,
    /// Found out before anybody asked for it: counts if exactly this step is wanted now.
    pub(crate) ready: Option<Box<Ready>>,
}

impl StepReading {
    /// Whether the session is where it was, with the rules it had.
    pub(crate) fn is_of(&self, info: &Session) -> bool {
        self.info.directory == info.directory
            && self.info.permission == info.permission
            && self.info.parent_id == info.parent_id
    }
}

/// What a step needs, before its instruction files were read.
#[derive(Debug)]
pub(crate) struct StepWithoutInstructions {
    pub(crate) user: UserMessage,
    pub(crate) info: Session,
    pub(crate) instance: Arc<Instance>,
    pub(crate) offered: Vec<ToolSpec>,
}

impl StepWithoutInstructions {
    pub(crate) fn with(self, instructions: Vec<Instruction>) -> Arc<StepReading> {
        let Self { user, info, instance, offered } = self;
        Arc::new(StepReading { user, info, instance, instructions, offered })
    }
}

/// The instructions that stand in files now. None when the disk takes its time.
pub(crate) async fn instructions_soon(sessions: &Sessions, instance: &Instance) -> Option<Vec<Instruction>> {
    timeout(WAIT_MAX, instructions_of(sessions, instance)).await.ok()?.ok()
}

/// The instructions that stand in files now.
pub(crate) async fn instructions_of(
    sessions: &Sessions,
    instance: &Instance,
) -> Result<Vec<Instruction>, EngineError> {
    let settings = instance.settings.clone();
    sessions.files.run(&instance.directory, move || instructions::read(&settings)).await
}

/// What a model is told it may call, of the tools that are left to it.
pub(crate) fn offered(left: &[Arc<dyn Tool>], entry: &ModelEntry) -> Vec<ToolSpec> {
    if !entry.info.capabilities.toolcall {
        return Vec::new();
    }
    let takes_patches = entry.info.traits.takes_patches;
    let mut offered: Vec<&Arc<dyn Tool>> =
        left.iter().filter(|tool| is_offered(&tool.spec().name, takes_patches)).collect();
    // By name: a server that answers in another order must not cost the provider's cache.
    offered.sort_by_cached_key(|tool| tool.spec().name.to_lowercase());
    offered.into_iter().map(|tool| tool.spec().clone()).collect()
}
