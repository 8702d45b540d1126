//! What a model would be shown of a conversation now: everything since the newest summary, with the tail it kept.
//!
//! Not part of it: what lies behind a staged cut, and prompts that nobody has begun to answer.

use crate::engine::Engine;
use crate::error::EngineError;
use crate::run::request::{session_info, walk_back};
use std::ops::ControlFlow;
use sturdy_session::id::SessionId;
use sturdy_session::prompt::history::{Gather, drop_failed_compactions};
use sturdy_session::revert::Boundary;
use sturdy_session::types::message::MessageWithParts;

impl Engine {
    /// The messages a model would be shown, in the order it would see them.
    ///
    /// # Errors
    /// There is no such session, or it cannot be read.
    pub async fn context(&self, session: &SessionId) -> Result<Vec<MessageWithParts>, EngineError> {
        let info = session_info(&self.inner.sessions, session).await?;
        let waiting = self.inner.sessions.session(session).await?.view().prompts.clone();
        let mut cut = info.revert.as_ref().map(Boundary::of);
        let mut gather = Gather::<MessageWithParts>::default();
        walk_back(&self.inner.sessions, session, None, |mut message| {
            if let Some(boundary) = &cut {
                if *message.info.id() != boundary.message {
                    return ControlFlow::Continue(());
                }
                let part = boundary.part.clone();
                cut = None;
                let Some(part) = part else { return ControlFlow::Continue(()) };
                let from = message.parts.iter().position(|known| known.id == part);
                message.parts.truncate(from.unwrap_or(usize::MAX));
            }
            if waiting.contains(message.info.id()) {
                return ControlFlow::Continue(());
            }
            gather.push(message)
        })
        .await?;
        let mut seen = gather.finish();
        drop_failed_compactions(&mut seen);
        Ok(seen)
    }
}
