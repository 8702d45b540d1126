//! Makes the schemas that the derive writes plain.
//!
//! * A field that is left out when there is nothing to say is optional, and never null. Some answers have nulls all the
//!   same, as the reference's have; `WITH_NULLS` lists them.
//! * What is one object on the wire is one object in the document: flattened fields and tagged variants are put
//!   together, a choice between variants is an `anyOf` of whole objects.
//! * Each object of a choice has a name of its own.
//! * Words and numbers are written where they are used.
//! * What nothing refers to is left out.

use serde_json::{Map, Value, json};
use std::collections::{BTreeSet, VecDeque};

/// Shapes whose fields may be null besides being left out.
const WITH_NULLS: &[&str] =
    &["Agent", "Command", "EditTime", "VcsInfo", "PageCursors", "Workspace", "GrantShown", "ModelV2"];

/// Shapes that have more fields than the document names, as files, tools or later versions want it.
const OPEN: &[&str] = &["Config", "NamedErrorData", "ServerInfo", "GrantShown", "GrantUse", "CollectedStore"];

const PREFIX: &str = "#/components/schemas/";

pub(super) fn make_plain(document: &mut Value) {
    let known = document["components"]["schemas"].as_object().cloned().unwrap_or_default();
    let plain = |(name, schema): (&String, &Value)| {
        let keeps_nulls = WITH_NULLS.contains(&name.as_str());
        let mut plain = Plain { known: &known, keeps_nulls }.schema(schema);
        if OPEN.contains(&name.as_str()) {
            plain["additionalProperties"] = Value::Bool(true);
        }
        (name.clone(), plain)
    };
    let mut schemas: Map<String, Value> = known.iter().map(plain).collect();
    name_choices(&mut schemas);
    let mut paths = document["paths"].take();
    let everywhere = Plain { known: &known, keeps_nulls: true };
    everywhere.below(&mut paths);
    let used = reachable(&paths, &schemas);
    document["paths"] = paths;
    document["components"]["schemas"] =
        schemas.into_iter().filter(|(name, _)| used.contains(name)).collect::<Map<_, _>>().into();
}

struct Plain<'k> {
    known: &'k Map<String, Value>,
    keeps_nulls: bool,
}

impl Plain<'_> {
    /// Every schema nested inside another JSON value.
    fn below(&self, value: &mut Value) {
        match value {
            Value::Object(fields) => {
                for (key, value) in fields {
                    if key == "schema" {
                        *value = self.schema(value);
                    } else {
                        self.below(value);
                    }
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.below(item)),
            _ => {}
        }
    }

    fn schema(&self, schema: &Value) -> Value {
        if let Some(target) = self.target(schema) {
            return if is_word(target) { self.schema(target) } else { schema.clone() };
        }
        let Value::Object(fields) = schema else { return schema.clone() };
        if let Some(parts) = fields.get("allOf").and_then(Value::as_array) {
            return self.joined(schema, parts);
        }
        let mut fields = fields.clone();
        let required = required(&fields);
        if let Some(properties) = fields.get_mut("properties").and_then(Value::as_object_mut) {
            for (name, property) in properties {
                let plain = self.schema(property);
                let is_optional = !required.contains(name.as_str());
                *property = if is_optional && !self.keeps_nulls { without_null(plain) } else { plain };
            }
        }
        for key in ["items", "additionalProperties", "propertyNames"] {
            if let Some(inner) = fields.get_mut(key).filter(|inner| inner.is_object()) {
                *inner = self.schema(inner);
            }
        }
        // A value may fit several of a choice: what is open fits whatever is closed.
        if let Some(choices) = fields.remove("oneOf") {
            fields.insert("anyOf".to_owned(), choices);
        }
        if let Some(Value::Array(choices)) = fields.get_mut("anyOf") {
            choices.iter_mut().for_each(|choice| *choice = self.schema(choice));
            // Of one it is no choice; a generator would name it twice.
            if let [one] = choices.as_slice() {
                return one.clone();
            }
        }
        Value::Object(fields)
    }

    /// One object of several, or a choice of such.
    fn joined(&self, whole: &Value, parts: &[Value]) -> Value {
        let mut made = vec![Map::new()];
        for part in parts {
            let choices = self.choices(part);
            made = made.iter().flat_map(|one| choices.iter().map(|other| merged(one, other))).collect();
        }
        let mut made: Vec<Value> = made.into_iter().map(Value::Object).collect();
        let mut joined = match made.len() {
            1 => made.remove(0),
            _ => json!({ "anyOf": made }),
        };
        if let Some(description) = whole.get("description") {
            joined["description"] = description.clone();
        }
        joined
    }

    /// What a part of an object can be, each a plain object.
    fn choices(&self, part: &Value) -> Vec<Map<String, Value>> {
        let part = self.target(part).unwrap_or(part);
        let plain = self.schema(part);
        match plain.get("anyOf").and_then(Value::as_array) {
            Some(choices) => choices.iter().flat_map(|choice| self.choices(choice)).collect(),
            None => plain.as_object().cloned().into_iter().collect(),
        }
    }

    fn target(&self, schema: &Value) -> Option<&Value> {
        self.known.get(schema.get("$ref")?.as_str()?.strip_prefix(PREFIX)?)
    }
}

