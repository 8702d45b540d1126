//! A whole server without HTTP: a temporary home, a project, a scripted provider, an engine.
//!
//! A world can be closed and opened again on the same disk, and it can be told to die at a commit.

use crate::dialect::Dialect;
use crate::provider::Provider;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use sturdy_engine::extension::Extensions;
use sturdy_engine::files::HangPlan;
use sturdy_engine::share::SharePace;
use sturdy_engine::task::PanicPlan;
use sturdy_engine::{Engine, EngineError, EngineOptions, Environment, NewSession, PromptRequest};
use sturdy_session::depth::read_stored;
use sturdy_session::fact::Fact;
use sturdy_session::id::{MessageId, SessionId};
use sturdy_session::types::message::{Message, MessageWithParts};
use sturdy_session::types::part::{PartBody, TextPart};
use sturdy_session::types::session::Session;
use sturdy_store::{CrashPlan, Durability, MessageQuery, SessionRows};
use tempfile::TempDir;

/// The files of a world; they outlive its engines.
#[derive(Debug)]
pub struct Disk {
    root: TempDir,
}

#[derive(Debug)]
pub struct World {
    pub engine: Engine,
    pub disk: Disk,
    pub provider: Provider,
}

impl Disk {
    #[must_use]
    pub fn new() -> Self {
        let root = TempDir::with_prefix("sturdy-").expect("a temporary directory");
        for part in ["home", "project", "data"] {
            fs::create_dir(root.path().join(part)).expect("a directory");
        }
        Self { root }
    }

    #[must_use]
    pub fn project(&self) -> PathBuf {
        self.root.path().join("project")
    }

    #[must_use]
    pub fn data(&self) -> PathBuf {
        self.root.path().join("data")
    }

    #[must_use]
    pub fn home(&self) -> PathBuf {
        self.root.path().join("home")
    }

    /// Changes the database of a store that nobody has open: what a broken disk or another program would do.
    pub fn damage(&self, statement: &str) {
        change_database(&self.data(), statement);
    }

    /// Writes `opencode.json` of the project.
    pub fn configure(&self, config: &Value) {
        fs::write(self.project().join("opencode.json"), config.to_string()).expect("a configuration");
    }
}

impl Disk {
    /// What a statement counts, in a store that somebody may have open.
    pub fn number(&self, statement: &str) -> u64 {
        let database = rusqlite::Connection::open(self.data().join("sturdy.db")).expect("a database");
        let found: i64 = database.query_row(statement, [], |row| row.get(0)).expect("a number");
        found.cast_unsigned()
    }
}

/// Runs a statement in the database of a data directory that nobody has open.
pub fn change_database(data_dir: &Path, statement: &str) {
    let database = rusqlite::Connection::open(data_dir.join("sturdy.db")).expect("a database");
    database.execute(statement, ()).expect("a statement");
}

impl Default for Disk {
    fn default() -> Self {
        Self::new()
    }
}

/// A configuration whose only model is the scripted one.
#[must_use]
pub fn scripted(url: &str) -> Value {
    speaking(url, Dialect::Chat)
}

/// The same, spoken to in this protocol.
#[must_use]
pub fn speaking(url: &str, dialect: Dialect) -> Value {
    json!({
        "model": "acme/main",
        "provider": { "acme": {
            "npm": dialect.npm(),
            "options": { "baseURL": url, "apiKey": "key-of-a-test" },
            "models": { "main": {
                "name": "Main",
                "cost": { "input": 1, "output": 2, "cache_read": 0.1, "cache_write": 1.25 },
                "limit": { "context": 200_000, "output": 8192 },
            } },
        } },
    })
}

impl World {
    /// A fresh world with nothing in it.
    pub async fn new() -> Self {
        let provider = Provider::start().await;
        Self::open(Disk::new(), provider, CrashPlan::Never).await
    }

    /// Opens a world on a disk. The plan says when its process dies.
    pub async fn open(disk: Disk, provider: Provider, crash: CrashPlan) -> Self {
        disk.configure(&scripted(&provider.url()));
        let engine = Engine::open(options(&disk, crash)).await.expect("an engine");
        Self { engine, disk, provider }
    }

    /// A fresh world whose engine is opened in a special way.
    pub async fn with(change: impl FnOnce(&mut EngineOptions)) -> Self {
        let disk = Disk::new();
        let provider = Provider::start().await;
        disk.configure(&scripted(&provider.url()));
        let mut options = options(&disk, CrashPlan::Never);
        change(&mut options);
        let engine = Engine::open(options).await.expect("an engine");
        Self { engine, disk, provider }
    }

