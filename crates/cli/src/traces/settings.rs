//! The variables that OpenTelemetry gives every program.

use super::otlp::Protocol;
use percent_encoding::percent_decode_str;
use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use std::fmt;
use std::time::Duration;

/// Where a collector of this machine listens, for who wants spans and does not say where to.
const USUAL_ENDPOINT: &str = "http://localhost:4318";

/// A collector that takes longer is away, unless a variable says otherwise.
const USUAL_TIMEOUT: Duration = Duration::from_secs(10);

/// Where spans go and what they say of this server.
#[derive(Debug, PartialEq)]
pub(super) struct Settings {
    pub(super) url: Url,
    pub(super) protocol: Protocol,
    pub(super) headers: HeaderMap,
    pub(super) timeout: Duration,
    /// Attributes of the server.
    pub(super) resource: Vec<(String, String)>,
}

/// Spans are wanted, and cannot be sent as the environment says. The value of the variable is not repeated: a key may
/// stand in it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Unusable {
    Exporter,
    Protocol,
    Endpoint,
}

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Exporter => "OTEL_TRACES_EXPORTER names an exporter that is not known here; use otlp or none",
            Self::Protocol => {
                "OTEL_EXPORTER_OTLP_PROTOCOL names a protocol that is not supported; use http/protobuf or http/json"
            }
            Self::Endpoint => {
                "the endpoint in the OTEL_EXPORTER_OTLP_ variables is not a URL such as http://localhost:4318"
            }
        })
    }
}

impl Settings {
    /// None: nobody wants spans.
    pub(super) fn read(variable: impl Fn(&str) -> Option<String>) -> Result<Option<Self>, Unusable> {
        // What is said of traces wins over what is said of everything.
        let of_traces = |name: &str| {
            variable(&format!("OTEL_EXPORTER_OTLP_TRACES_{name}"))
                .or_else(|| variable(&format!("OTEL_EXPORTER_OTLP_{name}")))
        };
        if variable("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true")) {
            return Ok(None);
        }
        let exporters = variable("OTEL_TRACES_EXPORTER");
        let names = |word: &str| {
            let list = exporters.as_deref().unwrap_or_default();
            list.split(',').any(|name| name.trim().eq_ignore_ascii_case(word))
        };
        if names("none") {
            return Ok(None);
        }
        if exporters.is_some() && !names("otlp") {
            return Err(Unusable::Exporter);
        }
        let url = match variable("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") {
            Some(url) => url,
            None => match variable("OTEL_EXPORTER_OTLP_ENDPOINT") {
                Some(base) => below(&base),
                None if names("otlp") => below(USUAL_ENDPOINT),
                None => return Ok(None),
            },
        };
        let is_web = |url: &Url| matches!(url.scheme(), "http" | "https") && url.has_host();
        let url = Url::parse(url.trim()).ok().filter(is_web).ok_or(Unusable::Endpoint)?;
        let protocol = match of_traces("PROTOCOL").as_deref().map(str::trim) {
            None | Some("http/protobuf") => Protocol::Protobuf,
            Some("http/json") => Protocol::Json,
            Some(_) => return Err(Unusable::Protocol),
        };
        let headers = header_map(&of_traces("HEADERS").unwrap_or_default());
        let timeout = of_traces("TIMEOUT").and_then(|text| text.trim().parse().ok());
        let timeout = timeout.filter(|ms| *ms > 0).map_or(USUAL_TIMEOUT, Duration::from_millis);
        Ok(Some(Self { url, protocol, headers, timeout, resource: resource(&variable) }))
    }
}

/// Where a collector with this base takes spans.
fn below(base: &str) -> String {
    format!("{}/v1/traces", base.trim().trim_end_matches('/'))
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

fn resource(variable: impl Fn(&str) -> Option<String>) -> Vec<(String, String)> {
    let mut all = vec![("service.name".to_owned(), "sturdy".to_owned())];
    all.push(("service.version".to_owned(), env!("CARGO_PKG_VERSION").to_owned()));
    let named = variable("OTEL_SERVICE_NAME").map(|name| ("service.name".to_owned(), name));
    for (key, value) in
        pairs(&variable("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default()).into_iter().chain(named)
    {
        all.retain(|(known, _)| *known != key);
        all.push((key, value));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::{Protocol, Settings, Unusable};
    use std::collections::HashMap;
    use std::time::Duration;

    const ENDPOINT: (&str, &str) = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://localhost:4318");

    fn read(variables: &[(&str, &str)]) -> Result<Option<Settings>, Unusable> {
        let known: HashMap<&str, &str> = variables.iter().copied().collect();
        Settings::read(|name| known.get(name).map(|value| (*value).to_owned()))
    }

    fn wanted(variables: &[(&str, &str)]) -> Settings {
        read(variables).expect("they can be used").expect("spans are wanted")
    }

    #[test]
    fn without_an_endpoint_nothing_is_recorded() {
        assert_eq!(read(&[]), Ok(None));
        assert_eq!(read(&[ENDPOINT, ("OTEL_SDK_DISABLED", "true")]), Ok(None));
        assert_eq!(read(&[ENDPOINT, ("OTEL_TRACES_EXPORTER", "none")]), Ok(None));
    }

    #[test]
    fn the_standard_variables_say_where_and_who() {
        let settings = wanted(&[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://localhost:4318/"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "x-key=a%20b,authorization=Basic YTpi=="),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "2500"),
            ("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test,service.name=other"),
            ("OTEL_SERVICE_NAME", "desk"),
        ]);

        let attribute = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        assert_eq!(settings.url.as_str(), "http://localhost:4318/v1/traces");
        assert_eq!(settings.protocol, Protocol::Protobuf);
        assert_eq!(settings.headers["x-key"], "a b");
        assert_eq!(settings.headers["authorization"], "Basic YTpi==");
        assert_eq!(settings.timeout, Duration::from_millis(2500));
        assert_eq!(
            settings.resource,
            [
                attribute("service.version", env!("CARGO_PKG_VERSION")),
                attribute("deployment.environment.name", "test"),
                attribute("service.name", "desk"),
            ]
        );
    }

    #[test]
    fn what_is_said_of_traces_wins_over_what_is_said_of_everything() {
        let settings = wanted(&[
            ENDPOINT,
            ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://traces.example/in"),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
            ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/json"),
        ]);

        assert_eq!(settings.url.as_str(), "https://traces.example/in");
        assert_eq!(settings.protocol, Protocol::Json);
    }

    // Was: asked for by name and without an endpoint, nothing was exported and nothing was said.
    #[test]
    fn who_wants_spans_and_says_no_place_means_the_collector_of_this_machine() {
        let settings = wanted(&[("OTEL_TRACES_EXPORTER", "otlp")]);

        assert_eq!(settings.url.as_str(), "http://localhost:4318/v1/traces");
    }

    // Was: JSON was sent to a port that speaks gRPC.
    #[test]
    fn what_cannot_be_done_is_refused_by_the_name_of_its_variable() {
        assert_eq!(read(&[ENDPOINT, ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")]), Err(Unusable::Protocol));
        assert_eq!(read(&[ENDPOINT, ("OTEL_TRACES_EXPORTER", "zipkin")]), Err(Unusable::Exporter));
        assert_eq!(read(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "localhost:4318")]), Err(Unusable::Endpoint));
    }
}
