//! One user and one password, as HTTP basic authentication or in the query; tokens of programs beside it.
//!
//! The query wins over the header: a browser cannot set a header on an event stream.

mod attempts;

pub(crate) use attempts::FailedLogins;

use crate::access::door::Ends;
use crate::access::tokens::PREFIX;
use attempts::Turn;
use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_STANDARD_NO_PAD};
use http::header::AUTHORIZATION;
use http::request::Parts;
use secrecy::{ExposeSecret as _, SecretString};
use std::net::IpAddr;
use std::time::{Duration, Instant};
use sturdy_store::share::Refusal;
use subtle::ConstantTimeEq as _;
use tracing::warn;

/// Prints as stars; compared in constant time.
#[derive(Clone, Debug)]
pub struct Password {
    user: String,
    secret: SecretString,
    /// A second secret that is as good as the first: the key of this process, for programs of the same user.
    key: Option<SecretString>,
}

/// Why somebody is not let in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// Without a password, or with a wrong one.
    Unknown,
    /// Too many tries of this address wait already.
    TooMany,
    /// A token that asks too often.
    TooOften(Duration),
    /// A token that is for something else.
    Scope,
    /// A grant that does not stand any more.
    Grant(Refusal),
    /// The store did not say.
    Unanswered,
}

/// What a reference to a grant of one of our sessions begins with.
const GRANT_PREFIX: &str = "stdy1.ses_";

/// Pages of a web app that a browser fetches without credentials.
const OPEN_TO_ALL: [&str; 3] =
    ["/site.webmanifest", "/web-app-manifest-192x192.png", "/web-app-manifest-512x512.png"];

impl Password {
    #[must_use]
    pub fn new(user: impl Into<String>, secret: impl Into<SecretString>) -> Self {
        Self { user: user.into(), secret: secret.into(), key: None }
    }

    /// The same, which also admits who knows this key.
    #[must_use]
    pub fn or_key(mut self, key: impl Into<SecretString>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Who everybody that knows it is.
    pub(crate) fn user(&self) -> &str {
        &self.user
    }

    /// Whether this request knows it. Whoever guesses waits.
    pub(crate) async fn admits(
        &self,
        request: &Parts,
        guesses: &FailedLogins,
        peer: Option<IpAddr>,
    ) -> Result<(), Refused> {
        if OPEN_TO_ALL.contains(&request.uri.path()) {
            return Ok(());
        }
        // A browser sends its first request without a password; that does not count as a failed login.
        let Some(token) = token(request) else { return Err(Refused::Unknown) };
        let is_right = self.is(&token);
        if is_right && guesses.is_quiet(Instant::now()) {
            return Ok(());
        }
        let is_own_command = match request.extensions.get::<Ends>() {
            Some(ends) => ends.is_own_command().await,
            None => false,
        };
        let attempts = if is_own_command { &guesses.of_commands } else { &guesses.of_others };
        match attempts.turn(peer, Instant::now()) {
            Turn::After(Duration::ZERO) => {}
            Turn::After(wait) => tokio::time::sleep(wait).await,
            Turn::Never => return Err(Refused::TooMany),
        }
        if is_right {
            attempts.right(peer);
            return Ok(());
        }
        let mistakes = attempts.wrong(peer, Instant::now());
        let peer = peer.map(|peer| peer.to_string());
        warn!(peer, mistakes, is_own_command, "wrong password");
        Err(Refused::Unknown)
    }

    /// Whether the token is base64 of `user:password`.
    fn is(&self, token: &str) -> bool {
        let Some(decoded) = decode(token) else { return false };
        let Some(colon) = decoded.iter().position(|byte| *byte == b':') else { return false };
        let user = &decoded[..colon];
        let secret = &decoded[colon + 1..];
        // Both are compared, always: how long it takes tells nothing about which one was wrong.
        let user_is_right = user.ct_eq(self.user.as_bytes());
        let secret_is_right = secret.ct_eq(self.secret.expose_secret().as_bytes());
        let key = self.key.as_ref().unwrap_or(&self.secret);
        let key_is_right = secret.ct_eq(key.expose_secret().as_bytes());
        (user_is_right & (secret_is_right | key_is_right)).into()
    }
}

/// The token of a program: a bearer, or the password of basic authentication where a client knows nothing else.
pub(crate) fn bearer(request: &Parts) -> Option<String> {
    let header = request.headers.get(AUTHORIZATION).and_then(|header| header.to_str().ok());
    let bearer = header.and_then(|header| {
        let (scheme, token) = header.trim().split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| token.trim().to_owned())
    });
    let password = || {
        let text = String::from_utf8(decode(&token(request)?)?).ok()?;
        Some(text.split_once(':')?.1.to_owned())
    };
    let is_ours = |token: &String| token.starts_with(PREFIX) || token.starts_with(GRANT_PREFIX);
    bearer.or_else(password).filter(is_ours)
}

fn decode(token: &str) -> Option<Vec<u8>> {
    BASE64_STANDARD.decode(token).or_else(|_| BASE64_STANDARD_NO_PAD.decode(token)).ok()
}

/// What a request says to be let in.
fn token(request: &Parts) -> Option<String> {
    let query = request.uri.query().unwrap_or_default();
    let named = url::form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == "auth_token");
    // An empty one says nothing.
    let named = named.filter(|(_, token)| !token.is_empty());
    named.map(|(_, token)| token.into_owned()).or_else(|| basic(request).map(str::to_owned))
}

/// The token of `Authorization: Basic …`.
fn basic(request: &Parts) -> Option<&str> {
    let header = request.headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = header.trim().split_once(' ')?;
    scheme.eq_ignore_ascii_case("basic").then(|| token.trim())
}
