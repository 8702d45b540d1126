//! One language server: its process, the files it was told of, what it said about them.
//!
//! What it says is read leniently, as JSON: a server that adds to the protocol is still understood.

use super::diagnostic::{Diagnostic, Severity};
use super::frame::Framed;
use super::words::{self, Ask, Method, Operation};
use super::{LspError, Server};
use crate::process::{Service, StartedService};
use async_lsp::router::Router;
use async_lsp::{AnyNotification, AnyRequest, MainLoop, ServerSocket};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::future::Future;
use std::io::Read as _;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, timeout};
use tokio_util::compat::{TokioAsyncReadCompatExt as _, TokioAsyncWriteCompatExt as _};
use url::Url;

/// A large project is read before the first answer.
const INTRODUCE_PATIENCE: Duration = Duration::from_secs(45);
/// What a change waits for words about it.
const DIAGNOSE_PATIENCE: Duration = Duration::from_secs(3);
/// Servers say the quick things first and the thorough ones a moment later.
const QUIET: Duration = Duration::from_millis(150);
const ASK_PATIENCE: Duration = Duration::from_secs(10);
/// Larger files are not shown to servers.
const FILE_BYTES_MAX: u64 = 10 * 1024 * 1024;
/// Files whose diagnostics are remembered.
const FILES_MAX: usize = 2_000;
/// A name that no system would open is of no file.
const NAME_BYTES_MAX: usize = 4096;

#[derive(Debug)]
pub(super) struct Client {
    id: String,
    root: PathBuf,
    server: ServerSocket,
    _process: Service,
    heard: Arc<Heard>,
    /// Version of each file the server was told of.
    versions: Mutex<HashMap<PathBuf, i64>>,
    /// It wants to be asked for diagnostics instead of telling them.
    is_asked: AtomicBool,
}

/// What the server said.
#[derive(Debug, Default)]
struct Heard {
    files: Mutex<HashMap<PathBuf, Said>>,
    /// Counts what was said.
    count: watch::Sender<u64>,
    /// Nothing more will be said.
    is_over: AtomicBool,
}

#[derive(Debug)]
struct Said {
    /// The count when it was said.
    at: u64,
    version: Option<i64>,
    diagnostics: Vec<Diagnostic>,
}

impl Client {
    /// Begins to talk with a process. The second value is the talk itself, which has to be driven.
    pub(super) fn connect(
        server: &Server,
        root: &Path,
        (process, input, output): StartedService,
    ) -> (Self, impl Future<Output = Result<(), async_lsp::Error>> + Send + use<>) {
        let heard = Arc::new(Heard::default());
        let listener = Listener {
            heard: heard.clone(),
            settings: server.initialization.clone(),
            folder: words::folder(root),
        };
        let (talk, socket) = MainLoop::new_client(|_| router(listener));
        let client = Self {
            id: server.id.clone(),
            root: root.to_owned(),
            server: socket,
            _process: process,
            heard,
            versions: Mutex::default(),
            is_asked: AtomicBool::new(false),
        };
        (client, talk.run_buffered(Framed::new(output).compat(), input.compat_write()))
    }

    /// Says who we are and hears what the server can do.
    pub(super) async fn introduce(&self, server: &Server) -> Result<(), LspError> {
        let params = words::introduction(&self.root, &server.initialization);
        let asked = self.ask_within::<words::Initialize>(params, INTRODUCE_PATIENCE);
        let answer = asked.await?;
        let is_asked = answer["capabilities"]["diagnosticProvider"].is_object();
        self.is_asked.store(is_asked, Ordering::Relaxed);
        self.say::<words::Initialized>(json!({}))?;
        if !server.initialization.is_null() {
            self.say::<words::ConfigurationChanged>(json!({ "settings": server.initialization }))?;
        }
        Ok(())
    }

    /// Tells of a changed file and waits until the server has spoken about it, or long enough.
    pub(super) async fn look_at(&self, path: &Path) {
        let before = *self.heard.count.borrow();
        let Ok(version) = self.open(path).await else { return };
        if self.is_asked.load(Ordering::Relaxed) {
            self.pull(path, version).await;
        } else {
            self.wait_for(path, before, version).await;
        }
    }

