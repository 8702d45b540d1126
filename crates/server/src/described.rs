//! Routes that can describe themselves, and do so only when asked.
//!
//! `utoipa-axum` describes each route where it adds it, so a server that starts would build the whole
//! document, throw it away, and keep in memory what the work left behind: a tenth of what an idle
//! server has. Here a route brings along a function that describes it. Both halves come from one
//! mention of the handler, so neither can be forgotten.
//!
//! Not here: the document around the descriptions (`routes/server/openapi.rs`), the handlers (`routes/`).

use crate::app::App;
use crate::error::no_route;
use axum::Router;
use axum::handler::Handler;
use axum::routing::MethodRouter;
use std::collections::BTreeMap;
use utoipa::openapi::HttpMethod;
use utoipa_axum::PathItemExt as _;
use utoipa_axum::router::OpenApiRouter;

/// Adds the description of a route.
pub(crate) type Describe = fn(OpenApiRouter<App>) -> OpenApiRouter<App>;

/// What answers at one path.
pub(crate) struct Route {
    pub(crate) path: String,
    pub(crate) methods: MethodRouter<App>,
    pub(crate) describe: Describe,
}

/// Routes and how to describe them.
#[derive(Default)]
pub(crate) struct Routes {
    /// Several files may answer at one path, each by other methods.
    paths: BTreeMap<String, MethodRouter<App>>,
    pub(crate) describe: Vec<Describe>,
}

impl Routes {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn routes(mut self, route: Route) -> Self {
        self.describe.push(route.describe);
        self.route(&route.path, route.methods)
    }

    /// A route that is no part of the document.
    pub(crate) fn route(mut self, path: &str, methods: MethodRouter<App>) -> Self {
        let known = self.paths.remove(path).unwrap_or_default();
        self.paths.insert(path.to_owned(), known.merge(methods));
        self
    }

    pub(crate) fn merge(mut self, other: Self) -> Self {
        for (path, methods) in other.paths {
            self = self.route(&path, methods);
        }
        self.describe.extend(other.describe);
        self
    }

    pub(crate) fn into_router(self, app: &App) -> Router {
        let route = |router: Router<App>, (path, methods): (String, MethodRouter<App>)| {
            router.route(&path, methods.fallback(no_route))
        };
        self.paths.into_iter().fold(Router::new(), route).with_state(app.clone())
    }
}

/// Lets a handler answer the methods that its description names.
pub(crate) fn answer<H, T>(router: MethodRouter<App>, methods: &[HttpMethod], handler: H) -> MethodRouter<App>
where
    H: Handler<T, App> + Clone,
    T: 'static,
{
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
                describe: |document| document.routes(utoipa_axum::routes!($first $(, $more)*)),
            }
        }}
    };
}
pub(crate) use routes;
