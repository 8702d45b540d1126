//! Follows one turn to its end.

use super::asks::Answerer;
use super::print::Printer;
use crate::client::{Client, Events, ServerEvent};
use crate::cmd::session::path;
use crate::failure::{Failure, INTERRUPTED, NO_SERVER, UNMET};
use crate::out;
use futures_util::StreamExt as _;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::pin::pin;
use std::process::ExitCode;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};

/// A server that restarts is back within this many seconds.
const RECONNECTS_MAX: u32 = 20;
const RECONNECT_PAUSE: Duration = Duration::from_millis(500);

pub(super) struct Follow<'a> {
    pub(super) client: &'a Client,
    pub(super) session: String,
    /// Our prompt: idle counts only behind it.
    pub(super) message: String,
    pub(super) printer: Printer,
    pub(super) answerer: Answerer,
}

/// What has been seen.
#[derive(Default)]
struct Seen {
    is_prompt_stored: bool,
    is_idle: bool,
    /// Messages of the assistant that are printed.
    printed: HashSet<String>,
    /// How the newest of them ended.
    error: Option<Value>,
    /// Sessions of sub-agents, whose asks are ours too.
    children: HashSet<String>,
    last_event: Option<String>,
}

impl Follow<'_> {
    /// `asked` is the request with the prompt; it is answered when the turn is over.
    pub(super) async fn until_idle(
        mut self,
        mut events: Events,
        asked: impl Future<Output = Result<Value, Failure>>,
    ) -> Result<ExitCode, Failure> {
        let mut asked = pin!(asked);
        let mut is_answered = false;
        let mut seen = Seen::default();
        let mut stops: u32 = 0;
        let mut interrupts = signal(SignalKind::interrupt()).map_err(|cause| {
            Failure::new(UNMET, "the program cannot watch for Ctrl-C").with("cause", cause)
        })?;
        self.take_open_asks().await?;
        while !(seen.is_idle && is_answered) {
            tokio::select! {
                answer = asked.as_mut(), if !is_answered => {
                    is_answered = true;
                    match answer {
                        Ok(_) => {}
                        // The prompt is stored: what becomes of it is in the stream.
                        Err(failure) if failure.code == NO_SERVER && seen.is_prompt_stored => {}
                        Err(failure) => return Err(failure),
                    }
                }
                event = events.next() => match event {
                    Some(Ok(event)) => self.take(event, &mut seen).await?,
                    Some(Err(_)) | None => events = self.reconnect(&seen).await?,
                },
                line = self.answerer.line() => self.answerer.answer(self.client, line).await?,
                _ = interrupts.recv() => {
                    stops += 1;
                    if stops > 1 {
                        break;
                    }
                    self.printer.end_line();
                    out::talk("Stopping; press Ctrl-C again to leave at once.");
                    self.client.post(&path(&self.session, "/abort")?, &json!({})).await?;
                }
            }
        }
        self.printer.end_line();
        Ok(match (&seen.error, stops, self.answerer.has_rejected) {
            (_, 1.., _) => ExitCode::from(INTERRUPTED),
            (None, 0, false) => ExitCode::SUCCESS,
            (Some(_), 0, _) | (None, 0, true) => ExitCode::from(UNMET),
        })
    }

    /// A session that is gone on with may wait for an answer already.
    async fn take_open_asks(&mut self) -> Result<(), Failure> {
        for (path, is_permission) in [("/permission", true), ("/question", false)] {
            let mut asks = self.client.get(path, &[]).await?;
            for ask in asks.as_array_mut().into_iter().flatten() {
                if ask["sessionID"] != self.session.as_str() {
                    continue;
                }
                match is_permission {
                    true => self.answerer.permission(self.client, ask.take()).await?,
                    false => self.answerer.question(self.client, ask.take()).await?,
                }
            }
        }
        Ok(())
    }

    async fn reconnect(&mut self, seen: &Seen) -> Result<Events, Failure> {
        self.printer.end_line();
        out::talk("The server is gone; waiting for it.");
        let mut tries = 0;
        loop {
            match self.client.events(seen.last_event.as_deref()).await {
                Ok(events) => return Ok(events),
                Err(failure) if failure.code != NO_SERVER || tries == RECONNECTS_MAX => return Err(failure),
                Err(_) => tokio::time::sleep(RECONNECT_PAUSE).await,
            }
            tries += 1;
        }
    }

    async fn take(&mut self, event: ServerEvent, seen: &mut Seen) -> Result<(), Failure> {
        if event.id.is_some() {
            seen.last_event = event.id;
        }
        let mut about = event.properties;
        let session = about["sessionID"].as_str().unwrap_or_default().to_owned();
        let is_ours = session == self.session;
        let is_below = is_ours || seen.children.contains(&session);
        match event.kind.as_str() {
            "session.created" => {
                let parent = about["info"]["parentID"].as_str().unwrap_or_default();
                if parent == self.session || seen.children.contains(parent) {
                    seen.children.extend(about["info"]["id"].as_str().map(str::to_owned));
                }
            }
            "message.updated" if is_ours => self.message(&about["info"], seen),
            "message.part.updated" if seen.printed.contains(text(&about["part"], "messageID")) => {
                self.printer.part(&about["part"]);
            }
            "message.part.delta"
                if about["field"] == "text" && seen.printed.contains(text(&about, "messageID")) =>
            {
                self.printer.grown(text(&about, "partID"), text(&about, "delta"));
            }
            "permission.asked" if is_below => self.answerer.permission(self.client, about.take()).await?,
            "question.asked" if is_below => self.answerer.question(self.client, about.take()).await?,
            "permission.replied" | "question.replied" | "question.rejected" if is_below => {
                self.answerer.forget(text(&about, "requestID"));
            }
            "session.error" if is_ours => {
                let error = about["error"].take();
                let is_told = seen.error.as_ref() == Some(&error);
                if !is_told {
                    self.printer.error(&self.session, &error);
                }
                seen.error = Some(error);
            }
            "session.status" if is_ours && seen.is_prompt_stored => {
                seen.is_idle = about["status"]["type"] == "idle";
            }
            _ => {}
        }
        Ok(())
    }

    fn message(&mut self, info: &Value, seen: &mut Seen) {
        if info["id"] == self.message.as_str() {
            seen.is_prompt_stored = true;
        }
        // The summary of a long conversation is not an answer.
        if info["role"] != "assistant" || info["summary"] == true {
            return;
        }
        // Do not print the answer to an earlier prompt of a busy session.
        if seen.is_prompt_stored || info["parentID"] == self.message.as_str() {
            seen.printed.extend(info["id"].as_str().map(str::to_owned));
        }
        let error = info["error"].clone();
        if error.is_object() && seen.error.as_ref() != Some(&error) {
            self.printer.error(&self.session, &error);
        }
        seen.error = Some(error).filter(Value::is_object);
    }
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}
