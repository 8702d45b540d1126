//! Spans for OpenTelemetry: requests, calls of models, and tools, told to a collector in OTLP over HTTP.
//!
//! Off unless the standard variables name a collector (`OTEL_EXPORTER_OTLP_ENDPOINT`); then nothing is recorded at all. A
//! span that closes goes into a queue with a bound; if the collector is slow or away, spans are lost and the server is not
//! held up. The OpenTelemetry crates would bring a second stack of HTTP and protocol buffers for these few hundred lines.
//!
//! No span holds what a user or a model wrote: ids, names of routes, models and tools, methods, statuses and times.
//!
//! Not here: the variables (`traces/settings.rs`), the bytes that are sent (`traces/otlp.rs`).

mod otlp;
mod settings;

use otlp::{AttributeValue, Span};
use rand::random;
use settings::{Settings, Unusable};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::time::{Duration, SystemTime};
use sturdy_engine::Environment;
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::time::{Instant, sleep, timeout_at};
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

/// What is told at the end may hold the end up this long.
pub(crate) const SHUTDOWN_WAIT_MAX: Duration = Duration::from_secs(2);

/// Spans that are exported; others only group log lines.
const EXPORTED_SPANS: [&str; 3] = ["request", "model", "tool"];

/// Records spans.
#[derive(Debug)]
pub(crate) struct Spans {
    closed: Sender<Span>,
}

/// Sends them.
#[derive(Debug)]
pub(crate) struct Exporter {
    closed: Receiver<Span>,
    settings: Settings,
}

/// Both, if the environment asks for them. What it asks for and cannot be done is an error, for the log.
pub(crate) fn from_environment(environment: &Environment) -> Result<Option<(Spans, Exporter)>, Unusable> {
    let settings = Settings::read(|name| environment.filled(name).map(str::to_owned))?;
    Ok(settings.map(|settings| {
        let (sender, closed) = mpsc::channel(QUEUE);
        (Spans { closed: sender }, Exporter { closed, settings })
    }))
}

/// What is known of a span that has not closed.
#[derive(Debug)]
struct Open {
    span: Span,
    /// Whoever asks traces this too, and wants to see it.
    is_sampled: bool,
}

impl<S> Layer<S> for Spans
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id).filter(|span| EXPORTED_SPANS.contains(&span.name())) else {
            return;
        };
        let mut open = Open { span: Span::begun(span.name(), random(), random()), is_sampled: true };
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
            // Its end is when it was last worked on, whatever else keeps it.
            open.span.ended = SystemTime::now();
        }
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let Some(span) = context.span(&id) else { return };
        if let Some(open) = span.extensions_mut().remove::<Open>().filter(|open| open.is_sampled) {
            // Full: the collector is slow, and a lost span is better than a slow server.
            let _ = self.closed.try_send(open.span);
        }
    }
}

/// Fields under the names that OpenTelemetry has for them.
struct Fields<'a>(&'a mut Open);

impl Fields<'_> {
    fn put(&mut self, name: &str, value: AttributeValue) {
        let key = match name {
            "id" => "http.request.header.x-request-id",
            "actor" => "enduser.id",
            "method" => "http.request.method",
            "route" => "http.route",
            "status" => "http.response.status_code",
            "model" => "gen_ai.request.model",
            "tool" => "gen_ai.tool.name",
            "session" => "session.id",
            "attempt" => "sturdy.attempt",
            "step" => {
                // The call of a model and the tools it called are one trace.
                self.0.span.trace = trace_of(value.text());
                "sturdy.message.id"
            }
            "traceparent" => return self.follow(value.text()),
            _ => return,
        };
        self.0.span.attributes.push((key, value));
    }

    /// Goes on with the trace of whoever asks, and is as silent as they are.
    fn follow(&mut self, parent: &str) {
        let parts: Vec<&str> = parent.split('-').collect();
        let [_, trace, span, flags] = parts.as_slice() else { return };
        if trace.len() != 32 || span.len() != 16 {
            return;
        }
        let trace = u128::from_str_radix(trace, 16).unwrap_or(0);
        let span = u64::from_str_radix(span, 16).unwrap_or(0);
        let Ok(flags) = u8::from_str_radix(flags, 16) else { return };
        // All zeros is nobody's.
        if trace == 0 || span == 0 {
            return;
        }
        self.0.span.trace = trace;
        self.0.span.parent = Some(span);
        self.0.is_sampled = flags & 1 == 1;
    }
}

impl Visit for Fields<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field.name(), AttributeValue::Text(value.to_owned()));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field.name(), AttributeValue::Number(value));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.put(field.name(), AttributeValue::Text(format!("{value:?}")));
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

impl Exporter {
    /// Sends what closes until it is told to stop, then what is left.
    pub(crate) async fn run(self, stopping: CancellationToken) {
        let overdue = async {
            stopping.cancelled().await;
            sleep(SHUTDOWN_WAIT_MAX).await;
        };
        // Whether it is heard or not, the end is the end.
        tokio::select! {
            () = self.export(&stopping) => {}
            () = overdue => warn!("the trace collector is slow; the last spans are dropped"),
        }
    }

    async fn export(mut self, stopping: &CancellationToken) {
        // Headers with a key go to the address they were meant for and no further.
        let client = reqwest::Client::builder()
            .timeout(self.settings.timeout)
            .redirect(reqwest::redirect::Policy::none())
            .build();
        let Ok(client) = client else {
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
            self.tell(&client, &spans, &mut is_away).await;
        }
        let mut rest = Vec::new();
        while let Ok(span) = self.closed.try_recv() {
            rest.push(span);
        }
        for spans in rest.chunks(BATCH) {
            self.tell(&client, spans, &mut is_away).await;
        }
    }

    /// A collector that is away is mentioned once, until it is there again.
    async fn tell(&self, client: &reqwest::Client, spans: &[Span], is_away: &mut bool) {
        let sent = self.send(client, spans).await;
        if let (Err(cause), false) = (&sent, *is_away) {
            warn!(cause = %cause, "the trace collector did not accept spans; they are dropped");
        }
        *is_away = sent.is_err();
    }

    /// The error says nothing of the address: a key may stand in it.
    async fn send(&self, client: &reqwest::Client, spans: &[Span]) -> Result<(), reqwest::Error> {
        let (kind, body) = otlp::encode(self.settings.protocol, &self.settings.resource, spans);
        let request = client.post(self.settings.url.clone()).headers(self.settings.headers.clone());
        let request = request.header(reqwest::header::CONTENT_TYPE, kind).body(body);
        let sent = request.send().await.and_then(reqwest::Response::error_for_status);
        sent.map(drop).map_err(reqwest::Error::without_url)
    }
}
