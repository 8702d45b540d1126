//! Frees the disk space of removed sessions; with an age, removes old sessions first.

use crate::args::Gc;
use crate::client::Client;
use crate::cmd;
use crate::failure::Failure;
use crate::out;
use crate::progress::Progress;
use crate::table::bytes;
use serde_json::{Value, json};
use std::process::ExitCode;

/// Sessions asked for at once.
const PAGE: &str = "100000";

pub(crate) fn run(arguments: Gc) -> Result<ExitCode, Failure> {
    cmd::with_server(&arguments.server, async |server| collect(&server.client, &arguments).await)
}

async fn collect(client: &Client, arguments: &Gc) -> Result<ExitCode, Failure> {
    let old = match arguments.older_than {
        Some(age_ms) => old_sessions(client, age_ms).await?,
        None => Vec::new(),
    };
    let progress = Progress::of_stages();
    let report = remove(client, &old, arguments.yes, &progress).await;
    progress.end();
    let report = report?;
    if arguments.json {
        out::json(&json!({ "removed": arguments.yes, "sessions": old, "trees": report }));
    } else {
        print(&old, &report, arguments.yes);
    }
    Ok(ExitCode::SUCCESS)
}

async fn remove(
    client: &Client,
    old: &[String],
    is_meant: bool,
    progress: &Progress,
) -> Result<Value, Failure> {
    if is_meant {
        for (session, count) in old.iter().zip(1..) {
            client.delete(&format!("/session/{session}")).await?;
            progress.at("Removing sessions", count, old.len() as u64);
        }
    }
    progress.at("Collecting trees", 0, 0);
    client.post("/sturdy/gc", &json!({ "remove": is_meant })).await
}

/// Sessions that nobody changed for so long. Those of sub-agents go with the sessions they work for.
async fn old_sessions(client: &Client, age_ms: u64) -> Result<Vec<String>, Failure> {
    let sessions = client.get("/experimental/session", &[("limit", PAGE), ("roots", "true")]).await?;
    let now = jiff::Timestamp::now().as_millisecond();
    let before = now.saturating_sub(i64::try_from(age_ms).unwrap_or(i64::MAX));
    let is_old = |session: &&Value| session["time"]["updated"].as_i64().is_some_and(|at| at < before);
    let old = sessions.as_array().into_iter().flatten().filter(is_old);
    Ok(old.filter_map(|session| session["id"].as_str()).map(str::to_owned).collect())
}

fn print(old: &[String], report: &Value, is_done: bool) {
    let released = report["released"].as_u64().unwrap_or_default();
    let before = report["bytesBefore"].as_u64().unwrap_or_default();
    let sessions = if old.len() == 1 { "1 session".to_owned() } else { format!("{} sessions", old.len()) };
    if !is_done {
        out::data(&format!(
            "Would remove {sessions} and release the trees of {released} that are gone already."
        ));
        out::data(&format!("Captured trees take {}. Nothing has been removed.", bytes(before)));
        return out::talk("Run again with --yes to remove.");
    }
    let after = report["bytesAfter"].as_u64().unwrap_or_default();
    out::data(&format!("Removed {sessions}, released the trees of {released} that were gone."));
    out::data(&format!("Captured trees took {} and take {}.", bytes(before), bytes(after)));
}
