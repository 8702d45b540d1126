//! `mcp-auth.json`: logins by server, readable by their owner only.
//!
//! `{"server": {"tokens": {"accessToken": …}, "clientInfo": {"clientId": …}, "serverUrl": …}}`, as other
//! programs of this wire keep it; `clientInfo` is what a server knows us by (`register.rs`). A login counts only for the address it was made for. A write replaces
//! the file in one step; entries and fields we do not know are kept.

use super::register::Registration;
use rmcp::transport::auth::{AuthError, CredentialStore, OAuthTokenResponse, StoredCredentials};
use serde_json::{Map, Value, json};
use std::future::Future;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

/// The file. Cheap to clone; all clones share a lock, so that no change is lost.
#[derive(Clone, Debug)]
pub(super) struct File {
    path: PathBuf,
    changing: Arc<Mutex<()>>,
}

impl File {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, changing: Arc::default() }
    }

    /// The login of one server at one address.
    pub(super) fn of(&self, server: &str, url: &str) -> Login {
        Login { file: self.clone(), server: server.to_owned(), url: url.to_owned(), registration: None }
    }

    /// What the authorization server of this address knows us by.
    pub(super) async fn registration(&self, server: &str, url: &str) -> Option<Registration> {
        let entry = self.of(server, url).entry().await.ok()??;
        entry.get("clientInfo").and_then(Registration::parse)
    }

    /// Tokens of an earlier registration stay: they are good until they expire.
    pub(super) async fn register(
        &self,
        server: &str,
        url: &str,
        registration: &Registration,
    ) -> io::Result<()> {
        let server = server.to_owned();
        let url = url.to_owned();
        let known = registration.kept();
        self.change(move |all| entry_at(all, server, &url)["clientInfo"] = known).await
    }

    /// Forgets a client that is not known any more, and the tokens that were given to it.
    pub(super) async fn unregister(&self, server: &str, id: &str) -> io::Result<()> {
        let server = server.to_owned();
        let id = id.to_owned();
        let edit = move |all: &mut Map<String, Value>| {
            if all.get(&server).is_some_and(|entry| entry["clientInfo"]["clientId"] == *id) {
                all.shift_remove(&server);
            }
        };
        self.change(edit).await
    }

    pub(super) async fn has_tokens(&self, server: &str, url: &str) -> bool {
        self.of(server, url)
            .entry()
            .await
            .is_ok_and(|entry| entry.is_some_and(|entry| entry.contains_key("tokens")))
    }

    pub(super) async fn remove(&self, server: &str) -> io::Result<()> {
        let server = server.to_owned();
        self.change(move |all| drop(all.shift_remove(&server))).await
    }

    async fn read(&self) -> io::Result<Map<String, Value>> {
        let path = self.path.clone();
        background(move || load(&path)).await
    }

    async fn change(&self, edit: impl FnOnce(&mut Map<String, Value>) + Send + 'static) -> io::Result<()> {
        let file = self.clone();
        background(move || {
            let _changing = file.changing.lock().unwrap_or_else(PoisonError::into_inner);
            let mut all = load(&file.path)?;
            edit(&mut all);
            save(&file.path, &all)
        })
        .await
    }
}

async fn background<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|_| Err(io::ErrorKind::Interrupted.into()))
}

fn load(path: &Path) -> io::Result<Map<String, Value>> {
    match std::fs::read(path) {
        // The text is not quoted: it is full of keys.
        Ok(bytes) => serde_json::from_slice(&bytes)
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "the stored logins are not JSON")),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(Map::new()),
        Err(cause) => Err(cause),
    }
}

fn save(path: &Path, all: &Map<String, Value>) -> io::Result<()> {
    if let Some(directory) = path.parent() {
        std::fs::create_dir_all(directory)?;
    }
    let beside = path.with_extension(format!("{}.new", std::process::id()));
    let _ = std::fs::remove_file(&beside);
    let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside)?;
    file.write_all(serde_json::to_string_pretty(all)?.as_bytes())?;
    file.sync_all()?;
    std::fs::rename(&beside, path)
}

/// What the SDK keeps and asks for.
#[derive(Debug)]
pub(super) struct Login {
    file: File,
    server: String,
    url: String,
    /// Whose tokens will be kept.
    registration: Option<Registration>,
}

type Stored<'a, T> = Pin<Box<dyn Future<Output = Result<T, AuthError>> + Send + 'a>>;

impl Login {
    pub(super) fn registered(mut self, registration: Registration) -> Self {
        self.registration = Some(registration);
        self
    }

