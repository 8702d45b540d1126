//! Making a connection to a server, and noticing its end.

use super::client::{Changes, Client};
use super::handler::{Handler, Listeners};
use super::older::{Older, OlderClient};
use super::{LAST_WORDS, McpTransport, Server, auth, http, stdio};
use rmcp::service::{ClientInitializeError, RoleClient, RunningService, serve_client_with_ct};
use rmcp::transport::streamable_http_client::StreamableHttpError;
use rmcp::transport::{IntoTransport, StreamableHttpClientTransport};
use std::future::Future;
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

/// Why there is no connection.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConnectError {
    #[error("{0}")]
    Failed(String),
    /// Somebody has to log in first.
    #[error("the server wants a login")]
    NeedsAuth,
    /// It wants a login, and does not know us.
    #[error("{0}")]
    NeedsRegistration(String),
}

/// Has to be run for as long as the connection is wanted.
#[derive(Debug)]
pub struct Lifeline {
    running: RunningService<RoleClient, Handler>,
    program: Option<stdio::Program>,
    broken: CancellationToken,
    stop: CancellationToken,
}

/// Connects to a server, within its time limit. `stop` ends the connection, and the program.
pub async fn connect(
    server: &Server,
    logins: &auth::Logins,
    stop: CancellationToken,
) -> Result<(Client, Lifeline), ConnectError> {
    let (changes, changed) = watch::channel(Changes::default());
    let listeners = Listeners::default();
    let handler = Handler {
        server: server.name.clone(),
        root: server.root.clone(),
        changes: changes.clone(),
        listeners: listeners.clone(),
    };
    let (running, program) = match &server.place {
        McpTransport::Local { command, directory, inherited, variables } => {
            let patience = server.connect_timeout;
            let started =
                stdio::start_apart(&server.name, command, directory, inherited, variables, patience);
            let (mut program, lines) = started.await.map_err(|cause| {
                let name = command.first().map_or("", String::as_str);
                ConnectError::Failed(format!("The program {name:?} cannot be started: {cause}"))
            })?;
            let serving = initialise(server, handler, lines, &stop);
            let running = tokio::select! {
                running = serving => running,
                // Its complaints are read meanwhile, so that it does not wait for somebody to read them.
                why = program.run(&stop) => return Err(ConnectError::Failed(why)),
            };
            match running {
                Ok(running) => (running, Some(program)),
                Err(Silent::Lost(cause)) => {
                    // A pipe that broke is no reason; the program has one.
                    let why = timeout(LAST_WORDS, program.run(&CancellationToken::new())).await;
                    return Err(why.map_or(cause, ConnectError::Failed));
                }
                Err(Silent::Refused(cause) | Silent::Older(cause)) => return Err(cause),
            }
        }
        McpTransport::Remote { url, headers, oauth } => {
            let config = http::config(&server.name, url, headers)?;
            let web = http::Web::new()?;
            let known = config.custom_headers.clone();
            let (older, running) = match oauth {
                None => {
                    let older = OlderClient::Plain(web.clone());
                    let transport = StreamableHttpClientTransport::with_client(web, config);
                    (older, initialise(server, handler, transport, &stop).await)
                }
                Some(oauth) => {
                    let web = logins.client(server, url, oauth, web).await?;
                    let older = OlderClient::Login(web.clone());
                    let transport = StreamableHttpClientTransport::with_client(web, config);
                    (older, initialise(server, handler, transport, &stop).await)
                }
            };
            let running = match running {
                Err(Silent::Older(cause)) => {
                    let listeners = listeners.clone();
                    let name = server.name.clone();
                    let root = server.root.clone();
                    let handler = Handler { server: name, root, changes, listeners };
                    let opening = timeout(server.connect_timeout, Older::open(older, url, known));
                    match opening.await {
                        Ok(Ok(transport)) => initialise(server, handler, transport, &stop).await,
                        Ok(Err(StreamableHttpError::AuthRequired(_))) => {
                            Err(Silent::Refused(ConnectError::NeedsAuth))
                        }
                        // Not that either: what was tried first is what a person expects.
                        Ok(Err(_)) | Err(_) => Err(Silent::Refused(cause)),
                    }
                }
                other => other,
            };
            match running {
                Ok(running) => (running, None),
                Err(Silent::Refused(ConnectError::NeedsAuth)) => return Err(logins.needed(server).await),
                Err(Silent::Refused(cause) | Silent::Lost(cause) | Silent::Older(cause)) => {
                    return Err(cause);
                }
            }
        }
    };
    let broken = CancellationToken::new();
    let client = Client::new(server, running.peer().clone(), listeners, broken.clone(), changed);
    Ok((client, Lifeline { running, program, broken, stop }))
}

