//! Schemas lose what a provider refuses and keep what it needs.

use super::*;

#[test]
fn gemini_gets_single_types_string_enums_and_known_requirements() {
    let mut schema = json!({
        "$schema": "x", "type": "object", "additionalProperties": false, "required": ["a", "gone"],
        "properties": {
            "a": { "type": ["string", "null"], "format": "uri" },
            "b": { "enum": [1, 2] },
            "c": { "type": "array" },
            "d": { "oneOf": [{ "const": "x" }, { "type": ["number", "string"] }] },
            "e": { "type": "array", "items": [{ "type": "number", "exclusiveMinimum": 0 }] },
        },
    });

    gemini(&mut schema);

    assert_eq!(
        schema,
        json!({
            "type": "object", "required": ["a"],
            "properties": {
                "a": { "type": "string", "nullable": true },
                "b": { "enum": ["1", "2"], "type": "string" },
                "c": { "type": "array", "items": { "type": "string" } },
                "d": { "anyOf": [{ "enum": ["x"], "type": "string" }, { "anyOf": [{ "type": "number" }, { "type": "string" }] }] },
                "e": { "type": "array", "items": { "type": "number" } },
            },
        })
    );
}

#[test]
fn openai_loses_refused_keywords_and_gains_types() {
    let mut schema = json!({ "$schema": "x", "properties": { "list": { "items": { "type": "string" } } } });

    each_schema(&mut schema, &openai);

    assert_eq!(
        schema,
        json!({ "type": "object", "properties": { "list": { "type": "array", "items": { "type": "string" } } } })
    );
}

#[test]
fn moonshot_references_stand_alone() {
    let mut schema = json!({ "properties": { "a": { "$ref": "#/x", "description": "d" }, "b": { "items": [{ "type": "string" }] } } });

    each_schema(&mut schema, &moonshot);

    assert_eq!(
        schema,
        json!({ "properties": { "a": { "$ref": "#/x" }, "b": { "items": { "type": "string" } } } })
    );
}
