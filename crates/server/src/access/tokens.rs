//! Tokens for programs: a secret each, kept as a hash, with what it allows and how often.
//!
//! A token is shown once, when it is made. It is sent as `Authorization: Bearer …`, or as the password of HTTP basic
//! authentication where a client knows nothing else. It has 256 random bits, so nobody guesses it and a wrong one need not wait.
//!
//! What is stored is one small private file beside the store. A token counts only after that file is on disk, and one that
//! was revoked is gone from the file before the answer. What is known of them is never locked while the disk is waited
//! for: a request with a token is let in or refused however long a write takes.
//!
//! Not here: who asks without a token (`edge.rs`), the routes (`routes/tokens.rs`).

mod scope;

pub(crate) use scope::Scope;

use super::private_file::{Changing, PrivateFile};
use governor::clock::{Clock as _, DefaultClock};
use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::collections::HashMap;
use std::fs;
use std::io;
use std::num::NonZeroU32;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use subtle::ConstantTimeEq as _;
use tokio::sync::watch;
use tracing::warn;
use utoipa::ToSchema;

/// What every token begins with, so that it is recognised where it should not be.
pub(crate) const PREFIX: &str = "sturdy_";

const TOKENS_MAX: usize = 200;
const NAME_CHARS_MAX: usize = 80;
const RATE_DEFAULT: u32 = 1200;
const RATE_MAX: u32 = 1_000_000;
/// When a token was used last is written down this often, not with every request.
const USED_EVERY_MS: u64 = 60 * 60 * 1000;
/// A token that expires is looked at again at least this often: clocks are set.
const LOOK_EVERY: Duration = Duration::from_secs(30);

/// A token as a person sees it in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Token {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) scopes: Vec<Scope>,
    /// Requests per minute.
    pub(crate) rate: u32,
    /// Milliseconds, as all times.
    pub(crate) created: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) expires: Option<u64>,
    /// Roughly when it was used last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) used: Option<u64>,
}

/// The settings of a new token.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewToken {
    /// For people: which program has it.
    name: String,
    scopes: Vec<Scope>,
    /// Requests per minute; 1,200 if unset.
    rate: Option<u32>,
    /// When it expires, in milliseconds; unset: never.
    expires: Option<u64>,
}

