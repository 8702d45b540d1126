//! Browsers that are logged in: a cookie each, kept as a hash, for thirty days since it was last used.
//!
//! A cookie counts only beside the header `x-sturdy-page`, which a page of another origin cannot send with
//! credentials. So the password of a server is typed once per browser, and basic authentication stays for
//! programs. Guesses at the password wait, as everywhere (`auth.rs`). A one-time code lets a phone in without typing: it is good for two minutes, once.
//!
//! What is stored is one small private file beside the store: these are not facts of any session. What is known of
//! them is never locked while the disk is waited for.

use super::private_file::PrivateFile;
use http::HeaderMap;
use http::header::COOKIE;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::fs;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use subtle::ConstantTimeEq as _;
use tokio::sync::watch;
use tracing::warn;

/// Says that a request was made by our own page.
pub(crate) const PAGE_HEADER: &str = "x-sturdy-page";

const DAY_MS: u64 = 24 * 60 * 60 * 1000;
const LIFE_MS: u64 = 30 * DAY_MS;
/// A cookie that is used is renewed this often, not with every request.
const RENEW_AFTER_MS: u64 = DAY_MS;
const CODE_LIFE_MS: u64 = 2 * 60 * 1000;
const DEVICES_MAX: usize = 100;
const CODES_MAX: usize = 10;
const LABEL_CHARS_MAX: usize = 120;

/// One browser, as a person sees it in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Device {
    pub(crate) id: String,
    /// What the browser says it is.
    pub(crate) label: String,
    pub(crate) created: u64,
    pub(crate) seen: u64,
    hash: String,
}

#[derive(Debug)]
pub(crate) struct Devices {
    file: PrivateFile,
    kept: Mutex<Kept>,
    /// Told whenever a browser is logged out.
    logouts: watch::Sender<()>,
}

/// A browser that is let in.
#[derive(Debug)]
pub(crate) struct Admitted {
    pub(crate) id: String,
    /// It was not seen for a while, which is worth writing down (`save`).
    pub(crate) needs_saving: bool,
}

#[derive(Debug, Default)]
struct Kept {
    devices: Vec<Device>,
    /// Hashes of one-time codes, and until when each is good.
    codes: Vec<(String, u64)>,
}

impl Kept {
    /// Which browser was given this token.
    fn position(&self, token: &str) -> Option<usize> {
        let hash = hash(token);
        self.devices.iter().position(|device| same(&device.hash, &hash))
    }
}

impl Devices {
    /// Reads what was kept; a file that cannot be read means that everybody logs in again.
    pub(crate) fn open(data_dir: &Path) -> Self {
        let file = PrivateFile::new(data_dir.join("devices.json"));
        let devices = fs::read(file.path())
            .ok()
            .and_then(|text| serde_json::from_slice(&text).ok())
            .unwrap_or_default();
        let kept = Mutex::new(Kept { devices, ..Kept::default() });
        Self { file, kept, logouts: watch::Sender::new(()) }
    }

    /// The browser whose cookie a request of our page carries, if it is logged in.
    pub(crate) fn admits(&self, headers: &HeaderMap, now: u64) -> Option<Admitted> {
        if !headers.contains_key(PAGE_HEADER) {
            return None;
        }
        let mut kept = self.lock();
        let found = tokens(headers).find_map(|token| kept.position(token));
        let device = found.and_then(|index| kept.devices.get_mut(index))?;
        let id = device.id.clone();
        if now.saturating_sub(device.seen) > LIFE_MS {
            return None;
        }
        let needs_saving = now.saturating_sub(device.seen) > RENEW_AFTER_MS;
        if needs_saving {
            device.seen = now;
        }
        Some(Admitted { id, needs_saving })
    }

