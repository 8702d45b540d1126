//! Asking whether a checkout is trusted, and remembering the answer.
//!
//! The first prompt in an untrusted directory waits for a person: an ordinary permission request, `trust`, with
//! what would be switched on. "Always" is written into the list (`trust/list.rs`), "once" lasts as long as the
//! process, and so does a refusal; a project whose dangerous part has changed is asked about again. After a yes
//! the directory's settings are read anew and clients are told; after a no the turn goes on without them.
//!
//! The request is not in the log (`asking.rs`), the prompt behind it is. A process that dies while somebody thinks
//! asks again with the next prompt.

mod list;

pub use list::{TrustEntry, TrustList, TrustListError};

use crate::directory::Directories;
use crate::directory::agents::cautions;
use crate::directory::asking::{NewRequest, OpenRequest, WaitingAsk};
use crate::directory::config::{self, ConfigError, Judge, Places, Settings, Trust, TrustKey};
use crate::error::EngineError;
use serde_json::json;
use std::collections::HashSet;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use sturdy_session::id::SessionId;
use sturdy_session::json::Map;
use sturdy_session::types::ask::PermissionReply;
use sturdy_session::types::event::{Event, Toast, ToastVariant};
use tracing::{info, warn};

/// The permission that is asked for.
pub const PERMISSION: &str = "trust";

/// A project that changes while it is asked about is asked about so often.
const ROUNDS_MAX: usize = 3;

/// Long enough to read a few lines.
const TOAST_MS: NonZeroU64 = NonZeroU64::new(20_000).unwrap();

/// What this process knows of trust.
#[derive(Debug)]
pub(crate) struct Trusting {
    list: TrustList,
    /// Settings may be obeyed as long as the process lives.
    once: Mutex<HashSet<TrustKey>>,
    rejected: Mutex<HashSet<TrustKey>>,
}

impl Trusting {
    pub(crate) fn new(data_dir: &Path) -> Self {
        Self { list: TrustList::in_directory(data_dir), once: Mutex::default(), rejected: Mutex::default() }
    }

    /// The settings of a directory, as far as they are trusted now.
    pub(crate) fn load(
        &self,
        directory: &Path,
        worktree: &Path,
        environment: &crate::environment::Environment,
    ) -> Result<Settings, ConfigError> {
        let judge = Judge { cautions: &cautions(), is_trusted: &|key| self.is_trusted(key) };
        config::load_judged(directory, worktree, environment, &judge)
    }

    fn is_trusted(&self, key: &TrustKey) -> bool {
        lock(&self.once).contains(key)
            || self.list.contains(key).unwrap_or_else(|cause| {
                warn!(%cause, "the list of trusted projects cannot be read; no project is trusted");
                false
            })
    }

    /// Takes back all trust in a checkout. False if it had none.
    pub(crate) fn forget(&self, checkout: &Path) -> Result<bool, TrustListError> {
        // The list first: if it cannot be written, nothing has changed.
        let was_listed = self.list.remove(checkout)?;
        let mut once = lock(&self.once);
        let before = once.len();
        once.retain(|key| key.checkout != checkout);
        Ok(was_listed || once.len() < before)
    }

