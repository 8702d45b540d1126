//! Tokens for programs. A secret is printed when it is made, and never again.

use crate::args::{Token, TokenCreate, TokenList, TokenRevoke, TokenVerb};
use crate::client::Client;
use crate::failure::{Failure, UNMET};
use crate::table::{Table, ago};
use crate::{cmd, out};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};
use std::process::ExitCode;

const DAY_MS: i64 = 24 * 60 * 60 * 1000;

pub(crate) fn run(arguments: Token) -> Result<ExitCode, Failure> {
    match arguments.verb {
        TokenVerb::Create(create) => {
            cmd::with_server(&create.server, async |server| make(&server.client, &create).await)
        }
        TokenVerb::List(list) => {
            cmd::with_server(&list.server, async |server| print_list(&server.client, &list).await)
        }
        TokenVerb::Revoke(revoke) => {
            cmd::with_server(&revoke.server, async |server| take_back(&server.client, &revoke).await)
        }
    }
}

async fn make(client: &Client, arguments: &TokenCreate) -> Result<ExitCode, Failure> {
    let scopes: Vec<&str> = arguments.scope.iter().map(|scope| scope.name()).collect();
    let mut body = json!({ "name": arguments.name, "scopes": scopes });
    if let Some(days) = arguments.days {
        body["expires"] = json!(now_ms() + i64::from(days) * DAY_MS);
    }
    if let Some(rate) = arguments.rate {
        body["rate"] = json!(rate);
    }
    let token = client.post("/sturdy/token", &body).await?;
    if arguments.json {
        out::json(&token);
        return Ok(ExitCode::SUCCESS);
    }
    out::data(token["secret"].as_str().unwrap_or_default());
    let id = token["id"].as_str().unwrap_or_default();
    out::talk(&format!("This is shown once. `sturdy token revoke {id}` revokes it."));
    Ok(ExitCode::SUCCESS)
}

async fn print_list(client: &Client, arguments: &TokenList) -> Result<ExitCode, Failure> {
    let tokens = client.get("/sturdy/token", &[]).await?;
    if arguments.json {
        out::json(&tokens);
        return Ok(ExitCode::SUCCESS);
    }
    let now = now_ms();
    let mut table = Table::new(&["ID", "NAME", "SCOPES", "RATE", "EXPIRES", "USED"], 1);
    for token in tokens.as_array().into_iter().flatten() {
        let text = |name: &str| token[name].as_str().unwrap_or_default().to_owned();
        let scopes: Vec<&str> =
            token["scopes"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let expires = token["expires"].as_i64().map_or_else(|| "never".to_owned(), |at| until(now, at));
        let used = token["used"].as_i64().map_or_else(|| "never".to_owned(), |at| ago(now, at));
        let rate = format!("{}/min", token["rate"]);
        table.row(vec![text("id"), text("name"), scopes.join(" "), rate, expires, used]);
    }
    table.print();
    Ok(ExitCode::SUCCESS)
}

async fn take_back(client: &Client, arguments: &TokenRevoke) -> Result<ExitCode, Failure> {
    for id in &arguments.tokens {
        let path = format!("/sturdy/token/{}", utf8_percent_encode(id, NON_ALPHANUMERIC));
        if client.delete(&path).await? != true {
            return Err(Failure::new(UNMET, "there is no such token")
                .with("token", id)
                .with("try", "sturdy token list"));
        }
        out::talk(&format!("Revoked {id}."));
    }
    Ok(ExitCode::SUCCESS)
}

fn until(now_ms: i64, at_ms: i64) -> String {
    match at_ms - now_ms {
        ..=0 => "expired".to_owned(),
        left => format!("in {} days", left / DAY_MS + 1),
    }
}

fn now_ms() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}
