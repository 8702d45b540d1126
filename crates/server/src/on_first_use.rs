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
pub(crate) type Make<S = App> = Box<dyn Fn() -> MethodRouter<S> + Send + Sync>;

/// What answers at one path, made at the first request. Clones share it.
#[derive(Clone)]
pub(crate) struct OnFirstUse<S = App> {
    inner: Arc<Inner<S>>,
}

struct Inner<S> {
    make: Vec<Make<S>>,
    app: S,
    made: OnceLock<MethodRouter>,
}

impl<S: Clone + Send + Sync + 'static> OnFirstUse<S> {
    pub(crate) fn new(make: Vec<Make<S>>, app: S) -> Self {
        Self { inner: Arc::new(Inner { make, app, made: OnceLock::new() }) }
    }

    fn methods(&self) -> MethodRouter {
        let Inner { make, app, made } = &*self.inner;
        let made = made.get_or_init(|| {
            let methods = make.iter().map(|make| make()).fold(MethodRouter::new(), MethodRouter::merge);
            methods.fallback(no_route).with_state(app.clone())
        });
        made.clone()
    }
}

impl<S: Clone + Send + Sync + 'static> Service<Request> for OnFirstUse<S> {
    type Response = Response;
    type Error = Infallible;
    type Future = RouteFuture<Infallible>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        Service::<http::Request<Body>>::call(&mut self.methods(), request)
    }
}

#[cfg(test)]
mod tests {
    use super::{Make, OnFirstUse};
    use axum::Router;
    use axum::body::Body;
    use axum::routing::{get, post};
    use http::{Method, Request, StatusCode};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use tower::ServiceExt as _;

    #[tokio::test]
    async fn a_route_is_made_once_and_not_before_it_is_asked_for() {
        let made = Arc::new(AtomicUsize::new(0));
        let make = || -> Make<()> {
            let made = made.clone();
            Box::new(move || {
                made.fetch_add(1, Ordering::Relaxed);
                get(async || "got")
            })
        };
        let others: Make<()> = Box::new(|| post(async || "posted"));
        let router: Router = Router::new()
            .route_service("/asked", OnFirstUse::new(vec![make(), others], ()))
            .route_service("/never", OnFirstUse::new(vec![make()], ()));
        let ask = async |method: Method| {
            let request = Request::builder().method(method).uri("/asked").body(Body::empty()).unwrap();
            router.clone().oneshot(request).await.unwrap().status()
        };
        assert_eq!(made.load(Ordering::Relaxed), 0);

        assert_eq!(ask(Method::GET).await, StatusCode::OK);
        assert_eq!(ask(Method::POST).await, StatusCode::OK);
        assert_eq!(ask(Method::DELETE).await, StatusCode::NOT_FOUND, "as where there is nothing");

        assert_eq!(made.load(Ordering::Relaxed), 1);
    }
}
