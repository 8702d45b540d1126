//! A home, a project, a store and a server, all thrown away at the end.

use crate::document;
use reqwest::{Client, Method, RequestBuilder, Response};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;
use sturdy_engine::extension::Extensions;
use sturdy_engine::files::HangPlan;
use sturdy_engine::share::SharePace;
use sturdy_engine::task::PanicPlan;
use sturdy_engine::{Engine, EngineOptions, Environment};
use sturdy_server::{App, ServerOptions};
use sturdy_store::{CrashPlan, Durability};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

pub(crate) struct World {
    pub(crate) root: TempDir,
    pub(crate) engine: Engine,
    app: App,
    serving: JoinHandle<()>,
    pub(crate) url: String,
    pub(crate) client: Client,
}

/// What a world is to meet, and how fast it shares.
struct Plans {
    crash: CrashPlan,
    hang: HangPlan,
    panics: PanicPlan,
    share: SharePace,
}

impl Plans {
    fn usual() -> Self {
        let panics = PanicPlan::default();
        Self { crash: CrashPlan::Never, hang: HangPlan::default(), panics, share: quick() }
    }
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: reqwest::header::HeaderMap,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) async fn of(response: Response) -> Self {
        let status = response.status().as_u16();
        let headers = response.headers().clone();
        Self { status, headers, text: response.text().await.unwrap() }
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|cause| panic!("{cause}: {:?}", self.text))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    /// Status and body at once: an answer is compared whole.
    pub(crate) fn both(&self) -> (u16, Value) {
        (self.status, self.json())
    }
}

impl World {
    pub(crate) async fn new() -> Self {
        Self::with(ServerOptions::default()).await
    }

    pub(crate) async fn with(options: ServerOptions) -> Self {
        let root = tempfile::tempdir().unwrap();
        for place in ["home", "project", "other"] {
            std::fs::create_dir_all(root.path().join(place)).unwrap();
        }
        Self::open(root, options).await
    }

    /// A world in which no project is trusted unseen.
    pub(crate) async fn trusting_nobody(root: TempDir) -> Self {
        for place in ["home", "project", "other"] {
            std::fs::create_dir_all(root.path().join(place)).unwrap();
        }
        Self::open_with(root, ServerOptions::default(), "0").await
    }

    async fn open(root: TempDir, options: ServerOptions) -> Self {
        Self::open_with(root, options, "1").await
    }

    /// A world whose writing thread panics at its first commit.
    pub(crate) async fn about_to_break() -> Self {
        let root = tempfile::tempdir().unwrap();
        for place in ["home", "project", "other"] {
            std::fs::create_dir_all(root.path().join(place)).unwrap();
        }
        Self::open_planned(root, ServerOptions::default(), "1", CrashPlan::Panic(1)).await
    }

    /// A world that gives up a request to a share service after a moment.
    pub(crate) async fn impatient() -> Self {
        Self::at_pace(SharePace { request: Duration::from_secs(3), ..quick() }).await
    }

    /// A world that forgets at once which ways of sending a share service does not understand.
    pub(crate) async fn forgetting_ways() -> Self {
        Self::at_pace(SharePace { way_pause: Duration::ZERO, ..quick() }).await
    }

    /// A world that compares idle links with their service all the time.
    pub(crate) async fn comparing_often() -> Self {
        Self::at_pace(SharePace { reconcile: Duration::from_millis(20), ..quick() }).await
    }

    /// A world that waits for an hour if a share service asks for that.
    pub(crate) async fn patient() -> Self {
        Self::at_pace(patient()).await
    }

    /// Kills the server and its engine, and starts others that wait as long.
    pub(crate) async fn reopened_patient(self) -> Self {
        let root = self.kill().await;
        let plans = Plans { share: patient(), ..Plans::usual() };
        Self::open_as(root, ServerOptions::default(), "1", plans).await
    }

    async fn at_pace(pace: SharePace) -> Self {
        let root = tempfile::tempdir().unwrap();
        for place in ["home", "project", "other"] {
            std::fs::create_dir_all(root.path().join(place)).unwrap();
        }
        let plans = Plans { share: pace, ..Plans::usual() };
        Self::open_as(root, ServerOptions::default(), "1", plans).await
    }

    async fn open_with(root: TempDir, options: ServerOptions, trust_all: &str) -> Self {
        Self::open_planned(root, options, trust_all, CrashPlan::Never).await
    }

    /// A world in which looking at the project's files may hang, from when the plan says so.
    pub(crate) async fn about_to_hang() -> (Self, HangPlan) {
        let root = tempfile::tempdir().unwrap();
        for place in ["home", "project", "other"] {
            std::fs::create_dir_all(root.path().join(place)).unwrap();
        }
        let hang = HangPlan::later(&root.path().join("project"));
        let plans = Plans { hang: hang.clone(), ..Plans::usual() };
        let world = Self::open_as(root, ServerOptions::default(), "1", plans).await;
        (world, hang)
    }

    /// A world in which a task panics once, when the plan is armed.
    pub(crate) async fn about_to_panic(options: ServerOptions, task: &'static str) -> (Self, PanicPlan) {
        let root = tempfile::tempdir().unwrap();
        for place in ["home", "project", "other"] {
            std::fs::create_dir_all(root.path().join(place)).unwrap();
        }
        let panics = PanicPlan::later(task);
        let plans = Plans { panics: panics.clone(), ..Plans::usual() };
        (Self::open_as(root, options, "1", plans).await, panics)
    }

