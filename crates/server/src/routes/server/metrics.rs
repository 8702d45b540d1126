//! `/metrics`: what an operator watches, in the text format of Prometheus, behind the same door as everything else.
//!
//! Counters begin with the start of the server. Nothing here names a session, a directory or a person.

use crate::app::App;
use crate::described::{Routes, routes};
use crate::error::ApiError;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use http::header::{CONTENT_TYPE, HeaderValue};
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use sturdy_engine::reads::AskQuery;
use sturdy_session::types::status::Status;

const OPEN_METRICS: HeaderValue =
    HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");

pub(super) fn routes() -> Routes {
    Routes::new().routes(routes!(metrics))
}

/// Numbers for Prometheus.
#[utoipa::path(get, path = "/metrics", operation_id = "sturdy.metrics",
    responses((status = 200, description = "Metrics", content_type = "application/openmetrics-text", body = String)))]
async fn metrics(State(app): State<App>) -> Result<Response, ApiError> {
    let engine = app.engine();
    let asks = engine.reads().asks(AskQuery::default()).await?.len();
    let mut registry = Registry::with_prefix("sturdy");
    let store = engine.reads().meters();
    registry.register("store_commits", "Commits that are on disk", store.commits.clone());
    registry.register("store_entries", "Entries added to the log", store.entries.clone());
    registry.register(
        "store_transactions",
        "Transactions commits were grouped into",
        store.transactions.clone(),
    );
    registry.register("store_refused", "Tries to write that the disk refused", store.refused.clone());
    registry.register("store_reads", "Reads of the store", store.reads.clone());
    registry.register(
        "store_sync_seconds",
        "How long the disk took to take a transaction",
        store.sync_seconds.clone(),
    );
    let counted = engine.feed().meters();
    registry.register("turns", "Turns that ended, by how", counted.turns.clone());
    registry.register("steps", "Answers of models that were finished", counted.steps.clone());
    registry.register("tokens", "Tokens that models used", counted.tokens.clone());
    registry.register("cost_dollars", "What models cost", counted.cost.clone());

    let mut gauge = |name: &str, help: &str, value: u64| {
        let gauge: Gauge = Gauge::default();
        gauge.set(i64::try_from(value).unwrap_or(i64::MAX));
        registry.register(name, help, gauge);
    };
    gauge("store_queue", "Commits that wait to be written", engine.reads().queued() as u64);
    gauge("log_head", "Position of the newest entry of the log", engine.reads().head());
    gauge("feed_lag", "Entries the slowest reader is behind", engine.feed().lag());
    gauge("feed_readers", "Readers of the log", engine.feed().readers() as u64);
    gauge("event_streams", "Event streams that are open", app.streams().count() as u64);
    gauge("connections", "Connections that are open", app.connections().count() as u64);
    gauge("terminals", "Terminals that are open", app.terminals().count() as u64);
    gauge("sessions_awake", "Sessions that have a task", engine.awake() as u64);
    gauge("sessions_damaged", "Sessions that are quarantined", engine.damaged().len() as u64);
    gauge("prompts_waiting", "Prompts that nobody has begun to answer", engine.waiting_prompts() as u64);
    gauge("asks", "Permissions and questions that wait for a person", asks as u64);
    gauge("up", "Whether anything can be stored", u64::from(engine.is_healthy()));

    let busy: Family<Vec<(&'static str, String)>, Gauge> = Family::default();
    for (_, status) in engine.statuses() {
        let word = match status {
            Status::Idle => "waiting",
            Status::Busy => "busy",
            Status::Retry { .. } => "retry",
        };
        busy.get_or_create(&vec![("status", word.to_owned())]).inc();
    }
    registry.register("sessions", "Sessions that do something, by what", busy);

    let mut text = String::new();
    encode(&mut text, &registry)
        .map_err(|_| ApiError::Unforeseen { reference: crate::error::reference() })?;
    let mut response = Response::new(Body::from(text));
    response.headers_mut().insert(CONTENT_TYPE, OPEN_METRICS);
    Ok(response)
}