/// Gives each object of a choice a name of its own, made of the choice's and of its tag: `PartText`. Generators name what
/// has none by number, and some lose it.
fn name_choices(schemas: &mut Map<String, Value>) {
    let mut named = Map::new();
    for (name, schema) in &mut *schemas {
        let Some(Value::Array(choices)) = schema.get_mut("anyOf") else { continue };
        for (number, choice) in choices.iter_mut().enumerate() {
            if !choice["properties"].is_object() {
                continue;
            }
            let full =
                format!("{name}{}", tag(choice).map_or_else(|| number.to_string(), |tag| pascal(&tag)));
            let reference = json!({ "$ref": format!("{PREFIX}{full}") });
            named.insert(full, std::mem::replace(choice, reference));
        }
    }
    schemas.extend(named);
}

/// The one word that tells an object from the others of its choice.
fn tag(object: &Value) -> Option<String> {
    let word = |key: &str| match object["properties"][key]["enum"].as_array()?.as_slice() {
        [word] => word.as_str(),
        _ => None,
    };
    ["type", "_tag", "name", "status", "role"].into_iter().find_map(word).map(str::to_owned)
}

fn pascal(tag: &str) -> String {
    let words = tag.split(['.', '-', '_']).filter(|word| !word.is_empty());
    words.map(|word| word[..1].to_uppercase() + &word[1..]).collect()
}

/// Neither an object nor a list: a name of its own only hides what it is.
fn is_word(schema: &Value) -> bool {
    matches!(schema["type"].as_str(), Some("string" | "number" | "integer" | "boolean"))
}

fn required(fields: &Map<String, Value>) -> BTreeSet<String> {
    let names = fields.get("required").and_then(Value::as_array).into_iter().flatten();
    names.filter_map(Value::as_str).map(str::to_owned).collect()
}

fn without_null(mut schema: Value) -> Value {
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|kind| kind != "null");
        if let [one] = types.as_slice() {
            schema["type"] = one.clone();
        }
        return schema;
    }
    if let Some(Value::Array(choices)) = schema.get_mut("anyOf") {
        choices.retain(|choice| choice["type"] != "null");
        if let [one] = choices.as_slice() {
            return one.clone();
        }
    }
    schema
}

fn merged(one: &Map<String, Value>, other: &Map<String, Value>) -> Map<String, Value> {
    let mut whole = one.clone();
    for (key, value) in other {
        match (key.as_str(), whole.get_mut(key)) {
            ("properties", Some(Value::Object(known))) => {
                known.extend(value.as_object().cloned().unwrap_or_default());
            }
            ("required", Some(Value::Array(known))) => {
                known.extend(value.as_array().cloned().unwrap_or_default());
            }
            ("description", _) => {}
            (_, Some(_)) => {}
            (_, None) => {
                whole.insert(key.clone(), value.clone());
            }
        }
    }
    whole
}

fn reachable(paths: &Value, schemas: &Map<String, Value>) -> BTreeSet<String> {
    let mut used = BTreeSet::new();
    let mut open = VecDeque::from([paths]);
    while let Some(value) = open.pop_front() {
        match value {
            Value::Object(fields) => {
                let name =
                    fields.get("$ref").and_then(Value::as_str).and_then(|name| name.strip_prefix(PREFIX));
                if let Some(name) = name
                    && used.insert(name.to_owned())
                {
                    open.extend(schemas.get(name));
                }
                open.extend(fields.values());
            }
            Value::Array(items) => open.extend(items),
            _ => {}
        }
    }
    used
}

#[cfg(test)]
mod tests;
