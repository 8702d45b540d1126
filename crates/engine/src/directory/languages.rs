//! Which language servers a directory has, from its `lsp` setting.
//!
//! Nothing unless the setting says so. `true` is every server that is known and here; an object is the
//! same, with its entries put over those of the same name.

use crate::directory::Directories;
use crate::directory::config::{LanguageEntry, Programs, Settings};
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;
use sturdy_session::types::event::{Event, Nothing};
use sturdy_worktree::lsp::{Lsp, Server, known};
use sturdy_worktree::process::{Inherited, STORE};

impl Directories {
    /// The language servers of a directory, none of them started yet; nothing when it has none.
    pub(crate) fn languages(
        &self,
        servers: Vec<Server>,
        settings: &Settings,
        directory: &Path,
        project: &str,
        inherited: &Inherited,
    ) -> Option<Arc<Lsp>> {
        // A language server builds what it looks at (`build.rs`, plugins), whoever switched it on.
        if servers.is_empty() || settings.trust().is_untrusted() {
            return None;
        }
        let tasks = self.tasks.clone();
        let spawn = Arc::new(move |task| {
            tasks.spawn("language server", task);
        });
        let feed = self.feed.clone();
        let clock = self.clock.clone();
        let shown = directory.to_string_lossy().into_owned();
        let project = project.to_owned();
        let tell = Arc::new(move || {
            feed.tell(clock.now(), Some(&shown), Some(&project), Event::LspUpdated(Nothing {}));
        });
        let variables = vec![(STORE.into(), self.realm().into())];
        let stop = self.tasks.stopping().child_token();
        let lsp = Lsp::new(servers, directory.to_owned(), variables, spawn, tell, stop);
        Some(Arc::new(lsp.inheriting(inherited.clone())))
    }
}

/// Those that the settings switch on. Looks for their programs on the disk, which may hang: see `files.rs`.
pub(crate) fn servers(settings: &Settings, directory: &Path, worktree: &Path) -> Vec<Server> {
    let entries = match settings.languages() {
        Programs::Off => return Vec::new(),
        Programs::Known => return known(directory, worktree),
        Programs::Changed(entries) => entries,
    };
    let mut all = known(directory, worktree);
    entries.iter().for_each(|(id, entry)| put(&mut all, id, entry));
    all
}

fn put(all: &mut Vec<Server>, id: &str, entry: &LanguageEntry) {
    let place = all.iter().position(|one| one.id == id);
    if entry.disabled == Some(true) {
        if let Some(place) = place {
            all.remove(place);
        }
        return;
    }
    let mut server = place.map(|place| all[place].clone()).unwrap_or_else(|| Server {
        id: id.to_owned(),
        command: Vec::new(),
        extensions: Vec::new(),
        variables: Vec::new(),
        initialization: Value::Null,
        root_files: Vec::new(),
    });
    if let Some(command) = entry.command.as_ref().filter(|command| !command.is_empty()) {
        server.command = command.clone();
    }
    if let Some(extensions) = &entry.extensions {
        server.extensions = extensions.clone();
    }
    server.variables.extend(entry.env.iter().cloned());
    if let Some(initialization) = &entry.initialization {
        server.initialization = initialization.clone();
    }
    match place {
        Some(place) => all[place] = server,
        // Without a command there is nothing to start.
        None if server.command.is_empty() => {}
        None => all.push(server),
    }
}
