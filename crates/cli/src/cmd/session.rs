//! Sessions as a person or a script wants to see them.

mod show;
mod undo;

pub(super) use show::tool_line;

use crate::args::{
    Session, SessionExport, SessionFork, SessionList, SessionRemove, SessionRename, SessionSearch,
    SessionVerb,
};
use crate::client::Client;
use crate::failure::{Failure, UNMET, USAGE};
use crate::progress::Progress;
use crate::table::{Table, ago, dollars, printable};
use crate::terminal::Terminal;
use crate::{cmd, out};
use reqwest::Method;
use serde_json::{Value, json};
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

pub(crate) fn run(arguments: Session) -> Result<ExitCode, Failure> {
    match arguments.verb {
        SessionVerb::List(list) => {
            cmd::with_server(&list.server, async |server| print_list(&server.client, &list, None).await)
        }
        SessionVerb::Search(SessionSearch { text, list }) => cmd::with_server(&list.server, async |server| {
            print_list(&server.client, &list, Some(&text)).await
        }),
        SessionVerb::Show(show) => {
            cmd::with_server(&show.server, async |server| show::print(&server.client, &show).await)
        }
        SessionVerb::Fork(copy) => {
            cmd::with_server(&copy.server, async |server| fork(&server.client, &copy).await)
        }
        SessionVerb::Rename(rename) => {
            cmd::with_server(&rename.server, async |server| set_title(&server.client, &rename).await)
        }
        SessionVerb::Undo(undo) => {
            cmd::with_server(&undo.server, async |server| undo::undo(&server.client, &undo).await)
        }
        SessionVerb::Redo(redo) => {
            cmd::with_server(&redo.server, async |server| undo::redo(&server.client, &redo).await)
        }
        SessionVerb::Export(export) => {
            cmd::with_server(&export.server, async |server| write(&server.client, &export).await)
        }
        SessionVerb::Rm(remove) => {
            cmd::with_server(&remove.server, async |server| remove_all(&server.client, &remove).await)
        }
    }
}

/// The path of a session, if the text can be an id.
pub(super) fn path(session: &str, rest: &str) -> Result<String, Failure> {
    let is_id = session.starts_with("ses") && session.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if !is_id {
        return Err(Failure::new(USAGE, "this is not the id of a session")
            .with("id", printable(session))
            .with("try", "sturdy session list"));
    }
    Ok(format!("/session/{session}{rest}"))
}

async fn print_list(
    client: &Client,
    arguments: &SessionList,
    search: Option<&str>,
) -> Result<ExitCode, Failure> {
    let limit = arguments.limit.to_string();
    let mut query = vec![("limit", limit.as_str())];
    query.extend(search.map(|text| ("search", text)));
    if !arguments.children {
        query.push(("roots", "true"));
    }
    let path = if arguments.all { "/experimental/session" } else { "/session" };
    let mut sessions = client.get(path, &query).await?;
    let Some(sessions) = sessions.as_array_mut() else {
        return Err(Failure::new(UNMET, "the server's answer is not a list of sessions"));
    };
    let working = client.get("/session/status", &[]).await?;
    let waiting = asked(client).await?;
    for session in sessions.iter_mut() {
        let id = session["id"].as_str().unwrap_or_default();
        let state = match working[id]["type"].as_str() {
            _ if waiting.iter().any(|waiting| waiting == id) => "waiting",
            Some(state) => state,
            None => "idle",
        };
        session["state"] = Value::from(state.to_owned());
    }
    if arguments.json {
        out::json(&sessions);
        return Ok(ExitCode::SUCCESS);
    }
    if sessions.is_empty() {
        out::talk(if arguments.all { "No sessions." } else { "No sessions here; --all looks everywhere." });
        return Ok(ExitCode::SUCCESS);
    }
    print_table(sessions);
    Ok(ExitCode::SUCCESS)
}

/// Sessions that wait for a person's answer.
async fn asked(client: &Client) -> Result<Vec<String>, Failure> {
    let mut sessions = Vec::new();
    for path in ["/permission", "/question"] {
        let asks = client.get(path, &[]).await?;
        let asking = asks.as_array().into_iter().flatten().filter_map(|ask| ask["sessionID"].as_str());
        sessions.extend(asking.map(str::to_owned));
    }
    Ok(sessions)
}

fn print_table(sessions: &[Value]) {
    let now = jiff::Timestamp::now().as_millisecond();
    let mut table = Table::new(&["ID", "TITLE", "STATE", "UPDATED", "COST"], 1);
    for session in sessions {
        let text = |name: &str| session[name].as_str().unwrap_or_default().to_owned();
        let updated = session["time"]["updated"].as_i64().unwrap_or_default();
        let cost = session["cost"].as_f64().unwrap_or_default();
        table.row(vec![text("id"), text("title"), text("state"), ago(now, updated), dollars(cost)]);
    }
    table.print();
}