    pub(crate) fn remember(&self, key: &TrustKey, reply: PermissionReply, now: u64) {
        match reply {
            PermissionReply::Once => drop(lock(&self.once).insert(key.clone())),
            PermissionReply::Reject => drop(lock(&self.rejected).insert(key.clone())),
            PermissionReply::Always => {
                // What cannot be written down is at least kept in mind.
                lock(&self.once).insert(key.clone());
                if let Err(cause) = self.list.add(key, now) {
                    warn!(%cause, "trust could not be saved; it is forgotten when the server stops");
                }
            }
        }
        if reply != PermissionReply::Reject {
            lock(&self.rejected).remove(key);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Directories {
    /// Waits until somebody has said whether the directory of a session is trusted, if that is to be asked.
    pub(crate) async fn settle_trust(
        self: &Arc<Self>,
        session: &SessionId,
        directory: &str,
    ) -> Result<(), EngineError> {
        for _ in 0..ROUNDS_MAX {
            let instance = self.instance(directory).await?;
            let trust = instance.settings.trust();
            if !trust.is_untrusted() {
                return Ok(());
            }
            // `sturdy trust` may have said so since the settings were read.
            let known = self.trust.clone();
            let key = trust.key.clone();
            if self.files.run(directory, move || known.is_trusted(&key)).await? {
                self.read_again(&instance.directory, &instance.project.id);
                continue;
            }
            if lock(&self.trust.rejected).contains(&trust.key) {
                return Ok(());
            }
            let waiting = self.ask_for_trust(session, &instance.directory, &instance.project.id, trust);
            match waiting.answered().await {
                Some(PermissionReply::Once | PermissionReply::Always) => {}
                Some(PermissionReply::Reject) | None => return Ok(()),
            }
        }
        Ok(())
    }

    fn ask_for_trust(
        self: &Arc<Self>,
        session: &SessionId,
        directory: &str,
        project: &str,
        trust: &Trust,
    ) -> WaitingAsk {
        let patterns = trust.sentences();
        let checkout = trust.key.checkout.display().to_string();
        let metadata = json!({ "directory": checkout, "enables": patterns });
        let toast = toast(&checkout, &patterns);
        let waiting = self.ask_unstored(NewRequest {
            session,
            directory,
            project,
            permission: PERMISSION.to_owned(),
            // Clients show this before they send "always": what is trusted is all of it.
            always: patterns.clone(),
            patterns,
            metadata: metadata.as_object().cloned().unwrap_or_else(Map::new),
            tool: None,
            kept_at: None,
            trust: Some(trust.key.clone()),
        });
        self.feed.tell(self.clock.now(), Some(directory), Some(project), Event::TuiToastShow(toast));
        waiting
    }

    /// Somebody said whether checkouts are trusted; their settings are read anew if they are.
    pub(crate) fn trust_was_answered(self: &Arc<Self>, answered: &[OpenRequest], reply: PermissionReply) {
        let mut asked: Vec<&OpenRequest> = answered.iter().filter(|one| one.trust.is_some()).collect();
        if let Some(key) = asked.first().and_then(|one| one.trust.as_ref()) {
            info!(checkout = %key.checkout.display(), ?reply, "a request to trust a checkout was answered");
        }
        if reply == PermissionReply::Reject {
            return;
        }
        asked.sort_by_key(|one| (&one.directory, &one.project));
        asked.dedup_by_key(|one| (&one.directory, &one.project));
        for one in asked {
            self.read_again(&one.directory, &one.project);
        }
    }

    /// Forgets what is known of a directory, starts its servers if they ran or may run now, and tells its clients.
    pub(crate) fn read_again(self: &Arc<Self>, directory: &str, project: &str) {
        self.forget(directory);
        let event = Event::InstanceDisposed { directory: directory.to_owned() };
        self.feed.tell(self.clock.now(), Some(directory), Some(project), event);
    }
}

/// Terminals show little of a request they do not know; this says what it is about.
fn toast(checkout: &str, sentences: &[String]) -> Toast {
    const SHOWN: usize = 4;
    let mut lines: Vec<String> = sentences.iter().take(SHOWN).cloned().collect();
    let more = sentences.len().saturating_sub(SHOWN);
    lines.extend((more > 0).then(|| format!("and {more} more: sturdy trust --show {checkout}")));
    Toast {
        title: Some("Do you trust the settings of this project?".to_owned()),
        message: lines.join("\n"),
        variant: ToastVariant::Warning,
        duration: TOAST_MS,
    }
}

/// The checkout as which a directory is trusted, after all links. No settings are read for it: trust can also be taken
/// back from a project whose settings are broken.
pub async fn trusted_checkout(directory: &Path, environment: &crate::environment::Environment) -> PathBuf {
    let found = sturdy_worktree::project::resolve(directory).await;
    let places = Places::new(directory, &found.worktree, environment);
    let checkout = places.checkout();
    checkout.canonicalize().unwrap_or_else(|_| checkout.to_owned())
}

/// How a directory stands, for somebody who asks without a server.
#[derive(Clone, Debug)]
pub struct Inspected {
    pub trust: Trust,
    pub list: TrustList,
}

/// Looks at a directory. Nothing of it is started or run.
///
/// # Errors
/// Its settings are wrong.
pub async fn inspect(
    directory: PathBuf,
    data_dir: &Path,
    environment: &crate::environment::Environment,
) -> Result<Inspected, ConfigError> {
    let found = sturdy_worktree::project::resolve(&directory).await;
    let trusting = Trusting::new(data_dir);
    let settings = trusting.load(&directory, &found.worktree, environment)?;
    Ok(Inspected { trust: settings.trust().clone(), list: trusting.list })
}
