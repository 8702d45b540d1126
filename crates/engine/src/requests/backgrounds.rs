//! Background processes of commands: listed, read and stopped.

use crate::engine::Engine;
use crate::error::EngineError;
use sturdy_session::id::SessionId;
use sturdy_session::types::event::BackgroundProcess;

impl Engine {
    /// What commands of all sessions left running, oldest first.
    #[must_use]
    pub fn background_processes(&self) -> Vec<BackgroundProcess> {
        self.inner.sessions.background_processes()
    }

    /// What commands of a session and of its sub-agents left running, oldest first.
    pub async fn background_processes_of(
        &self,
        session: &SessionId,
    ) -> Result<Vec<BackgroundProcess>, EngineError> {
        let family = self.inner.with_descendants(session).await?;
        let mut all = self.background_processes();
        all.retain(|process| family.contains(&process.session_id));
        Ok(all)
    }

    /// The end of what one of them has printed. `None` if there is no such process.
    #[must_use]
    pub fn background_output(&self, session: &SessionId, id: &str) -> Option<String> {
        self.inner.sessions.background_output(session, id)
    }

    /// Ends one; it is gone when this is answered.
    ///
    /// # Errors
    /// [`EngineError::Absent`] if there is no such process.
    pub async fn stop_background(&self, session: &SessionId, id: &str) -> Result<(), EngineError> {
        self.inner.sessions.stop_background(session, id).await
    }
}
