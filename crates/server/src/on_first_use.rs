//! Routes that are made when somebody first asks for them.
//!
//! Making a route runs code that stands beside its handler, so a server that makes all of them when it
//! starts has the pages of every handler in memory before anybody asked for anything: several times
//! what it needs while it is idle.
//!
//! Not here: which routes there are (`described.rs`, `routes/`).

use crate::app::App;
use crate::edge::no_route;
use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use axum::routing::MethodRouter;
use axum::routing::future::RouteFuture;
use std::convert::Infallible;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use tower::Service;

/// Makes what answers at a path.
pub(crate) type Make = Box<dyn Fn() -> MethodRouter<App> + Send + Sync>;

/// What answers at one path, made at the first request. Clones share it.
#[derive(Clone)]
pub(crate) struct OnFirstUse {
    inner: Arc<Inner>,
}

struct Inner {
    make: Vec<Make>,
    app: App,
    made: OnceLock<MethodRouter>,
}

impl OnFirstUse {
    pub(crate) fn new(make: Vec<Make>, app: App) -> Self {
        Self { inner: Arc::new(Inner { make, app, made: OnceLock::new() }) }
    }
}

impl Inner {
    fn methods(&self) -> MethodRouter {
        let made = self.made.get_or_init(|| {
            let methods = self.make.iter().map(|make| make()).fold(MethodRouter::new(), MethodRouter::merge);
            methods.fallback(no_route).with_state(self.app.clone())
        });
        made.clone()
    }
}

impl Service<Request> for OnFirstUse {
    type Response = Response;
    type Error = Infallible;
    type Future = RouteFuture<Infallible>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        Service::<http::Request<Body>>::call(&mut self.inner.methods(), request)
    }
}
