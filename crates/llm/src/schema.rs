//! Tool schemas in the dialect a provider accepts.
//!
//! JSON Schema is large and every provider takes another part of it. What is dropped here only
//! loosens the schema: the tool checks its arguments itself.

use crate::catalog::SchemaDialect;
use serde_json::{Map, Value, json};

/// What Gemini's schema knows.
const GEMINI: [&str; 17] = [
    "type",
    "format",
    "title",
    "description",
    "nullable",
    "enum",
    "items",
    "properties",
    "required",
    "anyOf",
    "minimum",
    "maximum",
    "minItems",
    "maxItems",
    "minLength",
    "maxLength",
    "pattern",
];

/// Keywords OpenAI refuses.
const OPENAI_REFUSES: [&str; 7] =
    ["$schema", "$id", "$comment", "if", "then", "else", "unevaluatedProperties"];

pub(crate) fn fit(dialect: SchemaDialect, schema: &mut Value) {
    match dialect {
        SchemaDialect::Full => {}
        SchemaDialect::Gemini => gemini(schema),
        SchemaDialect::Moonshot => each_schema(schema, &moonshot),
        SchemaDialect::OpenAi => each_schema(schema, &openai),
    }
}

/// Applies a change to a schema and to every schema inside it.
fn each_schema(schema: &mut Value, change: &dyn Fn(&mut Map<String, Value>)) {
    let Value::Object(map) = schema else { return };
    change(map);
    for (name, inner) in map.iter_mut() {
        match (name.as_str(), inner) {
            ("properties" | "$defs" | "definitions" | "patternProperties", Value::Object(named)) => {
                named.values_mut().for_each(|schema| each_schema(schema, change));
            }
            ("items" | "additionalProperties" | "not", schema @ Value::Object(_)) => {
                each_schema(schema, change);
            }
            ("anyOf" | "oneOf" | "allOf" | "prefixItems" | "items", Value::Array(schemas)) => {
                schemas.iter_mut().for_each(|schema| each_schema(schema, change));
            }
            _ => {}
        }
    }
}

fn openai(schema: &mut Map<String, Value>) {
    schema.retain(|name, _| !OPENAI_REFUSES.contains(&name.as_str()));
    let is_described = ["type", "anyOf", "oneOf", "allOf", "$ref", "enum", "const"]
        .iter()
        .any(|name| schema.contains_key(*name));
    if is_described {
        return;
    }
    let inferred = if schema.contains_key("properties") {
        "object"
    } else if schema.contains_key("items") {
        "array"
    } else {
        return;
    };
    schema.insert("type".to_owned(), json!(inferred));
}

fn moonshot(schema: &mut Map<String, Value>) {
    if schema.contains_key("$ref") {
        schema.retain(|name, _| name == "$ref");
    }
    if let Some(Value::Array(items)) = schema.get_mut("items") {
        let first = items.first().cloned().unwrap_or_else(|| json!({}));
        schema.insert("items".to_owned(), first);
    }
}

fn gemini(schema: &mut Value) {
    each_schema(schema, &gemini_one);
}

fn gemini_one(schema: &mut Map<String, Value>) {
    if let Some(value) = schema.remove("const") {
        schema.insert("enum".to_owned(), json!([value]));
    }
    if let Some(one_of) = schema.remove("oneOf") {
        schema.insert("anyOf".to_owned(), one_of);
    }
    single_type(schema);
    if let Some(Value::Array(values)) = schema.get_mut("enum") {
        // Enumerations are of strings here, whatever they were.
        for value in values.iter_mut().filter(|value| !value.is_string()) {
            *value = Value::from(value.to_string());
        }
        schema.insert("type".to_owned(), json!("string"));
    }
    if schema.get("type") == Some(&json!("array")) {
        let items = match schema.get("items") {
            Some(Value::Array(list)) => list.first().cloned(),
            Some(items @ Value::Object(_)) => Some(items.clone()),
            _ => None,
        };
        schema.insert("items".to_owned(), items.unwrap_or_else(|| json!({ "type": "string" })));
    }
    let known: Vec<String> = schema
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flat_map(Map::keys)
        .cloned()
        .collect();
    if let Some(Value::Array(required)) = schema.get_mut("required") {
        required.retain(|name| name.as_str().is_some_and(|name| known.iter().any(|known| known == name)));
    }
    // Only these formats are known; others are refused.
    if schema
        .get("format")
        .and_then(Value::as_str)
        .is_some_and(|format| !["enum", "date-time"].contains(&format))
    {
        schema.remove("format");
    }
    schema.retain(|name, _| GEMINI.contains(&name.as_str()));
}

/// `["string", "null"]` is a nullable string; several types are alternatives.
fn single_type(schema: &mut Map<String, Value>) {
    let Some(Value::Array(types)) = schema.get("type").cloned() else { return };
    let (nulls, others): (Vec<_>, Vec<_>) = types.into_iter().partition(|name| name == "null");
    if !nulls.is_empty() {
        schema.insert("nullable".to_owned(), json!(true));
    }
    match others.as_slice() {
        [] => drop(schema.insert("type".to_owned(), json!("string"))),
        [only] => drop(schema.insert("type".to_owned(), only.clone())),
        several => {
            let alternatives: Value = several.iter().map(|name| json!({ "type": name })).collect();
            schema.shift_remove("type");
            schema.insert("anyOf".to_owned(), alternatives);
        }
    }
}

#[cfg(test)]
mod tests;
