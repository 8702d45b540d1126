//! Schemas before and after.

use super::make_plain;
use serde_json::{Value, json};

fn plain(schemas: Value, name: &str) -> Value {
    let used = json!({ "$ref": format!("#/components/schemas/{name}") });
    let mut document =
        json!({ "paths": { "/x": { "get": { "schema": used } } }, "components": { "schemas": schemas } });
    make_plain(&mut document);
    document["components"]["schemas"].clone()
}

#[test]
fn a_tagged_part_with_flattened_fields_is_a_choice_of_whole_objects() {
    let tag = |kind: &str| json!({ "type": "object", "required": ["type"], "properties": { "type": { "type": "string", "enum": [kind] } } });
    let text =
        json!({ "type": "object", "required": ["text"], "properties": { "text": { "type": "string" } } });
    let schemas = json!({
        "Id": { "type": "string", "pattern": "^prt" },
        "Text": text,
        "Body": { "oneOf": [{ "allOf": [{ "$ref": "#/components/schemas/Text" }, tag("text")] }, tag("empty")] },
        "Part": { "allOf": [
            { "$ref": "#/components/schemas/Body" },
            { "type": "object", "required": ["id"], "properties": { "id": { "$ref": "#/components/schemas/Id" } } },
        ] },
    });

    let kind = |kind: &str| json!({ "type": "string", "enum": [kind] });
    let id = json!({ "type": "string", "pattern": "^prt" });
    let named = |name: &str| json!({ "$ref": format!("#/components/schemas/{name}") });
    assert_eq!(
        plain(schemas, "Part"),
        json!({
            "Part": { "anyOf": [named("PartText"), named("PartEmpty")] },
            "PartEmpty": { "type": "object", "required": ["type", "id"], "properties": { "type": kind("empty"), "id": id } },
            "PartText": { "type": "object", "required": ["text", "type", "id"],
                "properties": { "text": { "type": "string" }, "type": kind("text"), "id": id } },
        })
    );
}

#[test]
fn an_optional_field_is_never_null_and_a_required_one_may_be() {
    let other = json!({ "$ref": "#/components/schemas/Other" });
    let schemas = json!({
        "Other": { "type": "object" },
        "Thing": { "type": "object", "required": ["project"], "properties": {
            "name": { "type": ["string", "null"] },
            "other": { "oneOf": [{ "type": "null" }, other] },
            "project": { "oneOf": [{ "type": "null" }, other] },
        } },
    });

    assert_eq!(
        plain(schemas, "Thing")["Thing"]["properties"],
        json!({ "name": { "type": "string" }, "other": other, "project": { "anyOf": [{ "type": "null" }, other] } })
    );
}

#[test]
fn a_choice_of_one_is_that_one() {
    let only = json!({ "type": "object", "properties": { "message": { "type": "string" } } });

    assert_eq!(plain(json!({ "Error": { "oneOf": [only] } }), "Error"), json!({ "Error": only }));
}
