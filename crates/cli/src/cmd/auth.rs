//! Keys for model providers. They go in and never come out.
//!
//! Not here: logins by browser. Those that vendors offer belong to their own programs; what has a key is used by it.

use crate::args::{Auth, AuthList, AuthLogin, AuthLogout, AuthVerb};
use crate::client::Client;
use crate::failure::{Failure, UNMET, USAGE};
use crate::table::{Table, printable};
use crate::{cmd, out, terminal};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::Method;
use serde::Serialize;
use serde_json::{Value, json};
use std::io::{self, IsTerminal as _, Read as _};
use std::process::ExitCode;
use sturdy_llm::catalog::key_page;

/// Longer is not a key.
const KEY_BYTES_MAX: u64 = 64 * 1024;

#[derive(Serialize)]
struct ProviderLine {
    provider: String,
    name: String,
    /// `api`: a stored key; `env`: a variable; `config`: a configuration file; `custom`: it needs none.
    source: String,
    /// The variables that may hold its key.
    env: Vec<String>,
    models: usize,
}

pub(crate) fn run(arguments: Auth) -> Result<ExitCode, Failure> {
    match arguments.verb {
        AuthVerb::Login(login) => log_in(&login),
        AuthVerb::List(list) => {
            cmd::with_server(&list.server, async |server| print_list(&server.client, &list).await)
        }
        AuthVerb::Logout(logout) => log_out(&logout),
    }
}

fn path(provider: &str) -> String {
    format!("/auth/{}", utf8_percent_encode(provider, NON_ALPHANUMERIC))
}

fn log_in(arguments: &AuthLogin) -> Result<ExitCode, Failure> {
    let Some(provider) = &arguments.provider else {
        return cmd::with_server(&arguments.server, async |server| {
            let provider = choose(&server.client).await?;
            let key = read_key(&provider, KeyFrom::Anywhere)?;
            store(&server.client, &provider, &key).await
        });
    };
    // Asked for first: nobody waits for a server while typing.
    let from = if arguments.key_stdin { KeyFrom::Stdin } else { KeyFrom::Anywhere };
    let key = read_key(provider, from)?;
    cmd::with_server(&arguments.server, async |server| store(&server.client, provider, &key).await)
}

async fn store(client: &Client, provider: &str, key: &str) -> Result<ExitCode, Failure> {
    let body = json!({ "type": "api", "key": key });
    client.send(Method::PUT, &path(provider), &[], Some(&body)).await?;
    if known(client).await?.iter().any(|known| known.provider == provider) {
        out::talk(&format!("Stored the key for {provider}. The next prompt uses it."));
    } else {
        out::talk(&format!("Stored the key for {provider}, which is not a provider that is known here."));
        out::talk(&format!("Describe it in opencode.json, under \"provider\", \"{}\".", printable(provider)));
    }
    Ok(ExitCode::SUCCESS)
}

/// Every provider that a key could be stored for.
async fn known(client: &Client) -> Result<Vec<ProviderLine>, Failure> {
    let known = client.get("/provider", &[]).await?;
    let lines = known["all"].as_array().into_iter().flatten().map(line);
    // One that needs no variable for a key needs no key.
    Ok(lines.filter(|line| !line.env.is_empty()).collect())
}

/// Lists what there is, and asks which one is meant.
async fn choose(client: &Client) -> Result<String, Failure> {
    let known = known(client).await?;
    let mut table = Table::new(&["PROVIDER", "NAME", "VARIABLE", "GET A KEY AT"], 1);
    for line in &known {
        let place = key_page(&line.provider).unwrap_or_default();
        table.row(vec![line.provider.clone(), line.name.clone(), line.env.join(" "), place]);
    }
    table.print();
    let nobody = || {
        Failure::new(USAGE, "no provider is named")
            .with("try", "sturdy auth login PROVIDER, one of those above")
    };
    let mut terminal = terminal::Terminal::open().filter(|_| io::stdin().is_terminal()).ok_or_else(nobody)?;
    terminal.show("Provider: ");
    let chosen = terminal.line().await.filter(|text| !text.is_empty());
    chosen.ok_or_else(nobody)
}

/// Where a key comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KeyFrom {
    Stdin,
    /// A person if one is there, else stdin.
    Anywhere,
}

fn read_key(provider: &str, from: KeyFrom) -> Result<String, Failure> {
    let unreadable = |cause: io::Error| Failure::new(UNMET, "the key cannot be read").with("cause", cause);
    let key = if from == KeyFrom::Anywhere && io::stdin().is_terminal() {
        if let Some(page) = key_page(provider) {
            out::talk(&format!("Get a key at {page}"));
        }
        let question = format!("Key for {} (it is not shown): ", printable(provider));
        terminal::ask_hidden(&question).map_err(unreadable)?.unwrap_or_default()
    } else {
        let mut text = String::new();
        io::stdin().take(KEY_BYTES_MAX).read_to_string(&mut text).map_err(unreadable)?;
        text.trim().to_owned()
    };
    if key.is_empty() || key.chars().any(char::is_control) {
        return Err(Failure::new(USAGE, "this is not a key")
            .with("try", format!("one line, as in: echo KEY | sturdy auth login {provider} --key-stdin")));
    }
    Ok(key)
}

async fn print_list(client: &Client, arguments: &AuthList) -> Result<ExitCode, Failure> {
    let known = client.get("/config/providers", &[]).await?;
    let lines: Vec<_> = known["providers"].as_array().into_iter().flatten().map(line).collect();
    if arguments.json {
        out::json(&lines);
        return Ok(ExitCode::SUCCESS);
    }
    let mut table = Table::new(&["PROVIDER", "NAME", "KEY FROM", "MODELS"], 1);
    for line in &lines {
        let source = match line.source.as_str() {
            "api" => "stored".to_owned(),
            "env" => format!("${}", line.env.join(" or $")),
            "custom" => "none needed".to_owned(),
            other => other.to_owned(),
        };
        table.row(vec![line.provider.clone(), line.name.clone(), source, line.models.to_string()]);
    }
    table.print();
    Ok(ExitCode::SUCCESS)
}

fn line(provider: &Value) -> ProviderLine {
    let text = |name: &str| provider[name].as_str().unwrap_or_default().to_owned();
    let variables = provider["env"].as_array().into_iter().flatten();
    ProviderLine {
        provider: text("id"),
        name: text("name"),
        source: text("source"),
        env: variables.filter_map(Value::as_str).map(str::to_owned).collect(),
        models: provider["models"].as_object().map_or(0, serde_json::Map::len),
    }
}

fn log_out(arguments: &AuthLogout) -> Result<ExitCode, Failure> {
    let provider = &arguments.provider;
    cmd::with_server(&arguments.server, async |server| {
        server.client.delete(&path(provider)).await?;
        out::talk(&format!("No key for {provider} is stored any more."));
        Ok(ExitCode::SUCCESS)
    })
}
