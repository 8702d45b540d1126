//! Every answer of every test is held against the OpenAPI document: its status, its shape, and no field that the
//! document does not name.

use crate::world::{Answer, World};
use jsonschema::Validator;
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex};

/// The document with objects closed, so that a field it does not name is found.
static DOCUMENT: LazyLock<Value> = LazyLock::new(|| {
    let mut document = sturdy_server::document();
    close(&mut document["components"]);
    close(&mut document["paths"]);
    document
});

/// Pages for people, Cap'n Web, and the share service, which docs/share.md describes.
const UNDESCRIBED: [&str; 5] = ["/s/", "/share/", "/rpc", "/assets", "/api/share"];
/// What the share service answers through the server.
const PASSED_ON: &str = "/share/owner";

/// Gives the answer back if it is what the document says.
pub(crate) fn check(method: &str, path: &str, answer: Answer) -> Answer {
    let bare = path.split(['?', '#']).next().unwrap_or_default();
    let Some(operation) = operation(method, bare) else { return answer };
    let is_json = answer.header("content-type").is_some_and(|kind| kind.starts_with("application/json"));
    if !is_json || bare.ends_with(PASSED_ON) || UNDESCRIBED.iter().any(|start| bare.starts_with(start)) {
        return answer;
    }
    let status = answer.status.to_string();
    // What any request can meet is described in docs/http.md, not at every operation.
    if matches!(answer.status, 401 | 403 | 408 | 413 | 415 | 429 | 500..) {
        return answer;
    }
    let response = &operation["responses"][&status];
    assert!(
        response.is_object(),
        "{method} {bare} answered {status}, which the document does not name: {}",
        answer.text
    );
    let schema = &response["content"]["application/json"]["schema"];
    assert!(schema.is_object(), "{method} {bare} {status} has no schema");
    let body: Value = serde_json::from_str(&answer.text).unwrap();
    let wrong: Vec<String> = validator(schema)
        .iter_errors(&body)
        .map(|error| format!("{error} at {}", error.instance_path()))
        .collect();
    assert!(
        wrong.is_empty(),
        "{method} {bare} {status} is not what the document says: {wrong:#?}\n{}",
        answer.text
    );
    answer
}

/// What the document says of the frames of a stream.
pub(crate) fn frames_of(path: &str) -> Option<Arc<Validator>> {
    static KNOWN: LazyLock<Mutex<HashMap<String, Arc<Validator>>>> = LazyLock::new(Mutex::default);
    let bare = path.split(['?', '#']).next().unwrap_or_default();
    if UNDESCRIBED.iter().any(|start| bare.starts_with(start)) {
        return None;
    }
    let operation = operation("GET", bare).expect("the document names every stream");
    let schema = &operation["responses"]["200"]["content"]["text/event-stream"]["schema"];
    assert!(schema.is_object(), "the frames of {bare} have no schema");
    let mut known = KNOWN.lock().unwrap();
    let validator = known.entry(schema.to_string()).or_insert_with(|| Arc::new(validator(schema)));
    Some(validator.clone())
}

fn validator(schema: &Value) -> Validator {
    let mut whole = schema.as_object().cloned().unwrap_or_default();
    whole.insert("components".to_owned(), DOCUMENT["components"].clone());
    jsonschema::validator_for(&Value::Object(whole)).expect("a schema of the document is a schema")
}

/// The operation a request meets; a path in words is nearer than one with names.
fn operation(method: &str, path: &str) -> Option<&'static Value> {
    let paths = DOCUMENT["paths"].as_object()?;
    let fits = |template: &str| {
        let is_rest = |part: &str| template.starts_with("/api/fs/read") && part.starts_with('{');
        let mut parts = template.split('/');
        let mut given = path.split('/');
        loop {
            match (parts.next(), given.next()) {
                (None, None) => return true,
                (Some(part), Some(_)) if is_rest(part) => return true,
                (Some(part), Some(given))
                    if part == given || (part.starts_with('{') && !given.is_empty()) => {}
                _ => return false,
            }
        }
    };
    let mut fitting: Vec<_> = paths.iter().filter(|(template, _)| fits(template)).collect();
    fitting.sort_by_key(|(template, _)| template.matches('{').count());
    let method = method.to_lowercase();
    fitting.into_iter().find_map(|(_, methods)| methods.get(&method))
}

