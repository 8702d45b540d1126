//! Spans as OTLP writes them: protocol buffers, or the same as JSON.
//!
//! The numbers are those of `opentelemetry/proto/trace/v1/trace.proto` and of the files it includes.

use serde_json::{Value, json};
use std::time::{SystemTime, UNIX_EPOCH};

/// How a collector is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protocol {
    Protobuf,
    Json,
}

/// What an attribute says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum AttributeValue {
    Text(String),
    Number(u64),
}

impl AttributeValue {
    /// Empty for a number.
    pub(super) fn text(&self) -> &str {
        match self {
            Self::Text(text) => text,
            Self::Number(_) => "",
        }
    }
}

/// One span.
#[derive(Debug)]
pub(super) struct Span {
    /// `request`, `model` or `tool`.
    what: &'static str,
    pub(super) trace: u128,
    pub(super) id: u64,
    pub(super) parent: Option<u64>,
    began: SystemTime,
    pub(super) ended: SystemTime,
    pub(super) attributes: Vec<(&'static str, AttributeValue)>,
}

/// Answers somebody, asks somebody, or stays inside.
const INTERNAL: u64 = 1;
const SERVER: u64 = 2;
const CLIENT: u64 = 3;

/// The code of a span that failed.
const ERROR: u64 = 2;

impl Span {
    pub(super) fn begun(what: &'static str, trace: u128, id: u64) -> Self {
        let now = SystemTime::now();
        Self { what, trace, id, parent: None, began: now, ended: now, attributes: Vec::new() }
    }

    fn attribute(&self, key: &str) -> Option<&AttributeValue> {
        self.attributes.iter().find(|(known, _)| *known == key).map(|(_, value)| value)
    }

    /// As OpenTelemetry names such spans, so that they can be told apart in a list.
    fn name(&self) -> String {
        let (first, key) = match self.what {
            "request" => {
                (self.attribute("http.request.method").map_or("HTTP", AttributeValue::text), "http.route")
            }
            "model" => ("chat", "gen_ai.request.model"),
            _ => ("execute_tool", "gen_ai.tool.name"),
        };
        match self.attribute(key) {
            Some(more) => format!("{first} {}", more.text()),
            None => first.to_owned(),
        }
    }

    fn kind(&self) -> u64 {
        match self.what {
            "request" => SERVER,
            "model" => CLIENT,
            _ => INTERNAL,
        }
    }

    /// An answer that says that the server is at fault.
    fn is_failed(&self) -> bool {
        matches!(self.attribute("http.response.status_code"), Some(AttributeValue::Number(500..)))
    }
}

fn nanoseconds(at: SystemTime) -> u64 {
    u64::try_from(at.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos()).unwrap_or(u64::MAX)
}

/// The body of a request to the collector, and its type.
pub(super) fn encode(
    protocol: Protocol,
    resource: &[(String, String)],
    spans: &[Span],
) -> (&'static str, Vec<u8>) {
    match protocol {
        Protocol::Protobuf => ("application/x-protobuf", protobuf(resource, spans)),
        Protocol::Json => ("application/json", as_json(resource, spans).to_string().into_bytes()),
    }
}

fn as_json(resource: &[(String, String)], spans: &[Span]) -> Value {
    let text = |(key, value): &(String, String)| json!({ "key": key, "value": { "stringValue": value } });
    let attributes: Vec<Value> = resource.iter().map(text).collect();
    let spans: Vec<Value> = spans.iter().map(span_as_json).collect();
    let scope = json!({ "name": "sturdy", "version": env!("CARGO_PKG_VERSION") });
    json!({ "resourceSpans": [{
        "resource": { "attributes": attributes },
        "scopeSpans": [{ "scope": scope, "spans": spans }],
    }] })
}

fn span_as_json(span: &Span) -> Value {
    let value = |value: &AttributeValue| match value {
        AttributeValue::Text(text) => json!({ "stringValue": text }),
        AttributeValue::Number(number) => json!({ "intValue": number.to_string() }),
    };
    let attributes: Vec<Value> =
        span.attributes.iter().map(|(key, known)| json!({ "key": key, "value": value(known) })).collect();
    let mut json = json!({
        "traceId": format!("{:032x}", span.trace),
        "spanId": format!("{:016x}", span.id),
        "name": span.name(),
        "kind": span.kind(),
        "startTimeUnixNano": nanoseconds(span.began).to_string(),
        "endTimeUnixNano": nanoseconds(span.ended).to_string(),
        "attributes": attributes,
    });
    if let Some(parent) = span.parent {
        json["parentSpanId"] = json!(format!("{parent:016x}"));
    }
    if span.is_failed() {
        json["status"] = json!({ "code": ERROR });
    }
    json
}

fn protobuf(resource: &[(String, String)], spans: &[Span]) -> Vec<u8> {
    let mut of_server = Message::default();
    for (key, value) in resource {
        of_server.message(1, attribute(key, &AttributeValue::Text(value.clone())));
    }
    let mut scope = Message::default();
    scope.bytes(1, b"sturdy");
    scope.bytes(2, env!("CARGO_PKG_VERSION").as_bytes());
    let mut of_scope = Message::default();
    of_scope.message(1, scope);
    for span in spans {
        of_scope.message(2, span_as_message(span));
    }
    let mut all = Message::default();
    all.message(1, of_server);
    all.message(2, of_scope);
    let mut request = Message::default();
    request.message(1, all);
    request.0
}

fn span_as_message(span: &Span) -> Message {
    let mut message = Message::default();
    message.bytes(1, &span.trace.to_be_bytes());
    message.bytes(2, &span.id.to_be_bytes());
    if let Some(parent) = span.parent {
        message.bytes(4, &parent.to_be_bytes());
    }
    message.bytes(5, span.name().as_bytes());
    message.number(6, span.kind());
    message.fixed(7, nanoseconds(span.began));
    message.fixed(8, nanoseconds(span.ended));
    for (key, value) in &span.attributes {
        message.message(9, attribute(key, value));
    }
    if span.is_failed() {
        let mut status = Message::default();
        status.number(3, ERROR);
        message.message(15, status);
    }
    message
}

fn attribute(key: &str, value: &AttributeValue) -> Message {
    let mut any = Message::default();
    match value {
        AttributeValue::Text(text) => any.bytes(1, text.as_bytes()),
        AttributeValue::Number(number) => any.number(3, *number),
    }
    let mut pair = Message::default();
    pair.bytes(1, key.as_bytes());
    pair.message(2, any);
    pair
}

/// A message of protocol buffers, field by field.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push((number & 0x7f) as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    fn number(&mut self, field: u64, number: u64) {
        self.varint(field << 3);
        self.varint(number);
    }

    fn fixed(&mut self, field: u64, number: u64) {
        self.varint(field << 3 | 1);
        self.0.extend(number.to_le_bytes());
    }

    fn bytes(&mut self, field: u64, bytes: &[u8]) {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend(bytes);
    }

    fn message(&mut self, field: u64, message: Self) {
        self.bytes(field, &message.0);
    }
}