    /// Tells the server what stands in a file now.
    pub(super) async fn open(&self, path: &Path) -> Result<i64, LspError> {
        let text = read(path).await?;
        let uri = words::uri(path);
        let (version, is_new) = {
            let mut versions = self.versions.lock().unwrap_or_else(PoisonError::into_inner);
            let is_new = !versions.contains_key(path);
            let version = versions.entry(path.to_owned()).and_modify(|version| *version += 1).or_insert(0);
            (*version, is_new)
        };
        let kind = if is_new { words::CREATED } else { words::CHANGED };
        self.say::<words::FilesChanged>(json!({ "changes": [{ "uri": uri, "type": kind }] }))?;
        if is_new {
            let language = words::language_of(path);
            let document = json!({ "uri": uri, "languageId": language, "version": version, "text": text });
            self.say::<words::Opened>(json!({ "textDocument": document }))?;
        } else {
            let document = json!({ "uri": uri, "version": version });
            let params = json!({ "textDocument": document, "contentChanges": [{ "text": text }] });
            self.say::<words::Changed>(params)?;
        }
        Ok(version)
    }

    async fn pull(&self, path: &Path, version: i64) {
        let params = json!({ "textDocument": { "uri": words::uri(path) } });
        let Ok(answer) = self.ask_within::<words::Diagnose>(params, DIAGNOSE_PATIENCE).await else { return };
        if let Some(items) = answer["items"].as_array() {
            self.heard.note(path, Some(version), words::diagnostics(path, items));
        }
    }

    async fn wait_for(&self, path: &Path, before: u64, version: i64) {
        let deadline = Instant::now() + DIAGNOSE_PATIENCE;
        let mut count = self.heard.count.subscribe();
        let spoken = async {
            // Until there are words about this text, and then until there are no more for a moment.
            while !self.heard.is_over.load(Ordering::SeqCst) {
                let patience = match self.heard.has_spoken(path, before, version) {
                    true => QUIET,
                    false => DIAGNOSE_PATIENCE,
                };
                if !matches!(timeout(patience, count.changed()).await, Ok(Ok(()))) {
                    return;
                }
            }
        };
        // Silence is an answer as well: many servers say nothing of a file without faults.
        let _ = tokio::time::timeout_at(deadline, spoken).await;
    }

    /// Adds what is known: all of `paths`, and the errors of other files.
    pub(super) fn gather(
        &self,
        paths: &[PathBuf],
        all: &mut Vec<Diagnostic>,
        others: &mut Vec<Vec<Diagnostic>>,
    ) {
        for (path, said) in self.heard.lock().iter() {
            if paths.contains(path) {
                all.extend(said.diagnostics.iter().cloned());
                continue;
            }
            let errors = said.diagnostics.iter().filter(|one| one.severity == Severity::Error);
            let errors: Vec<Diagnostic> = errors.cloned().collect();
            if !errors.is_empty() {
                others.push(errors);
            }
        }
    }

    pub(super) async fn symbols(&self, query: &str) -> Vec<Value> {
        let answer = self.ask::<words::Symbols>(json!({ "query": query })).await;
        answer.ok().map(words::symbols).unwrap_or_default()
    }

    pub(super) async fn operate(
        &self,
        operation: Operation,
        path: &Path,
        place: (u32, u32),
        query: &str,
    ) -> Result<Vec<Value>, LspError> {
        let params = operation.params(path, place, query);
        let answer = match operation {
            Operation::GoToDefinition => self.ask::<words::Definition>(params).await?,
            Operation::FindReferences => self.ask::<words::References>(params).await?,
            Operation::Hover => self.ask::<words::Hover>(params).await?,
            Operation::DocumentSymbol => self.ask::<words::DocumentSymbols>(params).await?,
            Operation::WorkspaceSymbol => self.ask::<words::Symbols>(params).await?,
            Operation::GoToImplementation => self.ask::<words::Implementation>(params).await?,
            Operation::PrepareCallHierarchy => self.ask::<words::Hierarchy>(params).await?,
            Operation::IncomingCalls | Operation::OutgoingCalls => self.calls(operation, params).await?,
        };
        Ok(match answer {
            Value::Null => Vec::new(),
            Value::Array(items) => items,
            one => vec![one],
        })
    }

    async fn calls(&self, operation: Operation, params: Value) -> Result<Value, LspError> {
        let items = self.ask::<words::Hierarchy>(params).await?;
        let Some(item) = items.as_array().and_then(|items| items.first()) else { return Ok(Value::Null) };
        let params = json!({ "item": item });
        match operation {
            Operation::IncomingCalls => self.ask::<words::Incoming>(params).await,
            _ => self.ask::<words::Outgoing>(params).await,
        }
    }

