//! Errors as data, and whatever else a method may throw.

use std::fmt;

use super::{Object, Value};

/// A JavaScript error.
///
/// A receiver knows only the standard names (`Error`, `TypeError`, `RangeError`, …) and
/// turns any other into `Error`. What a caller must be able to tell apart goes into the
/// properties, by custom `code`.
#[derive(Clone, Debug, PartialEq)]
pub struct ErrorValue {
    pub name: String,
    pub message: String,
    /// Sent only when set, and nothing in this crate sets it.
    pub stack: Option<String>,
    /// Own properties, with `cause` and `errors` among them.
    pub props: Object,
}

const STANDARD: [&str; 8] = [
    "Error",
    "EvalError",
    "RangeError",
    "ReferenceError",
    "SyntaxError",
    "TypeError",
    "URIError",
    "AggregateError",
];

impl ErrorValue {
    pub fn named(name: impl Into<String>, message: impl Into<String>) -> ErrorValue {
        ErrorValue { name: name.into(), message: message.into(), stack: None, props: Object::new() }
    }

    pub fn new(message: impl Into<String>) -> ErrorValue {
        ErrorValue::named("Error", message)
    }

    pub fn type_error(message: impl Into<String>) -> ErrorValue {
        ErrorValue::named("TypeError", message)
    }

    pub fn range_error(message: impl Into<String>) -> ErrorValue {
        ErrorValue::named("RangeError", message)
    }

    /// With a `code` property, for a caller that must tell errors apart.
    #[must_use]
    pub fn code(self, code: &str) -> ErrorValue {
        self.with("code", code)
    }

    /// With one more property.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> ErrorValue {
        self.props.insert(name, value);
        self
    }

    /// The name a receiver would keep.
    pub(crate) fn standard_name(name: &str) -> &str {
        STANDARD.into_iter().find(|known| *known == name).unwrap_or("Error")
    }
}

impl fmt::Display for ErrorValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.message)
    }
}

impl std::error::Error for ErrorValue {}

/// What a call failed with: nearly always an error, but JavaScript throws anything.
#[derive(Clone, Debug, PartialEq)]
pub struct Thrown(pub Value);

impl Thrown {
    /// The error, unless something else was thrown.
    pub fn error(&self) -> Option<&ErrorValue> {
        match &self.0 {
            Value::Error(error) => Some(error),
            _ => None,
        }
    }

    /// The text a person would read.
    pub fn message(&self) -> String {
        match &self.0 {
            Value::Error(error) => error.message.clone(),
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            Value::Undefined => "undefined".to_owned(),
            Value::Null => "null".to_owned(),
            other => format!("[{}]", other.kind()),
        }
    }

    /// The `code` property of the error.
    pub fn code(&self) -> Option<&str> {
        self.error()?.props.get("code")?.as_str()
    }
}

impl From<ErrorValue> for Thrown {
    fn from(error: ErrorValue) -> Thrown {
        Thrown(Value::Error(Box::new(error)))
    }
}

impl fmt::Display for Thrown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message())
    }
}

impl std::error::Error for Thrown {}
