//! Logging in to remote MCP servers (OAuth 2.1 with PKCE).
//!
//! [`Logins::start`] finds the authorization server, makes us known to it if it does not know us
//! (`register.rs`), and gives the address a person has to open; the code that comes back, by hand or through the listener on this
//! machine (`callback.rs`), is traded for tokens by [`Logins::finish`]. Tokens are kept in a file
//! (`store.rs`), used with every request, and renewed by the SDK.
//!
//! Tokens, secrets and codes are in no error and no log line.

mod callback;
mod register;
mod store;

pub use callback::{CallbackError, Listener, port_of};

use super::http::Web;
use super::{ConnectError, McpTransport, OAuth, Server};
use register::Registration;
use rmcp::transport::auth::{
    AuthClient, AuthError, AuthorizationManager, AuthorizationMetadata, AuthorizationRequest,
    AuthorizationSession, OAuthClientConfig,
};
use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use store::File;
use tokio::time::timeout;
use tracing::{debug, info, warn};

/// Where the browser comes back to, unless the configuration says otherwise.
const CALLBACK_PORT: u16 = 19876;
const CALLBACK_PATH: &str = "/mcp/oauth/callback";

/// Finding the authorization server and being registered there; trading a code.
const STEP_TIMEOUT: Duration = Duration::from_secs(30);

const CLIENT_NAME: &str = "Sturdy";

/// What an authorization server says to a client it does not know, or not with this secret.
const UNKNOWN_CLIENT: &str = "invalid_client";

const NO_REGISTRATION: &str = "The server wants a login but does not register programs by itself. Set oauth.clientId in its configuration.";

/// Why a login did not come about. The words are for a person.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoginError {
    /// A program of this machine, or one that is told not to log in.
    #[error("the server does not support OAuth")]
    Unsupported,
    /// Nobody began it, or it was begun again since.
    #[error("no login is under way")]
    NotBegun,
    #[error("{0}")]
    NeedsRegistration(String),
    #[error("{0}")]
    Failed(String),
}

/// A login that waits for a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Started {
    pub url: String,
    pub state: String,
    /// Where the browser will come back to.
    pub redirect: String,
}

/// All logins of this user. Cheap to clone; all clones are one.
#[derive(Clone)]
pub struct Logins {
    file: File,
    begun: Arc<Mutex<HashMap<String, Begun>>>,
}

struct Begun {
    session: Arc<AuthorizationSession>,
    state: String,
    /// None: the client is the configuration's.
    registration: Option<Registration>,
    /// Of that client.
    secret: Option<String>,
}

impl fmt::Debug for Logins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Logins").finish_non_exhaustive()
    }
}

impl Logins {
    /// Kept in this file, which need not exist.
    #[must_use]
    pub fn new(file: PathBuf) -> Self {
        Self { file: File::new(file), begun: Arc::default() }
    }

    /// The way to a server with the login we have, if we have one.
    pub(super) async fn client(
        &self,
        server: &Server,
        url: &str,
        oauth: &OAuth,
        web: Web,
    ) -> Result<AuthClient<Web>, ConnectError> {
        let failed = |cause: AuthError| ConnectError::Failed(words(&cause));
        let mut manager = self.manager(server, url).await.map_err(failed)?;
        if self.file.has_tokens(&server.name, url).await {
            let registration = match oauth.client_id {
                Some(_) => None,
                None => self.file.registration(&server.name, url).await,
            };
            match timeout(STEP_TIMEOUT, renew(&mut manager, oauth, registration.as_ref())).await {
                // The token may still be good; the server says so.
                Ok(Err(cause)) => {
                    debug!(server = %server.name, cause = %kind(&cause), "a login cannot be renewed");
                    if let Some(known) = registration.filter(|_| is_unknown(&cause)) {
                        self.unregister(&server.name, &known).await;
                    }
                }
                Ok(Ok(())) => {}
                Err(_) => debug!(server = %server.name, "the authorization server does not answer"),
            }
        }
        Ok(AuthClient::new(web, manager))
    }

    /// It does not know us any more: the next login makes us known again.
    async fn unregister(&self, server: &str, known: &Registration) {
        info!(server, "the authorization server rejected our client registration");
        if let Err(cause) = self.file.unregister(server, &known.id).await {
            warn!(server, %cause, "a stored client registration could not be removed");
        }
    }

