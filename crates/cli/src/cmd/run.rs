//! Sends a prompt and prints the answer as it arrives.
//!
//! The stream of events is opened before the prompt is sent, so that nothing of the answer is missed. The turn is
//! over when the session is idle behind our prompt. If the server goes away meanwhile, the stream is taken up
//! again where it broke off.
//!
//! Not here: what is printed (`print.rs`), what is asked at the terminal (`asks.rs`), the loop (`follow.rs`).

mod asks;
mod files;
mod follow;
mod print;

use crate::args::{PermissionAnswer, Run};
use crate::client::Client;
use crate::cmd;
use crate::cmd::session::path;
use crate::connect::Connection;
use crate::failure::{Failure, UNMET, USAGE};
use crate::terminal::Terminal;
use asks::Answerer;
use follow::Follow;
use print::Printer;
use serde_json::{Value, json};
use std::io::{self, IsTerminal as _, Read as _};
use std::process::ExitCode;
use sturdy_engine::clock::Clock;

/// What comes in by a pipe is cut nowhere: more than this is refused.
const PIPED_BYTES_MAX: u64 = 4 << 20;

pub(crate) fn run(arguments: Run) -> Result<ExitCode, Failure> {
    let message = message(&arguments)?;
    let model = arguments.model.as_deref().map(split_model).transpose()?;
    cmd::with_server(&arguments.server, async |server| ask(server, &arguments, message, model).await)
}

/// What was written on the command line, then what comes in by a pipe.
fn message(arguments: &Run) -> Result<String, Failure> {
    let mut message = arguments.message.join(" ");
    if !io::stdin().is_terminal() {
        let mut piped = String::new();
        let read = io::stdin().take(PIPED_BYTES_MAX + 1).read_to_string(&mut piped);
        read.map_err(|cause| Failure::new(USAGE, "stdin is not text").with("cause", cause))?;
        if piped.len() as u64 > PIPED_BYTES_MAX {
            return Err(Failure::new(USAGE, "more than 4 MiB were piped to stdin")
                .with("try", "--file PATH, which the model reads as it needs"));
        }
        if !message.is_empty() && !piped.trim().is_empty() {
            message.push('\n');
        }
        message.push_str(piped.trim_end());
    }
    if message.trim().is_empty() && arguments.command.is_none() {
        return Err(
            Failure::new(USAGE, "there is no message").with("try", "sturdy run \"Explain this crate\"")
        );
    }
    Ok(message)
}

fn split_model(text: &str) -> Result<(String, String), Failure> {
    match text.split_once('/') {
        Some((provider, model)) if !provider.is_empty() && !model.is_empty() => {
            Ok((provider.to_owned(), model.to_owned()))
        }
        _ => Err(Failure::new(USAGE, "a model is named by its provider and its id")
            .with("model", text)
            .with("try", "one of: sturdy models")),
    }
}

async fn ask(
    server: &Connection,
    arguments: &Run,
    message: String,
    model: Option<(String, String)>,
) -> Result<ExitCode, Failure> {
    let client = &server.client;
    let files = files::parts(&arguments.file, server.sees_our_files())?;
    let terminal = match arguments.permission {
        None | Some(PermissionAnswer::Ask) => Terminal::open(),
        Some(PermissionAnswer::Allow | PermissionAnswer::Reject) => None,
    };
    let (session, is_new) = choose_session(client, arguments, terminal.is_some()).await?;
    let made = session.clone();
    let events = client.events(None).await?;
    let message_id = Clock::new(0).stamp().message_id().to_string();
    let (request, body) = request(arguments, &session, message, model, files, &message_id)?;
    let follow = Follow {
        client,
        session,
        message: message_id,
        printer: Printer::new(arguments.format, arguments.thinking),
        answerer: Answerer::new(arguments.permission, terminal),
    };
    let asked = follow.until_idle(events, client.post(&request, &body)).await;
    if asked.is_err() && is_new {
        // What is said about the question matters more than what becomes of the session.
        let _ = remove_if_empty(client, &made).await;
    }
    asked
}

/// A session that was made for a question which was refused is not left behind.
async fn remove_if_empty(client: &Client, session: &str) -> Result<(), Failure> {
    let messages = client.get(&path(session, "/message")?, &[("limit", "1")]).await?;
    if messages.as_array().is_some_and(Vec::is_empty) {
        client.delete(&path(session, "")?).await?;
    }
    Ok(())
}

/// The session to go on with, or a new one, and whether it is one.
async fn choose_session(
    client: &Client,
    arguments: &Run,
    is_attended: bool,
) -> Result<(String, bool), Failure> {
    let known = match (&arguments.session, arguments.continue_last) {
        (Some(session), _) => Some(client.get(&path(session, "")?, &[]).await?),
        (None, true) => Some(newest(client).await?),
        (None, false) => None,
    };
    let id = |session: &Value| session["id"].as_str().unwrap_or_default().to_owned();
    match known {
        Some(session) if arguments.fork => {
            let copy = client.post(&path(&id(&session), "/fork")?, &json!({})).await?;
            Ok((id(&copy), false))
        }
        Some(session) => Ok((id(&session), false)),
        None => Ok((id(&client.post("/session", &new_session(arguments, is_attended)).await?), true)),
    }
}

async fn newest(client: &Client) -> Result<Value, Failure> {
    let query = [("directory", client.directory.as_str()), ("roots", "true"), ("limit", "1")];
    let mut sessions = client.get("/session", &query).await?;
    match sessions.get_mut(0) {
        Some(session) => Ok(session.take()),
        None => Err(Failure::new(UNMET, "there is no session to continue in this directory")
            .with("try", "the same without --continue")),
    }
}

/// Nobody can be asked without a terminal, so the model is told not to.
fn new_session(arguments: &Run, is_attended: bool) -> Value {
    let mut body = json!({});
    if let Some(title) = &arguments.title {
        body["title"] = Value::from(title.as_str());
    }
    if !is_attended {
        body["permission"] = json!([{ "permission": "question", "action": "deny", "pattern": "*" }]);
    }
    body
}

/// Where the prompt goes, and what it says.
fn request(
    arguments: &Run,
    session: &str,
    message: String,
    model: Option<(String, String)>,
    files: Vec<Value>,
    message_id: &str,
) -> Result<(String, Value), Failure> {
    let mut body = json!({ "messageID": message_id });
    if let Some(agent) = &arguments.agent {
        body["agent"] = Value::from(agent.as_str());
    }
    if let Some(variant) = &arguments.variant {
        body["variant"] = Value::from(variant.as_str());
    }
    if let Some(command) = &arguments.command {
        body["command"] = Value::from(command.as_str());
        body["arguments"] = Value::from(message);
        body["parts"] = Value::from(files);
        if let Some((provider, model)) = model {
            body["model"] = Value::from(format!("{provider}/{model}"));
        }
        return Ok((path(session, "/command")?, body));
    }
    if let Some((provider, model)) = model {
        body["model"] = json!({ "providerID": provider, "modelID": model });
    }
    let mut parts = files;
    parts.push(json!({ "type": "text", "text": message }));
    body["parts"] = Value::from(parts);
    Ok((path(session, "/message")?, body))
}
