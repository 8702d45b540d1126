//! Sessions follow their directory when it becomes another project (a repository, or one with a remote), and a
//! checkout that is moved takes them along with what people allowed in it and what undo needs.
//!
//! They are looked for when a directory is opened. Those of the directory itself follow whatever they belonged to;
//! those below it only from the project that the checkout remembers to have been: what a repository says of itself
//! moves nobody else's sessions. A moved checkout is known by its git directory (`directory/checkouts.rs`), and only
//! when nothing is left where it was: a copy has sessions of its own.
//!
//! Whatever dies in between, the next opening finds the checkout noted at its old place and does the rest.

use crate::behalf::on_nobodys_behalf;
use crate::directory::checkouts::CheckoutPlace;
use crate::directory::instance::Instance;
use crate::engine::{Engine, Inner};
use crate::error::EngineError;
use crate::records;
use std::io;
use std::path::Path;
use std::sync::Arc;
use sturdy_session::row::ApprovalRow;
use sturdy_session::turn::{Input, ProjectPlace, SessionPatch};
use sturdy_session::types::project::GLOBAL;
use sturdy_session::types::session::Session;
use sturdy_store::SessionQuery;
use tracing::warn;

impl Engine {
    /// The live state of one directory, made on first use.
    pub async fn instance(&self, directory: &str) -> Result<Arc<Instance>, EngineError> {
        let instance = self.inner.directories.instance(directory).await?;
        self.inner.adopt_sessions(&instance).await?;
        Ok(instance)
    }
}

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
        self.adopt_moved(instance).await?;
        let here = SessionQuery { directory: Some(instance.directory.clone()), ..SessionQuery::default() };
        let mut texts = self.store.sessions(here).await?;
        if let Some(former) = &instance.former_project {
            let below = SessionQuery { project: Some(former.clone()), ..SessionQuery::default() };
            texts.extend(self.store.sessions(below).await?);
        }
        let top = Path::new(&instance.worktree);
        let sessions = records::sessions(&texts);
        for session in sessions.filter(|session| session.project_id != instance.project.id) {
            let Ok(path) = Path::new(&session.directory).strip_prefix(top) else { continue };
            let path = path.to_string_lossy().into_owned();
            self.bring(&session, ProjectPlace { id: instance.project.id.clone(), path, directory: None })
                .await;
        }
        Ok(())
    }

    /// One that cannot be written to stays where it is, and keeps nobody from working here.
    async fn bring(self: &Arc<Self>, session: &Session, place: ProjectPlace) {
        let patch = SessionPatch { project: Some(place), ..SessionPatch::default() };
        let moved = on_nobodys_behalf(self.sessions.say(&session.id, vec![Input::Edit(patch)])).await;
        if let Err(cause) = moved {
            warn!(session = %session.id, "the session does not follow its project: {cause}");
        }
    }

    /// Brings what belongs to the checkout along if it was somewhere else before.
    async fn adopt_moved(self: &Arc<Self>, instance: &Instance) -> Result<(), EngineError> {
        let Some(checkout) = instance.checkout() else { return Ok(()) };
        let checkouts = self.directories.checkouts.clone();
        let top = checkout.top.clone();
        let git_dir = checkout.dirs.own.clone();
        let look = move || {
            let place = CheckoutPlace::look(&top, &git_dir)?;
            Ok::<_, io::Error>((checkouts.moved_from(&place)?, place))
        };
        let (old_places, place) = match self.files.run(&instance.directory, look).await? {
            Ok(found) => found,
            Err(cause) => {
                warn!(%cause, "cannot tell whether a checkout was moved");
                return Ok(());
            }
        };
        for old in old_places {
            self.sessions.bring_trees(instance, &old).await?;
            self.bring_sessions(instance, &old, place.path()).await?;
            self.bring_approvals(instance, &old, place.path()).await?;
        }
        let checkouts = self.directories.checkouts.clone();
        if let Err(cause) = self.files.run(&instance.directory, move || checkouts.note(place)).await? {
            warn!(%cause, "the location of a checkout could not be stored");
        }
        Ok(())
    }

    async fn bring_sessions(
        self: &Arc<Self>,
        instance: &Instance,
        old: &Path,
        new: &Path,
    ) -> Result<(), EngineError> {
        let of_project =
            SessionQuery { project: Some(instance.project.id.clone()), ..SessionQuery::default() };
        let texts = self.store.sessions(of_project).await?;
        for session in records::sessions(&texts) {
            let Ok(below) = Path::new(&session.directory).strip_prefix(old) else { continue };
            let path = below.to_string_lossy().into_owned();
            // Joining nothing would leave a slash at the end.
            let directory = if path.is_empty() { new.to_owned() } else { new.join(below) };
            let directory = Some(directory.to_string_lossy().into_owned());
            self.bring(&session, ProjectPlace { id: instance.project.id.clone(), path, directory }).await;
        }
        Ok(())
    }

    /// Given anew at the new place, then taken back at the old one: in between they count at both, of which one is gone.
    async fn bring_approvals(
        self: &Arc<Self>,
        instance: &Instance,
        old: &Path,
        new: &Path,
    ) -> Result<(), EngineError> {
        let (Some(old), Some(new)) = (old.to_str(), new.to_str()) else { return Ok(()) };
        let given = self.store.approvals_at(old).await?;
        let mut stamp = self.clock.stamp();
        let anew = given.iter().map(|row| ApprovalRow {
            id: format!("psv_{}", stamp.ulid()),
            project_id: instance.project.id.clone(),
            directory: new.to_owned(),
            ..row.clone()
        });
        self.store.add_approvals(anew.collect()).await?;
        for row in given {
            self.store.remove_approval(&row.id).await?;
        }
        Ok(())
    }
}
