//! A conversation as text.

use crate::args::SessionShow;
use crate::client::Client;
use crate::failure::Failure;
use crate::out;
use crate::table::{ago, dollars, printable};
use console::style;
use serde_json::Value;
use std::process::ExitCode;

pub(super) async fn print(client: &Client, arguments: &SessionShow) -> Result<ExitCode, Failure> {
    let document = super::whole(client, &arguments.session, arguments.last).await?;
    if arguments.json {
        out::json(&document);
        return Ok(ExitCode::SUCCESS);
    }
    let info = &document["info"];
    out::data(&style(printable(info["title"].as_str().unwrap_or_default())).bold().to_string());
    let now = jiff::Timestamp::now().as_millisecond();
    let updated = ago(now, info["time"]["updated"].as_i64().unwrap_or_default());
    let cost = dollars(info["cost"].as_f64().unwrap_or_default());
    let place = printable(info["directory"].as_str().unwrap_or_default());
    out::data(&style(format!("{place} · {updated} · {cost}")).dim().to_string());
    for message in document["messages"].as_array().into_iter().flatten() {
        print_message(message);
    }
    Ok(ExitCode::SUCCESS)
}

fn print_message(message: &Value) {
    let info = &message["info"];
    let head = match info["role"].as_str() {
        Some("user") => "you".to_owned(),
        _ => {
            let text = |name: &str| info[name].as_str().unwrap_or_default();
            format!("{} · {}/{}", text("agent"), text("providerID"), text("modelID"))
        }
    };
    out::data(&format!("\n{}", style(printable(&head)).cyan()));
    for part in message["parts"].as_array().into_iter().flatten() {
        if let Some(text) = told(part) {
            out::data(&printable(&text));
        }
    }
    if let Some(name) = info["error"]["name"].as_str() {
        let text = info["error"]["data"]["message"].as_str().unwrap_or(name);
        out::data(&style(format!("error: {}", printable(text))).red().to_string());
    }
}

/// What a reader wants to know of a part; None for what only programs need.
fn told(part: &Value) -> Option<String> {
    match part["type"].as_str()? {
        "text" if part["synthetic"] != true => Some(part["text"].as_str()?.trim_end().to_owned()),
        "tool" => Some(tool_line(part)),
        "file" => Some(format!("[file] {}", part["filename"].as_str().or(part["url"].as_str())?)),
        "compaction" => Some("[the conversation so far was summarised]".to_owned()),
        _ => None,
    }
}

/// A call in one line: how it stands, which tool, about what.
pub(in crate::cmd) fn tool_line(part: &Value) -> String {
    let state = &part["state"];
    let tool = part["tool"].as_str().unwrap_or_default();
    let title = state["title"].as_str().filter(|title| !title.is_empty());
    let about = title.map_or_else(|| first_input(&state["input"]), str::to_owned);
    match state["status"].as_str() {
        Some("completed") => format!("[{tool}] {about}"),
        Some("error") => {
            let error = state["error"].as_str().unwrap_or_default();
            format!("[{tool}] {about} – {}", error.lines().next().unwrap_or_default())
        }
        _ => format!("[{tool}] {about} …"),
    }
}

/// The input that says most in a line: the first text.
fn first_input(input: &Value) -> String {
    let texts = input.as_object().into_iter().flatten().filter_map(|(_, value)| value.as_str());
    let first = texts.into_iter().next().unwrap_or_default();
    first.lines().next().unwrap_or_default().to_owned()
}
