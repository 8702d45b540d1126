//! Which language servers a directory has, from its `lsp` setting.
//!
//! Nothing unless the setting says so. `true` is every server that is known and here; an object is the
//! same, with its entries put over those of the same name.

use crate::directory::Directories;
use crate::directory::config::Settings;
use serde_json::{Map, Value};
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
    let entries = match settings.lsp() {
        Value::Bool(true) => return known(directory, worktree),
        Value::Object(entries) => entries,
        _ => return Vec::new(),
    };
    let mut all = known(directory, worktree);
    for (id, entry) in entries {
        let Some(entry) = entry.as_object() else { continue };
        put(&mut all, id, entry);
    }
    all
}

fn put(all: &mut Vec<Server>, id: &str, entry: &Map<String, Value>) {
    let place = all.iter().position(|one| one.id == id);
    if entry.get("disabled") == Some(&Value::Bool(true)) {
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
    if let Some(command) = texts(entry.get("command")).filter(|command| !command.is_empty()) {
        server.command = command;
    }
    if let Some(extensions) = texts(entry.get("extensions")) {
        server.extensions = extensions;
    }
    let variables = entry.get("env").and_then(Value::as_object).into_iter().flatten();
    server
        .variables
        .extend(variables.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))));
    if let Some(initialization) = entry.get("initialization") {
        server.initialization = initialization.clone();
    }
    match place {
        Some(place) => all[place] = server,
        // Without a command there is nothing to start.
        None if server.command.is_empty() => {}
        None => all.push(server),
    }
}

fn texts(value: Option<&Value>) -> Option<Vec<String>> {
    let items = value?.as_array()?;
    Some(items.iter().filter_map(|item| item.as_str().map(str::to_owned)).collect())
}
