//! The MCP servers of a directory: their status, and logging in to them.

use crate::args::{Mcp, McpList, McpLogin, McpLogout, McpVerb};
use crate::client::Client;
use crate::failure::{Failure, UNMET};
use crate::table::{Table, printable};
use crate::{cmd, out};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};
use std::process::ExitCode;
use std::time::Duration;

/// How long a login waits for the browser; the server gives up then too.
const LOGIN_TRIES_MAX: u32 = 300;
const LOGIN_PAUSE: Duration = Duration::from_secs(1);

pub(crate) fn run(arguments: Mcp) -> Result<ExitCode, Failure> {
    match arguments.verb {
        McpVerb::List(list) => {
            cmd::with_server(&list.server, async |server| print_list(&server.client, &list).await)
        }
        McpVerb::Login(login) => {
            cmd::with_server(&login.server, async |server| log_in(&server.client, &login).await)
        }
        McpVerb::Logout(logout) => {
            cmd::with_server(&logout.server, async |server| log_out(&server.client, &logout).await)
        }
    }
}

fn login_path(name: &str) -> String {
    format!("/mcp/{}/auth", utf8_percent_encode(name, NON_ALPHANUMERIC))
}

async fn print_list(client: &Client, arguments: &McpList) -> Result<ExitCode, Failure> {
    let servers = client.get("/mcp", &[]).await?;
    if arguments.json {
        out::json(&servers);
        return Ok(ExitCode::SUCCESS);
    }
    let servers = servers.as_object().cloned().unwrap_or_default();
    if servers.is_empty() {
        out::talk("No MCP servers are configured here. Name them below \"mcp\" in opencode.json.");
        return Ok(ExitCode::SUCCESS);
    }
    let mut table = Table::new(&["NAME", "STATUS", "DETAIL"], 2);
    for (name, status) in servers {
        let state = status["status"].as_str().unwrap_or_default();
        let detail = match state {
            "needs_auth" => format!("run: sturdy mcp login {name}"),
            _ => status["error"].as_str().unwrap_or_default().to_owned(),
        };
        table.row(vec![name, state.replace('_', " "), detail]);
    }
    table.print();
    Ok(ExitCode::SUCCESS)
}

async fn log_in(client: &Client, arguments: &McpLogin) -> Result<ExitCode, Failure> {
    let name = &arguments.name;
    if let Some(code) = &arguments.code {
        let path = format!("{}/callback", login_path(name));
        let status = client.post(&path, &json!({ "code": code })).await?;
        return finished(name, &status);
    }
    let started = client.post(&login_path(name), &json!({})).await?;
    let url = started["authorizationUrl"].as_str().unwrap_or_default();
    if url.is_empty() {
        return finished(name, &status(client, name).await?);
    }
    out::talk(&format!("Open this page and agree there:\n\n  {}\n", printable(url)));
    let waiting = out::waiting("Waiting for the browser");
    for _ in 0..LOGIN_TRIES_MAX {
        tokio::time::sleep(LOGIN_PAUSE).await;
        let status = status(client, name).await?;
        if status["status"] != "needs_auth" {
            waiting.finish_and_clear();
            return finished(name, &status);
        }
    }
    waiting.finish_and_clear();
    Err(Failure::new(UNMET, format!("nobody agreed to the login at \"{name}\" in time"))
        .with("try", format!("sturdy mcp login {name} again, or with --code if the browser shows one")))
}

async fn status(client: &Client, name: &str) -> Result<Value, Failure> {
    Ok(client.get("/mcp", &[]).await?[name].take())
}

fn finished(name: &str, status: &Value) -> Result<ExitCode, Failure> {
    if status["status"] == "connected" {
        out::talk(&format!("Logged in at {name}; it is connected."));
        return Ok(ExitCode::SUCCESS);
    }
    let state = status["status"].as_str().unwrap_or("unknown").replace('_', " ");
    let failure =
        Failure::new(UNMET, format!("MCP server \"{name}\" is not connected")).with("status", state);
    Err(match status["error"].as_str() {
        Some(error) => failure.with("cause", printable(error)),
        None => failure,
    })
}

async fn log_out(client: &Client, arguments: &McpLogout) -> Result<ExitCode, Failure> {
    client.delete(&login_path(&arguments.name)).await?;
    out::talk(&format!("Logged out of {}.", arguments.name));
    Ok(ExitCode::SUCCESS)
}
