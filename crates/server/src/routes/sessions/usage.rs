//! What was used: cost, tokens, steps and errors by day, model, agent and project.

use crate::app::App;
use crate::described::{Routes, routes};
use crate::error::{ApiError, Kind};
use crate::reply;
use crate::wire::query::Query;
use crate::wire::shapes::own::Usage;
use axum::extract::State;
use axum::response::Response;
use jiff::tz::TimeZone;
use serde::Deserialize;
use serde_json::json;
use std::collections::BTreeMap;
use sturdy_engine::records;
use sturdy_session::json::Num;
use sturdy_session::types::usage::Tokens;

const DAY_MS: u64 = 24 * 60 * 60 * 1000;
const DAYS_DEFAULT: u64 = 30;
/// More are not counted, and the answer says so.
const MESSAGES_MAX: u32 = 100_000;
/// Time zones are within fourteen hours of UTC.
const ZONE_MINUTES_MAX: u64 = 14 * 60;

pub(super) fn routes() -> Routes {
    Routes::new().routes(routes!(usage))
}

/// The fields of an answer's header that are counted; a prompt has no cost and is passed over.
#[derive(Deserialize)]
struct Step {
    #[serde(rename = "sessionID")]
    session: String,
    #[serde(rename = "providerID")]
    provider: String,
    #[serde(rename = "modelID")]
    model: String,
    #[serde(default)]
    agent: String,
    time: Time,
    cost: Num,
    tokens: Tokens,
    #[serde(default)]
    error: Option<serde::de::IgnoredAny>,
}

#[derive(Deserialize)]
struct Time {
    created: Num,
}

#[derive(Default)]
struct Sum {
    steps: u64,
    errors: u64,
    cost: Num,
    tokens: Tokens,
}

/// Sums of all steps in a span of time.
#[utoipa::path(get, path = "/sturdy/usage", operation_id = "sturdy.usage", params(
    ("since" = Option<u64>, Query, description = "Milliseconds; default thirty days ago"),
    ("until" = Option<u64>, Query, description = "Milliseconds; default now"),
    ("by" = Option<String>, Query, description = "`day` (default), `model`, `agent` or `session`"),
    ("zone" = Option<i64>, Query, description = "Minutes west of UTC, for days; default 0"),
), responses((status = 200, description = "`{since, until, by, isComplete, rows: [{key, steps, errors, cost, tokens}]}`",
    body = Usage), (status = 400, description = "Bad query")))]
async fn usage(State(app): State<App>, query: Query) -> Result<Response, ApiError> {
    let now = app.engine().clock().now();
    let until = query.number("until")?.unwrap_or(now + 1);
    let since = query.number("since")?.unwrap_or_else(|| until.saturating_sub(DAYS_DEFAULT * DAY_MS));
    let by = query.get("by").unwrap_or("day");
    if !["day", "model", "agent", "session"].contains(&by) {
        let message =
            format!("Expected \"day\" | \"model\" | \"agent\" | \"session\", got {by:?}\n  at [\"by\"]");
        return Err(ApiError::schema(Kind::Query, message));
    }
    let zone = zone_minutes(&query)?;
    let found = app.engine().reads().messages_between(since, until, MESSAGES_MAX).await?;
    let is_complete = found.len() < MESSAGES_MAX as usize;
    let mut sums: BTreeMap<String, Sum> = BTreeMap::new();
    // What is not the message of a step has not used anything.
    for step in found.iter().filter_map(|data| records::fields::<Step>("a message", data).ok()) {
        let key = match by {
            "model" => format!("{}/{}", step.provider, step.model),
            "agent" => step.agent,
            "session" => step.session,
            _ => day(step.time.created.count(), zone),
        };
        let sum = sums.entry(key).or_default();
        sum.steps += 1;
        sum.errors += u64::from(step.error.is_some());
        sum.cost += step.cost;
        sum.tokens.add(&step.tokens);
    }
    let row = |(key, sum): (String, Sum)| json!({ "key": key, "steps": sum.steps, "errors": sum.errors, "cost": sum.cost, "tokens": sum.tokens });
    let rows: Vec<_> = sums.into_iter().map(row).collect();
    Ok(reply::json(
        &json!({ "since": since, "until": until, "by": by, "isComplete": is_complete, "rows": rows }),
    ))
}

/// Minutes west of UTC, as browsers say it.
fn zone_minutes(query: &Query) -> Result<i64, ApiError> {
    let Some(text) = query.get("zone") else { return Ok(0) };
    let minutes = text.parse::<i64>().ok().filter(|minutes| minutes.unsigned_abs() <= ZONE_MINUTES_MAX);
    minutes.ok_or_else(|| {
        let message = format!("Expected minutes between -840 and 840, got {text:?}\n  at [\"zone\"]");
        ApiError::schema(Kind::Query, message)
    })
}

/// `2026-11-16`; a time beyond every calendar has no day.
fn day(at: u64, zone_minutes: i64) -> String {
    let local = at.cast_signed().saturating_sub(zone_minutes * 60_000);
    let day = jiff::Timestamp::from_millisecond(local).map(|time| time.to_zoned(TimeZone::UTC).date());
    day.map_or_else(|_| "unknown".to_owned(), |day| day.to_string())
}

#[cfg(test)]
mod tests {
    use super::day;

    #[test]
    fn days_are_those_of_the_calendar_and_of_the_zone() {
        let noon = 1_794_830_400_000;
        assert_eq!(day(0, 0), "1970-01-01");
        assert_eq!(day(noon, 0), "2026-11-16");
        assert_eq!(day(noon, -13 * 60), "2026-11-17");
        assert_eq!(day(951_782_400_000, 0), "2000-02-29");
        assert_eq!(day(u64::MAX / 2, 0), "unknown");
    }
}
