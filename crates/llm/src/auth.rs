//! `auth.json`: credentials by provider, readable by their owner only.
//!
//! `{"anthropic": {"type": "api", "key": "…"}, …}`. Entries of kinds we do not know are kept as
//! they are, so that sharing the file with other programs loses nothing. A write replaces the
//! file in one step, so that a crash leaves the old one or the new one.

use crate::secret::Secret;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// Why credentials could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum AuthError {
    #[error("credentials at {path} cannot be read")]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },

    /// The text is not quoted: it is full of keys.
    #[error("credentials at {path} are not a JSON object (line {line})")]
    Damaged { path: PathBuf, line: usize },

    #[error("credentials at {path} cannot be written")]
    Write {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

/// One stored credential.
#[derive(Clone, Debug, PartialEq)]
pub enum Credential {
    Api { key: Secret, metadata: Option<Map<String, Value>> },
    OAuth { access: Secret, refresh: Secret, expires: i64, extra: Map<String, Value> },
    WellKnown { key: String, token: Secret },
}

/// All stored credentials.
#[derive(Clone, Debug, Default)]
pub struct Credentials {
    known: BTreeMap<String, Credential>,
    /// Entries of other kinds, as they stood.
    other: BTreeMap<String, Opaque>,
}

/// An entry we do not understand may still hold a secret.
#[derive(Clone)]
struct Opaque(Value);

impl std::fmt::Debug for Opaque {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Opaque(***)")
    }
}

impl Credentials {
    /// Reads the file; one that does not exist holds nothing.
    ///
    /// # Errors
    /// The file cannot be read, or is not a JSON object.
    pub fn load(path: &Path) -> Result<Self, AuthError> {
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(source) => return Err(AuthError::Read { path: path.to_owned(), source }),
        };
        Self::parse(&text, path)
    }

    /// Reads a text that stands in `place`.
    ///
    /// # Errors
    /// It is not a JSON object.
    pub fn parse(text: &str, place: &Path) -> Result<Self, AuthError> {
        let entries: Map<String, Value> = serde_json::from_str(text)
            .map_err(|error| AuthError::Damaged { path: place.to_owned(), line: error.line() })?;
        let mut credentials = Self::default();
        for (provider, entry) in entries {
            match read(&entry) {
                Some(credential) => drop(credentials.known.insert(provider, credential)),
                None => drop(credentials.other.insert(provider, Opaque(entry))),
            }
        }
        Ok(credentials)
    }

    /// Replaces the file, readable by its owner only.
    ///
    /// # Errors
    /// The directory or the file cannot be written; the old file is then untouched.
    pub fn save(&self, path: &Path) -> Result<(), AuthError> {
        let other = self.other.iter().map(|(provider, entry)| (provider.clone(), entry.0.clone()));
        let known = self.known.iter().map(|(provider, credential)| (provider.clone(), write(credential)));
        let all: Map<String, Value> = other.chain(known).collect();
        replace(path, &format!("{:#}\n", Value::Object(all)))
            .map_err(|source| AuthError::Write { path: path.to_owned(), source })
    }

    #[must_use]
    pub fn get(&self, provider: &str) -> Option<&Credential> {
        self.known.get(provider)
    }

    /// Whoever publishes settings for those who log in with them.
    pub fn well_known(&self) -> impl Iterator<Item = &str> {
        let is_well_known = |credential: &Credential| matches!(credential, Credential::WellKnown { .. });
        self.known.iter().filter(move |(_, one)| is_well_known(one)).map(|(name, _)| name.as_str())
    }

    /// The key to send, if the stored credential is one. Tokens of the other kinds need a
    /// conversation with whoever issued them before they are of use.
    #[must_use]
    pub fn key(&self, provider: &str) -> Option<&Secret> {
        match self.known.get(provider)? {
            Credential::Api { key, .. } => Some(key),
            Credential::WellKnown { .. } | Credential::OAuth { .. } => None,
        }
    }

    /// A login with whoever issues tokens, if that is what is stored: the token, and until when it is good
    /// (in milliseconds; zero is for ever).
    #[must_use]
    pub fn login(&self, provider: &str) -> Option<(&Secret, i64)> {
        match self.known.get(provider)? {
            Credential::OAuth { access, expires, .. } => Some((access, *expires)),
            Credential::Api { .. } | Credential::WellKnown { .. } => None,
        }
    }

    pub fn set(&mut self, provider: &str, credential: Credential) {
        self.other.remove(provider);
        self.known.insert(provider.to_owned(), credential);
    }

    /// Whether there was one.
    pub fn remove(&mut self, provider: &str) -> bool {
        let known = self.known.remove(provider).is_some();
        self.other.remove(provider).is_some() || known
    }

    /// Provider ids, in order.
    pub fn providers(&self) -> impl Iterator<Item = &str> {
        self.known.keys().map(String::as_str)
    }
}

impl Credential {
    /// From the body of `PUT /auth/{id}`; `None` if it is none of the three kinds.
    #[must_use]
    pub fn from_json(entry: &Value) -> Option<Self> {
        read(entry)
    }
}

fn read(entry: &Value) -> Option<Credential> {
    let text = |name: &str| entry[name].as_str();
    match text("type")? {
        "api" => Some(Credential::Api {
            key: Secret::new(text("key")?),
            metadata: entry["metadata"].as_object().cloned(),
        }),
        "oauth" => {
            let own = ["type", "access", "refresh", "expires"];
            let extra = entry.as_object()?.iter().filter(|(name, _)| !own.contains(&name.as_str()));
            Some(Credential::OAuth {
                access: Secret::new(text("access")?),
                refresh: Secret::new(text("refresh")?),
                expires: entry["expires"].as_f64().unwrap_or(0.0) as i64,
                extra: extra.map(|(name, value)| (name.clone(), value.clone())).collect(),
            })
        }
        "wellknown" => {
            Some(Credential::WellKnown { key: text("key")?.to_owned(), token: Secret::new(text("token")?) })
        }
        _ => None,
    }
}

fn write(credential: &Credential) -> Value {
    match credential {
        Credential::Api { key, metadata } => {
            let mut entry = json!({ "type": "api", "key": key.reveal() });
            if let Some(metadata) = metadata {
                entry["metadata"] = Value::Object(metadata.clone());
            }
            entry
        }
        Credential::OAuth { access, refresh, expires, extra } => {
            let mut entry = json!({
                "type": "oauth", "refresh": refresh.reveal(), "access": access.reveal(), "expires": expires,
            });
            if let Some(map) = entry.as_object_mut() {
                map.extend(extra.clone());
            }
            entry
        }
        Credential::WellKnown { key, token } => {
            json!({ "type": "wellknown", "key": key, "token": token.reveal() })
        }
    }
}

/// Written beside, synced, then renamed over: never half a file, never readable by others.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory)?;
    }
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    let beside = PathBuf::from(name);
    let written = write_private(&beside, text).and_then(|()| fs::rename(&beside, path));
    if written.is_err() {
        // What is left of a failed write is of no use; the failure itself is what counts.
        let _ = fs::remove_file(&beside);
    }
    written
}

fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    // The mode above counts only for a new file; one left behind by a crash keeps its own.
    #[cfg(unix)]
    file.set_permissions(<Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o600))?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}
