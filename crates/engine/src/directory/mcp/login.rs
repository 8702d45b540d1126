//! Logging in to an MCP server: in two requests, or in one that waits for the browser.
//!
//! Either way the browser is listened for (`returns.rs`), by a task of its own, which also ends the login: a person
//! who asked for the address and went there does not have to carry the code.

use super::callback::CallbackPlace;
use super::keeper::Order;
use super::{Entry, McpServers, ServerError, Shared, Status, locked, order};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use sturdy_session::types::event::Event;
use sturdy_worktree::mcp::Server;
use sturdy_worktree::mcp::auth::{CallbackError, LoginError, Started};
use sturdy_worktree::process;
use tokio::sync::oneshot;
use tracing::{debug, warn};

/// A browser that is started says soon when it cannot.
const BROWSER_TIMEOUT: Duration = Duration::from_secs(10);

/// What a person has to open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoginStarted {
    pub url: String,
    pub state: String,
}

impl McpServers {
    /// Begins a login: gives the address to open. The login ends with whichever comes first, the browser or the
    /// code by [`Self::finish_login`].
    pub async fn start_login(&self, name: &str) -> Result<LoginStarted, ServerError> {
        let server = self.server(name)?;
        let started = self.shared.logins.start(&server).await.map_err(|cause| refused(name, cause))?;
        let shown = LoginStarted { url: started.url.clone(), state: started.state.clone() };
        if let Err(cause) = self.expect(name, started, None).await {
            // The code can still be given by hand.
            debug!(server = name, %cause, "nobody waits for the browser");
        }
        Ok(shown)
    }

    /// Ends a login with the code the person was given, and connects.
    pub async fn finish_login(&self, name: &str, code: &str) -> Result<Status, ServerError> {
        self.server(name)?;
        match self.shared.logins.finish(name, code).await {
            Ok(()) => self.connect(name).await?,
            Err(LoginError::NotBegun) => {
                // The browser may have brought the same code a moment ago.
                self.shared.returns.settled(name).await;
                let status = self.status_of(name);
                return Ok(if status == Status::Connected {
                    status
                } else {
                    broken_off(&LoginError::NotBegun)
                });
            }
            Err(cause) => {
                self.shared.returns.stop(name);
                return Ok(broken_off(&cause));
            }
        }
        self.shared.returns.stop(name);
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
        let url = started.url.clone();
        let (caller, ended) = oneshot::channel();
        if let Err(cause) = self.expect(name, started, Some(caller)).await {
            return failed(cause.to_string());
        }
        self.show(&server, &url).await;
        match ended.await {
            Ok(status) => Ok(status),
            Err(_) if self.shared.stop.is_cancelled() => failed("The server was stopped".to_owned()),
            // Ended by hand, or begun again.
            Err(_) => match self.status_of(name) {
                Status::Connected => Ok(Status::Connected),
                _ => failed("The login was ended before the browser came back".to_owned()),
            },
        }
    }

    /// Lets a task wait for the browser. Callback when it does.
    async fn expect(
        &self,
        name: &str,
        started: Started,
        caller: Option<oneshot::Sender<Status>>,
    ) -> Result<(), CallbackError> {
        let shared = &self.shared;
        let place = shared.returns.take(&shared.directory, name, &started.redirect, &shared.stop)?;
        let (listening, ready) = oneshot::channel();
        let visit =
            Visit { name: name.to_owned(), started, shared: shared.clone(), entries: self.entries.clone() };
        shared.tasks.spawn("login", visit.run(place, listening, caller));
        ready.await.unwrap_or_else(|_| Err(CallbackError::Listen("another login has begun".to_owned())))
    }

    /// Forgets a login. The server is asked again with the next connection.
    pub async fn forget_login(&self, name: &str) -> Result<(), ServerError> {
        self.server(name)?;
        self.shared.returns.stop(name);
        if let Err(cause) = self.shared.logins.forget(name).await {
            warn!(server = name, %cause, "a stored login could not be removed");
        }
        Ok(())
    }

    /// The servers at which a login is kept.
    pub async fn logged_in(&self) -> Vec<String> {
        let servers: Vec<Server> = locked(&self.entries).iter().map(|entry| entry.server.clone()).collect();
        let mut names = Vec::new();
        for server in servers {
            if self.shared.logins.has(&server).await {
                names.push(server.name);
            }
        }
        names
    }

    /// How one stands.
    #[must_use]
    pub fn status_of(&self, name: &str) -> Status {
        status_of(&self.entries, name)
    }

    /// Opens a browser, or tells clients that they have to.
    async fn show(&self, server: &Server, url: &str) {
        let opener = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
        let program = self.shared.browser.as_deref().unwrap_or(opener);
        let command = process::Command {
            program: program.into(),
            arguments: vec![url.into()],
            directory: server.root.clone(),
            inherited: self.shared.inherited.clone(),
            variables: Vec::new(),
            timeout: BROWSER_TIMEOUT,
        };
        if !runs(command, &self.shared.stop).await {
            debug!(server = %server.name, "no browser can be opened");
            let mcp_name = server.name.clone();
            let url = url.to_owned();
            self.shared.tell(Event::McpBrowserOpenFailed { mcp_name, url });
        }
    }
}

/// A browser that is waited for.
struct Visit {
    name: String,
    started: Started,
    shared: Arc<Shared>,
    entries: Arc<Mutex<Vec<Entry>>>,
}

impl Visit {
    /// Listens, and ends the login with what the browser brings. A caller that goes away ends it, too.
    async fn run(
        self,
        place: CallbackPlace,
        listening: oneshot::Sender<Result<(), CallbackError>>,
        mut caller: Option<oneshot::Sender<Status>>,
    ) {
        let listener = match place.listen(&self.started).await {
            Ok(listener) => listener,
            Err(cause) => return drop(listening.send(Err(cause))),
        };
        let _ = listening.send(Ok(()));
        let gone = async {
            match &mut caller {
                Some(caller) => caller.closed().await,
                None => std::future::pending().await,
            }
        };
        let code = tokio::select! {
            code = listener.code() => code,
            () = place.stopped() => return,
            () = gone => return,
        };
        place.close();
        let status = match code {
            Ok(code) => tokio::select! {
                status = self.finish(&code) => status,
                () = self.shared.stop.cancelled() => return,
            },
            Err(cause) => Status::Failed(cause.to_string()),
        };
        match caller {
            Some(caller) => drop(caller.send(status)),
            None => {
                debug!(server = %self.name, is_connected = status == Status::Connected, "a browser came back");
            }
        }
    }

    async fn finish(&self, code: &str) -> Status {
        match self.shared.logins.finish_this(&self.name, &self.started.state, code).await {
            Ok(()) => drop(order(&self.shared, &self.entries, &self.name, Order::Connect).await),
            // Somebody was faster.
            Err(LoginError::NotBegun) => {}
            Err(cause) => return broken_off(&cause),
        }
        status_of(&self.entries, &self.name)
    }
}

fn status_of(entries: &Mutex<Vec<Entry>>, name: &str) -> Status {
    let entries = locked(entries);
    let found = entries.iter().find(|entry| entry.server.name == name);
    found.map_or(Status::Disabled, |entry| entry.state.borrow().status())
}

fn broken_off(cause: &LoginError) -> Status {
    Status::Failed(format!("The login could not be completed: {cause}"))
}

async fn runs(command: process::Command, stop: &tokio_util::sync::CancellationToken) -> bool {
    let Ok(mut running) = command.start_apart(stop.child_token()).await else { return false };
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
