//! Logging in at a server, as clients do it: in two steps, or in one that waits for the browser.

use super::{ServerError, Status, ToolServers};
use std::time::Duration;
use sturdy_session::types::event::Event;
use sturdy_worktree::mcp::Server;
use sturdy_worktree::mcp::auth::{Listener, LoginError};
use sturdy_worktree::process;
use tracing::{debug, warn};

/// A browser that is started says soon when it cannot.
const BROWSER_TIMEOUT: Duration = Duration::from_secs(10);

/// What a person has to open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoginStarted {
    pub url: String,
    pub state: String,
}

impl ToolServers {
    /// Begins a login: gives the address to open.
    pub async fn start_login(&self, name: &str) -> Result<LoginStarted, ServerError> {
        let server = self.server(name)?;
        match self.shared.logins.start(&server).await {
            Ok(started) => Ok(LoginStarted { url: started.url, state: started.state }),
            Err(cause) => Err(refused(name, cause)),
        }
    }

    /// Ends a login with the code the person was given, and connects.
    pub async fn finish_login(&self, name: &str, code: &str) -> Result<Status, ServerError> {
        self.server(name)?;
        if let Err(cause) = self.shared.logins.finish(name, code).await {
            return Ok(Status::Failed(format!("The login could not be completed: {cause}")));
        }
        self.connect(name).await?;
        Ok(self.status_of(name))
    }

    /// A whole login: shows the page, waits for the browser to come back, connects.
    pub async fn authenticate(&self, name: &str) -> Result<Status, ServerError> {
        let server = self.server(name)?;
        let failed = |why: String| Ok(Status::Failed(why));
        let started = match self.shared.logins.start(&server).await {
            Ok(started) => started,
            Err(LoginError::NeedsRegistration(why)) => return Ok(Status::NeedsRegistration(why)),
            Err(LoginError::Unsupported) => return Err(ServerError::NoOAuth(name.to_owned())),
            Err(cause) => return failed(cause.to_string()),
        };
        let listener = match Listener::open(&started.redirect, &started.state).await {
            Ok(listener) => listener,
            Err(cause) => return failed(cause.to_string()),
        };
        self.show(&server, &started.url).await;
        let code = tokio::select! {
            code = listener.code() => code,
            () = self.shared.stop.cancelled() => return failed("The server was stopped".to_owned()),
        };
        match code {
            Ok(code) => self.finish_login(name, &code).await,
            Err(cause) => failed(cause.to_string()),
        }
    }

    /// Forgets a login. The server is asked again with the next connection.
    pub async fn forget_login(&self, name: &str) -> Result<(), ServerError> {
        self.server(name)?;
        if let Err(cause) = self.shared.logins.forget(name).await {
            warn!(server = name, %cause, "a login cannot be forgotten");
        }
        Ok(())
    }

    /// How one stands.
    #[must_use]
    pub fn status_of(&self, name: &str) -> Status {
        let entries = self.lock();
        let found = entries.iter().find(|entry| entry.server.name == name);
        found.map_or(Status::Disabled, |entry| entry.state.borrow().status())
    }

    /// Opens a browser, or tells clients that they have to.
    async fn show(&self, server: &Server, url: &str) {
        let opener = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
        let program = self.shared.browser.as_deref().unwrap_or(opener);
        let command = process::Command {
            program: program.into(),
            arguments: vec![url.into()],
            directory: server.root.clone(),
            variables: Vec::new(),
            timeout: BROWSER_TIMEOUT,
        };
        if !runs(command, &self.shared.stop).await {
            debug!(server = %server.name, "no browser can be opened");
            let (mcp_name, url) = (server.name.clone(), url.to_owned());
            self.shared.tell(Event::McpBrowserOpenFailed { mcp_name, url });
        }
    }
}

async fn runs(command: process::Command, stop: &tokio_util::sync::CancellationToken) -> bool {
    let Ok(mut running) = command.start(stop.child_token()) else { return false };
    let mut buffer = vec![0; 4096];
    while running.read(&mut buffer).await.is_some() {}
    matches!(running.ended(), process::Ended::Exited(Some(0)) | process::Ended::TimedOut)
}

fn refused(name: &str, cause: LoginError) -> ServerError {
    match cause {
        LoginError::Unsupported => ServerError::NoOAuth(name.to_owned()),
        cause => ServerError::Bad(format!("The login at {name:?} cannot be started: {cause}")),
    }
}
