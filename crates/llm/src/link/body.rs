//! The body of a request, written without copying the conversation.
//!
//! A body is a map of settings, and one of them is the conversation. A long conversation is almost all text, and its text
//! is borrowed from the request until it is written; what else stands in a message is small and is built as JSON.

use serde::ser::{Serialize, SerializeMap as _, Serializer};
use serde_json::{Map, Value};

/// Settings, among them a conversation of messages that a protocol has its own shapes for.
#[derive(Debug)]
pub(crate) struct Body<M> {
    settings: Map<String, Value>,
    /// The name of the conversation.
    name: &'static str,
    messages: Vec<M>,
}

impl<M> Body<M> {
    /// A body whose conversation goes by this name.
    pub(crate) fn new(name: &'static str, messages: Vec<M>) -> Self {
        Self { settings: Map::new(), name, messages }
    }

    /// Sets what there is a value for. What stood under the name keeps its place.
    pub(crate) fn set(&mut self, name: &str, value: Option<Value>) {
        if let Some(value) = value {
            self.settings.insert(name.to_owned(), value);
        }
    }

    /// Here stands the conversation.
    pub(crate) fn place_messages(&mut self) {
        self.settings.insert(self.name.to_owned(), Value::Null);
    }
}

impl<M: Serialize> Serialize for Body<M> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.settings.len()))?;
        for (name, value) in &self.settings {
            if name == self.name {
                map.serialize_entry(name, &self.messages)?;
            } else {
                map.serialize_entry(name, value)?;
            }
        }
        map.end()
    }
}
