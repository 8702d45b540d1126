//! What was used: cost, tokens, steps and errors by day, model, agent, project and session, of all or of some.

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
use std::collections::{BTreeMap, HashMap};
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

/// What of the record of a project is needed here.
#[derive(Deserialize)]
struct Project {
    id: String,
}

/// By what steps are put together.
#[derive(Clone, Copy, Eq, PartialEq)]
enum By {
    Day,
    Model,
    Agent,
    Project,
    Session,
}

impl By {
    fn of(text: &str) -> Result<Self, ApiError> {
        match text {
            "day" => Ok(Self::Day),
            "model" => Ok(Self::Model),
            "agent" => Ok(Self::Agent),
            "project" => Ok(Self::Project),
            "session" => Ok(Self::Session),
            _ => {
                let names = "\"day\" | \"model\" | \"agent\" | \"project\" | \"session\"";
                let message = format!("Expected {names}, got {text:?}\n  at [\"by\"]");
                Err(ApiError::schema(Kind::Query, message))
            }
        }
    }
}

/// Which steps are counted; none of it set: all.
struct Wanted<'a> {
    model: Option<&'a str>,
    agent: Option<&'a str>,
    project: Option<&'a str>,
}

impl Wanted<'_> {
    fn includes(&self, step: &Step, projects: &HashMap<String, String>) -> bool {
        self.model.is_none_or(|model| step.model_name() == model)
            && self.agent.is_none_or(|agent| step.agent == agent)
            && self.project.is_none_or(|project| step.project(projects) == project)
    }
}

impl Step {
    /// `provider/model`, as clients write it.
    fn model_name(&self) -> String {
        format!("{}/{}", self.provider, self.model)
    }

    /// Empty if its session is gone: nobody knows any more where that was.
    fn project<'a>(&self, projects: &'a HashMap<String, String>) -> &'a str {
        projects.get(&self.session).map_or("", String::as_str)
    }
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
    ("by" = Option<String>, Query, description = "`day` (default), `model`, `agent`, `project` or `session`"),
    ("model" = Option<String>, Query, description = "Only steps of this model, `provider/model`"),
    ("agent" = Option<String>, Query, description = "Only steps of this agent"),
    ("project" = Option<String>, Query, description = "Only steps in sessions of the project with this id"),
    ("zone" = Option<i64>, Query, description = "Minutes west of UTC, for days; default 0"),
), responses((status = 200, description = "`{since, until, by, isComplete, rows: [{key, steps, errors, cost, tokens}]}`",
    body = Usage), (status = 400, description = "Bad query")))]
async fn usage(State(app): State<App>, query: Query) -> Result<Response, ApiError> {
    let now = app.engine().clock().now();
    let until = query.number("until")?.unwrap_or(now + 1);
    let since = query.number("since")?.unwrap_or_else(|| until.saturating_sub(DAYS_DEFAULT * DAY_MS));
    let asked = query.get("by").unwrap_or("day");
    let by = By::of(asked)?;
    let wanted =
        Wanted { model: query.get("model"), agent: query.get("agent"), project: query.get("project") };
    let zone = zone_minutes(&query)?;
    let found = app.engine().reads().messages_between(since, until, MESSAGES_MAX).await?;
    let is_complete = found.len() < MESSAGES_MAX as usize;
    let needs_projects = by == By::Project || wanted.project.is_some();
    let projects = if needs_projects { projects(&app).await? } else { HashMap::new() };
    let mut sums: BTreeMap<String, Sum> = BTreeMap::new();
    // What is not the message of a step has not used anything.
    let steps = found.iter().filter_map(|data| records::fields::<Step>("a message", data).ok());
    for step in steps.filter(|step| wanted.includes(step, &projects)) {
        let key = match by {
            By::Day => day(step.time.created.count(), zone),
            By::Model => step.model_name(),
            By::Agent => step.agent,
            By::Project => step.project(&projects).to_owned(),
            By::Session => step.session,
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
        &json!({ "since": since, "until": until, "by": asked, "isComplete": is_complete, "rows": rows }),
    ))
}

/// The project of every session there is.
async fn projects(app: &App) -> Result<HashMap<String, String>, ApiError> {
    let reads = app.engine().reads();
    let mut found = HashMap::new();
    for data in reads.projects().await? {
        let Ok(project) = records::fields::<Project>("a project", &data) else { continue };
        for head in reads.session_heads(&project.id).await? {
            found.insert(head.id.to_string(), project.id.clone());
        }
    }
    Ok(found)
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