    /// A server wants a login: whether one can be had as things are.
    pub(super) async fn needed(&self, server: &Server) -> ConnectError {
        let McpTransport::Remote { url, oauth: Some(oauth), .. } = &server.place else {
            return ConnectError::Failed(
                "The server refuses to talk to us without a login (status 401)".to_owned(),
            );
        };
        let known = self.file.registration(&server.name, url).await;
        let is_known = known.is_some_and(|known| known.is_good(&redirect(oauth), None, store::now_s()));
        if oauth.client_id.is_some() || is_known {
            return ConnectError::NeedsAuth;
        }
        let found = async {
            let manager = self.manager(server, url).await?;
            manager.resolve_metadata().await
        };
        match timeout(STEP_TIMEOUT, found).await {
            Ok(Ok(found))
                if found.source.is_discovered() && found.metadata.registration_endpoint.is_none() =>
            {
                ConnectError::NeedsRegistration(NO_REGISTRATION.to_owned())
            }
            _ => ConnectError::NeedsAuth,
        }
    }

    /// Begins a login; one that was begun before is forgotten.
    pub async fn start(&self, server: &Server) -> Result<Started, LoginError> {
        let McpTransport::Remote { url, oauth: Some(oauth), .. } = &server.place else {
            return Err(LoginError::Unsupported);
        };
        let redirect = redirect(oauth);
        let begun = timeout(STEP_TIMEOUT, self.begin(server, url, oauth, &redirect)).await;
        let (session, registration) = begun
            .map_err(|_| LoginError::Failed("The authorization server does not answer".to_owned()))??;
        let address = session.get_authorization_url().to_owned();
        let state = state_of(&address).ok_or_else(|| {
            LoginError::Failed("The authorization server's address cannot be opened".to_owned())
        })?;
        let secret = registration.as_ref().map_or(&oauth.client_secret, |known| &known.secret).clone();
        let begun = Begun { session: Arc::new(session), state: state.clone(), registration, secret };
        self.lock().insert(server.name.clone(), begun);
        Ok(Started { url: address, state, redirect })
    }

    async fn begin(
        &self,
        server: &Server,
        url: &str,
        oauth: &OAuth,
        redirect: &str,
    ) -> Result<(AuthorizationSession, Option<Registration>), LoginError> {
        let failed = |cause: AuthError| LoginError::Failed(words(&cause));
        let mut manager = self.manager(server, url).await.map_err(failed)?;
        let found = manager.resolve_metadata().await.map_err(failed)?;
        let cannot_register = found.source.is_discovered() && found.metadata.registration_endpoint.is_none();
        manager.set_metadata(found.metadata.clone());
        let mut request = AuthorizationRequest::new(redirect);
        let mut scopes = manager.select_scopes(None, &[]);
        if let Some(scope) = &oauth.scope {
            scopes = scope.split_whitespace().map(str::to_owned).collect();
            request = request.with_scopes(scopes.clone());
        }
        let registration = match &oauth.client_id {
            Some(_) => None,
            None => {
                let known = self.file.registration(&server.name, url).await;
                let issuer = found.metadata.issuer.as_deref();
                match known.filter(|known| known.is_good(redirect, issuer, store::now_s())) {
                    Some(known) => Some(known),
                    None if cannot_register => {
                        return Err(LoginError::NeedsRegistration(NO_REGISTRATION.to_owned()));
                    }
                    None => Some(self.register(server, url, &found.metadata, redirect, &scopes).await?),
                }
            }
        };
        let (id, secret) = match &registration {
            Some(known) => (Some(&known.id), known.secret.as_ref()),
            None => (oauth.client_id.as_ref(), oauth.client_secret.as_ref()),
        };
        if let Some(id) = id {
            request = request.with_preregistered_client(id.clone());
        }
        if let Some(secret) = secret {
            request = request.with_client_secret(secret.clone());
        }
        if let Some(known) = &registration {
            manager.set_credential_store(self.file.of(&server.name, url).registered(known.clone()));
        }
        let session = AuthorizationSession::new(manager, request).await;
        session.map(|session| (session, registration)).map_err(|(_, cause)| failed(cause))
    }

    async fn register(
        &self,
        server: &Server,
        url: &str,
        metadata: &AuthorizationMetadata,
        redirect: &str,
        scopes: &[String],
    ) -> Result<Registration, LoginError> {
        let known = register::register(url, metadata, redirect, scopes).await;
        let known = known.map_err(|cause| LoginError::NeedsRegistration(cause.to_string()))?;
        // Kept before it is used: a login that is given up must not leave another client behind each time.
        let kept = self.file.register(&server.name, url, &known).await;
        kept.map_err(|cause| LoginError::Failed(cause.to_string()))?;
        Ok(known)
    }

    /// Trades the code for tokens and keeps them.
    pub async fn finish(&self, server: &str, code: &str) -> Result<(), LoginError> {
        let begun = self.lock().remove(server);
        self.trade(server, begun.ok_or(LoginError::NotBegun)?, code).await
    }