    /// Ends the process, changes its database, and starts another.
    pub async fn reopen_damaged(self, statement: &str) -> Self {
        let Self { engine, disk, provider } = self;
        engine.close().await;
        drop(engine);
        disk.damage(statement);
        Self::open(disk, provider, CrashPlan::Never).await
    }

    /// Kills the process and starts another on the same disk, with the same provider. What it had not stored
    /// when it died is not stored; what still runs in this process finds no store and ends.
    pub async fn reopen(self) -> Self {
        let Self { engine, disk, provider } = self;
        engine.store().clone().die().await;
        engine.close().await;
        drop(engine);
        Self::open(disk, provider, CrashPlan::Never).await
    }

    pub fn directory(&self) -> String {
        self.disk.project().to_string_lossy().into_owned()
    }

    /// A session with a title, so that no title is asked of the provider.
    pub async fn session(&self) -> Session {
        self.try_session().await.expect("a session")
    }

    pub async fn try_session(&self) -> Result<Session, EngineError> {
        let instance = self.engine.instance(&self.directory()).await?;
        let new = NewSession { title: Some("A test".to_owned()), ..NewSession::default() };
        self.engine.create_session(&instance, new).await
    }

    /// Sends a prompt; returns when it is durable.
    pub async fn prompt(&self, session: &SessionId, text: &str) -> Result<MessageId, EngineError> {
        self.engine.prompt(session, prompt(text)).await
    }

    /// Sends a prompt and waits for the end of the turn.
    pub async fn ask(&self, session: &SessionId, text: &str) -> Result<MessageWithParts, EngineError> {
        let message = self.prompt(session, text).await?;
        let raw = self.engine.answer(session, &message).await?;
        let info: Message = read_stored(&raw.info).expect("a message");
        let parts = raw.parts.iter().map(|part| read_stored(part).expect("a part")).collect();
        Ok(MessageWithParts { info, parts })
    }

    pub async fn messages(&self, session: &SessionId) -> Vec<MessageWithParts> {
        let page = self.engine.store().messages(session, MessageQuery::default()).await.expect("messages");
        let parse = |raw: &sturdy_store::RawMessage| MessageWithParts {
            info: read_stored(&raw.info).expect("a message"),
            parts: raw.parts.iter().map(|part| read_stored(part).expect("a part")).collect(),
        };
        page.items.iter().map(parse).collect()
    }

    /// The whole log of a session.
    pub async fn log(&self, session: &SessionId) -> Vec<Fact> {
        let entries = self.engine.store().entries_of(session).await.expect("a log");
        entries.iter().map(|entry| Fact::parse(&entry.kind, &entry.data).expect("a fact")).collect()
    }

    /// The log and the rows of one moment. Work behind a turn (titles, pruning) may commit between two
    /// reads; rows between two equal logs are the rows of that log.
    pub async fn log_and_rows(&self, session: &SessionId) -> (Vec<Fact>, SessionRows) {
        let mut log = self.log(session).await;
        for _ in 0..1000 {
            let rows = self.engine.store().rows_of_session(session).await.expect("rows");
            let after = self.log(session).await;
            if after.len() == log.len() {
                return (log, rows);
            }
            log = after;
        }
        panic!("the log of {session} grows without end");
    }
}

/// A prompt of one text.
#[must_use]
pub fn prompt(text: &str) -> PromptRequest {
    let part = PartBody::Text(TextPart { text: text.to_owned(), ..TextPart::default() });
    PromptRequest { parts: vec![(None, part)], ..PromptRequest::default() }
}

/// How a world opens its engine.
#[must_use]
pub fn options(disk: &Disk, crash: CrashPlan) -> EngineOptions {
    let home = disk.home().to_string_lossy().into_owned();
    EngineOptions {
        data_dir: disk.data(),
        // Whoever plans a death wants to know what was durable before it.
        durability: if crash == CrashPlan::Never { Durability::Normal } else { Durability::Full },
        directory: disk.project(),
        environment: Environment::new(HashMap::from([("HOME".to_owned(), home)])).trusting_all(),
        wire_version: "1.18.33".to_owned(),
        crash,
        panics: PanicPlan::default(),
        hang: HangPlan::default(),
        extensions: Extensions::default(),
        share: SharePace::default(),
    }
}