/// Why a token was not made or not taken back.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TokenError {
    #[error("{0}")]
    Bad(&'static str),
    #[error("There are {TOKENS_MAX} tokens, which is the most. Revoke one first.")]
    TooMany,
    #[error("the tokens cannot be written")]
    Unwritable(#[from] io::Error),
}

/// What a token that was shown is good for.
#[derive(Debug)]
pub(crate) enum Presented {
    /// Nobody has this token, or not any more.
    Unknown,
    Known {
        token: Token,
        /// Its use is worth writing down (`save_uses`).
        needs_saving: bool,
    },
    /// It asked too often; it may again after this long.
    TooOften(Duration),
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Stored {
    #[serde(flatten)]
    token: Token,
    hash: String,
}

#[derive(Debug)]
pub(crate) struct Tokens {
    file: PrivateFile,
    kept: Mutex<Kept>,
    /// Told whenever a token is revoked.
    revocations: watch::Sender<()>,
}

#[derive(Debug, Default)]
struct Kept {
    tokens: Vec<Stored>,
    /// By the token's id; made when it is used first.
    limits: HashMap<String, Arc<DefaultDirectRateLimiter>>,
}

impl Tokens {
    /// Reads what was kept. A file that cannot be read is put aside: its tokens are unknown from now on.
    pub(crate) fn open(data_dir: &Path) -> Self {
        let file = PrivateFile::new(data_dir.join("tokens.json"));
        let tokens = match fs::read(file.path()) {
            Ok(text) => serde_json::from_slice(&text).unwrap_or_else(|cause| {
                warn!(%cause, "tokens.json is damaged; its tokens do not count. It is kept as tokens.damaged");
                let _ = fs::rename(file.path(), file.path().with_extension("damaged"));
                Vec::new()
            }),
            Err(_) => Vec::new(),
        };
        let kept = Mutex::new(Kept { tokens, ..Kept::default() });
        Self { file, kept, revocations: watch::Sender::new(()) }
    }

    /// Makes a token; answers it and its secret, which is not kept. Waits for the disk.
    pub(crate) fn create(&self, new: NewToken, now: u64) -> Result<(Token, String), TokenError> {
        let name = new.name.trim();
        if name.is_empty() || name.chars().count() > NAME_CHARS_MAX || name.chars().any(char::is_control) {
            return Err(TokenError::Bad("A token needs a name of at most 80 letters"));
        }
        if new.scopes.is_empty() {
            return Err(TokenError::Bad("A token needs a scope: read, write, admin or metrics"));
        }
        let rate = new.rate.unwrap_or(RATE_DEFAULT);
        if rate == 0 || rate > RATE_MAX {
            return Err(TokenError::Bad("A rate is between 1 and 1000000 requests per minute"));
        }
        if new.expires.is_some_and(|expires| expires <= now) {
            return Err(TokenError::Bad("A token cannot expire in the past"));
        }
        let mut scopes = new.scopes;
        scopes.sort();
        scopes.dedup();
        let secret = format!("{PREFIX}{}", random_hex());
        let token = Token {
            id: format!("tok_{}", &random_hex()[..16]),
            name: name.to_owned(),
            scopes,
            rate,
            created: now,
            expires: new.expires,
            used: None,
        };
        let stored = Stored { token: token.clone(), hash: hash(&secret) };
        let changing = self.file.change();
        let mut tokens = self.lock().tokens.clone();
        if tokens.len() >= TOKENS_MAX {
            return Err(TokenError::TooMany);
        }
        tokens.push(stored.clone());
        // On disk before it counts.
        store(&changing, &tokens)?;
        // One of the others may have been revoked meanwhile.
        self.lock().tokens.push(stored);
        Ok((token, secret))
    }

    pub(crate) fn list(&self) -> Vec<Token> {
        self.lock().tokens.iter().map(|stored| stored.token.clone()).collect()
    }

    /// Takes a token back. False when there was none with this id. Waits for the disk.
    pub(crate) fn revoke(&self, id: &str) -> Result<bool, TokenError> {
        let mut kept = self.lock();
        let before = kept.tokens.len();
        // It is invalid at once, even if the disk fails or hangs.
        kept.tokens.retain(|stored| stored.token.id != id);
        if kept.tokens.len() == before {
            return Ok(false);
        }
        kept.limits.remove(id);
        drop(kept);
        self.revocations.send_replace(());
        self.save()?;
        Ok(true)
    }

    /// Waits until a token is not good any more.
    pub(crate) async fn ended(&self, id: &str, now: impl Fn() -> u64) {
        let mut revocations = self.revocations.subscribe();
        loop {
            // Before the look: a revocation during it is seen by the next.
            revocations.borrow_and_update();
            let expires = {
                let kept = self.lock();
                let Some(stored) = kept.tokens.iter().find(|stored| stored.token.id == id) else { return };
                stored.token.expires
            };
            let left = expires.map(|expires| expires.saturating_sub(now()));
            let wait = match left {
                Some(0) => return,
                Some(left) => Duration::from_millis(left).min(LOOK_EVERY),
                None => Duration::MAX,
            };
            let _ = tokio::time::timeout(wait, revocations.changed()).await;
        }
    }

    /// Writes down when tokens were used last. Waits for the disk.
    pub(crate) fn save_uses(&self) {
        if let Err(cause) = self.save() {
            warn!(%cause, "the time a token was last used could not be stored");
        }
    }

    fn save(&self) -> io::Result<()> {
        let changing = self.file.change();
        let tokens = self.lock().tokens.clone();
        store(&changing, &tokens)
    }

    /// Looks a secret up and counts the request.
    pub(crate) fn present(&self, secret: &str, now: u64) -> Presented {
        let wanted = hash(secret);
        let mut kept = self.lock();
        // All of them are compared: how long it takes tells nothing about which one came close.
        let mut found = None;
        for (index, stored) in kept.tokens.iter().enumerate() {
            if bool::from(stored.hash.as_bytes().ct_eq(wanted.as_bytes())) {
                found = Some(index);
            }
        }
        let Some(index) = found else { return Presented::Unknown };
        let token = kept.tokens[index].token.clone();
        if token.expires.is_some_and(|expires| expires <= now) {
            return Presented::Unknown;
        }
        let limit = kept.limits.entry(token.id.clone()).or_insert_with(|| limiter(token.rate)).clone();
        if let Err(early) = limit.check() {
            return Presented::TooOften(early.wait_time_from(DefaultClock::default().now()));
        }
        let needs_saving = token.used.is_none_or(|used| now.saturating_sub(used) > USED_EVERY_MS);
        if needs_saving {
            kept.tokens[index].token.used = Some(now);
        }
        Presented::Known { token, needs_saving }
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn store(changing: &Changing<'_>, tokens: &[Stored]) -> io::Result<()> {
    changing.write(&serde_json::to_vec(tokens).expect("BUG: tokens are always JSON"))
}

pub(crate) fn limiter(rate: u32) -> Arc<DefaultDirectRateLimiter> {
    let rate = NonZeroU32::new(rate).unwrap_or(NonZeroU32::MIN);
    Arc::new(RateLimiter::direct(Quota::per_minute(rate)))
}

fn random_hex() -> String {
    let bytes: [u8; 32] = rand::random();
    hex(&bytes)
}

fn hash(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests;
