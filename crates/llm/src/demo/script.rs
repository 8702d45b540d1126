//! Decides what a demo model says to a request. Pure.

use super::{Kind, REPEAT_MAX, story};
use crate::failure::{self, Refused};
use serde_json::Value;
use sturdy_session::talk::{
    AssistantItem, CallInput, FinishReason, Request, ResultContent, Said, Turn, UserItem,
};
use sturdy_session::types::failure::Failure;
use sturdy_session::types::usage::Usage;

/// One step of a scripted answer.
#[derive(Clone, Debug)]
pub(super) enum ScriptStep {
    Say(Box<Said>),
    Fail(Box<Failure>),
    Hang,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct ScriptOptions {
    pub(super) kind: Kind,
    pub(super) chunk_chars: usize,
    pub(super) paragraphs: usize,
}

/// An answer being written.
struct Answer<'a> {
    request: &'a Request,
    manner: ScriptOptions,
    beats: Vec<ScriptStep>,
    text_chars: usize,
    reasoning_chars: usize,
}

pub(super) fn write(request: &Request, manner: ScriptOptions) -> Vec<ScriptStep> {
    let mut answer = Answer { request, manner, beats: Vec::new(), text_chars: 0, reasoning_chars: 0 };
    let prompt = last_user_text(request);
    // Reminders may follow the prompt; an order is its first line.
    let order = prompt.trim_start().lines().next().and_then(|line| line.strip_prefix("/demo "));
    match (request.messages.last(), order) {
        (Some(Turn::Tool(results)), _) => {
            answer.say(Said::Started);
            let returned = results
                .iter()
                .map(|result| format!("{} returned: {}", result.name, text_of(&result.content)));
            answer.text(&returned.collect::<Vec<_>>().join("\n"));
            answer.finish(FinishReason::Stop);
        }
        (_, Some(order)) => answer.obey(order.trim()),
        (_, None) => answer.talk(&prompt),
    }
    answer.beats
}

impl Answer<'_> {
    fn talk(&mut self, prompt: &str) {
        self.say(Said::Started);
        match self.manner.kind {
            Kind::Echo => {
                let words = prompt.split_whitespace().count();
                self.reasoning(&format!("The prompt has {words} words. Repeating them is the whole task."));
                self.text(if prompt.is_empty() { "(no text)" } else { prompt });
            }
            Kind::Story => {
                self.reasoning(story::PLAN);
                self.text(&story::tell(self.manner.paragraphs));
            }
        }
        self.finish(FinishReason::Stop);
    }

    fn obey(&mut self, order: &str) {
        let (verb, rest) = order.split_once(' ').unwrap_or((order, ""));
        if verb == "error" {
            return self.beats.push(ScriptStep::Fail(Box::new(refusal(rest))));
        }
        self.say(Said::Started);
        match verb {
            "long" => self.chunks(rest, FinishReason::Stop),
            "think" => {
                self.reasoning(&"thinking … ".repeat(count(rest)));
                self.text("Done.");
                self.finish(FinishReason::Stop);
            }
            "story" => {
                self.text(&story::tell(count(rest)));
                self.finish(FinishReason::Stop);
            }
            "tool" => self.calls(1, rest),
            "tools" => {
                let (number, rest) = rest.split_once(' ').unwrap_or((rest, ""));
                self.calls(count(number), rest);
            }
            "break" => {
                self.open_chunks(rest);
                self.beats.push(ScriptStep::Fail(Box::new(failure::bad_stream(
                    "Provider connection lost: as asked",
                ))));
            }
            "cut" => self.chunks(rest, FinishReason::Unknown),
            "hang" => {
                self.open_chunks(rest);
                self.beats.push(ScriptStep::Hang);
            }
            "length" => {
                self.text("This text ends because it is too");
                self.finish(FinishReason::Length);
            }
            "filter" => {
                self.text("This text ends in the filter");
                self.finish(FinishReason::ContentFilter);
            }
            other => {
                self.text(&format!("There is no \"/demo {other}\"."));
                self.finish(FinishReason::Stop);
            }
        }
    }

    fn say(&mut self, said: Said) {
        self.beats.push(ScriptStep::Say(Box::new(said)));
    }

    fn text(&mut self, text: &str) {
        self.say(Said::TextStarted { block: "text-0".to_owned(), metadata: None });
        for piece in pieces(text, self.manner.chunk_chars) {
            self.say(Said::TextGrew { block: "text-0".to_owned(), text: piece });
        }
        self.say(Said::TextEnded { block: "text-0".to_owned(), metadata: None });
        self.text_chars += text.chars().count();
    }

    fn reasoning(&mut self, text: &str) {
        self.say(Said::ReasoningStarted { block: "reasoning-0".to_owned(), metadata: None });
        for piece in pieces(text, self.manner.chunk_chars) {
            self.say(Said::ReasoningGrew { block: "reasoning-0".to_owned(), text: piece, metadata: None });
        }
        self.say(Said::ReasoningEnded { block: "reasoning-0".to_owned(), metadata: None });
        self.reasoning_chars += text.chars().count();
    }

    fn open_chunks(&mut self, number: &str) {
        self.say(Said::TextStarted { block: "text-0".to_owned(), metadata: None });
        for at in 1..=count(number) {
            let text = format!("chunk {at}\n");
            self.text_chars += text.len();
            self.say(Said::TextGrew { block: "text-0".to_owned(), text });
        }
    }

    fn chunks(&mut self, number: &str, reason: FinishReason) {
        self.open_chunks(number);
        self.say(Said::TextEnded { block: "text-0".to_owned(), metadata: None });
        self.finish(reason);
    }

    /// `NAME {json}`. Ids count the calls of the whole history, so that none repeats.
    fn calls(&mut self, number: usize, order: &str) {
        let (name, json) = order.trim().split_once(' ').unwrap_or((order.trim(), "{}"));
        let before = calls_so_far(self.request);
        for at in 0..number {
            let call = format!("call_demo_{}", before + at + 1);
            let input = match serde_json::from_str::<Value>(json) {
                Ok(value) => CallInput::Json(value),
                Err(error) => CallInput::Malformed { text: json.to_owned(), error: error.to_string() },
            };
            self.say(Said::ToolInputStarted { call: call.clone(), name: name.to_owned() });
            self.say(Said::ToolInputGrew { call: call.clone(), json: json.to_owned() });
            self.say(Said::ToolCalled {
                call,
                name: name.to_owned(),
                input,
                metadata: None,
                by_provider: false,
            });
            self.text_chars += json.len();
        }
        self.finish(FinishReason::ToolCalls);
    }

    fn finish(&mut self, reason: FinishReason) {
        let tokens = |chars: usize| (chars as u64).div_ceil(4);
        let input = tokens(request_chars(self.request));
        let reasoning = tokens(self.reasoning_chars);
        let output = tokens(self.text_chars) + reasoning;
        let usage = Usage {
            input: Some(input),
            output: Some(output),
            reasoning: Some(reasoning),
            cache_read: None,
            cache_write: None,
            total: Some(input + output),
        };
        self.say(Said::Finished { reason, usage, metadata: None });
    }
}

