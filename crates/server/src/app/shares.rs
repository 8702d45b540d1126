//! The share service as the server holds it: where people reach it, and who may create a share.
//!
//! Not here: what it answers (`share/`).

use super::share_limits::{Rate, ServiceLimits};
use super::share_pages::Pages;
use super::share_readers::Readers;
use http::request::Parts;
use secrecy::{ExposeSecret as _, SecretString};
use sha2::{Digest as _, Sha256};
use std::sync::Arc;
use sturdy_engine::Engine;
use sturdy_store::share::ShareBudget;
use subtle::ConstantTimeEq as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, TryAcquireError};

/// A share that holds more is large.
const LARGE_BYTES: u64 = 4 * 1024 * 1024;
/// Large shares that are sent whole at once; each is held in memory until its reader has it, and anybody may be one.
const LARGE_MAX: usize = 8;

/// How the service meets the outside.
#[derive(Debug)]
pub struct ShareOptions {
    /// Where people reach it: links begin with this, never with what a request says.
    pub public_url: String,
    /// Who creates shares must send this in `x-opencode-share-key`; none: everybody who reaches the port may.
    pub gateway_key: Option<SecretString>,
    pub limits: ServiceLimits,
}

impl ShareOptions {
    /// Open to whoever reaches the port.
    #[must_use]
    pub fn at(public_url: impl Into<String>) -> Self {
        Self { public_url: public_url.into(), gateway_key: None, limits: ServiceLimits::default() }
    }
}

/// The running service.
#[derive(Debug)]
pub(crate) struct Shares {
    public_url: String,
    gateway_key: Option<SecretString>,
    pub(crate) limits: ServiceLimits,
    pub(crate) batches: Rate,
    pub(crate) creates: Rate,
    pages: Pages,
    readers: Readers,
    large: Arc<Semaphore>,
}

/// Room to send a share whole; none is needed for a small one.
pub(crate) type WholeRoom = Option<OwnedSemaphorePermit>;

impl Shares {
    /// Turns the service on. Sessions of the engine are shared here from now on.
    pub(crate) fn new(options: ShareOptions, engine: &Engine) -> Self {
        let public_url = options.public_url.trim_end_matches('/').to_owned();
        let limits = options.limits;
        engine.receive_shares(&public_url, limits.share);
        Self {
            public_url,
            gateway_key: options.gateway_key,
            limits,
            batches: Rate::per_second(limits.batches_per_second),
            creates: Rate::per_hour(limits.creates_per_hour),
            pages: Pages::default(),
            readers: Readers::default(),
            large: Arc::new(Semaphore::new(LARGE_MAX)),
        }
    }

    /// The link of a share.
    pub(crate) fn url(&self, share: &str) -> String {
        format!("{}/share/{share}", self.public_url)
    }

    /// What all shares may hold together while whoever reaches the port may make them.
    pub(crate) fn budget(&self) -> Option<ShareBudget> {
        self.gateway_key.is_none().then_some(self.limits.budget)
    }

    pub(crate) fn pages(&self) -> &Pages {
        &self.pages
    }

    pub(crate) fn readers(&self) -> &Readers {
        &self.readers
    }

    /// Room to send a share of this size whole, until it is dropped. An error if too many are on their way.
    pub(crate) fn room_for(&self, bytes: u64) -> Result<WholeRoom, TryAcquireError> {
        if bytes <= LARGE_BYTES {
            return Ok(None);
        }
        self.large.clone().try_acquire_owned().map(Some)
    }

    /// Whether somebody who wants a new share may have one.
    pub(crate) fn may_create(&self, request: &Parts) -> bool {
        let Some(key) = &self.gateway_key else { return true };
        let shown = request.headers.get("x-opencode-share-key").map_or(&b""[..], |value| value.as_bytes());
        // Their hashes: a comparison of the texts ends at once where their lengths differ, and so tells the length.
        Sha256::digest(shown).ct_eq(&Sha256::digest(key.expose_secret())).into()
    }
}
