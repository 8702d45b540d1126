//! Narrow rights to single sessions. A reference is printed when it is made, and never again.

use crate::args::{
    Grant, GrantAudit, GrantCreate, GrantLimits, GrantList, GrantNarrow, GrantRevoke, GrantVerb,
};
use crate::client::Client;
use crate::failure::Failure;
use crate::table::{Table, ago};
use crate::{cmd, out};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};
use std::process::ExitCode;

const HOUR_MS: i64 = 60 * 60 * 1000;
/// Rows of one answer.
const AUDIT_PAGE: usize = 500;

pub(crate) fn run(arguments: Grant) -> Result<ExitCode, Failure> {
    match arguments.verb {
        GrantVerb::Create(create) => {
            cmd::with_server(&create.server, async |server| make(&server.client, &create).await)
        }
        GrantVerb::List(list) => {
            cmd::with_server(&list.server, async |server| print_list(&server.client, &list).await)
        }
        GrantVerb::Narrow(narrow) => {
            cmd::with_server(&narrow.server, async |server| make_narrower(&server.client, &narrow).await)
        }
        GrantVerb::Revoke(revoke) => {
            cmd::with_server(&revoke.server, async |server| take_back(&server.client, &revoke).await)
        }
        GrantVerb::Audit(audit) => {
            cmd::with_server(&audit.server, async |server| print_audit(&server.client, &audit).await)
        }
    }
}

async fn make(client: &Client, arguments: &GrantCreate) -> Result<ExitCode, Failure> {
    let rights: Vec<&str> = arguments.right.iter().map(|right| right.name()).collect();
    let mut body = json!({ "sessionID": arguments.session, "rights": rights });
    limit(&mut body, &arguments.limits);
    let grant = client.post("/sturdy/grant", &body).await?;
    print_made(&grant, arguments.json)
}

async fn make_narrower(client: &Client, arguments: &GrantNarrow) -> Result<ExitCode, Failure> {
    let mut body = json!({});
    if !arguments.right.is_empty() {
        let rights: Vec<&str> = arguments.right.iter().map(|right| right.name()).collect();
        body["rights"] = json!(rights);
    }
    limit(&mut body, &arguments.limits);
    let grant = client.post(&format!("{}/narrow", path(&arguments.grant)), &body).await?;
    print_made(&grant, arguments.json)
}

fn limit(body: &mut Value, limits: &GrantLimits) {
    if let Some(hours) = limits.hours {
        body["expires"] = json!(now_ms() + i64::from(hours) * HOUR_MS);
    }
    if let Some(most) = limits.max_uses {
        body["maxUses"] = json!(most);
    }
    if let Some(label) = &limits.label {
        body["label"] = json!(label);
    }
}

fn print_made(grant: &Value, is_json: bool) -> Result<ExitCode, Failure> {
    if is_json {
        out::json(grant);
        return Ok(ExitCode::SUCCESS);
    }
    out::data(grant["reference"].as_str().unwrap_or_default());
    let id = grant["id"].as_str().unwrap_or_default();
    out::talk(&format!("This is shown once. `sturdy grant revoke {id}` revokes it."));
    Ok(ExitCode::SUCCESS)
}

async fn print_list(client: &Client, arguments: &GrantList) -> Result<ExitCode, Failure> {
    let mut query = Vec::new();
    if let Some(session) = &arguments.session {
        query.push(("sessionID", session.as_str()));
    }
    if let Some(actor) = &arguments.actor {
        query.push(("actor", actor.as_str()));
    }
    let grants = client.get("/sturdy/grant", &query).await?;
    if arguments.json {
        out::json(&grants);
        return Ok(ExitCode::SUCCESS);
    }
    let now = now_ms();
    let mut table =
        Table::new(&["GRANT", "SESSION", "LABEL", "MAY", "USED", "EXPIRES", "MADE BY", "STATE"], 2);
    for grant in grants.as_array().into_iter().flatten() {
        let text = |name: &str| grant[name].as_str().unwrap_or_default().to_owned();
        let rights: Vec<&str> =
            grant["rights"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let used = match grant["maxUses"].as_u64() {
            Some(most) => format!("{} of {most}", grant["used"]),
            None => grant["used"].to_string(),
        };
        let expires = grant["expires"].as_i64().map_or_else(|| "never".to_owned(), |at| until(now, at));
        let state = if grant["revoked"].is_null() { "stands" } else { "revoked" };
        table.row(vec![
            text("id"),
            text("sessionID"),
            text("label"),
            rights.join(" "),
            used,
            expires,
            text("actor"),
            state.to_owned(),
        ]);
    }
    table.print();
    Ok(ExitCode::SUCCESS)
}

async fn take_back(client: &Client, arguments: &GrantRevoke) -> Result<ExitCode, Failure> {
    let mut answers = Vec::new();
    for id in &arguments.grants {
        let answer = client.delete(&path(id)).await?;
        if !arguments.json {
            out::talk(&match answer["revoked"].as_u64().unwrap_or_default() {
                0 => format!("{id} was revoked before."),
                1 => format!("Revoked {id}."),
                many => format!("Revoked {id} and {} made of it.", many - 1),
            });
        }
        answers.push(json!({ "id": id, "revoked": answer["revoked"] }));
    }
    if arguments.json {
        out::json(&answers);
    }
    Ok(ExitCode::SUCCESS)
}

async fn print_audit(client: &Client, arguments: &GrantAudit) -> Result<ExitCode, Failure> {
    let path = format!("{}/audit", path(&arguments.grant));
    let mut rows: Vec<Value> = Vec::new();
    loop {
        let after = rows.last().and_then(|row| row["id"].as_u64()).unwrap_or_default().to_string();
        let page = client.get(&path, &[("after", &after)]).await?;
        let page = page.as_array().cloned().unwrap_or_default();
        let is_last = page.len() < AUDIT_PAGE;
        rows.extend(page);
        if is_last {
            break;
        }
    }
    if arguments.json {
        out::json(&rows);
        return Ok(ExitCode::SUCCESS);
    }
    let mut table = Table::new(&["WHEN", "GRANT", "WHO", "DID", "OUTCOME", "OVER", "FROM"], 2);
    for row in &rows {
        let text = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
        let at = ago(now_ms(), row["at"].as_i64().unwrap_or_default());
        table.row(vec![
            at,
            text("grant"),
            text("actor"),
            text("method"),
            text("code"),
            text("transport"),
            text("address"),
        ]);
    }
    table.print();
    Ok(ExitCode::SUCCESS)
}

fn path(grant: &str) -> String {
    format!("/sturdy/grant/{}", utf8_percent_encode(grant, NON_ALPHANUMERIC))
}

fn until(now_ms: i64, at_ms: i64) -> String {
    match at_ms - now_ms {
        ..=0 => "expired".to_owned(),
        left => format!("in {} h", left / HOUR_MS + 1),
    }
}

fn now_ms() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}