    async fn open_planned(root: TempDir, options: ServerOptions, trust_all: &str, crash: CrashPlan) -> Self {
        Self::open_as(root, options, trust_all, Plans { crash, ..Plans::usual() }).await
    }

    async fn open_as(root: TempDir, options: ServerOptions, trust_all: &str, plans: Plans) -> Self {
        let Plans { crash, hang, panics, share } = plans;
        let variables = HashMap::from([
            ("HOME".to_owned(), root.path().join("home").display().to_string()),
            ("USER".to_owned(), "ada".to_owned()),
            ("STURDY_TRUST_ALL".to_owned(), trust_all.to_owned()),
            ("A_SECRET".to_owned(), "open-sesame".to_owned()),
            ("STURDY_DEMO_PACE_MS".to_owned(), "0".to_owned()),
        ]);
        let engine = Engine::open(EngineOptions {
            data_dir: root.path().join("data"),
            durability: Durability::Normal,
            directory: root.path().join("project"),
            environment: Environment::new(variables),
            wire_version: "1.18.33".to_owned(),
            crash,
            panics,
            hang,
            extensions: Extensions::default(),
            share,
        });
        let engine = engine.await.unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let app = App::new(engine.clone(), options);
        let serving = engine.tasks().spawn("server", sturdy_server::serve(listener, app.clone()));
        // Answers are compared as they are sent, packed or not.
        let client = Client::builder().no_gzip().no_proxy().build().unwrap();
        Self { root, engine, app, serving, url, client }
    }

    /// The same with other options.
    pub(crate) async fn reopened_with(self, options: ServerOptions) -> Self {
        let root = self.kill().await;
        Self::open(root, options).await
    }

    /// Starts a server on what a closed one left.
    pub(crate) async fn open_again(root: TempDir, options: ServerOptions) -> Self {
        Self::open(root, options).await
    }

    /// The same, and its store dies as planned.
    pub(crate) async fn open_to_die(root: TempDir, options: ServerOptions, crash: CrashPlan) -> Self {
        Self::open_planned(root, options, "1", crash).await
    }

    /// Kills the server and its engine, and starts others on the same store.
    pub(crate) async fn reopened(self) -> Self {
        let root = self.kill().await;
        Self::open(root, ServerOptions::default()).await
    }

    /// What it had not stored when it died is not stored; what still runs in this process finds no store and ends.
    async fn kill(self) -> TempDir {
        self.engine.store().clone().die().await;
        self.close().await
    }

    pub(crate) async fn close(self) -> TempDir {
        self.app.closing().cancel();
        self.serving.await.unwrap();
        self.engine.close().await;
        self.root
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.root.path().join("project")
    }

    pub(crate) fn other(&self) -> PathBuf {
        self.root.path().join("other")
    }

    pub(crate) fn request(&self, method: &str, path: &str) -> RequestBuilder {
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        self.client.request(method, format!("{}{path}", self.url))
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        let answer = Answer::of(self.request("GET", path).send().await.unwrap()).await;
        document::check("GET", path, answer)
    }

    pub(crate) async fn send(&self, method: &str, path: &str, body: &Value) -> Answer {
        let answer = Answer::of(self.request(method, path).json(body).send().await.unwrap()).await;
        document::check(method, path, answer)
    }

    /// Without a body.
    pub(crate) async fn call(&self, method: &str, path: &str) -> Answer {
        let answer = Answer::of(self.request(method, path).send().await.unwrap()).await;
        document::check(method, path, answer)
    }

    pub(crate) async fn session(&self) -> String {
        self.session_with(&json!({})).await["id"].as_str().unwrap().to_owned()
    }

    pub(crate) async fn session_with(&self, body: &Value) -> Value {
        let answer = self.send("POST", "/session", body).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        answer.json()
    }

    /// Asks and waits for the answer.
    pub(crate) async fn ask(&self, session: &str, text: &str) -> Value {
        let answer = self.send("POST", &format!("/session/{session}/message"), &prompt(text)).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        answer.json()
    }
}

/// Sharing as fast as it goes.
fn quick() -> SharePace {
    let moment = Duration::from_millis(1);
    SharePace {
        gather: moment,
        gather_watched: moment,
        retry_first: moment,
        retry_last: Duration::from_millis(20),
        ..SharePace::default()
    }
}

fn patient() -> SharePace {
    SharePace { retry_last: Duration::from_secs(60 * 60), ..quick() }
}

pub(crate) fn prompt(text: &str) -> Value {
    json!({ "parts": [{ "type": "text", "text": text }] })
}

/// An id that nothing has.
pub(crate) const NO_SESSION: &str = "ses_0123456789abABCDEFGHIJKLMN";
pub(crate) const NO_MESSAGE: &str = "msg_0123456789abABCDEFGHIJKLMN";

pub(crate) fn no_such_session() -> (u16, Value) {
    let message = format!("Session not found: {NO_SESSION}");
    (404, json!({ "name": "NotFoundError", "data": { "message": message } }))
}
