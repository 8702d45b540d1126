//! Which origins and host names are served at all; checked before the password.
//!
//! A browser runs the programs of strangers on this machine, and lets them send requests to it:
//! without asking first, as long as a request looks like a form or an image. So a page of an origin that
//! nobody allowed is answered nothing, whatever it asks for. Browsers say where a request comes from
//! in `Origin` and `Sec-Fetch-Site`, and no page can change what they say; a request that has
//! neither was not made by a page.
//!
//! A stranger can also give a name of their own the address of this machine (DNS rebinding). Then their page
//! has the same origin as the server, and only `Host` tells. Without a password, names that this server
//! does not know are therefore refused. With one there is no need: the browser knows no password for
//! that name.
//!
//! And a command that a model wrote may reach the server that runs it. It must not be able to answer the
//! question whether it may run, so requests of our own commands change nothing.
//!
//! Not here: the list of origins (`cors.rs`), the password (`auth.rs`).

use crate::access::cors::{Authority, Origin, Origins, Site, is_loopback};
use http::Method;
use http::header::{self, HeaderMap};
use http::request::Parts;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use sturdy_worktree::process::is_own_command;
use tokio::sync::{OnceCell, Semaphore};
use url::Host;

const FETCH_SITE: &str = "sec-fetch-site";
const FETCH_MODE: &str = "sec-fetch-mode";
const FETCH_DEST: &str = "sec-fetch-dest";

/// So many connections are looked up at once. A look reads about every process; a thousand of them would take
/// all threads that read files.
static LOOKS: Semaphore = Semaphore::const_new(4);

/// What the server is called, besides the names and addresses that every machine has.
#[derive(Debug, Default)]
pub(crate) struct Names(Vec<Host<String>>);

impl Names {
    pub(crate) fn new(names: &[String]) -> Self {
        let host = |name: &String| {
            let bare = Authority::parse(name).map(|known| known.host);
            // An IPv6 address may be written without brackets where no port can follow.
            bare.or_else(|| name.parse().ok().map(Host::Ipv6))
        };
        Self(names.iter().filter_map(host).collect())
    }
}

/// Why a request is not answered.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Forbidden {
    #[error("Pages of this origin may not use the API. `sturdy serve --cors ORIGIN` lets them.")]
    Origin,
    #[error(
        "This server has no password and does not know the name {0:?}. \
         `sturdy serve --allow-host NAME` makes it known; a password lets every name in."
    )]
    Host(String),
    #[error("A command that this server started may read from the API, but not change anything.")]
    OwnCommand,
}

/// The two ends of the connection a request came over.
#[derive(Clone, Debug)]
pub(crate) struct Ends {
    pub(crate) ours: SocketAddr,
    pub(crate) theirs: SocketAddr,
    /// Looked up when it is needed first.
    is_own_command: Arc<OnceCell<bool>>,
}

impl Ends {
    pub(crate) fn new(ours: SocketAddr, theirs: SocketAddr) -> Self {
        Self { ours, theirs, is_own_command: Arc::default() }
    }

    /// Whether a command that this server runs is at the other end.
    pub(crate) async fn is_own_command(&self) -> bool {
        let ours = self.ours;
        let theirs = self.theirs;
        let look = || async move {
            let _turn = LOOKS.acquire().await;
            let looked = tokio::task::spawn_blocking(move || is_own_command(theirs, ours));
            // A look that did not end well has seen nothing good.
            looked.await.unwrap_or(true)
        };
        *self.is_own_command.get_or_init(look).await
    }
}

/// Refuses what would let a command of this server approve of itself: everything that changes something.
pub(crate) async fn refuse_own_command(request: &Parts) -> Result<(), Forbidden> {
    let reads = matches!(request.method, Method::GET | Method::HEAD | Method::OPTIONS)
        && !request.headers.contains_key(header::UPGRADE);
    match request.extensions.get::<Ends>() {
        Some(ends) if !reads && ends.is_own_command().await => Err(Forbidden::OwnCommand),
        _ => Ok(()),
    }
}

/// Why this request is not answered, if it is not. `names` are given where there is no password.
pub(crate) fn refuse(names: Option<&Names>, origins: &Origins, request: &Parts) -> Result<(), Forbidden> {
    let authority = authority(request);
    if let Some(names) = names {
        known_host(names, request, authority.as_ref())?;
    }
    if request.method != Method::OPTIONS && is_foreign(origins, request, authority.as_ref()) {
        return Err(Forbidden::Origin);
    }
    Ok(())
}

/// Whom the request was meant for. A name in the request line wins over the header.
fn authority(request: &Parts) -> Option<Result<Authority, String>> {
    let said = request.uri.authority().map(|named| named.as_str().to_owned());
    let header = || {
        let host = request.headers.get(header::HOST)?;
        Some(String::from_utf8_lossy(host.as_bytes()).into_owned())
    };
    let text = said.or_else(header)?;
    Some(Authority::parse(&text).ok_or(text))
}

/// No `Host` at all is fine: every browser sends one.
fn known_host(
    names: &Names,
    request: &Parts,
    authority: Option<&Result<Authority, String>>,
) -> Result<(), Forbidden> {
    let host = match authority {
        None => return Ok(()),
        Some(Err(text)) => return Err(Forbidden::Host(text.clone())),
        Some(Ok(authority)) => &authority.host,
    };
    let ours = request.extensions.get::<Ends>().map(|ends| ends.ours.ip());
    let is_bound = ours.is_some_and(|ours| is_address(host, ours));
    if is_loopback(host) || is_bound || names.0.contains(host) {
        return Ok(());
    }
    Err(Forbidden::Host(host.to_string()))
}

fn is_address(host: &Host<String>, address: IpAddr) -> bool {
    let named = match host {
        Host::Domain(_) => return false,
        Host::Ipv4(named) => IpAddr::V4(*named),
        Host::Ipv6(named) => IpAddr::V6(*named),
    };
    named.to_canonical() == address.to_canonical()
}

/// Made by a page of an origin that nobody allowed. A page that this server itself showed is not.
fn is_foreign(origins: &Origins, request: &Parts, authority: Option<&Result<Authority, String>>) -> bool {
    let site = text(&request.headers, FETCH_SITE);
    match origins.judge(&request.headers) {
        Origin::Allowed(_) => false,
        Origin::Absent => site == "cross-site" && !is_visit(request),
        // A proxy may have changed `Host`; the browser saw one origin and not two.
        Origin::Other if site == "same-origin" => false,
        Origin::Other => {
            let page = Site::parse(text(&request.headers, header::ORIGIN.as_str()));
            let host = authority.and_then(|authority| authority.as_ref().ok());
            !page.zip(host).is_some_and(|(page, host)| page.is_served_as(host))
        }
    }
}

/// Somebody follows a link: the whole window shows what is answered, and the page it came from is gone.
fn is_visit(request: &Parts) -> bool {
    request.method == Method::GET
        && text(&request.headers, FETCH_MODE) == "navigate"
        && text(&request.headers, FETCH_DEST) == "document"
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> &'a str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests;
