//! The variables that OpenTelemetry gives every program.

use percent_encoding::percent_decode_str;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Value, json};

/// Where spans go and what they say of this server.
#[derive(Debug, PartialEq)]
pub(super) struct Settings {
    pub(super) url: String,
    pub(super) headers: HeaderMap,
    /// Attributes of the server.
    pub(super) resource: Vec<Value>,
}

impl Settings {
    /// None: nobody wants spans.
    pub(super) fn read(variable: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let is =
            |name: &str, word: &str| variable(name).is_some_and(|value| value.eq_ignore_ascii_case(word));
        if is("OTEL_SDK_DISABLED", "true") || is("OTEL_TRACES_EXPORTER", "none") {
            return None;
        }
        let url = match variable("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") {
            Some(url) => url,
            None => {
                let base = variable("OTEL_EXPORTER_OTLP_ENDPOINT")?;
                format!("{}/v1/traces", base.trim_end_matches('/'))
            }
        };
        let headers = variable("OTEL_EXPORTER_OTLP_TRACES_HEADERS")
            .or_else(|| variable("OTEL_EXPORTER_OTLP_HEADERS"))
            .unwrap_or_default();
        Some(Self { url, headers: header_map(&headers), resource: resource(&variable) })
    }
}

/// `a=1,b=2`, percent-encoded.
fn pairs(text: &str) -> Vec<(String, String)> {
    let decode = |text: &str| percent_decode_str(text.trim()).decode_utf8_lossy().into_owned();
    let pair = |one: &str| one.split_once('=').map(|(name, value)| (decode(name), decode(value)));
    text.split(',').filter_map(pair).collect()
}

fn header_map(text: &str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in pairs(text) {
        let Ok(name) = HeaderName::from_bytes(name.as_bytes()) else { continue };
        let Ok(mut value) = HeaderValue::from_str(&value) else { continue };
        // A key of the collector, most likely.
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    headers
}

fn resource(variable: impl Fn(&str) -> Option<String>) -> Vec<Value> {
    let mut all = vec![("service.name".to_owned(), "sturdy".to_owned())];
    all.push(("service.version".to_owned(), env!("CARGO_PKG_VERSION").to_owned()));
    let named = variable("OTEL_SERVICE_NAME").map(|name| ("service.name".to_owned(), name));
    for (key, value) in
        pairs(&variable("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default()).into_iter().chain(named)
    {
        all.retain(|(known, _)| *known != key);
        all.push((key, value));
    }
    all.into_iter().map(|(key, value)| json!({ "key": key, "value": { "stringValue": value } })).collect()
}

#[cfg(test)]
mod tests {
    use super::Settings;
    use serde_json::json;
    use std::collections::HashMap;

    fn read(variables: &[(&str, &str)]) -> Option<Settings> {
        let known: HashMap<&str, &str> = variables.iter().copied().collect();
        Settings::read(|name| known.get(name).map(|value| (*value).to_owned()))
    }

    #[test]
    fn without_an_endpoint_nothing_is_recorded() {
        let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://localhost:4318");

        assert_eq!(read(&[]), None);
        assert_eq!(read(&[endpoint, ("OTEL_SDK_DISABLED", "true")]), None);
        assert_eq!(read(&[endpoint, ("OTEL_TRACES_EXPORTER", "none")]), None);
    }

    #[test]
    fn the_standard_variables_say_where_and_who() {
        let settings = read(&[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://localhost:4318/"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "x-key=a%20b"),
            ("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test,service.name=other"),
            ("OTEL_SERVICE_NAME", "desk"),
        ])
        .expect("an endpoint is set");

        let attribute = |key: &str, value: &str| json!({ "key": key, "value": { "stringValue": value } });
        assert_eq!(settings.url, "http://localhost:4318/v1/traces");
        assert_eq!(settings.headers["x-key"], "a b");
        assert_eq!(
            settings.resource,
            [
                attribute("service.version", env!("CARGO_PKG_VERSION")),
                attribute("deployment.environment.name", "test"),
                attribute("service.name", "desk"),
            ]
        );
    }
}
