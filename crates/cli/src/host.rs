//! A server inside this program, for a command that finds none.
//!
//! It serves the same API as `sturdy serve`, on a free port of the loopback interface, with a key that only
//! programs of the same user can read (in the store's lock file). So a second command started meanwhile finds
//! it and uses it too. It ends with the command that started it.
//!
//! Not here: finding a server that runs already (`connect.rs`).

use crate::failure::{self, Failure, UNMET};
use std::path::{Path, PathBuf};
use sturdy_engine::extension::Extensions;
use sturdy_engine::files::HangPlan;
use sturdy_engine::share::SharePace;
use sturdy_engine::task::PanicPlan;
use sturdy_engine::{BootError, Engine, EngineOptions, Environment};
use sturdy_server::{App, Password, ServerOptions};
use sturdy_store::{CrashPlan, Durability, OpenError};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tracing::warn;

/// The version of the wire that clients are told.
pub(crate) const WIRE_VERSION: &str = "1.18.33";
/// The name everybody who knows the password has.
pub(crate) const USUAL_USER: &str = "opencode";

/// Both names of a setting; ours wins.
pub(crate) const PASSWORD: [&str; 2] = ["STURDY_SERVER_PASSWORD", "OPENCODE_SERVER_PASSWORD"];
pub(crate) const USERNAME: [&str; 2] = ["STURDY_SERVER_USERNAME", "OPENCODE_SERVER_USERNAME"];

/// The first of two variables that is set and not empty.
pub(crate) fn first<'a>(environment: &'a Environment, names: [&str; 2]) -> Option<&'a str> {
    names.into_iter().find_map(|name| environment.filled(name))
}

/// A key for programs of this user, good as long as this process.
pub(crate) fn new_key() -> String {
    let bytes: [u8; 32] = rand::random();
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// How to open the engine in a directory.
pub(crate) fn engine_options(
    data_dir: &Path,
    durability: Durability,
    environment: Environment,
    directory: PathBuf,
) -> EngineOptions {
    let crash = planned_crash(&environment);
    EngineOptions {
        data_dir: data_dir.to_owned(),
        durability,
        directory,
        environment,
        wire_version: WIRE_VERSION.to_owned(),
        crash,
        panics: PanicPlan::default(),
        hang: HangPlan::default(),
        extensions: Extensions::default(),
        share: SharePace::default(),
    }
}

/// Tests of the built program let its writing thread panic at a commit. Only in a debug build.
fn planned_crash(environment: &Environment) -> CrashPlan {
    let commit = environment.filled("STURDY_TEST_PANIC_AT_COMMIT").and_then(|number| number.parse().ok());
    match commit {
        Some(number) if cfg!(debug_assertions) => CrashPlan::Panic(number),
        _ => CrashPlan::Never,
    }
}

/// A server that runs in this process.
pub(crate) struct Hosted {
    engine: Engine,
    app: App,
    serving: JoinHandle<()>,
    pub(crate) address: String,
    pub(crate) user: String,
    pub(crate) key: String,
}

/// Why it does not run.
pub(crate) enum HostError {
    /// Another process has the store: it serves, starts, or is about to end.
    Locked(Failure),
    Other(Failure),
}

impl Hosted {
    pub(crate) async fn start(
        data_dir: &Path,
        environment: Environment,
        directory: PathBuf,
    ) -> Result<Self, HostError> {
        let user = first(&environment, USERNAME).unwrap_or(USUAL_USER).to_owned();
        let options = engine_options(data_dir, Durability::Full, environment, directory);
        let engine = Engine::open(options).await.map_err(|cause| {
            let is_locked = matches!(cause, BootError::Open(OpenError::Locked { .. }));
            let failure = failure::booting(data_dir, cause);
            if is_locked { HostError::Locked(failure) } else { HostError::Other(failure) }
        })?;
        let listener = match TcpListener::bind(("127.0.0.1", 0)).await {
            Ok(listener) => listener,
            Err(cause) => {
                engine.close().await;
                return Err(HostError::Other(no_port(&cause)));
            }
        };
        let port = listener.local_addr().map_err(|cause| HostError::Other(no_port(&cause)))?.port();
        let address = format!("http://127.0.0.1:{port}");
        let key = new_key();
        if let Err(cause) = engine.announce(&address, Some(&key)) {
            warn!(%cause, "the address of this server could not be stored; other programs will not find it");
        }
        let password = Password::new(user.as_str(), key.as_str());
        let options = ServerOptions { password: Some(password), ..ServerOptions::default() };
        let app = App::new(engine.clone(), options);
        let serving = engine.tasks().spawn("server", sturdy_server::serve(listener, app.clone()));
        Ok(Self { engine, app, serving, address, user, key })
    }

    /// Ends it. What runs in it is settled by the next start.
    pub(crate) async fn close(self) {
        self.app.closing().cancel();
        // A panic in it has been reported where it happened.
        let _ = self.serving.await;
        self.engine.close().await;
    }
}

fn no_port(cause: &std::io::Error) -> Failure {
    Failure::new(UNMET, "no port of the loopback interface is free")
        .with("cause", cause)
        .with("try", "sturdy serve in another terminal, or --server URL")
}