    /// Of the tokens that a request carries, the one that a browser was given here.
    pub(crate) fn known_token<'a>(&self, headers: &'a HeaderMap) -> Option<&'a str> {
        let kept = self.lock();
        tokens(headers).find(|token| kept.position(token).is_some())
    }

    /// Waits until a browser is not logged in any more.
    pub(crate) async fn logged_out(&self, id: &str) {
        let mut logouts = self.logouts.subscribe();
        loop {
            // Before the look: a logout during it is seen by the next.
            logouts.borrow_and_update();
            let is_known = self.lock().devices.iter().any(|device| device.id == id);
            if !is_known || logouts.changed().await.is_err() {
                return;
            }
        }
    }

    /// Lets a browser in; answers the token that its cookie holds. Waits for the disk.
    pub(crate) fn admit(&self, label: &str, now: u64) -> String {
        let token = secret();
        let mut kept = self.lock();
        kept.devices.retain(|device| now.saturating_sub(device.seen) <= LIFE_MS);
        kept.devices.sort_by_key(|device| std::cmp::Reverse(device.seen));
        kept.devices.truncate(DEVICES_MAX - 1);
        kept.devices.push(Device {
            id: format!("dev_{}", &secret()[..16]),
            label: label.chars().take(LABEL_CHARS_MAX).collect(),
            created: now,
            seen: now,
            hash: hash(&token),
        });
        drop(kept);
        // The one that was not seen for longest may have made room.
        self.logouts.send_replace(());
        self.save();
        token
    }

    /// A code that lets one browser in.
    pub(crate) fn code(&self, now: u64) -> String {
        let code = secret();
        let mut kept = self.lock();
        kept.codes.retain(|(_, until)| *until > now);
        let surplus = (kept.codes.len() + 1).saturating_sub(CODES_MAX);
        kept.codes.drain(..surplus);
        kept.codes.push((hash(&code), now + CODE_LIFE_MS));
        code
    }

    /// Whether the code was good. It is not any more.
    pub(crate) fn redeem(&self, code: &str, now: u64) -> bool {
        let wanted = hash(code);
        let mut kept = self.lock();
        kept.codes.retain(|(_, until)| *until > now);
        let found = kept.codes.iter().position(|(known, _)| same(known, &wanted));
        found.map(|index| kept.codes.remove(index)).is_some()
    }

    pub(crate) fn list(&self) -> Vec<Device> {
        self.lock().devices.clone()
    }

    /// Logs a browser out by its id, or the one that asks by its cookie. False when there was none. Waits for the disk.
    pub(crate) fn forget(&self, id: Option<&str>, headers: &HeaderMap) -> bool {
        let hashes: Vec<String> = tokens(headers).map(hash).collect();
        let mut kept = self.lock();
        let before = kept.devices.len();
        kept.devices.retain(|device| match id {
            Some(id) => device.id != id,
            None => !hashes.contains(&device.hash),
        });
        let was_known = kept.devices.len() < before;
        drop(kept);
        self.logouts.send_replace(());
        self.save();
        was_known
    }

    /// Writes down who is logged in. Waits for the disk.
    pub(crate) fn save(&self) {
        let changing = self.file.change();
        let text = serde_json::to_vec(&self.lock().devices).expect("BUG: devices are always JSON");
        if let Err(cause) = changing.write(&text) {
            warn!(%cause, "logged in browsers will have to log in again after a restart");
        }
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Cookies ignore ports, so that of another server on this machine has another name.
pub(crate) fn cookie_name(port: u16, is_secure: bool) -> String {
    if is_secure { "__Host-sturdy".to_owned() } else { format!("sturdy_{port}") }
}

/// The cookie as it is set, for a while, or taken away with an empty token.
pub(crate) fn cookie(name: &str, token: &str, is_secure: bool) -> String {
    let life = if token.is_empty() { 0 } else { LIFE_MS / 1000 };
    let secure = if is_secure { "; Secure" } else { "" };
    format!("{name}={token}; HttpOnly; SameSite=Strict; Path=/; Max-Age={life}{secure}")
}

/// Every token that a cookie of ours could hold; those of other servers are simply unknown here.
fn tokens(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let cookies = headers.get_all(COOKIE).into_iter().filter_map(|value| value.to_str().ok());
    cookies.flat_map(|list| list.split(';')).filter_map(|cookie| {
        let (name, token) = cookie.trim().split_once('=')?;
        (name == "__Host-sturdy" || name.starts_with("sturdy_")).then_some(token)
    })
}

/// 256 random bits.
fn secret() -> String {
    let bytes: [u8; 32] = rand::random();
    hex(&bytes)
}

fn hash(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn same(one: &str, other: &str) -> bool {
    one.as_bytes().ct_eq(other.as_bytes()).into()
}

#[cfg(test)]
mod tests;
