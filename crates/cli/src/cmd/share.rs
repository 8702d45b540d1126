//! Shares of the server's sessions, and what their owner may do with them.
//!
//! Sharing and unsharing are asked of the server. What follows from the owner's right (narrowing, revoking, the audit)
//! is asked of the service that has the share, with the reference that the server keeps.

use super::session::path;
use crate::args::{
    Share, ShareAudit, ShareCreate, ShareImport, ShareList, ShareNarrow, ShareOne, SharePreset, ShareRemove,
    ShareRevoke, ShareSetVisibility, ShareVerb, ShareVisibility,
};
use crate::client::Client;
use crate::failure::{Failure, UNMET};
use crate::progress::Progress;
use crate::table::{Table, ago};
use crate::{cmd, out};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::Method;
use serde_json::{Value, json};
use std::process::ExitCode;

const DAY_MS: i64 = 24 * 60 * 60 * 1000;
/// Rows of an audit in one answer of the service.
const AUDIT_PAGE: usize = 500;

pub(crate) fn run(arguments: Share) -> Result<ExitCode, Failure> {
    match arguments.verb {
        ShareVerb::Create(create) => {
            cmd::with_server(&create.server, async |server| share(&server.client, &create).await)
        }
        ShareVerb::List(list) => {
            cmd::with_server(&list.server, async |server| print_list(&server.client, &list).await)
        }
        ShareVerb::Narrow(narrow) => {
            cmd::with_server(&narrow.server, async |server| make(&server.client, &narrow).await)
        }
        ShareVerb::Revoke(revoke) => {
            cmd::with_server(&revoke.server, async |server| take_back(&server.client, &revoke).await)
        }
        ShareVerb::Rotate(one) => {
            cmd::with_server(&one.server, async |server| rotate(&server.client, &one).await)
        }
        ShareVerb::Audit(audit) => {
            cmd::with_server(&audit.server, async |server| print_audit(&server.client, &audit).await)
        }
        ShareVerb::Visibility(set) => {
            cmd::with_server(&set.server, async |server| set_visibility(&server.client, &set).await)
        }
        ShareVerb::Rm(remove) => {
            cmd::with_server(&remove.server, async |server| unshare(&server.client, &remove).await)
        }
        ShareVerb::Import(import) => {
            cmd::with_server(&import.server, async |server| take_over(&server.client, &import).await)
        }
        ShareVerb::Serve(serve) => cmd::serve::shares::run(serve),
    }
}

/// A share as its owner reaches it.
struct Owned {
    service: Client,
    /// Of the share at the service.
    path: String,
}

impl Owned {
    async fn of(client: &Client, session: &str) -> Result<Self, Failure> {
        let path = path(session, "/share")?.replacen("/session/", "/sturdy/session/", 1);
        let link = client.send(Method::POST, &path, &[], None).await;
        let link = link.map_err(|failure| failure.with("try", format!("sturdy share create {session}")))?;
        let text = |name: &str| link[name].as_str().unwrap_or_default().to_owned();
        let base = match link["service"].as_str() {
            Some(service) => service.to_owned(),
            None => client.url().to_owned(),
        };
        let service = Client::with_right(&base, &text("reference"))?;
        Ok(Self { service, path: format!("/api/share/{}", text("shareID")) })
    }

    async fn ask(&self, method: Method, rest: &str, body: Option<&Value>) -> Result<Value, Failure> {
        self.service.send(method, &format!("{}{rest}", self.path), &[], body).await
    }
}

async fn share(client: &Client, arguments: &ShareCreate) -> Result<ExitCode, Failure> {
    let mut shared = Vec::new();
    for session in &arguments.sessions {
        let body = arguments.private.then(|| json!({ "visibility": "private" }));
        let record = client.send(Method::POST, &path(session, "/share")?, &[], body.as_ref()).await?;
        if arguments.private {
            // It may have been shared before, for everybody.
            narrow_to(client, session, "private").await?;
        }
        let url = record["share"]["url"].as_str().unwrap_or_default().to_owned();
        if !arguments.json {
            out::data(&url);
        }
        shared.push(json!({ "sessionID": session, "url": url }));
    }
    if arguments.json {
        out::json(&shared);
    }
    Ok(ExitCode::SUCCESS)
}

async fn set_visibility(client: &Client, arguments: &ShareSetVisibility) -> Result<ExitCode, Failure> {
    let session = &arguments.session;
    match arguments.visibility {
        ShareVisibility::Private => {
            narrow_to(client, session, "private").await?;
            out::talk(
                "The plain link opens nothing any more. Links made with `sturdy share narrow` still do.",
            );
        }
        ShareVisibility::Link => {
            narrow_to(client, session, "link").await?;
            out::talk("Whoever has the plain link may read.");
        }
    }
    Ok(ExitCode::SUCCESS)
}

