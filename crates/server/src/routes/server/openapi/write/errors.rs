//! The bodies of refusals, by path and status.
//!
//! A handler says which statuses it answers with and why. Which shapes a body then has is the same everywhere
//! (`crate::error` makes them), so it stands here once.

use crate::wire::error_schema as shapes;
use serde_json::{Map, Value, json};
use utoipa::openapi::Components;
use utoipa::{PartialSchema, ToSchema};

/// Makes the shapes known to the document.
pub(super) fn declare(components: &mut Components) {
    declare_one::<shapes::NamedError>(components);
    declare_one::<shapes::TaggedError>(components);
    declare_one::<shapes::BadRequestError>(components);
    declare_one::<shapes::BadRequestTag>(components);
    declare_one::<shapes::NotFoundError>(components);
    declare_one::<shapes::VcsApplyError>(components);
    declare_one::<shapes::NoLoginError>(components);
    declare_one::<shapes::InvalidRequestError>(components);
    declare_one::<shapes::InvalidCursorError>(components);
    declare_one::<shapes::UnauthorizedError>(components);
    declare_one::<shapes::ForbiddenTag>(components);
    declare_one::<shapes::ExperimentalError>(components);
    declare_one::<shapes::ProviderLoginError>(components);
    declare_one::<shapes::PtyForbiddenError>(components);
    declare_one::<shapes::SessionNotFoundError>(components);
    declare_one::<shapes::MessageNotFoundError>(components);
    declare_one::<shapes::RequestNotFoundError>(components);
    declare_one::<shapes::ProviderNotFoundError>(components);
    declare_one::<shapes::ProjectNotFoundError>(components);
    declare_one::<shapes::PtyNotFoundError>(components);
    declare_one::<shapes::McpServerNotFoundError>(components);
    declare_one::<shapes::SessionBusyError>(components);
    declare_one::<shapes::ConflictError>(components);
}

fn declare_one<T: ToSchema + PartialSchema>(components: &mut Components) {
    components.schemas.insert(T::name().into_owned(), T::schema());
    let mut more = Vec::new();
    T::schemas(&mut more);
    components.schemas.extend(more);
}

/// Gives every refusal its body, and every operation the refusals that any request can meet.
pub(super) fn add(document: &mut Value) {
    let Some(paths) = document["paths"].as_object_mut() else { return };
    for (path, methods) in paths {
        let methods = methods.as_object_mut().into_iter().flatten();
        for (_, operation) in methods.filter(|(_, operation)| operation["responses"].is_object()) {
            let has_cursor = operation["parameters"]
                .as_array()
                .is_some_and(|all| all.iter().any(|one| one["name"] == "cursor"));
            let Some(responses) = operation["responses"].as_object_mut() else { continue };
            add_to(path, has_cursor, responses);
        }
    }
}

fn add_to(path: &str, has_cursor: bool, responses: &mut Map<String, Value>) {
    let mut put = |status: &str, why: &str| {
        responses.entry(status.to_owned()).or_insert_with(|| json!({ "description": why }));
    };
    put("400", "The request is not valid");
    if is_v2(path) {
        put("401", "Password missing or wrong");
    }
    if path.contains("{sessionID}") {
        put("404", "No such session");
    }
    for (status, response) in responses {
        let Some(code) = status.parse::<u16>().ok().filter(|code| *code >= 400) else { continue };
        if response.get("content").is_none() && (is_v2(path) || code != 401) {
            response["content"] = json!({ "application/json": { "schema": body(path, code, has_cursor) } });
        }
    }
}

fn is_v2(path: &str) -> bool {
    path.starts_with("/api/")
}

fn body(path: &str, code: u16, has_cursor: bool) -> Value {
    let names = if is_v2(path) { second(path, code, has_cursor) } else { first(path, code) };
    let refs: Vec<Value> =
        names.iter().map(|name| json!({ "$ref": format!("#/components/schemas/{name}") })).collect();
    match refs.as_slice() {
        [one] => one.clone(),
        _ => json!({ "anyOf": refs }),
    }
}

fn first(path: &str, code: u16) -> Vec<&'static str> {
    match code {
        400 if path == "/vcs/apply" => vec!["VcsApplyError", "BadRequestError"],
        400 if path.starts_with("/mcp/") => vec!["NoLoginError", "BadRequestError", "BadRequestTag"],
        400 if path.ends_with("/copy") => vec!["InvalidRequestError", "ExperimentalError", "NamedError"],
        400 if path.starts_with("/experimental/") => {
            vec!["BadRequestError", "BadRequestTag", "ExperimentalError", "NamedError"]
        }
        400 if path.starts_with("/provider/") => vec!["BadRequestError", "ProviderLoginError", "NamedError"],
        400 => vec!["BadRequestError", "BadRequestTag", "NamedError"],
        403 if path.starts_with("/pty/") => vec!["PtyForbiddenError", "NamedError"],
        404 => vec![missing(path, "NotFoundError"), "NamedError"],
        409 => vec!["SessionBusyError", "ConflictError", "NamedError"],
        _ => vec!["NamedError"],
    }
}

fn second(path: &str, code: u16, has_cursor: bool) -> Vec<&'static str> {
    match code {
        400 if has_cursor => vec!["InvalidRequestError", "InvalidCursorError"],
        400 => vec!["InvalidRequestError", "TaggedError"],
        401 => vec!["UnauthorizedError"],
        403 => vec!["ForbiddenTag", "TaggedError"],
        404 if path.contains("{sessionID}/message/") => vec!["SessionNotFoundError", "MessageNotFoundError"],
        404 if path.contains("{requestID}") => vec!["SessionNotFoundError", "RequestNotFoundError"],
        404 if path.contains("{sessionID}") => {
            vec!["SessionNotFoundError", "MessageNotFoundError", "TaggedError"]
        }
        404 => vec![missing(path, "TaggedError")],
        409 => vec!["ConflictError", "SessionBusyError", "TaggedError"],
        _ => vec!["TaggedError"],
    }
}

/// What is said not to be there.
fn missing(path: &str, otherwise: &'static str) -> &'static str {
    let by = [
        ("{ptyID}", "PtyNotFoundError"),
        ("{requestID}", "RequestNotFoundError"),
        ("{permissionID}", "RequestNotFoundError"),
        ("{projectID}", "ProjectNotFoundError"),
        ("{providerID}", "ProviderNotFoundError"),
        ("/mcp/{name}", "McpServerNotFoundError"),
    ];
    by.into_iter().find(|(part, _)| path.contains(part)).map_or(otherwise, |(_, name)| name)
}
