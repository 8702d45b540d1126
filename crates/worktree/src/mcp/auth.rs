//! Logging in at servers on the web (OAuth 2.1 with PKCE).
//!
//! [`Logins::start`] finds the authorization server, makes us known to it if need be, and gives the
//! address a person has to open; the code that comes back, by hand or through the listener on this
//! machine (`callback.rs`), is traded for tokens by [`Logins::finish`]. Tokens are kept in a file
//! (`store.rs`), used with every request, and renewed by the SDK.
//!
//! Tokens, secrets and codes are in no error and no log line.

mod callback;
mod store;

pub use callback::{CallbackError, Listener};

use super::http::Web;
use super::{ConnectError, OAuth, Place, Server};
use rmcp::transport::auth::{
    AuthClient, AuthError, AuthorizationManager, AuthorizationRequest, AuthorizationSession,
    OAuthClientConfig,
};
use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use store::File;
use tokio::time::timeout;
use tracing::{debug, warn};

/// Where the browser comes back to, unless the configuration says otherwise.
const CALLBACK_PORT: u16 = 19876;
const CALLBACK_PATH: &str = "/mcp/oauth/callback";

/// Finding the authorization server and being registered there; trading a code.
const STEP_TIMEOUT: Duration = Duration::from_secs(30);

const CLIENT_NAME: &str = "Sturdy";

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
            match timeout(STEP_TIMEOUT, manager.initialize_from_store()).await {
                Ok(Ok(true)) => configure(&mut manager, oauth),
                Ok(Ok(false)) => {}
                // The token may still be good; the server says so.
                Ok(Err(cause)) => {
                    debug!(server = %server.name, cause = %words(&cause), "a login cannot be renewed");
                }
                Err(_) => debug!(server = %server.name, "the authorization server does not answer"),
            }
        }
        Ok(AuthClient::new(web, manager))
    }

    /// A server wants a login: whether one can be had as things are.
    pub(super) async fn needed(&self, server: &Server) -> ConnectError {
        let Place::Remote { url, oauth: Some(oauth), .. } = &server.place else {
            return ConnectError::Failed(
                "The server refuses to talk to us without a login (status 401)".to_owned(),
            );
        };
        if oauth.client_id.is_some() {
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
        let Place::Remote { url, oauth: Some(oauth), .. } = &server.place else {
            return Err(LoginError::Unsupported);
        };
        let redirect = redirect(oauth);
        let begun = timeout(STEP_TIMEOUT, self.begin(server, url, oauth, &redirect)).await;
        let session = begun
            .map_err(|_| LoginError::Failed("The authorization server does not answer".to_owned()))??;
        let address = session.get_authorization_url().to_owned();
        let state = state_of(&address).ok_or_else(|| {
            LoginError::Failed("The authorization server's address cannot be opened".to_owned())
        })?;
        let begun = Begun { session: Arc::new(session), state: state.clone() };
        self.lock().insert(server.name.clone(), begun);
        Ok(Started { url: address, state, redirect })
    }

    async fn begin(
        &self,
        server: &Server,
        url: &str,
        oauth: &OAuth,
        redirect: &str,
    ) -> Result<AuthorizationSession, LoginError> {
        let failed = |cause: AuthError| LoginError::Failed(words(&cause));
        let mut manager = self.manager(server, url).await.map_err(failed)?;
        let found = manager.resolve_metadata().await.map_err(failed)?;
        let cannot_register = found.source.is_discovered() && found.metadata.registration_endpoint.is_none();
        if oauth.client_id.is_none() && cannot_register {
            return Err(LoginError::NeedsRegistration(NO_REGISTRATION.to_owned()));
        }
        manager.set_metadata(found.metadata);
        let mut request = AuthorizationRequest::new(redirect).with_client_name(CLIENT_NAME);
        if let Some(scope) = &oauth.scope {
            request = request.with_scopes(scope.split_whitespace());
        }
        if let Some(id) = &oauth.client_id {
            request = request.with_preregistered_client(id.clone());
            if let Some(secret) = &oauth.client_secret {
                request = request.with_client_secret(secret.clone());
            }
        }
        AuthorizationSession::new(manager, request).await.map_err(|(_, cause)| match cause {
            AuthError::RegistrationFailed(_) => LoginError::NeedsRegistration(words(&cause)),
            cause => failed(cause),
        })
    }

    /// Trades the code for tokens and keeps them.
    pub async fn finish(&self, server: &str, code: &str) -> Result<(), LoginError> {
        let Some(Begun { session, state }) = self.lock().remove(server) else {
            return Err(LoginError::NotBegun);
        };
        match timeout(STEP_TIMEOUT, session.handle_callback(code, &state)).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(cause)) => Err(LoginError::Failed(words(&cause))),
            Err(_) => Err(LoginError::Failed("The authorization server does not answer".to_owned())),
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

/// A client with a secret needs it to renew its tokens.
fn configure(manager: &mut AuthorizationManager, oauth: &OAuth) {
    let (Some(id), Some(secret)) = (&oauth.client_id, &oauth.client_secret) else { return };
    let config = OAuthClientConfig::new(id.clone(), redirect(oauth)).with_client_secret(secret.clone());
    if let Err(cause) = manager.configure_client(config) {
        warn!(cause = %words(&cause), "a configured client cannot be used");
    }
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