async fn narrow_to(client: &Client, session: &str, visibility: &str) -> Result<(), Failure> {
    let owned = Owned::of(client, session).await?;
    let body = json!({ "visibility": visibility });
    owned.ask(Method::PUT, "/visibility", Some(&body)).await?;
    Ok(())
}

async fn print_list(client: &Client, arguments: &ShareList) -> Result<ExitCode, Failure> {
    if let Some(session) = &arguments.session {
        return print_capabilities(client, session, arguments).await;
    }
    let links = client.get("/sturdy/share", &of_actor(arguments)).await?;
    if arguments.json {
        out::json(&links);
        return Ok(ExitCode::SUCCESS);
    }
    let links = links.as_array().map(Vec::as_slice).unwrap_or_default();
    if links.is_empty() {
        out::talk("Nothing is shared.");
        return Ok(ExitCode::SUCCESS);
    }
    let mut table = Table::new(&["SESSION", "URL", "STATE", "SENT", "SHARED", "PROBLEM"], 5);
    for link in links {
        let text = |name: &str| link[name].as_str().unwrap_or_default().to_owned();
        let created = ago(now_ms(), link["created"].as_i64().unwrap_or_default());
        let sent = link["sent"].to_string();
        let state = if link["isDegraded"] == true { "degraded".to_owned() } else { text("state") };
        table.row(vec![text("sessionID"), text("url"), state, sent, created, text("error")]);
    }
    table.print();
    Ok(ExitCode::SUCCESS)
}

fn of_actor(arguments: &ShareList) -> Vec<(&'static str, &str)> {
    arguments.actor.iter().map(|actor| ("actor", actor.as_str())).collect()
}

