//! Sessions follow their directory when it becomes another project: a repository, or one with a remote.
//!
//! They are looked for when a directory is opened. Those of the directory itself follow whatever they belonged to;
//! those below it only from the project that the checkout remembers to have been: what a repository says of itself
//! moves nobody else's sessions.

use crate::behalf::on_nobodys_behalf;
use crate::directory::instance::Instance;
use crate::engine::Inner;
use crate::error::EngineError;
use std::path::Path;
use std::sync::Arc;
use sturdy_session::depth::read_stored;
use sturdy_session::turn::{Input, ProjectPlace, SessionPatch};
use sturdy_session::types::project::GLOBAL;
use sturdy_session::types::session::Session;
use sturdy_store::SessionQuery;
use tracing::warn;

impl Inner {
    /// Once for each time a directory is read.
    pub(crate) async fn adopt_sessions(self: &Arc<Self>, instance: &Instance) -> Result<(), EngineError> {
        if instance.project.id == GLOBAL {
            return Ok(());
        }
        instance.adopted.get_or_try_init(|| self.adopt(instance)).await?;
        Ok(())
    }

    async fn adopt(self: &Arc<Self>, instance: &Instance) -> Result<(), EngineError> {
        let here = SessionQuery { directory: Some(instance.directory.clone()), ..SessionQuery::default() };
        let mut records = self.store.sessions(here).await?;
        if let Some(former) = &instance.former_project {
            let below = SessionQuery { project: Some(former.clone()), ..SessionQuery::default() };
            records.extend(self.store.sessions(below).await?);
        }
        let top = Path::new(&instance.worktree);
        let sessions = records.iter().filter_map(|record| read_stored::<Session>(record).ok());
        for session in sessions.filter(|session| session.project_id != instance.project.id) {
            let Ok(path) = Path::new(&session.directory).strip_prefix(top) else { continue };
            let path = path.to_string_lossy().into_owned();
            let project = Some(ProjectPlace { id: instance.project.id.clone(), path });
            let patch = SessionPatch { project, ..SessionPatch::default() };
            // One that cannot be written to stays where it is, and keeps nobody from working here.
            let moved = on_nobodys_behalf(self.say(&session.id, vec![Input::Edit(patch)])).await;
            if let Err(cause) = moved {
                warn!(session = %session.id, "the session does not follow its project: {cause}");
            }
        }
        Ok(())
    }
}