    async fn ask<M: Method>(&self, params: Value) -> Result<Value, LspError> {
        self.ask_within::<M>(params, ASK_PATIENCE).await
    }

    async fn ask_within<M: Method>(&self, params: Value, patience: Duration) -> Result<Value, LspError> {
        let answer = timeout(patience, self.server.request::<Ask<M>>(params)).await;
        answer.map_err(|_| LspError::TimedOut(patience))?.map_err(LspError::Refused)
    }

    fn say<M: Method>(&self, params: Value) -> Result<(), LspError> {
        self.server.notify::<Ask<M>>(params).map_err(|_| {
            let why = "it has ended".to_owned();
            LspError::Broken { id: self.id.clone(), why }
        })
    }
}

impl Heard {
    fn lock(&self) -> MutexGuard<'_, HashMap<PathBuf, Said>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, path: &Path, version: Option<i64>, diagnostics: Vec<Diagnostic>) {
        let mut files = self.lock();
        if files.len() >= FILES_MAX && !files.contains_key(path) {
            files.retain(|_, said| !said.diagnostics.is_empty());
        }
        if files.len() >= FILES_MAX && !files.contains_key(path) {
            return;
        }
        let at = *self.count.borrow() + 1;
        files.insert(path.to_owned(), Said { at, version, diagnostics });
        drop(files);
        self.count.send_modify(|count| *count += 1);
    }

    /// Whether something was said about this text of a file.
    fn has_spoken(&self, path: &Path, after: u64, version: i64) -> bool {
        let files = self.lock();
        let said = files.get(path).filter(|said| said.at > after);
        said.is_some_and(|said| said.version.is_none_or(|about| about >= version))
    }
}

/// Hears what the server says by itself.
struct Listener {
    heard: Arc<Heard>,
    settings: Value,
    folder: Value,
}

/// Dropped with the talk: whoever waits for words about a change waits no longer.
impl Drop for Listener {
    fn drop(&mut self) {
        self.heard.is_over.store(true, Ordering::SeqCst);
        self.heard.count.send_modify(|count| *count += 1);
    }
}

fn router(listener: Listener) -> Router<Listener> {
    let mut router = Router::new(listener);
    router.unhandled_notification(|listener, said| {
        listener.said(said);
        ControlFlow::Continue(())
    });
    router.unhandled_request(|listener, asked| {
        let answer = listener.answer(&asked);
        async move { Ok(answer) }
    });
    router
}

impl Listener {
    fn said(&self, said: AnyNotification) {
        if said.method != words::PUBLISHED {
            return;
        }
        let path = said.params["uri"].as_str().and_then(|uri| Url::parse(uri).ok()?.to_file_path().ok());
        let path = path.filter(|path| path.as_os_str().len() <= NAME_BYTES_MAX);
        let (Some(path), Some(items)) = (path, said.params["diagnostics"].as_array()) else { return };
        self.heard.note(&path, said.params["version"].as_i64(), words::diagnostics(&path, items));
    }

    /// A server that is refused something gives up; so everything harmless is granted.
    fn answer(&self, asked: &AnyRequest) -> Value {
        match asked.method.as_str() {
            "workspace/configuration" => {
                let setting = |item: &Value| match item["section"].as_str() {
                    Some(section) => words::below(&self.settings, section),
                    None => self.settings.clone(),
                };
                let items = asked.params["items"].as_array().into_iter().flatten();
                items.map(setting).collect()
            }
            "workspace/workspaceFolders" => json!([self.folder]),
            // We change files by our own tools only.
            "workspace/applyEdit" => json!({ "applied": false }),
            _ => Value::Null,
        }
    }
}

async fn read(path: &Path) -> Result<String, LspError> {
    let unreadable = || LspError::Unreadable(path.to_owned());
    let from = path.to_owned();
    let read = move || {
        let file =
            std::fs::File::open(&from).ok().filter(|file| file.metadata().is_ok_and(|it| it.is_file()))?;
        let mut bytes = Vec::new();
        file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).ok()?;
        (bytes.len() as u64 <= FILE_BYTES_MAX).then(|| String::from_utf8_lossy(&bytes).into_owned())
    };
    tokio::task::spawn_blocking(read).await.ok().flatten().ok_or_else(unreadable)
}
