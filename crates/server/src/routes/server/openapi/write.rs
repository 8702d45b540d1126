//! Writes the OpenAPI document from the handlers and from the types that are sent.
//!
//! What the derive writes is made plain (`write/plain.rs`), so that generators of clients need no tricks. Every refusal is
//! given its body (`write/errors.rs`): handlers name the status and the reason, one table the shape. How a directory is named
//! is said in one place too (`write/places.rs`).

mod errors;
mod places;
mod plain;

use serde_json::Value;
use utoipa::openapi::{Components, Info, OpenApi, Paths};
use utoipa_axum::router::OpenApiRouter;

/// The document as the handlers describe it.
#[must_use]
pub fn described_document() -> Value {
    let frame = OpenApiRouter::with_openapi(frame());
    let described =
        crate::routes::all().describe.into_iter().fold(frame, |document, describe| describe(document));
    let mut document = described.into_openapi();
    // A parameter that takes the rest of the path is called like any other in the document.
    let paths = std::mem::take(&mut document.paths.paths);
    document.paths.paths = paths.into_iter().map(|(path, item)| (path.replace("{*", "{"), item)).collect();
    errors::declare(document.components.get_or_insert_with(Components::new));
    let mut document = serde_json::to_value(&document).expect("BUG: the document is always JSON");
    answers_are_json(&mut document);
    errors::add(&mut document);
    plain::make_plain(&mut document);
    places::add(&mut document);
    document
}

/// `true` is JSON as well; the derive takes it for a text.
fn answers_are_json(document: &mut Value) {
    let operations = fields(&mut document["paths"]).flat_map(fields);
    let responses = operations.filter_map(|operation| operation.get_mut("responses")).flat_map(fields);
    for response in responses {
        let Some(content) = response.get_mut("content").and_then(Value::as_object_mut) else { continue };
        if content.get("text/plain").is_some_and(|text| text["schema"]["type"] == "boolean")
            && let Some(text) = content.remove("text/plain")
        {
            content.insert("application/json".to_owned(), text);
        }
    }
}

fn fields(value: &mut Value) -> impl Iterator<Item = &mut Value> {
    value.as_object_mut().into_iter().flat_map(serde_json::Map::values_mut)
}

fn frame() -> OpenApi {
    let mut info = Info::new("sturdy", env!("CARGO_PKG_VERSION"));
    info.description =
        Some("Sessions with a coding agent that survive whatever happens to the server.".to_owned());
    OpenApi::new(info, Paths::new())
}
