//! Opening: the store, what was running, the feed.

use crate::clock::Clock;
use crate::engine::{Engine, EngineOptions, Inner};
use crate::error::{BootError, EngineError};
use crate::feed::Feed;
use crate::instance::Instances;
use crate::registry::Registry;
use crate::task::Tasks;
use std::sync::Arc;
use sturdy_llm::Http;
use sturdy_store::{Options, Store};
use sturdy_worktree::mcp::auth::Logins;
use tracing::{error, info};

/// Settles before anything is served: nobody sees a step that will never end.
pub(crate) async fn open(mut options: EngineOptions) -> Result<Engine, BootError> {
    options.environment = options.environment.with_data_in(options.data_dir.clone());
    let mut store_options = Options::new(&options.data_dir);
    store_options.durability = options.durability;
    store_options.crash = options.crash;
    let store = Store::open(store_options).await?;
    let clock = Clock::new(store.last_time().await?);
    let engine = Engine {
        inner: Arc::new(Inner {
            feed: Feed::new(store.clone()),
            store,
            clock,
            tasks: Tasks::default(),
            http: Http::new(),
            registry: Registry::default(),
            instances: Instances::default(),
            credentials: Arc::default(),
            logins: Logins::new(options.environment.shared_data_dir().join("mcp-auth.json")),
            options,
        }),
    };
    settle(&engine).await?;
    engine.tasks().spawn("upkeep", crate::upkeep::run(engine.inner.clone()));
    Ok(engine)
}

async fn settle(engine: &Engine) -> Result<(), BootError> {
    let open = engine.store().busy_sessions().await?;
    if open.is_empty() {
        return Ok(());
    }
    info!(sessions = open.len(), "settling what the last process left open");
    let before = engine.store().head();
    for id in open {
        match engine.session(&id).await {
            Ok(_) => {}
            Err(EngineError::Read(cause)) => return Err(cause.into()),
            // One damaged session is set aside; the others are served.
            Err(cause) => error!(session = %id, %cause, "a session could not be settled"),
        }
    }
    engine.feed().settled(before, engine.clock().now());
    Ok(())
}