async fn initialise<T, E, A>(
    server: &Server,
    handler: Handler,
    transport: T,
    stop: &CancellationToken,
) -> Result<RunningService<RoleClient, Handler>, Silent>
where
    T: IntoTransport<RoleClient, E, A>,
    E: std::error::Error + Send + Sync + 'static,
{
    let serving = Box::pin(serve_client_with_ct(handler, transport, stop.clone()));
    match timeout(server.connect_timeout, serving).await {
        Ok(Ok(running)) => Ok(running),
        Ok(Err(cause)) => Err(not_initialised(cause)),
        Err(_) => Err(Silent::Refused(ConnectError::Failed(format!(
            "The server did not introduce itself within {} seconds",
            server.connect_timeout.as_secs_f64()
        )))),
    }
}

/// Why a server has not introduced itself.
enum Silent {
    /// It is not there any more.
    Lost(ConnectError),
    /// It may speak the older transport.
    Older(ConnectError),
    Refused(ConnectError),
}

fn not_initialised(cause: ClientInitializeError) -> Silent {
    if cause.is_authorization_required() {
        return Silent::Refused(ConnectError::NeedsAuth);
    }
    let failed = |text: &str| ConnectError::Failed(crate::bound::prefix(text, 500).to_owned());
    match cause {
        ClientInitializeError::TransportError { error, .. } if http::may_be_older(&*error.error) => {
            Silent::Older(failed(&http::words(&*error.error)))
        }
        ClientInitializeError::TransportError { error, .. } => {
            Silent::Lost(failed(&http::words(&*error.error)))
        }
        ClientInitializeError::ConnectionClosed(_) => {
            Silent::Lost(failed("The server closed the connection"))
        }
        ClientInitializeError::JsonRpcError(data) => {
            Silent::Refused(failed(&format!("The server refused: {}", data.message)))
        }
        other => Silent::Refused(failed(&other.to_string())),
    }
}

impl Lifeline {
    /// Keeps the connection while something is asked through it; what became of the server, if it ended.
    pub async fn during<T>(&mut self, work: impl Future<Output = T>) -> Result<T, String> {
        let Some(program) = &mut self.program else { return Ok(work.await) };
        tokio::select! {
            done = work => Ok(done),
            why = program.run(&self.stop) => Err(why),
        }
    }

    /// Waits for the end and says how it came.
    pub async fn run(self) -> String {
        let Self { running, program, broken, stop } = self;
        let mut waiting = Box::pin(running.waiting());
        let Some(mut program) = program else {
            return tokio::select! {
                _ = &mut waiting => "The connection was closed".to_owned(),
                () = broken.cancelled() => {
                    stop.cancel();
                    let _ = timeout(LAST_WORDS, waiting).await;
                    "The server cannot be reached".to_owned()
                }
            };
        };
        tokio::select! {
            why = program.run(&stop) => why,
            _ = &mut waiting => match timeout(LAST_WORDS, program.run(&CancellationToken::new())).await {
                Ok(why) => why,
                Err(_) => {
                    // It closed its output and goes on: nobody will ever hear from it again.
                    stop.cancel();
                    program.run(&stop).await;
                    "The program closed its output".to_owned()
                }
            },
        }
    }
}
