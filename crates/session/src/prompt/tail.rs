//! What a compaction summarises, and what stays as it is.
//!
//! `plan` divides the history before the request: a *head* to be summarised and a *tail* of
//! recent turns that the model goes on seeing word for word. When the provider refused the
//! request as too large, there is no tail; instead the prompt that did not fit is *replayed*
//! behind the summary, without its media.
//!
//! Four things differ from the reference, all in favour of what the user said. Nothing
//! between a replayed prompt and the request is forgotten: steps the model had already made
//! are part of the head. A replay keeps no tail, because the tail would contain the very
//! prompt that did not fit. A prompt whose turn is split is quoted behind the summary. And the
//! size of a turn is the sum of its messages, so that choosing is linear in the history.

mod size;

pub use size::size_chars;

use super::history::{compaction_of, is_complete_summary};
use super::lower::{Target, attached, is_media, lower};
use super::serialise::conversation;
use crate::id::MessageId;
use crate::json::{Map, utf16_len, utf16_prefix};
use crate::overflow::estimate_chars;
use crate::stamp::Millis;
use crate::types::message::{Message, MessageWithParts};
use crate::types::part::{PartBody, Span, TextPart};
use std::collections::HashSet;
use std::ops::Range;

const TAIL_TOKENS_MIN: u64 = 2000;
const TAIL_TOKENS_MAX: u64 = 15_000;
/// About 4 000 tokens: longer than anybody types, shorter than what somebody may paste.
const REQUEST_CHARS_MAX: usize = 16_000;

const CONTINUE: &str =
    "Go on with the next step if it is clear what it is. If it is not, say what you need to know.";
const REQUEST_INTRO: &str = "The request you are working on, as the user wrote it:";
const TOO_LARGE: &str = "The last request was larger than the model can take, most likely because of attached files. The conversation has been summarised and the attachments are no longer part of it. Tell the user so if the attachments matter for the answer.";

/// The settings that matter here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TailRules {
    /// Consider only so many recent turns; zero or less keeps none.
    pub turns: Option<i64>,
    /// Tokens to keep, instead of a quarter of what is usable.
    pub tokens: Option<u64>,
    /// How much history fits (`overflow::Limits::usable`); zero when unknown.
    pub usable: u64,
}

impl TailRules {
    /// How many tokens the tail may have.
    #[must_use]
    pub fn budget(&self) -> u64 {
        self.tokens.unwrap_or_else(|| (self.usable / 4).clamp(TAIL_TOKENS_MIN, TAIL_TOKENS_MAX))
    }
}

/// How a history is divided.
#[derive(Debug, Default)]
pub struct Plan<'a> {
    /// To be summarised, in order.
    pub head: Vec<&'a MessageWithParts>,
    /// The first message the model goes on seeing.
    pub tail_start: Option<&'a MessageId>,
    /// What an earlier compaction wrote; to be merged.
    pub previous_summary: Option<String>,
    /// The words of the newest prompt, when only the summary would tell of them.
    pub request: Option<String>,
    /// The prompt to be said again behind the summary.
    pub replay: Option<&'a MessageWithParts>,
}

/// Divides the history before `request`. `target` is the model that goes on with it.
#[must_use]
pub fn plan<'a>(
    history: &'a [MessageWithParts],
    request: &MessageId,
    overflow: bool,
    target: &Target,
    rules: &TailRules,
) -> Plan<'a> {
    let end = history.iter().position(|message| message.info.id() == request).unwrap_or(history.len());
    let before = &history[..end];
    let previous_summary = newest_summary(before);
    let open = without_complete_pairs(before);

    if overflow && let Some((head, replay)) = replay(&open) {
        return Plan { head, previous_summary, replay: Some(replay), ..Plan::default() };
    }
    let start = tail_start(&open, target, rules);
    let head = open[..start.unwrap_or(open.len())].to_vec();
    let tail_start = start.map(|start| open[start].info.id());
    let request = head_prompt(&open, start);
    Plan { head, tail_start, previous_summary, request, replay: None }
}

/// What an earlier compaction has settled: requests with a complete summary, and the summaries.
fn without_complete_pairs(messages: &[MessageWithParts]) -> Vec<&MessageWithParts> {
    let settled: HashSet<&MessageId> =
        complete_summaries(messages).flat_map(|(message, parent)| [message.info.id(), parent]).collect();
    messages.iter().filter(|message| !settled.contains(message.info.id())).collect()
}

fn complete_summaries(
    messages: &[MessageWithParts],
) -> impl Iterator<Item = (&MessageWithParts, &MessageId)> {
    messages.iter().filter_map(|message| match &message.info {
        Message::Assistant(info) if is_complete_summary(info) => Some((message, &info.parent_id)),
        Message::Assistant(_) | Message::User(_) => None,
    })
}

fn newest_summary(messages: &[MessageWithParts]) -> Option<String> {
    let (summary, _) = complete_summaries(messages)
        .max_by_key(|(message, _)| (message.info.created(), message.info.id()))?;
    let texts: Vec<&str> = summary
        .parts
        .iter()
        .filter_map(|part| {
            let PartBody::Text(text) = &part.body else { return None };
            Some(text.text.trim()).filter(|text| !text.is_empty())
        })
        .collect();
    (!texts.is_empty()).then(|| texts.join("\n\n"))
}

