//! The share service: receives sessions that are shared, and shows them.
//!
//! Off unless asked for. The core is the store's (`sturdy_store::share`): everything here is a thin adapter that
//! reads a request, makes the random values, calls the store once, and wakes viewers when something was
//! applied. Viewers read the store by their own cursor, so a lost wake-up costs time and never data.
//!
//! Not here: the engine's side that sends (`sturdy_engine::share`).

mod at;
mod follow;
mod grants;
mod http;
mod import;
mod limits;
mod refuse;
mod rpc;
mod viewer;

pub(crate) use at::first_half;
pub(crate) use http::routes;
pub use limits::ServiceLimits;

use crate::app::App;
use ::http::request::Parts;
use follow::Pages;
use limits::Rate;
use secrecy::{ExposeSecret as _, SecretString};
use sturdy_engine::Engine;
use sturdy_store::share::ShareBudget;
use subtle::ConstantTimeEq as _;

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
    limits: ServiceLimits,
    batches: Rate,
    creates: Rate,
    pages: Pages,
}

/// Paths that are for whoever has a link, with or without the server's password.
const PATHS: [&str; 4] = ["/api/share", "/api/shares", "/share", "/rpc/share"];

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
        }
    }

    /// The link of a share.
    fn url(&self, share: &str) -> String {
        format!("{}/share/{share}", self.public_url)
    }

    /// What all shares may hold together while whoever reaches the port may make them.
    fn budget(&self) -> Option<ShareBudget> {
        self.gateway_key.is_none().then_some(self.limits.budget)
    }

    /// Whether somebody who wants a new share may have one.
    fn may_create(&self, request: &Parts) -> bool {
        let Some(key) = &self.gateway_key else { return true };
        let shown = request.headers.get("x-opencode-share-key").map_or(&b""[..], |value| value.as_bytes());
        shown.ct_eq(key.expose_secret().as_bytes()).into()
    }
}

/// Whether a request is for the share service, which knows its own callers.
pub(crate) fn concerns(app: &App, path: &str) -> bool {
    let is_below =
        |root: &str| path.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    app.shares().is_some() && PATHS.iter().any(|root| is_below(root))
}
