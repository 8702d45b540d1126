//! Spans for OpenTelemetry: requests, calls of models, and tools, told to a collector in OTLP as JSON over HTTP.
//!
//! Off unless the standard variables name a collector (`OTEL_EXPORTER_OTLP_ENDPOINT`); then nothing is recorded at all. A
//! span that closes goes into a queue with a bound; if the collector is slow or away, spans are lost and the server is not
//! held up. The OpenTelemetry crates would bring a second stack of HTTP and protocol buffers for these hundred lines.
//!
//! No span holds what a user or a model wrote: ids, names of models and tools, methods, statuses and times.

mod settings;

use rand::random;
use serde_json::{Value, json};
use settings::Settings;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use sturdy_engine::Environment;
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::CancellationToken;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Subscriber, warn};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

/// Spans that wait for the exporter.
const QUEUE: usize = 2_048;

/// Spans that are sent at once, and how long the first of them waits for the others.
const BATCH: usize = 512;
const GATHER: Duration = Duration::from_secs(2);

/// A collector that takes longer is away.
const WAIT_MAX: Duration = Duration::from_secs(10);

/// What is told at the end may hold the end up this long.
const SHUTDOWN_WAIT_MAX: Duration = Duration::from_secs(2);

/// Spans that are exported; others only group log lines.
const EXPORTED_SPANS: [&str; 3] = ["request", "model", "tool"];

/// Records spans.
#[derive(Debug)]
pub(crate) struct Spans {
    closed: Sender<Value>,
}

/// Sends them.
#[derive(Debug)]
pub(crate) struct Exporter {
    closed: Receiver<Value>,
    settings: Settings,
}

/// Both, if the environment asks for them.
pub(crate) fn from_environment(environment: &Environment) -> Option<(Spans, Exporter)> {
    let settings = Settings::read(|name| environment.filled(name).map(str::to_owned))?;
    let (sender, closed) = mpsc::channel(QUEUE);
    Some((Spans { closed: sender }, Exporter { closed, settings }))
}

/// What is known of a span that has not closed.
#[derive(Debug)]
struct Open {
    trace: u128,
    id: u64,
    parent: Option<u64>,
    began: SystemTime,
    /// When it was last worked on: its end, whatever else keeps it.
    ended: SystemTime,
    attributes: Vec<(&'static str, Value)>,
}

impl<S> Layer<S> for Spans
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id).filter(|span| EXPORTED_SPANS.contains(&span.name())) else {
            return;
        };
        let now = SystemTime::now();
        let mut open = Open {
            trace: random(),
            id: random(),
            parent: None,
            began: now,
            ended: now,
            attributes: Vec::new(),
        };
        attributes.record(&mut Fields(&mut open));
        span.extensions_mut().insert(open);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        if let Some(open) = span.extensions_mut().get_mut::<Open>() {
            values.record(&mut Fields(open));
        }
    }

    fn on_exit(&self, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        if let Some(open) = span.extensions_mut().get_mut::<Open>() {
            open.ended = SystemTime::now();
        }
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let Some(span) = context.span(&id) else { return };
        if let Some(open) = span.extensions_mut().remove::<Open>() {
            // Full: the collector is slow, and a lost span is better than a slow server.
            let _ = self.closed.try_send(told(span.name(), &open));
        }
    }
}

/// Fields under the names that OpenTelemetry has for them.
struct Fields<'a>(&'a mut Open);

