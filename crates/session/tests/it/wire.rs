//! What every wire type must do with its text.
//!
//! The one check, `exact`, reads a text, prints it, and wants the same bytes: so the text of
//! each example is the assertion on key order and on what is left out. It then reads the
//! same text with its keys in reverse, with keys nobody knows, and by way of a `Value`.

use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};
use std::fmt::Debug;

/// Objects whose keys are data; nothing is added to them and their order is kept.
const FREE_FORM: [&str; 8] =
    ["metadata", "input", "schema", "structured", "tools", "responseHeaders", "answers", "nested"];

/// Reads `text` as a `T` that prints the same bytes, and returns it.
pub(crate) fn exact<T: Serialize + DeserializeOwned + PartialEq + Debug>(text: &str) -> T {
    let value: T = read(text);
    assert_eq!(print(&value), text, "printed as it was read");

    let reversed = rewrite(&read(text), &|pairs| pairs.into_iter().rev().collect());
    assert_eq!(read::<T>(&reversed.to_string()), value, "read in any order: {reversed}");

    let wider = rewrite(&read(text), &|mut pairs| {
        pairs.insert(0, ("unheardOf".to_owned(), Value::from(vec![1, 2])));
        pairs.push(("alsoUnheardOf".to_owned(), Value::Null));
        pairs
    });
    assert_eq!(read::<T>(&wider.to_string()), value, "unknown keys are dropped: {wider}");

    let through_value = serde_json::to_value(&value).unwrap();
    assert_eq!(serde_json::from_value::<T>(through_value).unwrap(), value, "by way of a value");
    value
}

/// Each key of the object `text` is missed when it is not there.
pub(crate) fn needs_all<T: DeserializeOwned + Debug>(text: &str) {
    let whole: Map<String, Value> = read(text);
    for key in whole.keys() {
        let mut short = whole.clone();
        short.shift_remove(key);
        let short = Value::Object(short).to_string();
        assert!(serde_json::from_str::<T>(&short).is_err(), "read without {key}: {short}");
    }
}

/// Reads `text` and prints it as `printed`.
pub(crate) fn becomes<T: Serialize + DeserializeOwned>(text: &str, printed: &str) {
    assert_eq!(print(&read::<T>(text)), printed);
}

/// `text` is not a `T`, and the reason contains `reason`.
pub(crate) fn refused<T: DeserializeOwned + Debug>(text: &str, reason: &str) {
    let error = serde_json::from_str::<T>(text).expect_err(text).to_string();
    assert!(error.contains(reason), "{error:?} does not say {reason:?}");
}

pub(crate) fn read<T: DeserializeOwned>(text: &str) -> T {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

pub(crate) fn print<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).unwrap()
}

type Pairs = Vec<(String, Value)>;

fn rewrite(value: &Value, change: &impl Fn(Pairs) -> Pairs) -> Value {
    match value {
        Value::Array(items) => items.iter().map(|item| rewrite(item, change)).collect(),
        Value::Object(map) => {
            let inner = map.iter().map(|(key, inner)| {
                let free = FREE_FORM.contains(&key.as_str()) && inner.is_object();
                (key.clone(), if free { inner.clone() } else { rewrite(inner, change) })
            });
            Value::Object(change(inner.collect()).into_iter().collect::<Map<_, _>>())
        }
        other => other.clone(),
    }
}
