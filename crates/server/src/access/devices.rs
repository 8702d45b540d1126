//! Browsers that are logged in: a cookie each, kept as a hash, for thirty days since it was last used.
//!
//! A cookie counts only beside the header `x-sturdy-page`, which a page of another origin cannot send with
//! credentials. So the password of a server is typed once per browser, and basic authentication stays for
//! programs. Guesses at the password wait, as everywhere (`auth.rs`). A one-time code lets a phone in without typing: it is good for two minutes, once.
//!
//! What is stored is one small private file beside the store: these are not facts of any session.

use http::HeaderMap;
use http::header::COOKIE;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use subtle::ConstantTimeEq as _;
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
    file: PathBuf,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    devices: Vec<Device>,
    /// Hashes of one-time codes, and until when each is good.
    codes: Vec<(String, u64)>,
}

impl Devices {
    /// Reads what was kept; a file that cannot be read means that everybody logs in again.
    pub(crate) fn open(data_dir: &Path) -> Self {
        let file = data_dir.join("devices.json");
        let devices =
            fs::read(&file).ok().and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default();
        Self { file, kept: Mutex::new(Kept { devices, ..Kept::default() }) }
    }

    /// The browser whose cookie a request of our page carries, if it is logged in.
    pub(crate) fn admits(&self, headers: &HeaderMap, now: u64) -> Option<String> {
        if !headers.contains_key(PAGE_HEADER) {
            return None;
        }
        let mut kept = self.lock();
        let found = tokens(headers).find_map(|token| {
            let hash = hash(token);
            kept.devices.iter().position(|device| same(&device.hash, &hash))
        });
        let device = found.and_then(|index| kept.devices.get_mut(index))?;
        let id = device.id.clone();
        if now.saturating_sub(device.seen) > LIFE_MS {
            return None;
        }
        if now.saturating_sub(device.seen) > RENEW_AFTER_MS {
            device.seen = now;
            self.store(&kept);
        }
        Some(id)
    }

    /// Lets a browser in; answers the token that its cookie holds.
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
        self.store(&kept);
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

    /// Logs a browser out by its id, or the one that asks by its cookie. False when there was none.
    pub(crate) fn forget(&self, id: Option<&str>, headers: &HeaderMap) -> bool {
        let hashes: Vec<String> = tokens(headers).map(hash).collect();
        let mut kept = self.lock();
        let before = kept.devices.len();
        kept.devices.retain(|device| match id {
            Some(id) => device.id != id,
            None => !hashes.contains(&device.hash),
        });
        self.store(&kept);
        kept.devices.len() < before
    }

    /// Written beside and renamed: a crash leaves the old file or the new one.
    fn store(&self, kept: &Kept) {
        let text = serde_json::to_vec(&kept.devices).expect("BUG: devices are always JSON");
        let beside = self.file.with_extension("new");
        let written =
            fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&beside);
        let written = written.and_then(|mut file| file.write_all(&text).and_then(|()| file.sync_all()));
        if let Err(cause) = written.and_then(|()| fs::rename(&beside, &self.file)) {
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