impl Fields<'_> {
    fn put(&mut self, name: &str, value: Value) {
        let key = match name {
            "id" => "http.request.header.x-request-id",
            "actor" => "enduser.id",
            "method" => "http.request.method",
            "status" => "http.response.status_code",
            "model" => "gen_ai.request.model",
            "tool" => "gen_ai.tool.name",
            "session" => "session.id",
            "attempt" => "sturdy.attempt",
            "step" => {
                // The call of a model and the tools it called are one trace.
                self.0.trace = trace_of(value["stringValue"].as_str().unwrap_or_default());
                "sturdy.message.id"
            }
            "traceparent" => return self.follow(value["stringValue"].as_str().unwrap_or_default()),
            _ => return,
        };
        self.0.attributes.push((key, value));
    }

    /// Goes on with the trace of whoever asks.
    fn follow(&mut self, parent: &str) {
        let parts: Vec<&str> = parent.split('-').collect();
        let [_, trace, span, _] = parts.as_slice() else { return };
        if let (Ok(trace), Ok(span)) = (u128::from_str_radix(trace, 16), u64::from_str_radix(span, 16)) {
            self.0.trace = trace;
            self.0.parent = Some(span);
        }
    }
}

impl Visit for Fields<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field.name(), json!({ "stringValue": value }));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field.name(), json!({ "intValue": value.to_string() }));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.put(field.name(), json!({ "stringValue": format!("{value:?}") }));
    }
}

fn trace_of(text: &str) -> u128 {
    let half = |salt: u8| {
        let mut hasher = DefaultHasher::new();
        (salt, text).hash(&mut hasher);
        u128::from(hasher.finish())
    };
    (half(1) << 64) | half(2)
}

/// A span as OTLP writes it in JSON.
fn told(name: &str, open: &Open) -> Value {
    let nanos = |at: SystemTime| at.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos().to_string();
    // 2 answers somebody, 3 asks somebody, 1 stays inside.
    let kind = match name {
        "request" => 2,
        "model" => 3,
        _ => 1,
    };
    let attributes: Vec<Value> =
        open.attributes.iter().map(|(key, value)| json!({ "key": key, "value": value })).collect();
    let mut span = json!({
        "traceId": format!("{:032x}", open.trace),
        "spanId": format!("{:016x}", open.id),
        "name": name,
        "kind": kind,
        "startTimeUnixNano": nanos(open.began),
        "endTimeUnixNano": nanos(open.ended),
        "attributes": attributes,
    });
    if let Some(parent) = open.parent {
        span["parentSpanId"] = json!(format!("{parent:016x}"));
    }
    span
}

impl Exporter {
    /// Sends what closes until the server ends, then what is left.
    pub(crate) async fn run(mut self, stopping: CancellationToken) {
        let Ok(client) = reqwest::Client::builder().timeout(WAIT_MAX).build() else {
            return warn!("traces are not exported: no HTTP client can be made");
        };
        let mut is_away = false;
        while let Some(Some(first)) = stopping.run_until_cancelled(self.closed.recv()).await {
            let mut spans = vec![first];
            let until = Instant::now() + GATHER;
            while spans.len() < BATCH {
                let next = timeout_at(until, self.closed.recv());
                let Some(Ok(Some(span))) = stopping.run_until_cancelled(next).await else { break };
                spans.push(span);
            }
            let sent = self.send(&client, spans).await;
            if let (Err(cause), false) = (&sent, is_away) {
                warn!(%cause, "the trace collector did not accept spans; they are dropped");
            }
            is_away = sent.is_err();
        }
        let mut rest = Vec::new();
        while let Ok(span) = self.closed.try_recv() {
            rest.push(span);
        }
        if !rest.is_empty() {
            // Whether it is heard or not, the end is the end.
            let _ = timeout(SHUTDOWN_WAIT_MAX, self.send(&client, rest)).await;
        }
    }

    async fn send(&self, client: &reqwest::Client, spans: Vec<Value>) -> Result<(), reqwest::Error> {
        let scope = json!({ "name": "sturdy", "version": env!("CARGO_PKG_VERSION") });
        let body = json!({ "resourceSpans": [{
            "resource": { "attributes": self.settings.resource },
            "scopeSpans": [{ "scope": scope, "spans": spans }],
        }] });
        let request = client.post(&self.settings.url).headers(self.settings.headers.clone()).json(&body);
        request.send().await?.error_for_status()?;
        Ok(())
    }
}
