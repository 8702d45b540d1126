//! What handlers say of themselves, for the document.

use crate::app::App;
use axum::routing::MethodRouter;
use utoipa::__dev::{SchemaReferences, Tags};
use utoipa::openapi::schema::Schema;
use utoipa::openapi::{Paths, RefOr};
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouter};

/// Adds the description of a route.
pub(crate) type Describe = fn(OpenApiRouter<App>) -> OpenApiRouter<App>;

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
