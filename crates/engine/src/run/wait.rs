//! Waiting for a session: until it has nothing to do, until it has stopped, for its answer.

use crate::error::EngineError;
use crate::records::{self, readable};
use crate::run::{Sessions, request};
use std::sync::Arc;
use sturdy_session::id::{MessageId, SessionId};
use sturdy_session::turn::Input;
use sturdy_session::types::message::Message;
use sturdy_store::RawMessage;

/// A session that cannot be written stops; it is looked at again so often before its answer is read.
const ANSWER_TRIES: usize = 3;

impl Sessions {
    /// Waits until the session is idle and gives the newest answer: that of the turn which just ended.
    pub(crate) async fn answer(
        self: &Arc<Self>,
        session: &SessionId,
        prompt: &MessageId,
    ) -> Result<RawMessage, EngineError> {
        self.until_idle(session).await?;
        let found = request::find_back(self, session, |raw| {
            raw.id == *prompt
                || matches!(readable(records::message(&raw.id, &raw.info)), Some(Message::Assistant(_)))
        });
        found.await?.ok_or_else(|| EngineError::NoSession(session.clone()))
    }

    /// Waits until the session has nothing to do, also when it is started anew meanwhile.
    pub(crate) async fn until_idle(self: &Arc<Self>, session: &SessionId) -> Result<(), EngineError> {
        for _ in 0..ANSWER_TRIES {
            if self.session(session).await?.idle().await {
                break;
            }
        }
        Ok(())
    }

    /// Stops what runs, and waits until it has ended: whoever asks for something behind this finds nothing in
    /// the way. A session that does not exist has nothing to stop.
    pub(crate) async fn abort(self: &Arc<Self>, session: &SessionId) -> Result<(), EngineError> {
        match self.say(session, vec![Input::Abort]).await {
            Ok(()) => {}
            Err(EngineError::NoSession(_)) => return Ok(()),
            Err(cause) => return Err(cause),
        }
        match self.session(session).await {
            Ok(handle) => handle.stopped().await,
            Err(EngineError::NoSession(_)) => {}
            Err(cause) => return Err(cause),
        }
        Ok(())
    }
}
