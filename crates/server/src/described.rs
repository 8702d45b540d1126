//! Routes, and what they say of themselves.
//!
//! A route brings along a function that describes it: both halves come from one mention of the handler, so neither can
//! be forgotten. The second half is compiled only with the feature `describe`, by which the OpenAPI document is written;
//! the program has the document as a file.
//!
//! What axum builds around a handler is compiled for one type, [`AnyHandler`], and not anew for each of the hundreds of
//! handlers: an eighth of the code of this crate.
//!
//! Not here: the document around the descriptions (`routes/server/openapi/write.rs`), the handlers (`routes/`).

#[cfg(feature = "describe")]
mod description;

#[cfg(feature = "describe")]
pub(crate) use description::{Describe, Description};

use crate::app::App;
use crate::error::no_route;
use axum::Router;
use axum::extract::{MatchedPath, Request};
use axum::handler::Handler;
use axum::response::Response;
use axum::routing::MethodRouter;
use futures_util::future::BoxFuture;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use tracing::Span;
use utoipa::openapi::HttpMethod;
use utoipa_axum::PathItemExt as _;

/// What answers at one path.
pub(crate) struct Route {
    pub(crate) path: String,
    pub(crate) methods: MethodRouter<App>,
    #[cfg(feature = "describe")]
    pub(crate) describe: Describe,
}

/// Routes and how to describe them.
#[derive(Default)]
pub(crate) struct Routes {
    /// Several files may answer at one path, each by other methods.
    paths: BTreeMap<String, MethodRouter<App>>,
    #[cfg(feature = "describe")]
    pub(crate) describe: Vec<Describe>,
}

impl Routes {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn routes(self, route: Route) -> Self {
        let routes = self.route(&route.path, route.methods);
        #[cfg(feature = "describe")]
        let routes = routes.described_by(route.describe);
        routes
    }

    #[cfg(feature = "describe")]
    fn described_by(mut self, describe: Describe) -> Self {
        self.describe.push(describe);
        self
    }

    /// A route that is not in the OpenAPI document.
    pub(crate) fn route(mut self, path: &str, methods: MethodRouter<App>) -> Self {
        let known = self.paths.remove(path).unwrap_or_default();
        self.paths.insert(path.to_owned(), known.merge(methods));
        self
    }

    pub(crate) fn merge(mut self, other: Self) -> Self {
        #[cfg(feature = "describe")]
        self.describe.extend(other.describe);
        for (path, methods) in other.paths {
            self = self.route(&path, methods);
        }
        self
    }

    /// Answers the paths below one root below another one as well, for clients that know them by that name.
    pub(crate) fn also_below(mut self, root: &str, alias: &str) -> Self {
        let aliases: Vec<(String, MethodRouter<App>)> = self
            .paths
            .iter()
            .filter_map(|(path, methods)| {
                let rest = path.strip_prefix(root).filter(|rest| rest.is_empty() || rest.starts_with('/'))?;
                Some((format!("{alias}{rest}"), methods.clone()))
            })
            .collect();
        self.paths.extend(aliases);
        self
    }

    pub(crate) fn into_router(self, app: &App) -> Router {
        let route = |router: Router<App>, (path, methods): (String, MethodRouter<App>)| {
            router.route(&path, methods.fallback(no_route))
        };
        self.paths.into_iter().fold(Router::new(), route).with_state(app.clone())
    }
}

/// A handler whose type was forgotten.
#[derive(Clone)]
struct AnyHandler(Arc<dyn Fn(Request, App) -> BoxFuture<'static, Response> + Send + Sync>);

impl AnyHandler {
    fn new<H, T>(handler: H) -> Self
    where
        H: Handler<T, App> + Sync,
        T: 'static,
    {
        Self(Arc::new(move |request, app| Box::pin(handler.clone().call(request, app))))
    }
}

impl Handler<(), App> for AnyHandler {
    type Future = BoxFuture<'static, Response>;

    fn call(self, request: Request, app: App) -> Self::Future {
        // The pattern and not the path, which may hold what a user wrote.
        if let Some(route) = request.extensions().get::<MatchedPath>() {
            Span::current().record("route", route.as_str());
        }
        (self.0)(request, app)
    }
}

impl fmt::Debug for AnyHandler {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("AnyHandler")
    }
}

/// Lets a handler answer the methods that its description names.
pub(crate) fn answer<H, T>(router: MethodRouter<App>, methods: &[HttpMethod], handler: H) -> MethodRouter<App>
where
    H: Handler<T, App> + Sync,
    T: 'static,
{
    on(router, methods, AnyHandler::new(handler))
}

fn on(router: MethodRouter<App>, methods: &[HttpMethod], handler: AnyHandler) -> MethodRouter<App> {
    methods.iter().fold(router, |router, method| router.on(method.to_method_filter(), handler.clone()))
}

/// The route of one handler, or of several that share a path.
macro_rules! routes {
    ($first:ident $(, $more:ident)* $(,)?) => {
        utoipa_axum::paste! {{
            use utoipa::Path as _;
            crate::described::Route {
                path: [<__path_ $first>]::path(),
                methods: {
                    let methods = axum::routing::MethodRouter::new();
                    let methods = crate::described::answer(methods, &[<__path_ $first>]::methods(), $first);
                    $( let methods = crate::described::answer(methods, &[<__path_ $more>]::methods(), $more); )*
                    methods
                },
                #[cfg(feature = "describe")]
                describe: |document| {
                    let description = crate::described::Description::default().of::<[<__path_ $first>]>();
                    $( let description = description.of::<[<__path_ $more>]>(); )*
                    document.routes(description.into_routes())
                },
            }
        }}
    };
}
pub(crate) use routes;
