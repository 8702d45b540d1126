//! Says with each operation how to name the directory it is about.
//!
//! Handlers read it through `Here` and `Location` (`instance.rs`), which the derive does not see, so it is said here by
//! path. Clients send it with every request of the v1 API, also with those about one session, which knows its own.
//!
//! Not here: the header `x-opencode-directory`, which says the same for everything a client asks (docs/http.md).

use serde_json::{Value, json};

/// About the whole server, or described with their handlers.
const WHOLE_SERVER: &[&str] = &[
    "/api/",
    "/auth/",
    "/doc",
    "/experimental/control-plane/",
    "/global/",
    "/health",
    "/metrics",
    "/rpc",
    "/sturdy/",
];

/// Those of the v2 API that are about a directory.
const LOCATED: &[&str] = &[
    "/api/agent",
    "/api/command",
    "/api/credential/",
    "/api/fs/",
    "/api/integration",
    "/api/location",
    "/api/model",
    "/api/permission/request",
    "/api/provider",
    "/api/pty",
    "/api/question/request",
    "/api/reference",
    "/api/skill",
    "/experimental/project/{projectID}/copy",
];

/// Named by the v1 API, although it lies among those of the v2 API.
const NAMED: &[&str] = &["/experimental/project/{projectID}/copy/generate-name", "/sturdy/trust"];

pub(super) fn add(document: &mut Value) {
    let paths = document["paths"].as_object_mut().into_iter().flatten();
    for (path, methods) in paths {
        let Some(name) = name_of(path) else { continue };
        for operation in super::fields(methods) {
            let Some(operation) = operation.as_object_mut() else { continue };
            let parameters = operation.entry("parameters").or_insert_with(|| json!([]));
            let Some(parameters) = parameters.as_array_mut() else { continue };
            // Some say more about it: a list is filtered by it.
            if parameters.iter().all(|parameter| parameter["name"] != name) {
                parameters.push(json!({
                    "name": name,
                    "in": "query",
                    "description": "The directory it is about; without it the one the server was started in",
                    "required": false,
                    "schema": { "type": "string" },
                }));
            }
        }
    }
}

fn name_of(path: &str) -> Option<&'static str> {
    let is_below = |roots: &[&str]| roots.iter().any(|root| path.starts_with(root));
    if is_below(NAMED) {
        return Some("directory");
    }
    if is_below(LOCATED) {
        return Some("location[directory]");
    }
    (!is_below(WHOLE_SERVER)).then_some("directory")
}
