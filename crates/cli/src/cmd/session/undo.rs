//! Undo and redo of a session's turns, or what they would do.

use super::path;
use crate::args::{SessionRedo, SessionUndo};
use crate::client::Client;
use crate::failure::{Failure, UNMET};
use crate::out;
use crate::progress::Progress;
use crate::table::{Table, printable};
use serde_json::{Value, json};
use std::process::ExitCode;

pub(super) async fn undo(client: &Client, arguments: &SessionUndo) -> Result<ExitCode, Failure> {
    let session = &arguments.session;
    let message = match &arguments.to {
        Some(message) => message.clone(),
        None => last_prompt(client, session).await?,
    };
    let body = json!({ "messageID": message, "force": arguments.force });
    let plan = client.post(&path(session, "/revert/plan")?, &body).await?;
    if plan["messageID"].is_null() {
        return Err(
            Failure::new(UNMET, "the session has no such message").with("message", printable(&message))
        );
    }
    if arguments.dry_run {
        print_plan(&plan, "undo", arguments.json);
        return Ok(ExitCode::SUCCESS);
    }
    let progress = Progress::of("Undoing");
    let undone = client.post(&path(session, "/revert")?, &body).await;
    progress.end();
    let undone = undone?;
    if arguments.json {
        out::json(&undone);
    } else {
        say_undone(session, &plan, &undone["revert"]);
    }
    let is_whole = list(&undone["revert"]["conflicts"]).is_empty();
    Ok(ExitCode::from(if is_whole { 0 } else { UNMET }))
}

pub(super) async fn redo(client: &Client, arguments: &SessionRedo) -> Result<ExitCode, Failure> {
    let before = client.get(&path(&arguments.session, "")?, &[]).await?;
    if before["revert"].is_null() {
        return Err(Failure::new(UNMET, "nothing is undone in this session"));
    }
    if arguments.dry_run {
        let plan = client.post(&path(&arguments.session, "/unrevert/plan")?, &json!({})).await?;
        print_plan(&plan, "redo", arguments.json);
        return Ok(ExitCode::SUCCESS);
    }
    let progress = Progress::of("Redoing");
    let redone = client.post(&path(&arguments.session, "/unrevert")?, &json!({})).await;
    progress.end();
    let redone = redone?;
    let conflicts = list(&redone["conflicts"]);
    if arguments.json {
        out::json(&redone);
    } else {
        say_redone(conflicts);
    }
    Ok(ExitCode::from(if conflicts.is_empty() { 0 } else { UNMET }))
}

/// The newest prompt in front of the cut, if there is one; as the terminal's `/undo` chooses.
async fn last_prompt(client: &Client, session: &str) -> Result<String, Failure> {
    let info = client.get(&path(session, "")?, &[]).await?;
    let messages = client.get(&path(session, "/message")?, &[]).await?;
    let cut = info["revert"]["messageID"].as_str();
    let ids = list(&messages).iter().map(|message| &message["info"]);
    let standing = ids.take_while(|info| cut.is_none() || info["id"].as_str() != cut);
    let last = standing.filter(|info| info["role"] == "user").last();
    let id = last.and_then(|info| info["id"].as_str());
    id.map(str::to_owned).ok_or_else(|| Failure::new(UNMET, "there is nothing left to undo in this session"))
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn print_plan(plan: &Value, command: &str, as_json: bool) {
    if as_json {
        return out::json(plan);
    }
    let mut table = Table::new(&["FILE", "WHAT HAPPENS", "WHY"], 0);
    for file in list(&plan["files"]) {
        let text = |name: &str| file[name].as_str().unwrap_or_default().to_owned();
        table.row(vec![text("file"), action(&file["action"]).to_owned(), text("why")]);
    }
    if list(&plan["files"]).is_empty() {
        out::talk("No file would change.");
    } else {
        table.print();
    }
    say_uncaptured(&plan["uncaptured"]);
    for left_out in list(&plan["leftOut"]) {
        out::talk(&format!("Not captured: {}.", left_alone(left_out)));
    }
    out::talk(&format!("Nothing has been changed. Run again without --dry-run to {command}."));
}

fn action(action: &Value) -> &'static str {
    match action.as_str() {
        Some("create") => "comes back",
        Some("change") => "goes back",
        Some("delete") => "is removed",
        Some("conflict") => "is left alone",
        _ => "stays as it is",
    }
}

fn say_undone(session: &str, plan: &Value, revert: &Value) {
    let conflicts = list(&revert["conflicts"]);
    // A file may have been changed after it was planned; then it was left alone.
    let is_left = |file: &Value| conflicts.iter().any(|conflict| conflict["file"] == file["file"]);
    let is_changed =
        |file: &&Value| !matches!(file["action"].as_str(), Some("nothing" | "conflict")) && !is_left(file);
    let changed = list(&plan["files"]).iter().filter(is_changed).count();
    for conflict in conflicts {
        out::talk(&format!("Left alone: {}. Take it back with --force.", left_alone(conflict)));
    }
    say_uncaptured(&revert["uncaptured"]);
    let files = if changed == 1 { "1 file".to_owned() } else { format!("{changed} files") };
    out::talk(&format!("Undone, with {files}. To take it back: sturdy session redo {session}"));
}

fn left_alone(conflict: &Value) -> String {
    let file = conflict["file"].as_str().unwrap_or_default();
    let why = conflict["why"].as_str().unwrap_or_default();
    format!("{} ({why})", printable(file))
}

fn say_redone(conflicts: &[Value]) {
    for conflict in conflicts {
        out::talk(&format!("Left alone: {}.", left_alone(conflict)));
    }
    let rest = if conflicts.is_empty() { "its files" } else { "its other files" };
    out::talk(&format!("The conversation and {rest} are as they were before the undo."));
}

fn say_uncaptured(calls: &Value) {
    for call in list(calls) {
        let tool = call["tool"].as_str().unwrap_or_default();
        let why = call["why"].as_str().unwrap_or_default();
        out::talk(&format!("Not captured: what a call of {} changed ({}).", printable(tool), printable(why)));
    }
}