    /// What is stored, if it was stored for this address.
    async fn entry(&self) -> io::Result<Option<Map<String, Value>>> {
        let mut all = self.file.read().await?;
        let Some(Value::Object(entry)) = all.remove(&self.server) else { return Ok(None) };
        let is_ours = entry.get("serverUrl").and_then(Value::as_str) == Some(&self.url);
        Ok(is_ours.then_some(entry))
    }
}

fn broken(cause: io::Error) -> AuthError {
    AuthError::CredentialStoreError(cause.to_string())
}

pub(super) fn now_s() -> u64 {
    SystemTime::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_secs())
}

/// Written by hand, as the SDK's macro would write it: one use is not worth a dependency.
impl CredentialStore for Login {
    fn load<'a, 'b>(&'a self) -> Stored<'b, Option<StoredCredentials>>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(async move { Ok(self.entry().await.map_err(broken)?.and_then(|entry| credentials(&entry))) })
    }

    fn save<'a, 'b>(&'a self, credentials: StoredCredentials) -> Stored<'b, ()>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(async move {
            let server = self.server.clone();
            let url = self.url.clone();
            let known = self.registration.clone().filter(|known| known.id == credentials.client_id);
            let edit = move |all: &mut Map<String, Value>| {
                note(entry_at(all, server, &url), &credentials, known);
            };
            self.file.change(edit).await.map_err(broken)
        })
    }

    fn clear<'a, 'b>(&'a self) -> Stored<'b, ()>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(async move { self.file.remove(&self.server).await.map_err(broken) })
    }
}

fn credentials(entry: &Map<String, Value>) -> Option<StoredCredentials> {
    let client = entry.get("clientInfo")?;
    let id = client.get("clientId")?.as_str()?.to_owned();
    let now = now_s();
    let tokens = entry.get("tokens").and_then(|tokens| {
        let mut response = json!({ "access_token": tokens.get("accessToken")?, "token_type": "bearer" });
        let refresh = tokens.get("refreshToken").filter(|token| token.is_string());
        let scope = tokens.get("scope").filter(|scope| scope.is_string());
        let left = tokens.get("expiresAt").and_then(Value::as_f64).map(|at| (at as u64).saturating_sub(now));
        for (key, value) in [("refresh_token", refresh.cloned()), ("scope", scope.cloned())] {
            if let Some(value) = value {
                response[key] = value;
            }
        }
        if let Some(left) = left {
            response["expires_in"] = json!(left);
        }
        serde_json::from_value::<OAuthTokenResponse>(response).ok()
    });
    let scope = entry.get("tokens").and_then(|tokens| tokens.get("scope")).and_then(Value::as_str);
    let scopes = scope.unwrap_or_default().split_whitespace().map(str::to_owned).collect();
    let issuer = client.get("issuer").and_then(Value::as_str).map(str::to_owned);
    Some(StoredCredentials::new(id, tokens, scopes, Some(now)).with_issuer(issuer))
}

/// The entry of a server; what it holds of another address is taken out.
fn entry_at<'a>(all: &'a mut Map<String, Value>, server: String, url: &str) -> &'a mut Value {
    let entry = all.entry(server).or_insert_with(|| json!({}));
    if !entry.is_object() {
        *entry = json!({});
    }
    if entry["serverUrl"] != url
        && let Some(entry) = entry.as_object_mut()
    {
        entry.shift_remove("tokens");
        entry.shift_remove("clientInfo");
    }
    entry["serverUrl"] = json!(url);
    entry
}

fn note(entry: &mut Value, credentials: &StoredCredentials, known: Option<Registration>) {
    let id = json!(credentials.client_id);
    if entry["clientInfo"]["clientId"] != id {
        // Somebody else registered meanwhile; a client with a secret is nothing without it.
        entry["clientInfo"] = known.map_or_else(|| json!({ "clientId": id }), |known| known.kept());
    }
    if let Some(issuer) = &credentials.issuer {
        entry["clientInfo"]["issuer"] = json!(issuer);
    }
    let response = credentials.token_response.as_ref().and_then(|tokens| serde_json::to_value(tokens).ok());
    let Some(response) = response else {
        entry.as_object_mut().and_then(|entry| entry.remove("tokens"));
        return;
    };
    let mut tokens = json!({ "accessToken": response["access_token"] });
    for (key, from) in [("refreshToken", "refresh_token"), ("scope", "scope")] {
        if let Some(value) = response.get(from).filter(|value| value.is_string()) {
            tokens[key] = value.clone();
        }
    }
    if let Some(left) = response["expires_in"].as_u64() {
        tokens["expiresAt"] = json!(credentials.token_received_at.unwrap_or_else(now_s) + left);
    }
    entry["tokens"] = tokens;
}
