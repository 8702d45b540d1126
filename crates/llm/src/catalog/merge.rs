//! Laying one set of options over another.

use serde_json::Value;
use sturdy_session::json::Map;

/// Objects merge, everything else is replaced by what lies on top.
pub(crate) fn deep(base: &mut Map, over: &Map) {
    for (name, value) in over {
        match (base.get_mut(name), value) {
            (Some(Value::Object(base)), Value::Object(over)) => deep(base, over),
            _ => drop(base.insert(name.clone(), value.clone())),
        }
    }
}
