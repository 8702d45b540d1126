//! Routes that can describe themselves, and do so only when asked.
//!
//! `utoipa-axum` describes each route where it adds it, so a server that starts would build the whole
//! document, throw it away, and keep in memory what the work left behind: a tenth of what an idle
//! server has. Here a route brings along a function that describes it. Both halves come from one
//! mention of the handler, so neither can be forgotten.
//!
//! What axum builds around a handler is compiled for one type, [`AnyHandler`], and not anew for each of the hundreds of
//! handlers: an eighth of the code of this crate.
//!
//! Not here: the document around the descriptions (`routes/server/openapi.rs`), the handlers (`routes/`).

use crate::app::App;
use crate::error::no_route;
use axum::Router;
use axum::extract::Request;
use axum::handler::Handler;
use axum::response::Response;
use axum::routing::MethodRouter;
use futures_util::future::BoxFuture;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use utoipa::__dev::{SchemaReferences, Tags};
use utoipa::openapi::schema::Schema;
use utoipa::openapi::{HttpMethod, Paths, RefOr};
use utoipa_axum::PathItemExt as _;
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouter};

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

/// What the handlers of one path say of themselves.
#[derive(Default)]
pub(crate) struct Description {
    schemas: Vec<(String, RefOr<Schema>)>,
    paths: Paths,
}

impl Description {
    /// Adds one of them. It is known by what `#[utoipa::path]` wrote beside it.
    pub(crate) fn of<P>(mut self) -> Self
    where
        P: utoipa::Path + for<'t> Tags<'t> + SchemaReferences,
    {
        let mut operation = P::operation();
        let tags = P::tags();
        if !tags.is_empty() {
            operation.tags.get_or_insert_default().extend(tags.iter().map(ToString::to_string));
        }
        P::schemas(&mut self.schemas);
        self.paths.add_path_operation(P::path(), P::methods(), operation);
        self
    }

    /// Without the handlers: a document answers nobody.
    pub(crate) fn into_routes(self) -> UtoipaMethodRouter<App> {
        (self.schemas, self.paths, MethodRouter::new())
    }
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
