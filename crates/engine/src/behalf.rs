//! On whose behalf something is asked of a session.
//!
//! Whoever lets a request in says so once, around everything that is done for it; what the request makes sessions store
//! carries the actor's name, and is refused if the grant it was let in with does not allow it any more. What a session
//! does by itself (a model's answer, a tool's result) has no actor.

use std::future::Future;
use std::sync::Arc;
use sturdy_store::grants::GrantUse;

/// Somebody who asks.
#[derive(Clone, Debug)]
pub struct Behalf {
    /// A kind and a name, never a secret: `user:anna`, `token:tok_…`, `grant:grt…`.
    pub actor: Arc<str>,
    /// The grant that everything asked for is judged by, inside the transaction that stores it.
    pub grant: Option<GrantUse>,
}

tokio::task_local! {
    static BEHALF: Option<Arc<Behalf>>;
}

/// Runs a task on somebody's behalf. Tasks that it starts are not.
pub async fn on_behalf<F: Future>(behalf: Behalf, task: F) -> F::Output {
    BEHALF.scope(Some(Arc::new(behalf)), task).await
}

/// Runs a task of its own on the behalf of whoever asks now.
pub(crate) fn as_now<F: Future>(task: F) -> impl Future<Output = F::Output> {
    BEHALF.scope(current(), task)
}

/// Runs a part of a request that the server would have done anyway: it needs no grant and is not counted as use of one.
pub(crate) async fn on_nobodys_behalf<F: Future>(task: F) -> F::Output {
    BEHALF.scope(None, task).await
}

/// On whose behalf the running task asks.
pub(crate) fn current() -> Option<Arc<Behalf>> {
    BEHALF.try_with(Clone::clone).ok().flatten()
}

#[cfg(test)]
mod tests;