async fn print_capabilities(
    client: &Client,
    session: &str,
    arguments: &ShareList,
) -> Result<ExitCode, Failure> {
    let owned = Owned::of(client, session).await?;
    let all = owned.service.get(&format!("{}/capabilities", owned.path), &of_actor(arguments)).await?;
    if arguments.json {
        out::json(&all);
        return Ok(ExitCode::SUCCESS);
    }
    let mut table = Table::new(&["CAPABILITY", "LABEL", "MAY", "USED", "EXPIRES", "STATE"], 1);
    for one in all.as_array().into_iter().flatten() {
        let text = |name: &str| one[name].as_str().unwrap_or_default().to_owned();
        let may: Vec<&str> =
            one["scope"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let used = match one["max_ops"].as_u64() {
            Some(most) => format!("{} of {most}", one["used_ops"]),
            None => one["used_ops"].to_string(),
        };
        let expires = one["expires_at"].as_i64().map_or_else(|| "never".to_owned(), until);
        let state = if one["revoked_at"].is_null() { "stands" } else { "revoked" };
        table.row(vec![text("cap_id"), text("label"), may.join(" "), used, expires, state.to_owned()]);
    }
    table.print();
    Ok(ExitCode::SUCCESS)
}

async fn make(client: &Client, arguments: &ShareNarrow) -> Result<ExitCode, Failure> {
    let preset = match arguments.preset {
        SharePreset::Viewer => "viewer",
        SharePreset::Writer => "writer",
        SharePreset::DropBox => "drop_box",
        SharePreset::Owner => "owner",
    };
    let mut body = json!({ "scope": [preset] });
    if !arguments.kind.is_empty() {
        body["kinds"] = json!(arguments.kind);
    }
    if let Some(days) = arguments.days {
        body["expires_at"] = json!(now_ms() + i64::from(days) * DAY_MS);
    }
    if let Some(most) = arguments.max_ops {
        body["max_ops"] = json!(most);
    }
    if let Some(label) = &arguments.label {
        body["label"] = json!(label);
    }
    let owned = Owned::of(client, &arguments.session).await?;
    let made = owned.ask(Method::POST, "/capabilities", Some(&body)).await?;
    if arguments.json {
        out::json(&made);
        return Ok(ExitCode::SUCCESS);
    }
    out::data(made["url"].as_str().unwrap_or_default());
    let session = &arguments.session;
    let id = made["cap_id"].as_str().unwrap_or_default();
    out::talk(&format!("This is shown once. `sturdy share revoke {session} {id}` revokes it."));
    Ok(ExitCode::SUCCESS)
}

async fn take_back(client: &Client, arguments: &ShareRevoke) -> Result<ExitCode, Failure> {
    let owned = Owned::of(client, &arguments.session).await?;
    if arguments.all {
        owned.ask(Method::DELETE, "/capabilities/all", None).await?;
        let visible = format!("sturdy share visibility {} link", arguments.session);
        out::talk(&format!(
            "Revoked every capability but the owner's, and the plain link; `{visible}` opens that again."
        ));
        return Ok(ExitCode::SUCCESS);
    }
    for id in &arguments.capabilities {
        // It means all of them, and one is meant.
        if id == "all" {
            return Err(Failure::new(UNMET, "this is not a capability").with("try", "--all"));
        }
        let rest = format!("/capabilities/{}", utf8_percent_encode(id, NON_ALPHANUMERIC));
        owned.ask(Method::DELETE, &rest, None).await?;
        out::talk(&format!("Revoked {id}."));
    }
    Ok(ExitCode::SUCCESS)
}

async fn rotate(client: &Client, arguments: &ShareOne) -> Result<ExitCode, Failure> {
    let answer = Owned::of(client, &arguments.session).await?.ask(Method::POST, "/rotate", None).await?;
    if arguments.json {
        out::json(&answer);
    } else {
        out::talk("Every writer must authenticate again before it can write.");
    }
    Ok(ExitCode::SUCCESS)
}

async fn print_audit(client: &Client, arguments: &ShareAudit) -> Result<ExitCode, Failure> {
    let owned = Owned::of(client, &arguments.session).await?;
    let mut rows: Vec<Value> = Vec::new();
    loop {
        let after = rows.last().and_then(|row| row["id"].as_u64()).unwrap_or_default().to_string();
        let path = format!("{}/audit", owned.path);
        let mut query = vec![("after", after.as_str())];
        if let Some(actor) = &arguments.actor {
            query.push(("actor", actor));
        }
        let page = owned.service.get(&path, &query).await?;
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
    let mut table = Table::new(&["WHEN", "CAPABILITY", "WHO", "DID", "OUTCOME", "APPLIED", "FROM"], 2);
    for row in &rows {
        let text = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
        let at = ago(now_ms(), row["at"].as_i64().unwrap_or_default());
        let applied = row["applied"].to_string();
        let cells = vec![
            at,
            text("cap_id"),
            text("actor_id"),
            text("method"),
            text("code"),
            applied,
            text("address"),
        ];
        table.row(cells);
    }
    table.print();
    Ok(ExitCode::SUCCESS)
}

async fn unshare(client: &Client, arguments: &ShareRemove) -> Result<ExitCode, Failure> {
    for session in &arguments.sessions {
        client.delete(&path(session, "/share")?).await?;
        out::talk(&format!("{session} is not shared any more."));
    }
    Ok(ExitCode::SUCCESS)
}

async fn take_over(client: &Client, arguments: &ShareImport) -> Result<ExitCode, Failure> {
    let mut printed = Printed::new(arguments.json);
    let progress = Progress::of("Importing");
    let done = import_files(client, arguments, &mut printed, &progress).await;
    progress.end();
    // Also after a failure: a secret that was replaced is shown here and nowhere else.
    printed.end();
    done.map(|()| ExitCode::SUCCESS)
}

async fn import_files(
    client: &Client,
    arguments: &ShareImport,
    printed: &mut Printed,
    progress: &Progress,
) -> Result<(), Failure> {
    for file in &arguments.files {
        let place = file.display().to_string();
        let unreadable = |why: String| {
            Failure::new(UNMET, "this is not a file of shares").with("where", &place).with("why", why)
        };
        let text = std::fs::read(file).map_err(|cause| unreadable(cause.to_string()))?;
        let shares: Value = serde_json::from_slice(&text).map_err(|cause| unreadable(cause.to_string()))?;
        let shares = match shares {
            Value::Array(shares) => shares,
            one => vec![one],
        };
        let total = shares.len() as u64;
        for (mut share, count) in shares.into_iter().zip(0..) {
            progress.at("Importing", count, total);
            if !share.is_object() {
                return Err(unreadable("a share is an object".to_owned()));
            }
            share["rotate"] = json!(arguments.rotate);
            let imported = client.post("/sturdy/share/import", &share).await?;
            progress.while_hidden(|| printed.imported(&imported));
        }
    }
    Ok(())
}

/// What became of each share, printed as soon as it is known: a secret that was replaced is known to nobody else.
struct Printed {
    is_json: bool,
    count: usize,
}

impl Printed {
    fn new(is_json: bool) -> Self {
        Self { is_json, count: 0 }
    }

    fn imported(&mut self, answer: &Value) {
        self.count += 1;
        if self.is_json {
            let before = if self.count == 1 { "[" } else { "," };
            out::data(&format!("{before}{answer}"));
            return;
        }
        let id = answer["id"].as_str().unwrap_or_default();
        if let Some(secret) = answer["secret"].as_str() {
            out::data(secret);
        }
        let what = match (answer["isNew"] == true, answer["isRotated"] == true) {
            (true, _) => "Imported",
            (false, true) => "Already here with a new secret, which was shown when it was replaced:",
            (false, false) => "Already here:",
        };
        out::talk(&format!("{what} {id}, {} values.", answer["cursor"]));
    }

    fn end(&self) {
        if self.is_json {
            out::data(if self.count == 0 { "[]" } else { "]" });
        }
    }
}

fn until(at_ms: i64) -> String {
    match at_ms - now_ms() {
        ..=0 => "expired".to_owned(),
        left => format!("in {} days", left / DAY_MS + 1),
    }
}

fn now_ms() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}