/// `STATUS [after=MS] [message]`.
fn refusal(order: &str) -> Failure {
    let (status, rest) = order.split_once(' ').unwrap_or((order, ""));
    let (after_ms, message) = match rest.strip_prefix("after=") {
        Some(rest) => {
            rest.split_once(' ').map_or((Some(rest), ""), |(after, message)| (Some(after), message))
        }
        None => (None, rest),
    };
    let message = if message.is_empty() { "The demo provider was asked to fail." } else { message };
    let body = serde_json::json!({ "error": { "message": message } }).to_string();
    failure::refused(Refused {
        provider: super::PROVIDER,
        url: None,
        status: status.parse().unwrap_or(500),
        headers: after_ms.map(|after| ("retry-after-ms".to_owned(), after.to_owned())).into_iter().collect(),
        body: &body,
    })
}

fn count(text: &str) -> usize {
    text.trim().parse::<u64>().unwrap_or(1).min(REPEAT_MAX) as usize
}

fn pieces(text: &str, chars: usize) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    letters.chunks(chars).map(|piece| piece.iter().collect()).collect()
}

fn last_user_text(request: &Request) -> String {
    let items = request.messages.iter().rev().find_map(|turn| match turn {
        Turn::User(items) => Some(items.as_slice()),
        Turn::Assistant(_) | Turn::Tool(_) => None,
    });
    let texts = items.unwrap_or_default().iter().filter_map(|item| match item {
        UserItem::Text(text) => Some(text.as_str()),
        UserItem::File(_) => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

fn calls_so_far(request: &Request) -> usize {
    let calls_in = |items: &[AssistantItem]| {
        items.iter().filter(|item| matches!(item, AssistantItem::Call { .. })).count()
    };
    let per_turn = request.messages.iter().map(|turn| match turn {
        Turn::Assistant(items) => calls_in(items),
        Turn::User(_) | Turn::Tool(_) => 0,
    });
    per_turn.sum()
}

fn text_of(content: &ResultContent) -> &str {
    match content {
        ResultContent::Text(text) | ResultContent::Mixed { text, .. } => text,
    }
}

fn request_chars(request: &Request) -> usize {
    let system: usize = request.system.iter().map(String::len).sum();
    let turns = request.messages.iter().map(|turn| match turn {
        Turn::User(items) => items
            .iter()
            .map(|item| match item {
                UserItem::Text(text) => text.len(),
                UserItem::File(file) => file.url.len(),
            })
            .sum::<usize>(),
        Turn::Assistant(items) => items
            .iter()
            .map(|item| match item {
                AssistantItem::Text { text, .. } | AssistantItem::Reasoning { text, .. } => text.len(),
                AssistantItem::Call { name, input, .. } => name.len() + input.to_string().len(),
            })
            .sum(),
        Turn::Tool(results) => results.iter().map(|result| text_of(&result.content).len()).sum(),
    });
    system + turns.sum::<usize>()
}
