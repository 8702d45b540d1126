//! The cases a Rust client runs against an npm server, and most of them against a Rust one.
//!
//! Each runs in a task of its own, so that one that panics is one that failed. Children hold
//! the cases, by subject; `Context` gives them a root over a WebSocket or a batch.

mod calls;
mod objects;
mod streams;
mod values;
mod wire;

use std::{future::Future, pin::Pin, process::ExitCode, sync::Arc, time::Duration};

use sturdy_capnweb::{Handle, Options, Outcome, Promise, Stub, Value, batch::Batch, http, ws};

/// How a case reaches the server.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Over {
    Socket,
    Batch,
}

pub(crate) type Run = Pin<Box<dyn Future<Output = ()> + Send>>;

pub(crate) struct Case {
    name: &'static str,
    over: Over,
    run: fn(Arc<Context>) -> Run,
    /// Whether the session is still there afterwards, to be looked at for leaks.
    survives: bool,
}

/// Cases over both, in one line each.
macro_rules! cases {
    ($($name:literal $over:ident $body:expr;)*) => {
        pub(super) fn all() -> Vec<$crate::cases::Case> {
            let mut cases = Vec::new();
            $( $crate::cases::$over(&mut cases, $name, |context| Box::pin($body(context))); )*
            cases
        }
    };
}
pub(crate) use cases;

type Body = fn(Arc<Context>) -> Run;

pub(crate) fn socket(cases: &mut Vec<Case>, name: &'static str, run: Body) {
    cases.push(Case { name, over: Over::Socket, run, survives: true });
}

pub(crate) fn ending(cases: &mut Vec<Case>, name: &'static str, run: Body) {
    cases.push(Case { name, over: Over::Socket, run, survives: false });
}

pub(crate) fn batch(cases: &mut Vec<Case>, name: &'static str, run: Body) {
    cases.push(Case { name, over: Over::Batch, run, survives: false });
}

pub(crate) fn both(cases: &mut Vec<Case>, name: &'static str, run: Body) {
    socket(cases, name, run);
    batch(cases, name, run);
}

pub(crate) struct Context {
    pub(crate) over: Over,
    pub(crate) ws: String,
    pub(crate) http: String,
    session: Option<(Stub, Handle)>,
}

impl Context {
    /// The root of the WebSocket session.
    pub(crate) fn root(&self) -> Stub {
        self.session.as_ref().expect("a case over a WebSocket").0.clone()
    }

    pub(crate) fn handle(&self) -> Handle {
        self.session.as_ref().expect("a case over a WebSocket").1.clone()
    }

    /// What one promise comes to, in one round trip.
    pub(crate) async fn ask(&self, make: impl FnOnce(&Stub) -> Promise) -> Outcome {
        self.ask_all(|root| vec![make(root)]).await.remove(0)
    }

    /// What several promises come to, in one round trip.
    pub(crate) async fn ask_all(&self, make: impl FnOnce(&Stub) -> Vec<Promise>) -> Vec<Outcome> {
        self.ask_at("", make).await
    }

    /// The same, with a query at the end of the address.
    pub(crate) async fn ask_at(&self, query: &str, make: impl FnOnce(&Stub) -> Vec<Promise>) -> Vec<Outcome> {
        let asked: Vec<_> = match self.over {
            Over::Socket if query.is_empty() => make(&self.root()).into_iter().map(Promise::ask).collect(),
            Over::Socket => {
                let (root, _) = connect(&format!("{}{query}", self.ws), None).await;
                make(&root).into_iter().map(Promise::ask).collect()
            }
            Over::Batch => {
                let batch = Batch::new(Options::default());
                let asked = make(&batch.root()).into_iter().map(Promise::ask).collect();
                let url = format!("{}{query}", self.http).parse().expect("a URL");
                http::post(&reqwest::Client::new(), url, batch).await.expect("a response");
                asked
            }
        };
        let mut outcomes = Vec::new();
        for one in asked {
            outcomes.push(one.await);
        }
        outcomes
    }

    /// Both sides hold nothing but each other's main object.
    async fn assert_no_leak(&self) {
        let mut last = String::new();
        for _ in 0..50 {
            let theirs = self.root().call("sessionStats", []).await.expect("stats");
            let count = |name| theirs.get(name).and_then(Value::as_number);
            let ours = self.handle().stats();
            // Their count includes nothing of this call: its result was not entered yet.
            if (ours.imports, ours.exports) == (1, 1)
                && count("imports") == Some(1.0)
                && count("exports") <= Some(2.0)
            {
                return;
            }
            last = format!("ours {ours:?}, theirs {theirs:?}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("entries are left: {last}");
    }
}

pub(crate) async fn connect(url: &str, main: Option<Stub>) -> (Stub, Handle) {
    let client = ws::connect(url, &[], main, Options::default()).await.expect("a connection");
    tokio::spawn(client.run);
    (client.root, client.handle)
}

/// Runs the cases with these names, or all; those whose name is given with a `-` before it are left out.
pub(crate) async fn run(ws: &str, http: &str, names: &[&str]) -> ExitCode {
    std::panic::set_hook(Box::new(|_| {}));
    let mut failed = false;
    let all = [values::all(), calls::all(), objects::all(), streams::all(), wire::all()];
    let (without, only): (Vec<&str>, Vec<&str>) = names.iter().partition(|name| name.starts_with('-'));
    let is_wanted = |case: &Case| {
        let left_out = without.iter().any(|name| name.strip_prefix('-') == Some(case.name));
        !left_out && (only.is_empty() || only.contains(&case.name))
    };
    for case in all.into_iter().flatten().filter(is_wanted) {
        let error = attempt(&case, ws, http).await.err();
        failed |= error.is_some();
        let way = if case.over == Over::Socket { "BW" } else { "BH" };
        let (id, title) = case.name.split_once(' ').unwrap_or((case.name, ""));
        println!("{}", serde_json::json!({ "name": format!("{id} {way} {title}"), "error": error }));
    }
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

async fn attempt(case: &Case, ws: &str, http: &str) -> Result<(), String> {
    let session = match case.over {
        Over::Socket => Some(connect(ws, None).await),
        Over::Batch => None,
    };
    let context = Arc::new(Context { over: case.over, ws: ws.to_owned(), http: http.to_owned(), session });
    let body = case.run;
    let survives = case.survives;
    let task = tokio::spawn(async move {
        body(Arc::clone(&context)).await;
        if survives {
            context.assert_no_leak().await;
            context.handle().close();
        }
    });
    match tokio::time::timeout(Duration::from_secs(60), task).await {
        Err(_) => Err("it did not end".to_owned()),
        Ok(Ok(())) => Ok(()),
        Ok(Err(reason)) => Err(match reason.try_into_panic() {
            Ok(panic) => panic
                .downcast_ref::<String>()
                .cloned()
                .or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string))
                .unwrap_or_default(),
            Err(reason) => reason.to_string(),
        }),
    }
}
