//! Which login listens on which port for its browser's callback, in the whole engine.
//!
//! All logins use a few ports, mostly one, so that they have to make way for each other: whoever takes a
//! place tells those before it to end, and binds when they have let go of the port. A place ends with its
//! time, with the login however it was finished, with its server and with the engine.
//!
//! Not here: the listening itself (`sturdy_worktree::mcp::auth`), and what is done with a code (`login.rs`).

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use sturdy_worktree::mcp::auth::{CallbackError, Listener, Started, port_of};
use tokio_util::sync::CancellationToken;

/// Logins at as many servers with ports of their own can wait at a time; people have one browser.
const PLACES_MAX: usize = 16;

/// All places. Cheap to clone; all clones are one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Callback(Arc<Mutex<Vec<Waiting>>>);

#[derive(Clone, Debug)]
struct Waiting {
    port: u16,
    directory: String,
    server: String,
    /// It should end.
    stop: CancellationToken,
    /// It has let go of its port.
    closed: CancellationToken,
    /// What the browser brought has been used.
    done: CancellationToken,
}

/// A place to listen at. Given back when it is dropped.
#[derive(Debug)]
pub(super) struct CallbackPlace {
    returns: Callback,
    waiting: Waiting,
    /// Those that have to let go of the port first.
    earlier: Vec<CancellationToken>,
}

impl Callback {
    /// Takes a place, and ends those at the same port or for the same server. It ends with `stop`.
    pub(super) fn take(
        &self,
        directory: &str,
        server: &str,
        redirect: &str,
        stop: &CancellationToken,
    ) -> Result<CallbackPlace, CallbackError> {
        let port = port_of(redirect)?;
        let waiting = Waiting {
            port,
            directory: directory.to_owned(),
            server: server.to_owned(),
            stop: stop.child_token(),
            closed: CancellationToken::new(),
            done: CancellationToken::new(),
        };
        let mut all = self.lock();
        all.iter().filter(|one| one.port == port || one.server == server).for_each(|one| one.stop.cancel());
        if all.len() >= PLACES_MAX {
            return Err(CallbackError::Listen("too many logins wait for a browser".to_owned()));
        }
        let earlier = all.iter().filter(|one| one.port == port).map(|one| one.closed.clone()).collect();
        all.push(waiting.clone());
        drop(all);
        Ok(CallbackPlace { returns: self.clone(), waiting, earlier })
    }

    /// The login at this server is over, or is not wanted any more.
    pub(super) fn stop(&self, server: &str) {
        self.lock().iter().filter(|one| one.server == server).for_each(|one| one.stop.cancel());
    }

    /// The server of this directory is another one now.
    pub(super) fn stop_in(&self, directory: &str, server: &str) {
        let is_it = |one: &&Waiting| one.directory == directory && one.server == server;
        self.lock().iter().filter(is_it).for_each(|one| one.stop.cancel());
    }

    /// Waits until what a browser has brought for this server is used.
    pub(super) async fn settled(&self, server: &str) {
        let brought = |one: &&Waiting| one.server == server && one.closed.is_cancelled();
        let done: Vec<_> = self.lock().iter().filter(brought).map(|one| one.done.clone()).collect();
        for done in done {
            done.cancelled().await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Waiting>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CallbackPlace {
    /// Listens, once the port is free of us.
    pub(super) async fn listen(&self, started: &Started) -> Result<Listener, CallbackError> {
        // No timeout here: they were told to end, and only wait for things that they drop then.
        for earlier in &self.earlier {
            earlier.cancelled().await;
        }
        Listener::open(&started.redirect, &started.state).await
    }

    pub(super) async fn stopped(&self) {
        self.waiting.stop.cancelled().await;
    }

    /// The port is free again, although the place is not given back yet.
    pub(super) fn close(&self) {
        self.waiting.closed.cancel();
    }
}

impl Drop for CallbackPlace {
    fn drop(&mut self) {
        self.waiting.closed.cancel();
        self.waiting.done.cancel();
        self.returns.lock().retain(|one| !one.done.is_cancelled());
    }
}

#[cfg(test)]
mod tests {
    use super::{Callback, PLACES_MAX};
    use futures_util::poll;
    use sturdy_worktree::mcp::auth::Started;
    use tokio_util::sync::CancellationToken;

    fn started(port: u16) -> Started {
        let redirect = format!("http://127.0.0.1:{port}/back");
        Started { url: String::new(), state: "state".to_owned(), redirect }
    }

    #[tokio::test]
    async fn a_port_is_bound_when_the_one_before_has_let_go_of_it() {
        // As good a port as any; the system makes another one of it each time.
        let returns = Callback::default();
        let stop = CancellationToken::new();
        let started = started(0);
        let first = returns.take("/", "one", &started.redirect, &stop).unwrap();
        let listener = first.listen(&started).await.unwrap();

        let second = returns.take("/", "two", &started.redirect, &stop).unwrap();
        let third = returns.take("/", "three", &started.redirect, &stop).unwrap();
        assert!(first.waiting.stop.is_cancelled() && second.waiting.stop.is_cancelled());
        let mut listening = Box::pin(third.listen(&started));
        assert!(poll!(&mut listening).is_pending(), "two are before it");
        drop(second);
        assert!(poll!(&mut listening).is_pending(), "one is before it");
        drop(listener);
        drop(first);

        listening.await.unwrap();
        drop(third);
        assert!(returns.lock().is_empty(), "places are given back");
    }

    #[test]
    fn a_server_has_one_place_and_all_have_a_few() {
        let returns = Callback::default();
        let stop = CancellationToken::new();
        let take = |server: &str, port| returns.take("/", server, &started(port).redirect, &stop);
        let first = take("one", 1).unwrap();

        let again = take("one", 2).unwrap();
        assert!(first.waiting.stop.is_cancelled(), "also at another port");
        assert!(again.earlier.is_empty(), "which need not be waited for");
        let names = (3..).map(|port| (port.to_string(), port));
        let others: Vec<_> =
            names.take(PLACES_MAX - 2).map(|(name, port)| take(&name, port).unwrap()).collect();
        assert!(take("last", 100).is_err());
        drop(others);
        assert!(take("last", 100).is_ok());

        stop.cancel();
        assert!(again.waiting.stop.is_cancelled());
    }
}