    /// The same for a code that a browser has brought: it is of the login with this state, and of no later one.
    pub async fn finish_this(&self, server: &str, state: &str, code: &str) -> Result<(), LoginError> {
        let begun = {
            let mut all = self.lock();
            let is_it = all.get(server).is_some_and(|begun| begun.state == state);
            if is_it { all.remove(server) } else { None }
        };
        self.trade(server, begun.ok_or(LoginError::NotBegun)?, code).await
    }

    async fn trade(&self, server: &str, begun: Begun, code: &str) -> Result<(), LoginError> {
        let Begun { session, state, registration, secret } = begun;
        match timeout(STEP_TIMEOUT, session.handle_callback(code, &state)).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(cause)) => {
                if let Some(known) = registration.as_ref().filter(|_| is_unknown(&cause)) {
                    self.unregister(server, known).await;
                    return Err(LoginError::Failed(
                        "The authorization server rejected our client registration. Log in again".to_owned(),
                    ));
                }
                Err(LoginError::Failed(without(&[Some(code), secret.as_deref()], words(&cause))))
            }
            Err(_) => Err(LoginError::Failed("The authorization server does not answer".to_owned())),
        }
    }

    /// Whether a login at this server is kept.
    pub async fn has(&self, server: &Server) -> bool {
        match &server.place {
            McpTransport::Remote { url, oauth: Some(_), .. } => self.file.has_tokens(&server.name, url).await,
            McpTransport::Remote { .. } | McpTransport::Local { .. } => false,
        }
    }

    /// Forgets a login, and one that is under way.
    pub async fn forget(&self, server: &str) -> Result<(), LoginError> {
        self.lock().remove(server);
        self.file.remove(server).await.map_err(|cause| LoginError::Failed(cause.to_string()))
    }

    async fn manager(&self, server: &Server, url: &str) -> Result<AuthorizationManager, AuthError> {
        // A company's authorization server may stand in the company's network.
        let mut manager = AuthorizationManager::new_allowing_private_addresses(url).await?;
        manager.set_credential_store(self.file.of(&server.name, url));
        Ok(manager)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Begun>> {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes a manager of what is stored, and the token fresh if it is not.
async fn renew(
    manager: &mut AuthorizationManager,
    oauth: &OAuth,
    registration: Option<&Registration>,
) -> Result<(), AuthError> {
    if !manager.initialize_from_store().await? {
        return Ok(());
    }
    // A client with a secret needs it to renew its tokens.
    let (id, secret) = match registration {
        Some(known) => (Some(&known.id), known.secret.as_ref()),
        None => (oauth.client_id.as_ref(), oauth.client_secret.as_ref()),
    };
    if let (Some(id), Some(secret)) = (id, secret) {
        let config = OAuthClientConfig::new(id.clone(), redirect(oauth)).with_client_secret(secret.clone());
        manager.configure_client(config)?;
    }
    manager.get_access_token().await.map(drop)
}

fn is_unknown(cause: &AuthError) -> bool {
    let (AuthError::TokenExchangeFailed(text) | AuthError::TokenRefreshFailed(text)) = cause else {
        return false;
    };
    text.contains(UNKNOWN_CLIENT)
}

/// For a log line: what happened, in none of the authorization server's words.
fn kind(cause: &AuthError) -> &'static str {
    match cause {
        AuthError::AuthorizationRequired | AuthError::TokenRefreshRejected(_) => "somebody has to log in",
        cause if is_unknown(cause) => UNKNOWN_CLIENT,
        AuthError::TokenRefreshFailed(_) => "the renewal failed",
        _ => "the authorization server cannot be used",
    }
}

/// An authorization server that repeats what it was sent is not repeated.
fn without(secrets: &[Option<&str>], text: String) -> String {
    let is_told = secrets.iter().flatten().any(|secret| !secret.is_empty() && text.contains(secret));
    if is_told { "The authorization server refused".to_owned() } else { text }
}

fn redirect(oauth: &OAuth) -> String {
    match &oauth.redirect_uri {
        Some(uri) => uri.clone(),
        None => format!("http://127.0.0.1:{}{CALLBACK_PATH}", oauth.callback_port.unwrap_or(CALLBACK_PORT)),
    }
}

fn state_of(address: &str) -> Option<String> {
    let url = url::Url::parse(address).ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
    url.query_pairs().find(|(name, _)| name == "state").map(|(_, value)| value.into_owned())
}

/// What a person is told. Bounded: an authorization server may answer with a page.
fn words(cause: &AuthError) -> String {
    crate::bound::prefix(&cause.to_string(), 300).to_owned()
}
