//! What a server may say or ask without being asked.
//!
//! It may say that its lists changed, how far a call is, and what it would like to have logged; it
//! may ask where the user works. Everything else it asks is declined by the SDK.

#![allow(
    deprecated,
    reason = "servers of today ask for roots and send logs; those of the next protocol will not"
)]

use super::client::Changes;
use crate::bound::prefix;
use rmcp::ClientHandler;
use rmcp::model::{
    ClientCapabilities, ClientConfig, ErrorData, Implementation, ListRootsResult, LoggingLevel,
    LoggingMessageNotificationParam, ProgressNotificationParam, ProgressToken, Root, RootsCapabilities,
};
use rmcp::service::{NotificationContext, RequestContext, RoleClient};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;
use tracing::{debug, warn};

/// What one message of a server may put into the log.
const LOGGED_BYTES_MAX: usize = 1024;

/// How far a call is, in the server's words.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Progressed {
    pub(super) message: Option<String>,
    pub(super) progress: f64,
    pub(super) total: Option<f64>,
}

/// The calls that want to know how far they are.
#[derive(Clone, Debug, Default)]
pub(super) struct Listeners(Arc<Mutex<HashMap<ProgressToken, watch::Sender<Progressed>>>>);

impl Listeners {
    pub(super) fn listen(&self, token: ProgressToken) -> Listening {
        let (sender, reports) = watch::channel(Progressed::default());
        self.lock().insert(token.clone(), sender);
        Listening { listeners: self.clone(), token, reports }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ProgressToken, watch::Sender<Progressed>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One call that listens, until it is dropped.
#[derive(Debug)]
pub(super) struct Listening {
    listeners: Listeners,
    token: ProgressToken,
    pub(super) reports: watch::Receiver<Progressed>,
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.listeners.lock().remove(&self.token);
    }
}

#[derive(Debug)]
pub(super) struct Handler {
    pub(super) server: String,
    pub(super) root: PathBuf,
    pub(super) changes: watch::Sender<Changes>,
    pub(super) listeners: Listeners,
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        capabilities.roots = Some(RootsCapabilities::default());
        ClientConfig::new(capabilities, Implementation::new("sturdy", env!("CARGO_PKG_VERSION")))
    }

    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        let root = url::Url::from_directory_path(&self.root).ok();
        let uri = root.map(|url| url.as_str().trim_end_matches('/').to_owned());
        Ok(ListRootsResult::new(uri.into_iter().map(Root::new).collect()))
    }

    async fn on_progress(&self, params: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        if let Some(listener) = self.listeners.lock().get(&params.progress_token) {
            let ProgressNotificationParam { message, progress, total, .. } = params;
            listener.send_replace(Progressed { message, progress, total });
        }
    }

    async fn on_logging_message(
        &self,
        params: LoggingMessageNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        let text = params.data.to_string();
        let server = &self.server;
        let said = prefix(&text, LOGGED_BYTES_MAX);
        match params.level {
            LoggingLevel::Error | LoggingLevel::Critical | LoggingLevel::Alert | LoggingLevel::Emergency => {
                warn!(server, said, "an MCP server reports an error");
            }
            _ => debug!(server, said, "log line from an MCP server"),
        }
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changes.send_modify(|changes| changes.tools += 1);
    }
}
