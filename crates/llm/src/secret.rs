//! Credentials, and taking them out of text that others wrote.
//!
//! A [`Secret`] prints as stars and cannot be serialised. What comes back from a provider may
//! repeat what we sent, so every failure passes through a [`Redactor`] before anybody sees it.

use crate::failure;
use secrecy::{ExposeSecret, SecretString};
use std::fmt;
use sturdy_session::types::failure::Failure;

/// Shorter values would blank out ordinary words.
const REDACTED_BYTES_MIN: usize = 6;
const STARS: &str = "***";

/// Invariant I18: no secret leaves. A credential prints as stars and cannot be serialised, so that no log
/// line, error or answer carries it by accident.
#[derive(Clone)]
pub struct Secret(SecretString);

impl Secret {
    #[must_use]
    pub fn new(value: impl Into<String>) -> Self {
        Self(SecretString::from(value.into()))
    }

    /// For the two places that need it: the request header and `auth.json`.
    #[must_use]
    pub fn reveal(&self) -> &str {
        self.0.expose_secret()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.reveal().is_empty()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(***)")
    }
}

impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        self.reveal() == other.reveal()
    }
}

/// Header names whose values are credentials.
#[must_use]
pub fn is_sensitive(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["auth", "key", "token", "secret", "cookie", "password", "credential"]
        .iter()
        .any(|word| name.contains(word))
}

/// Replaces known secrets by stars.
#[derive(Clone, Debug, Default)]
pub struct Redactor {
    secrets: Vec<Secret>,
}

impl Redactor {
    pub fn add(&mut self, value: &str) {
        // The scheme is no secret, and a provider that repeats a header repeats it in parts.
        let value = value.strip_prefix("Bearer ").unwrap_or(value).trim();
        if value.len() >= REDACTED_BYTES_MIN {
            self.secrets.push(Secret::new(value));
        }
    }

    #[must_use]
    pub fn text(&self, text: String) -> String {
        self.secrets.iter().fold(text, |text, secret| {
            if text.contains(secret.reveal()) { text.replace(secret.reveal(), STARS) } else { text }
        })
    }

    #[must_use]
    pub fn failure(&self, failure: Failure) -> Failure {
        if self.secrets.is_empty() {
            return failure;
        }
        failure::map_texts(failure, |text| self.text(text))
    }
}
