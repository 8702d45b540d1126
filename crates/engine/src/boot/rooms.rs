//! Puts the rooms of an engine together: each is handed what it works with, and only that.

use crate::clock::Clock;
use crate::directory::Directories;
use crate::directory::asking::Asking;
use crate::directory::checkouts::Checkouts;
use crate::directory::instances::Instances;
use crate::directory::mcp::Callback;
use crate::directory::trust::Trusting;
use crate::engine::{Engine, EngineOptions, Inner};
use crate::feed::Feed;
use crate::files::FileWork;
use crate::reads::Reads;
use crate::requests::subagents::subagents;
use crate::run::Sessions;
use crate::run::background::Backgrounds;
use crate::run::gate::Gates;
use crate::run::registry::Registry;
use crate::run::subagents::Subagents;
use crate::run::supervise::{Quarantine, UnsettledSessions};
use crate::run::trees::Trees;
use crate::share::{SharePorts, Shares};
use crate::task::Tasks;
use std::sync::{Arc, Weak};
use sturdy_llm::Http;
use sturdy_store::Store;
use sturdy_worktree::mcp::auth::Logins;

/// What all rooms have in common. Every clone of a handle is the same thing.
struct Handles {
    options: EngineOptions,
    store: Store,
    clock: Clock,
    feed: Feed,
    tasks: Tasks,
    http: Http,
    files: Arc<FileWork>,
}

/// An engine in which nothing runs yet.
pub(super) fn assemble(options: EngineOptions, store: Store, clock: Clock) -> Engine {
    let tasks = Tasks::default();
    let files = Arc::new(FileWork::new(tasks.stopping().clone(), options.hang.clone()));
    let feed = Feed::new(store.clone());
    let handles = Handles { options, store, clock, feed, tasks, http: Http::new(), files };
    let directories = Arc::new(handles.directories());
    let inner = Arc::new_cyclic(|inner: &Weak<Inner>| {
        let sessions = Arc::new(handles.sessions(directories.clone(), subagents(inner)));
        let shares = handles.shares(directories.clone(), sessions.clone());
        let Handles { options, store, clock, feed, tasks, files, .. } = handles;
        Inner {
            options,
            reads: Reads::new(store.clone()),
            store,
            feed,
            clock,
            tasks,
            files,
            directories,
            sessions,
            shares,
            credentials: Arc::default(),
            gates: Gates::default(),
        }
    });
    Engine { inner }
}

impl Handles {
    fn directories(&self) -> Directories {
        let EngineOptions { data_dir, directory, environment, extensions, panics, .. } = &self.options;
        Directories {
            store: self.store.clone(),
            feed: self.feed.clone(),
            clock: self.clock.clone(),
            tasks: self.tasks.clone(),
            http: self.http.clone(),
            files: self.files.clone(),
            environment: environment.clone(),
            extensions: extensions.clone(),
            panics: panics.clone(),
            data_dir: data_dir.clone(),
            default_directory: directory.clone(),
            instances: Instances::default(),
            logins: Logins::new(environment.shared_data_dir().join("mcp-auth.json")),
            returns: Callback::default(),
            trust: Arc::new(Trusting::new(data_dir)),
            checkouts: Arc::new(Checkouts::in_directory(data_dir)),
            asking: Asking::default(),
        }
    }

    fn sessions(&self, directories: Arc<Directories>, subagents: Subagents) -> Sessions {
        let EngineOptions { data_dir, environment, extensions, panics, .. } = &self.options;
        Sessions {
            store: self.store.clone(),
            feed: self.feed.clone(),
            clock: self.clock.clone(),
            tasks: self.tasks.clone(),
            files: self.files.clone(),
            environment: environment.clone(),
            extensions: extensions.clone(),
            panics: panics.clone(),
            data_dir: data_dir.clone(),
            directories,
            subagents,
            registry: Registry::default(),
            backgrounds: Backgrounds::default(),
            lost: UnsettledSessions::default(),
            quarantine: Quarantine::default(),
            trees: Trees::default(),
        }
    }

    fn shares(&self, directories: Arc<Directories>, sessions: Arc<Sessions>) -> Shares {
        let ports = SharePorts {
            store: self.store.clone(),
            clock: self.clock.clone(),
            tasks: self.tasks.clone(),
            http: self.http.clone(),
            environment: self.options.environment.clone(),
            pace: self.options.share,
            directories,
            sessions,
        };
        Shares::new(ports, self.feed.moved().clone())
    }
}
