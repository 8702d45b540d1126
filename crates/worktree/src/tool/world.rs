//! What a run of a tool can reach: its directories, its limits, and whom to ask.
//!
//! The handles are plain functions, given by whoever runs the tool. A tool knows neither sessions
//! nor stores; it says what it wants and waits.

use super::{Memory, ToolFailure};
use crate::bound::Limits;
pub use crate::lsp::{Diagnostic, Severity};
use crate::path::{Located, Roots, WorkPath};
use crate::process::{Inherited, Leftover, Sandbox};
use futures_util::future::BoxFuture;
use serde_json::json;
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use sturdy_session::json::Map;
use sturdy_session::rules::Wanted;
use sturdy_session::types::ask::Question;
use sturdy_session::types::todo::Todo;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Everything a run is given besides its arguments.
#[derive(Clone, Debug)]
pub struct World {
    pub roots: Roots,
    pub settings: Arc<Settings>,
    pub memory: Arc<Memory>,
    pub caller: Caller,
    /// Said when the turn is stopped.
    pub stop: CancellationToken,
    pub handles: Handles,
}

/// Who wants the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caller {
    Model,
    /// A person typed it.
    User,
}

/// What does not change from call to call.
#[derive(Clone, Debug)]
pub struct Settings {
    pub limits: Limits,
    /// Where output too long for the model is kept whole.
    pub output_dir: PathBuf,
    /// The shell of the bash tool; found by itself when not set.
    pub shell: Option<PathBuf>,
    /// The fence around every command of a model.
    pub sandbox: Option<Arc<Sandbox>>,
    /// What commands and formatters inherit.
    pub inherited: Inherited,
    /// Added to the environment of every command.
    pub variables: Vec<(OsString, OsString)>,
    /// How long a command may run when it does not say so itself.
    pub command_timeout_ms: u64,
    /// Files are changed only after they were read.
    pub read_before_write: bool,
    /// The agent may use `task`, so a hint may suggest it.
    pub may_delegate: bool,
    pub reach: Reach,
    /// Instructions are read whoever could have written them.
    pub obeys_everybody: bool,
    pub skills: Vec<Skill>,
    pub formatters: Vec<crate::format::Formatter>,
    /// The language servers, where there are some.
    pub lsp: Option<Arc<crate::lsp::Lsp>>,
}

impl Settings {
    #[must_use]
    pub fn new(output_dir: PathBuf) -> Self {
        Self {
            limits: Limits::default(),
            output_dir,
            shell: None,
            sandbox: None,
            inherited: Inherited::default(),
            variables: Vec::new(),
            command_timeout_ms: 120_000,
            read_before_write: true,
            may_delegate: false,
            reach: Reach::Public,
            obeys_everybody: false,
            skills: Vec::new(),
            formatters: Vec::new(),
            lsp: None,
        }
    }
}

/// Which addresses may be connected to without asking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Not this machine, not its networks.
    Public,
    /// These too, but not where a cloud tells a machine its secrets.
    Private,
    Anywhere,
}

/// A text a model can load by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skill {
    pub name: String,
    pub description: String,
    pub directory: PathBuf,
    pub content: String,
}

/// A request for permission, as the rules judge it.
#[derive(Clone, Debug, PartialEq)]
pub struct PermissionAsk {
    pub permission: String,
    pub patterns: Vec<String>,
    /// What the answer "always" would allow.
    pub always: Vec<String>,
    pub metadata: Map,
    /// Other ways to say the patterns, for rules that ask or forbid.
    pub forms: Vec<String>,
    /// The patterns are not surely all that will happen (a command that was not understood):
    /// a rule that allows them must not settle it while another rule asks or forbids.
    pub unclear: bool,
}

impl PermissionAsk {
    #[must_use]
    pub fn new(permission: &str, patterns: Vec<String>, always: Vec<String>, metadata: Map) -> Self {
        let forms = Vec::new();
        Self { permission: permission.to_owned(), patterns, always, metadata, forms, unclear: false }
    }

    /// The same for the rules.
    #[must_use]
    pub fn wanted(&self) -> Wanted {
        Wanted {
            permission: self.permission.clone(),
            patterns: self.patterns.clone(),
            forms: self.forms.clone(),
            unclear: self.unclear,
        }
    }
}

/// What is shown while a call runs; the latest wins.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Progress {
    pub title: Option<String>,
    pub metadata: Map,
}

/// Work for a child session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    pub call: String,
    pub description: String,
    pub prompt: String,
    pub agent: String,
    /// An earlier child to go on with.
    pub resume: Option<String>,
    pub command: Option<String>,
}

/// What a child session answered.
#[derive(Clone, Debug, PartialEq)]
pub struct Delegated {
    pub session: String,
    /// The last text of the child.
    pub text: String,
    /// `parentSessionId`, `sessionId`, `model`.
    pub metadata: Map,
}

/// A file was changed by a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edited {
    pub path: PathBuf,
    pub change: crate::format::Change,
}

