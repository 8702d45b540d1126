//! What a turn shows: text for eyes, or one JSON object per line.
//!
//! The text of the answer goes to stdout as it grows. Calls, thoughts and errors go to stderr, so that a pipe gets
//! the answer alone. In JSON everything is on stdout, each thing once, when it is complete.

use crate::args::RunFormat;
use crate::cmd::session::tool_line;
use crate::out;
use crate::table::printable;
use console::style;
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};
use std::io::IsTerminal as _;

pub(super) struct Printer {
    format: RunFormat,
    shows_thinking: bool,
    is_seen: bool,
    /// Bytes of a text that are printed already.
    printed: HashMap<String, usize>,
    /// Parts that were printed whole.
    complete: HashSet<String>,
    /// Parts that hold thoughts: their growth looks like that of a text.
    thoughts: HashSet<String>,
    is_line_open: bool,
}

impl Printer {
    pub(super) fn new(format: RunFormat, shows_thinking: bool) -> Self {
        Self {
            format,
            shows_thinking,
            is_seen: std::io::stdout().is_terminal(),
            printed: HashMap::new(),
            complete: HashSet::new(),
            thoughts: HashSet::new(),
            is_line_open: false,
        }
    }

    /// A text grew.
    pub(super) fn grown(&mut self, part: &str, delta: &str) {
        if self.format == RunFormat::Json || self.thoughts.contains(part) || self.complete.contains(part) {
            return;
        }
        *self.printed.entry(part.to_owned()).or_default() += delta.len();
        self.text(delta);
    }

    /// A part is as it stands here.
    pub(super) fn part(&mut self, part: &Value) {
        let id = part["id"].as_str().unwrap_or_default();
        match part["type"].as_str() {
            Some("text") => self.text_part(id, part),
            Some("reasoning") => self.thought(id, part),
            Some("tool") if matches!(part["state"]["status"].as_str(), Some("completed" | "error")) => {
                self.once(id, "tool_use", part, &tool_line(part));
            }
            Some("step-start") => self.line("step_start", part),
            Some("step-finish") => self.line("step_finish", part),
            _ => {}
        }
    }

    fn text_part(&mut self, id: &str, part: &Value) {
        let text = part["text"].as_str().unwrap_or_default();
        let is_complete = !part["time"]["end"].is_null();
        if self.complete.contains(id) || part["synthetic"] == true {
            return;
        }
        if self.format == RunFormat::Text {
            let printed = self.printed.get(id).copied().unwrap_or_default();
            if let Some(rest) = text.get(printed..).filter(|rest| !rest.is_empty()) {
                self.text(rest);
            }
            self.printed.insert(id.to_owned(), text.len().max(printed));
        }
        if is_complete {
            self.complete.insert(id.to_owned());
            self.line("text", part);
            self.end_line();
        }
    }

    fn thought(&mut self, id: &str, part: &Value) {
        self.thoughts.insert(id.to_owned());
        if self.shows_thinking && !part["time"]["end"].is_null() {
            let text = part["text"].as_str().unwrap_or_default().trim().to_owned();
            self.once(id, "reasoning", part, &text);
        }
    }

    pub(super) fn error(&mut self, session: &str, error: &Value) {
        if self.format == RunFormat::Json {
            self.object("error", session, "error", error);
        }
        let name = error["name"].as_str().unwrap_or("UnknownError");
        let text = error["data"]["message"].as_str().filter(|text| !text.is_empty()).unwrap_or(name);
        self.end_line();
        out::talk(&format!("{} {}", style("error:").red().bold().for_stderr(), printable(text)));
    }

    /// Ends a line of text that was left open.
    pub(super) fn end_line(&mut self) {
        if self.is_line_open {
            out::piece("\n");
            self.is_line_open = false;
        }
    }

    fn once(&mut self, id: &str, kind: &str, part: &Value, text: &str) {
        if !self.complete.insert(id.to_owned()) {
            return;
        }
        self.line(kind, part);
        if self.format == RunFormat::Text && !text.is_empty() {
            self.end_line();
            out::talk(&style(printable(text)).dim().for_stderr().to_string());
        }
    }

    fn line(&self, kind: &str, part: &Value) {
        if self.format == RunFormat::Json {
            self.object(kind, part["sessionID"].as_str().unwrap_or_default(), "part", part);
        }
    }

    fn object(&self, kind: &str, session: &str, name: &str, value: &Value) {
        let now = jiff::Timestamp::now().as_millisecond();
        let object = json!({ "type": kind, "timestamp": now, "sessionID": session, name: value });
        out::data(&object.to_string());
    }

    /// On a terminal a model must not move the cursor; a pipe gets what it said.
    fn text(&mut self, text: &str) {
        if self.is_seen {
            out::piece(&printable(text));
        } else {
            out::piece(text);
        }
        self.is_line_open = !text.ends_with('\n');
    }
}