/// Objects with named fields have no others.
fn close(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.values_mut().for_each(close);
            if fields.get("properties").is_some_and(Value::is_object)
                && fields.get("type") == Some(&json!("object"))
            {
                fields.entry("additionalProperties").or_insert(Value::Bool(false));
            }
        }
        Value::Array(items) => items.iter_mut().for_each(close),
        _ => {}
    }
}

/// What is sent is a file; what handlers and types say of themselves is what it must hold.
#[cfg(feature = "describe")]
#[test]
fn the_document_is_what_the_handlers_say() {
    const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/openapi.json");
    let described = serde_json::to_string_pretty(&sturdy_server::described_document()).unwrap() + "\n";
    if std::env::var_os("STURDY_WRITE_OPENAPI").is_some() {
        std::fs::write(FILE, &described).unwrap();
    }

    let written = std::fs::read_to_string(FILE).unwrap();
    assert!(
        written == described,
        "crates/server/openapi.json is old; CONTRIBUTING.md says how to write it anew"
    );
}

#[tokio::test]
async fn the_document_is_the_same_packed_and_unpacked() {
    let world = World::new().await;
    let plain = world.get("/doc").await;
    let packed = world.request("GET", "/doc").header("accept-encoding", "gzip").send().await.unwrap();

    assert_eq!(plain.header("content-encoding"), None);
    assert_eq!(packed.headers()["content-encoding"], "gzip");
    assert_eq!(packed.headers()["content-type"], "application/json");
    let bytes = packed.bytes().await.unwrap();
    let mut unpacked = String::new();
    std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(&bytes[..]), &mut unpacked).unwrap();
    assert_eq!(unpacked, plain.text);
}

#[test]
fn every_answer_of_the_document_has_a_schema() {
    let document = sturdy_server::document();
    let mut bare = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            for (status, response) in operation["responses"].as_object().unwrap() {
                for (kind, content) in response["content"].as_object().unwrap_or(&Map::new()) {
                    let schema = &content["schema"];
                    let is_open = schema == &json!({ "type": "object" })
                        || schema["items"] == json!({ "type": "object" });
                    if is_open && kind.contains("json") {
                        bare.push(format!("{method} {path} {status}"));
                    }
                }
            }
        }
    }

    // The document itself is described by the OpenAPI specification, the share service by docs/share.md.
    bare.retain(|one| !one.contains(" /doc ") && !one.contains("/share"));
    assert_eq!(bare, Vec::<String>::new());
}

#[test]
fn every_reference_of_the_document_leads_somewhere() {
    let document = sturdy_server::document();
    let text = document.to_string();
    let names = document["components"]["schemas"].as_object().unwrap();
    let broken: Vec<&str> = text
        .split("\"#/components/schemas/")
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .filter(|name| !names.contains_key(*name))
        .collect();

    assert_eq!(broken, Vec::<&str>::new());
}

#[test]
fn the_document_says_how_to_name_a_directory_wherever_one_can_be_named() {
    let document = sturdy_server::document();
    let names = |path: &str, method: &str| -> Vec<String> {
        let parameters =
            document["paths"][path][method]["parameters"].as_array().cloned().unwrap_or_default();
        let named = parameters.iter().filter_map(|parameter| parameter["name"].as_str());
        named.filter(|name| name.contains("directory")).map(str::to_owned).collect()
    };

    assert_eq!(names("/agent", "get"), ["directory"]);
    assert_eq!(names("/session", "get"), ["directory"]);
    assert_eq!(names("/session/{sessionID}/message", "post"), ["directory"]);
    assert_eq!(names("/sturdy/trust", "post"), ["directory"]);
    assert_eq!(names("/api/agent", "get"), ["location[directory]"]);
    assert_eq!(names("/api/fs/read/{path}", "get"), ["location[directory]"]);
    assert_eq!(names("/api/session/{sessionID}", "get"), Vec::<String>::new());
    assert_eq!(names("/global/health", "get"), Vec::<String>::new());
    assert_eq!(names("/sturdy/usage", "get"), Vec::<String>::new());
}
