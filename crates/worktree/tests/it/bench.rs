//! A worktree to run tools in, with a person who answers as told and a list of what was asked.

use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use sturdy_session::types::ask::Question;
use sturdy_session::types::todo::Todo;
use sturdy_worktree::path::Roots;
use sturdy_worktree::tool::{
    Call, Caller, Delegated, Done, Edited, Handles, Memory, PermissionAsk, Progress, Settings, Task,
    ToolFailure, World, run,
};
use sturdy_worktree::tools::builtin;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

pub(crate) struct Bench {
    _top: tempfile::TempDir,
    pub(crate) dir: PathBuf,
    pub(crate) outside: PathBuf,
    pub(crate) world: World,
    asked: Arc<Mutex<Vec<PermissionAsk>>>,
    edited: Arc<Mutex<Vec<Edited>>>,
    todos: Arc<Mutex<Vec<Todo>>>,
    pub(crate) progress: watch::Receiver<Progress>,
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self::with(|_| {})
    }

    pub(crate) fn with(change: impl FnOnce(&mut Settings)) -> Self {
        let top = tempfile::tempdir().unwrap();
        let base = top.path().canonicalize().unwrap();
        let dir = base.join("tree");
        let outside = base.join("outside");
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::create_dir_all(&outside).unwrap();
        let mut settings = Settings::new(base.join("output"));
        change(&mut settings);
        let (progress, seen) = watch::channel(Progress::default());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let edited = Arc::new(Mutex::new(Vec::new()));
        let todos = Arc::new(Mutex::new(Vec::new()));
        let world = World {
            roots: Roots::new(&dir, &dir).unwrap(),
            settings: Arc::new(settings),
            memory: Arc::new(Memory::default()),
            caller: Caller::Model,
            stop: CancellationToken::new(),
            handles: handles(progress, asked.clone(), edited.clone(), todos.clone()),
        };
        Self { _top: top, dir, outside, world, asked, edited, todos, progress: seen }
    }

    /// From now on every ask ends so.
    pub(crate) fn answer_all(&mut self, failure: ToolFailure) {
        let asked = self.asked.clone();
        self.world.handles.ask = Arc::new(move |ask| {
            asked.lock().unwrap().push(ask);
            let failure = failure.clone();
            Box::pin(async move { Err(failure) })
        });
    }

    pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.dir.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    pub(crate) fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.dir.join(name)).unwrap()
    }

    pub(crate) async fn run(&self, tool: &str, input: Value) -> Result<Done, ToolFailure> {
        let tools = builtin(&[]);
        let found = tools.iter().find(|one| one.spec().name == tool).unwrap();
        let Value::Object(input) = input else { panic!("input is no object") };
        let call = Call { id: "call_1".to_owned(), name: tool.to_owned(), input };
        run(found.as_ref(), call, &self.world).await
    }

    pub(crate) async fn ok(&self, tool: &str, input: Value) -> Done {
        self.run(tool, input).await.unwrap_or_else(|failure| panic!("{failure}"))
    }

    pub(crate) async fn fails(&self, tool: &str, input: Value) -> String {
        match self.run(tool, input).await {
            Ok(done) => panic!("{done:?}"),
            Err(failure) => failure.text,
        }
    }

    /// Permission, patterns and "always" of each ask since the last time.
    pub(crate) fn asked(&self) -> Vec<(String, Vec<String>, Vec<String>)> {
        let asks = std::mem::take(&mut *self.asked.lock().unwrap());
        asks.into_iter().map(|ask| (ask.permission, ask.patterns, ask.always)).collect()
    }

    pub(crate) fn asks(&self) -> Vec<PermissionAsk> {
        std::mem::take(&mut *self.asked.lock().unwrap())
    }

    pub(crate) fn edited(&self) -> Vec<Edited> {
        std::mem::take(&mut *self.edited.lock().unwrap())
    }

    pub(crate) fn todos(&self) -> Vec<Todo> {
        self.todos.lock().unwrap().clone()
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.dir.join(name).to_str().unwrap().to_owned()
    }
}

fn handles(
    progress: watch::Sender<Progress>,
    asked: Arc<Mutex<Vec<PermissionAsk>>>,
    edited: Arc<Mutex<Vec<Edited>>>,
    todos: Arc<Mutex<Vec<Todo>>>,
) -> Handles {
    Handles {
        ask: Arc::new(move |ask| {
            asked.lock().unwrap().push(ask);
            Box::pin(async { Ok(()) })
        }),
        act: Arc::new(|| Box::pin(async { Ok(()) })),
        question: Arc::new(|questions: Vec<Question>| {
            let answers = questions.iter().map(|question| vec![question.options[0].label.clone()]).collect();
            Box::pin(async move { Ok(answers) })
        }),
        may_read: Arc::new(|path| !path.ends_with(".secret")),
        progress,
        set_todos: Arc::new(move |_, new| {
            *todos.lock().unwrap() = new;
            Box::pin(async { Ok(()) })
        }),
        task: Arc::new(|_, task: Task| {
            let text = format!("{} did: {}", task.agent, task.prompt);
            let metadata = json!({ "sessionId": "ses_child" }).as_object().unwrap().clone();
            Box::pin(async move { Ok(Delegated { session: "ses_child".to_owned(), text, metadata }) })
        }),
        edited: Arc::new(move |one| edited.lock().unwrap().push(one)),
        diagnose: None,
        keep_background: None,
    }
}

/// One expected ask.
pub(crate) fn ask(
    permission: &str,
    pattern: impl AsRef<Path>,
    always: &str,
) -> (String, Vec<String>, Vec<String>) {
    let pattern = pattern.as_ref().to_str().unwrap().to_owned();
    (permission.to_owned(), vec![pattern], vec![always.to_owned()])
}
