//! Naming a project, and giving it an icon or commands.

use crate::engine::Engine;
use crate::error::EngineError;
use crate::records;
use sturdy_session::types::event::Event;
use sturdy_session::types::project::{Icon, Project, ProjectCommands};

/// What is left out stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProjectEdit {
    pub name: Option<String>,
    pub icon: Option<Icon>,
    pub commands: Option<ProjectCommands>,
}

impl Engine {
    /// A project's record; none if there is no such project.
    pub async fn project(&self, id: &str) -> Result<Option<Project>, EngineError> {
        let Some(text) = self.inner.store.project(id).await? else { return Ok(None) };
        Ok(Some(records::project(id, &text)?))
    }

    /// Changes a project's record; none if there is no such project.
    pub async fn edit_project(&self, id: &str, edit: ProjectEdit) -> Result<Option<Project>, EngineError> {
        let Some(mut project) = self.project(id).await? else { return Ok(None) };
        let now = self.inner.clock.now();
        project.name = edit.name.or(project.name);
        project.icon = edit.icon.or(project.icon);
        project.commands = edit.commands.or(project.commands);
        project.time.updated = now;
        let text = serde_json::to_string(&project).expect("BUG: a project is always JSON");
        self.inner.store.put_project(id, text, now).await?;
        self.inner.feed.tell(now, None, None, Event::ProjectUpdated(Box::new(project.clone())));
        Ok(Some(project))
    }
}