async fn fork(client: &Client, arguments: &SessionFork) -> Result<ExitCode, Failure> {
    let body = match &arguments.before {
        Some(message) => json!({ "messageID": message }),
        None => json!({}),
    };
    let copy = client.post(&path(&arguments.session, "/fork")?, &body).await?;
    if arguments.json {
        out::json(&copy);
    } else {
        out::data(copy["id"].as_str().unwrap_or_default());
    }
    Ok(ExitCode::SUCCESS)
}

async fn set_title(client: &Client, arguments: &SessionRename) -> Result<ExitCode, Failure> {
    let body = json!({ "title": arguments.title });
    client.send(Method::PATCH, &path(&arguments.session, "")?, &[], Some(&body)).await?;
    Ok(ExitCode::SUCCESS)
}

/// The session and its messages, in one document.
pub(super) async fn whole(client: &Client, session: &str, last: Option<u32>) -> Result<Value, Failure> {
    let info = client.get(&path(session, "")?, &[]).await?;
    let limit = last.map(|last| last.to_string());
    let query: Vec<(&str, &str)> = limit.iter().map(|limit| ("limit", limit.as_str())).collect();
    let messages = client.get(&path(session, "/message")?, &query).await?;
    Ok(json!({ "info": info, "messages": messages }))
}

async fn write(client: &Client, arguments: &SessionExport) -> Result<ExitCode, Failure> {
    if arguments.html {
        return write_html(client, arguments).await;
    }
    let progress = Progress::of("Reading");
    let document = whole(client, &arguments.session, None).await;
    progress.end();
    let document = document?;
    let Some(file) = &arguments.output else {
        out::json(&document);
        return Ok(ExitCode::SUCCESS);
    };
    let text = serde_json::to_string_pretty(&document).expect("BUG: what came as JSON is JSON");
    write_new(file, &text)?;
    let count = document["messages"].as_array().map_or(0, Vec::len);
    out::talk(&format!("Wrote {count} messages to {}.", file.display()));
    Ok(ExitCode::SUCCESS)
}

/// One file that shows the session, as the server makes it.
async fn write_html(client: &Client, arguments: &SessionExport) -> Result<ExitCode, Failure> {
    let (words, said): (Vec<&str>, Vec<&str>) = arguments.redact.iter().map(|one| one.names()).unzip();
    let words = words.join(",");
    let query: &[(&str, &str)] = if words.is_empty() { &[] } else { &[("redact", &words)] };
    let path = path(&arguments.session, "/export.html")?;
    let progress = Progress::of("Reading");
    let page = client.text(&format!("/sturdy{path}"), query).await;
    progress.end();
    let page = page?;
    match &arguments.output {
        None => out::data(page.trim_end()),
        Some(file) => {
            write_new(file, page.trim_end())?;
            let left_out =
                if said.is_empty() { String::new() } else { format!(" Left out: {}.", said.join(", ")) };
            out::talk(&format!("Wrote {}. Open it in a browser.{left_out}", file.display()));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn write_new(path: &Path, text: &str) -> Result<(), Failure> {
    create(path, text).map_err(|cause| {
        Failure::new(UNMET, "the file cannot be written").with("path", path.display()).with("cause", cause)
    })
}

/// Readable by the user only: it holds what people wrote and what their files say.
fn create(path: &Path, text: &str) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all(text.as_bytes())?;
    file.write_all(b"\n")?;
    file.sync_all()
}

async fn remove_all(client: &Client, arguments: &SessionRemove) -> Result<ExitCode, Failure> {
    // All are looked up first: one that does not exist removes none.
    let mut found = Vec::new();
    for session in &arguments.sessions {
        let info = client.get(&path(session, "")?, &[]).await?;
        found.push((session, info["title"].as_str().unwrap_or_default().to_owned()));
    }
    if !arguments.yes && !confirmed(&found).await {
        out::talk("Nothing has been removed. Run again with --yes to remove.");
        return Ok(ExitCode::from(UNMET));
    }
    let progress = Progress::of("Removing");
    let removed = remove_each(client, &found, &progress).await;
    progress.end();
    removed?;
    out::talk(&format!("Removed {}.", counted(found.len())));
    Ok(ExitCode::SUCCESS)
}

async fn remove_each(
    client: &Client,
    found: &[(&String, String)],
    progress: &Progress,
) -> Result<(), Failure> {
    for ((session, _), count) in found.iter().zip(1..) {
        client.delete(&path(session, "")?).await?;
        progress.at("Removing", count, found.len() as u64);
    }
    Ok(())
}

async fn confirmed(found: &[(&String, String)]) -> bool {
    for (session, title) in found {
        out::talk(&format!("  {session}  {}", printable(title)));
    }
    let question = format!("Remove {} with everything in them? [y/N] ", counted(found.len()));
    let Some(mut terminal) = Terminal::open() else { return false };
    terminal.show(&question);
    matches!(terminal.line().await.as_deref(), Some("y" | "Y" | "yes"))
}

fn counted(sessions: usize) -> String {
    if sessions == 1 { "1 session".to_owned() } else { format!("{sessions} sessions") }
}