/// What a command left running when it ended.
#[derive(Debug)]
pub struct Background {
    pub command: String,
    pub directory: PathBuf,
    pub leftover: Leftover,
}

/// Keeps what a command left running and gives it a name; nothing, and it has ended, if there are too many.
pub type KeepBackground = dyn Fn(Background) -> Option<String> + Send + Sync;

type Answer<T> = BoxFuture<'static, Result<T, ToolFailure>>;

/// The chosen answers, question by question.
type Answers = Vec<Vec<String>>;

/// Asks what language servers say about files.
pub type Diagnose = dyn Fn(Vec<PathBuf>) -> BoxFuture<'static, Vec<Diagnostic>> + Send + Sync;

/// Whom a tool may ask. All wait; an ask that nobody answers waits until the turn is stopped,
/// and the asked side says so with a failure.
#[derive(Clone)]
pub struct Handles {
    pub ask: Arc<dyn Fn(PermissionAsk) -> Answer<()> + Send + Sync>,
    /// Waits until it is durable that the call may act.
    pub act: Arc<dyn Fn() -> Answer<()> + Send + Sync>,
    pub question: Arc<dyn Fn(Vec<Question>) -> Answer<Answers> + Send + Sync>,
    /// Whether a file, named as the rules name it, may be read without asking anybody.
    pub may_read: Arc<dyn Fn(&str) -> bool + Send + Sync>,
    /// Holds one value: a reader that is late sees the latest.
    pub progress: watch::Sender<Progress>,
    pub set_todos: Arc<dyn Fn(Acting, Vec<Todo>) -> Answer<()> + Send + Sync>,
    pub task: Arc<dyn Fn(Acting, Task) -> Answer<Delegated> + Send + Sync>,
    /// Told after each change of a file.
    pub edited: Arc<dyn Fn(Edited) + Send + Sync>,
    /// What a language server has to say about these files, when there is one.
    pub diagnose: Option<Arc<Diagnose>>,
    /// Without it, what a command left running ends with the command.
    pub keep_background: Option<Arc<KeepBackground>>,
}

impl fmt::Debug for Handles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handles").finish_non_exhaustive()
    }
}

impl Handles {
    /// Everything is allowed, nobody is there, nothing is kept.
    #[must_use]
    pub fn alone() -> Self {
        fn nobody<T>() -> Answer<T> {
            Box::pin(async { Err(ToolFailure::failed("Nobody is there to do this.")) })
        }
        Self {
            ask: Arc::new(|_| Box::pin(async { Ok(()) })),
            act: Arc::new(|| Box::pin(async { Ok(()) })),
            question: Arc::new(|_| nobody()),
            may_read: Arc::new(|_| true),
            progress: watch::Sender::new(Progress::default()),
            set_todos: Arc::new(|_, _| nobody()),
            task: Arc::new(|_, _| nobody()),
            edited: Arc::new(|_| {}),
            diagnose: None,
            keep_background: None,
        }
    }
}

/// Everything a call needs is allowed, and that is durable: it may change something. Only [`World::act`] makes one, and
/// nothing is changed without it, so a tool cannot act while it plans.
#[derive(Clone, Copy, Debug)]
pub struct Acting {
    _made_by_act: (),
}

impl World {
    /// Part of a plan: waits until this is allowed. What is forbidden or refused ends the call.
    pub async fn ask(&self, ask: PermissionAsk) -> Result<(), ToolFailure> {
        (self.handles.ask)(ask).await
    }

    /// The end of a plan. A call that only reads never comes here.
    pub async fn act(&self) -> Result<Acting, ToolFailure> {
        (self.handles.act)().await?;
        Ok(Acting { _made_by_act: () })
    }

    pub fn report(&self, title: Option<String>, metadata: Map) {
        self.handles.progress.send_replace(Progress { title, metadata });
    }

    /// A path for a tool: inside as it is, outside after asking `external_directory`.
    pub async fn reach(&self, text: &str) -> Result<WorkPath, ToolFailure> {
        let roots = self.roots.clone();
        let text = text.to_owned();
        let outside = match self.blocking(move || Ok(roots.locate(text)?)).await? {
            Located::Inside(path) => return Ok(path),
            Located::Outside(outside) => outside,
        };
        let directory = outside.directory();
        let pattern = directory.join("*").to_string_lossy().into_owned();
        let metadata = json!({ "filepath": outside.shown(), "parentDir": directory });
        let ask =
            PermissionAsk::new("external_directory", vec![pattern.clone()], vec![pattern], map(metadata));
        self.ask(ask).await?;
        Ok(outside.permitted())
    }

    /// Runs file work on a thread that may wait for a disk.
    pub async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, ToolFailure> + Send + 'static,
    ) -> Result<T, ToolFailure> {
        match tokio::task::spawn_blocking(work).await {
            Ok(done) => done,
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            Err(_) => Err(ToolFailure::aborted()),
        }
    }
}

/// The object inside a JSON value that was written as one.
pub(crate) fn map(value: serde_json::Value) -> Map {
    match value {
        serde_json::Value::Object(map) => map,
        _ => Map::new(),
    }
}
