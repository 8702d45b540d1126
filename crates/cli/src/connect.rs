//! Finds the server of a store, or starts one inside this program.
//!
//! The lock file of the store says who serves it, where, and with which key. Only the lock itself decides
//! whether that is still true; so a server that does not answer is treated as gone, and the store is opened.
//! If somebody else has it nevertheless, it starts or ends just now, and is asked again.

use crate::args::ServerChoice;
use crate::client::Client;
use crate::failure::{Failure, NO_SERVER, UNMET, USAGE};
use crate::host::{self, HostError, Hosted, PASSWORD, USERNAME, USUAL_USER};
use crate::keys;
use percent_encoding::percent_decode_str;
use std::path::{Path, PathBuf};
use std::time::Duration;
use sturdy_engine::Environment;
use sturdy_store::Owner;
use url::Url;

/// How often a store that is in use but not served is looked at again.
const TRIES_MAX: u32 = 50;
const TRY_PAUSE: Duration = Duration::from_millis(100);

/// A server that answers.
pub(crate) struct Connection {
    pub(crate) client: Client,
    /// Where it stands on this machine, so that it sees the same files.
    pub(crate) place: ServerPlace,
}

pub(crate) enum ServerPlace {
    /// In this process.
    Here(Box<Hosted>),
    /// In another process of this machine.
    Machine,
    /// The user named it; it may be anywhere.
    Named,
}

impl Connection {
    /// Whether a path means the same file there and here.
    pub(crate) fn sees_our_files(&self) -> bool {
        match self.place {
            ServerPlace::Here(_) | ServerPlace::Machine => true,
            ServerPlace::Named => false,
        }
    }

    pub(crate) async fn close(self) {
        drop(self.client);
        if let ServerPlace::Here(hosted) = self.place {
            hosted.close().await;
        }
    }
}

/// The directory a command works in.
pub(crate) fn directory(named: Option<&Path>) -> Result<PathBuf, Failure> {
    match named {
        Some(named) => match named.canonicalize() {
            Ok(path) if path.is_dir() => Ok(path),
            _ => Err(Failure::new(USAGE, "this directory does not exist").with("path", named.display())),
        },
        None => std::env::current_dir().map_err(|cause| {
            Failure::new(UNMET, "the current directory is gone")
                .with("cause", cause)
                .with("try", "cd to one that exists")
        }),
    }
}

pub(crate) async fn connect(choice: &ServerChoice) -> Result<Connection, Failure> {
    let environment = keys::environment();
    let directory = directory(choice.dir.as_deref())?;
    if let Some(server) = &choice.server {
        let mut url = parse(server)?;
        let credentials = lift_credentials(&mut url).or_else(|| credentials(&environment));
        let client = Client::new(url, credentials, &directory)?;
        client.check().await?;
        return Ok(Connection { client, place: ServerPlace::Named });
    }
    let data_dir = choice.data.or_default(&environment);
    find_or_start(&data_dir, &environment, &directory).await
}

/// The server of this store, wherever it runs.
pub(crate) async fn find_or_start(
    data_dir: &Path,
    environment: &Environment,
    directory: &Path,
) -> Result<Connection, Failure> {
    let mut tries = 0;
    loop {
        if let Some(client) = find(data_dir, environment, directory).await? {
            return Ok(Connection { client, place: ServerPlace::Machine });
        }
        match Hosted::start(data_dir, environment.clone(), directory.to_owned()).await {
            Ok(hosted) => {
                let credentials = Some((hosted.user.clone(), hosted.key.clone()));
                let client = Client::new(parse(&hosted.address)?, credentials, directory)?;
                return Ok(Connection { client, place: ServerPlace::Here(Box::new(hosted)) });
            }
            Err(HostError::Other(failure)) => return Err(failure),
            Err(HostError::Locked(failure)) if tries == TRIES_MAX => return Err(failure),
            Err(HostError::Locked(_)) => {
                tries += 1;
                tokio::time::sleep(TRY_PAUSE).await;
            }
        }
    }
}

/// The server that the lock file names, if it answers.
pub(crate) async fn find(
    data_dir: &Path,
    environment: &Environment,
    directory: &Path,
) -> Result<Option<Client>, Failure> {
    let Some(client) = named_by_lock(data_dir, environment, directory)? else { return Ok(None) };
    match client.check().await {
        Ok(()) => Ok(Some(client)),
        Err(failure) if failure.code == NO_SERVER => Ok(None),
        Err(failure) => Err(failure),
    }
}

/// The server that the lock file names, whether or not it answers.
pub(crate) fn named_by_lock(
    data_dir: &Path,
    environment: &Environment,
    directory: &Path,
) -> Result<Option<Client>, Failure> {
    let Some(owner) = Owner::read(data_dir) else { return Ok(None) };
    let Some(address) = &owner.address else { return Ok(None) };
    let Ok(url) = Url::parse(&reachable(address)) else { return Ok(None) };
    let user = host::first(environment, USERNAME).unwrap_or(USUAL_USER).to_owned();
    let credentials = owner.key.map(|key| (user, key)).or_else(|| credentials(environment));
    Client::new(url, credentials, directory).map(Some)
}

/// A server that listens on every address is reached on the loopback one.
fn reachable(address: &str) -> String {
    address.replacen("//0.0.0.0", "//127.0.0.1", 1).replacen("//[::]", "//[::1]", 1)
}

fn parse(server: &str) -> Result<Url, Failure> {
    let is_web = |url: &Url| matches!(url.scheme(), "http" | "https") && url.has_host();
    Url::parse(server).ok().filter(is_web).ok_or_else(|| {
        Failure::new(USAGE, "this is not the URL of a server")
            .with("url", server)
            .with("try", "one such as http://127.0.0.1:4096")
    })
}

/// User and password out of the URL, so that they are neither printed nor passed on in a command line.
fn lift_credentials(url: &mut Url) -> Option<(String, String)> {
    let decode = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
    let user = decode(url.username());
    let password = url.password().map(decode);
    // A URL of the web takes both away.
    let _ = url.set_password(None);
    let _ = url.set_username("");
    let user = if user.is_empty() { USUAL_USER.to_owned() } else { user };
    Some((user, password?))
}

fn credentials(environment: &Environment) -> Option<(String, String)> {
    let password = host::first(environment, PASSWORD)?;
    let user = host::first(environment, USERNAME).unwrap_or(USUAL_USER);
    Some((user.to_owned(), password.to_owned()))
}