/// The newest prompt is left out, if an earlier one remains to be summarised.
fn replay<'a>(open: &[&'a MessageWithParts]) -> Option<(Vec<&'a MessageWithParts>, &'a MessageWithParts)> {
    let at = open.iter().rposition(|message| is_prompt(message))?;
    if !open[..at].iter().any(|message| is_prompt(message)) {
        return None;
    }
    // Steps the model made for it are worth more than a clean cut: with them, the prompt
    // stands in the head too, so that the summary can say what they were for.
    let has_steps = !conversation(open[at + 1..].iter().copied()).is_empty();
    let head = if has_steps { open.to_vec() } else { open[..at].to_vec() };
    Some((head, open[at]))
}

/// A user message that is not a request for a compaction: it begins a turn.
fn is_prompt(message: &MessageWithParts) -> bool {
    matches!(message.info, Message::User(_)) && compaction_of(message).is_none()
}

/// What the user typed last, when it is to be summarised: the one thing that must not come
/// out of a summary slightly different.
fn head_prompt(open: &[&MessageWithParts], tail_start: Option<usize>) -> Option<String> {
    let at = open.iter().rposition(|message| is_prompt(message))?;
    if tail_start.is_some_and(|start| start <= at) {
        return None;
    }
    let typed = open[at].parts.iter().filter_map(|part| {
        let PartBody::Text(text) = &part.body else { return None };
        let is_typed = text.synthetic != Some(true) && text.ignored != Some(true);
        is_typed.then(|| text.text.trim())
    });
    let words = typed.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n\n");
    if utf16_len(&words) > REQUEST_CHARS_MAX {
        return Some(format!("{}\n[truncated]", utf16_prefix(&words, REQUEST_CHARS_MAX)));
    }
    (!words.is_empty()).then_some(words)
}

/// Where the tail begins, if there is one.
fn tail_start(open: &[&MessageWithParts], target: &Target, rules: &TailRules) -> Option<usize> {
    let turns_max = rules.turns.map_or(usize::MAX, |turns| usize::try_from(turns).unwrap_or(0));
    let mut left = rules.budget();
    let mut start = None;
    for turn in turns(open).into_iter().rev().take(turns_max) {
        let suffixes = suffix_tokens(&open[turn.clone()], target);
        let whole = suffixes.first().copied().unwrap_or(0);
        if whole <= left {
            left -= whole;
            start = Some(turn.start);
            continue;
        }
        // The end of a turn that does not fit as a whole; its prompt is in the head then.
        let fitting = suffixes.iter().skip(1).position(|tokens| *tokens <= left);
        start = fitting.map(|at| turn.start + 1 + at).or(start);
        break;
    }
    // Everything kept means nothing summarised.
    start.filter(|start| *start > 0)
}

/// Each prompt up to the next one.
fn turns(open: &[&MessageWithParts]) -> Vec<Range<usize>> {
    let starts: Vec<usize> = (0..open.len()).filter(|at| is_prompt(open[*at])).collect();
    let ends = starts.iter().copied().skip(1).chain([open.len()]);
    starts.iter().copied().zip(ends).map(|(start, end)| start..end).collect()
}

/// For each message, the tokens from it to the end.
fn suffix_tokens(messages: &[&MessageWithParts], target: &Target) -> Vec<u64> {
    let mut chars = 0;
    let mut tokens: Vec<u64> = messages
        .iter()
        .rev()
        .map(|message| {
            chars += size_chars(&lower(std::slice::from_ref(*message), target));
            estimate_chars(chars)
        })
        .collect();
    tokens.reverse();
    tokens
}

/// The parts of a replayed prompt: as they were, but with a line in place of each image and PDF.
#[must_use]
pub fn replayed_parts(prompt: &MessageWithParts) -> Vec<PartBody> {
    let copy = |body: &PartBody| match body {
        PartBody::Compaction(_) => None,
        PartBody::File(file) if is_media(&file.mime) => {
            Some(PartBody::Text(TextPart { text: attached(file), ..TextPart::default() }))
        }
        PartBody::Text(_)
        | PartBody::Subtask(_)
        | PartBody::Reasoning(_)
        | PartBody::File(_)
        | PartBody::Tool(_)
        | PartBody::StepStart(_)
        | PartBody::StepFinish(_)
        | PartBody::Snapshot(_)
        | PartBody::Patch(_)
        | PartBody::Agent(_)
        | PartBody::Retry(_) => Some(body.clone()),
    };
    prompt.parts.iter().filter_map(|part| copy(&part.body)).collect()
}

/// What is said after an automatic compaction that replays nothing. `request` is `Plan::request`.
#[must_use]
pub fn follow_up(overflow: bool, request: Option<&str>, now: Millis) -> TextPart {
    let mut texts = Vec::new();
    if overflow {
        texts.push(TOO_LARGE.to_owned());
    }
    if let Some(request) = request {
        texts.push(format!("{REQUEST_INTRO}\n<request>\n{request}\n</request>"));
    }
    texts.push(CONTINUE.to_owned());
    let metadata = Map::from_iter([("compaction_continue".to_owned(), true.into())]);
    let time = Some(Span { start: now, end: Some(now) });
    TextPart {
        text: texts.join("\n\n"),
        synthetic: Some(true),
        ignored: None,
        time,
        metadata: Some(metadata),
    }
}
