//! The OpenAPI document: written by the handlers, put together when somebody asks for it.

use utoipa::openapi::{Info, OpenApi, Paths};
use utoipa_axum::router::OpenApiRouter;

/// The whole document. Nobody keeps it: it is asked for once in a while and is large.
pub(crate) fn document() -> OpenApi {
    let frame = OpenApiRouter::with_openapi(frame());
    let described =
        crate::routes::all().describe.into_iter().fold(frame, |document, describe| describe(document));
    let mut document = described.into_openapi();
    // A parameter that takes the rest of the path is called like any other in the document.
    let paths = std::mem::take(&mut document.paths.paths);
    document.paths.paths = paths.into_iter().map(|(path, item)| (path.replace("{*", "{"), item)).collect();
    document
}

fn frame() -> OpenApi {
    let mut info = Info::new("sturdy", env!("CARGO_PKG_VERSION"));
    info.description =
        Some("Sessions with a coding agent that survive whatever happens to the server.".to_owned());
    OpenApi::new(info, Paths::new())
}
