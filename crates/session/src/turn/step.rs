//! One answer of the model: it opens, texts and reasoning grow, it finishes.

use super::state::OpenStep;
use super::{Decision, Effect, Ready, State, StepKind, admit, files, next, subtask, tools};
use crate::fact::{Edit, Fact};
use crate::id::MessageId;
use crate::json::{Map, Num};
use crate::stamp::{Millis, Stamp};
use crate::talk::{FinishReason, Said};
use crate::title::is_default_title;
use crate::types::message::{AssistantMessage, AssistantRole, AssistantTime};
use crate::types::part::{Part, PartBody, ReasoningPart, Span, StepFinishPart, StepStartPart, TextPart};
use crate::types::session::{Session, SessionSummary};
use crate::types::status::Status;
use crate::types::usage::{Tokens, Usage};

/// Opens a step for the newest prompt. Everybody who waited is promoted with it.
///
/// Invariant I6: at most one step is open, and nothing joins a closed one.
pub(super) fn start(state: &State, user: MessageId, ready: Ready, stamp: &mut Stamp, out: &mut Decision) {
    let (Some(info), Some(turn)) = (state.info.as_deref(), state.machine.turn.as_ref()) else { return };
    if turn.step.is_some() || !next::is_awaited(state, &user, out) {
        return;
    }
    if let StepKind::Compact(compaction) = &ready.kind {
        let text = compaction.text.clone();
        let mut message = opening(state, info, &user, &ready, stamp);
        message.summary = Some(true);
        let step = message.id.clone();
        out.fact(Fact::StepStarted { info: Box::new(message), ready: Box::new(ready) });
        out.fact(Fact::StatusChanged { status: Status::Busy });
        return out.effect(Effect::Summarise { step, attempt: 0, text });
    }
    if let Some(part) = subtask::pending(state) {
        return out.effect(Effect::PrepareSubtask { user, part });
    }
    let first_of_turn = turn.user.as_ref() != Some(&user);
    let counts_on = !first_of_turn || turn.goes_on_with(state.machine.waiting.len());
    let steps_before = if counts_on { turn.steps } else { 0 };
    let waiting: Vec<_> = state.machine.waiting.iter().map(|waiting| waiting.message.clone()).collect();
    if !waiting.is_empty() {
        out.fact(Fact::PromptPromoted { messages: waiting });
    }
    let message = opening(state, info, &user, &ready, stamp);
    let (step, steps_max) = (message.id.clone(), ready.steps_max);
    out.fact(Fact::StepStarted { info: Box::new(message), ready: Box::new(ready) });
    if first_of_turn && state.machine.waiting.last().is_some_and(|waiting| waiting.info.is_some()) {
        summarise(info.clone(), &user, stamp, out);
    }
    // Said again with every request, as clients count on it.
    out.fact(Fact::StatusChanged { status: Status::Busy });
    let tools = next::tools_of(steps_before + 1, steps_max);
    out.effect(Effect::CallModel { step, user: user.clone(), attempt: 0, tools });
    if first_of_turn && info.parent_id.is_none() && is_default_title(&info.title) {
        out.effect(Effect::MakeTitle { user });
    }
}

/// The message of a step that begins.
pub(super) fn opening(
    state: &State,
    info: &Session,
    user: &MessageId,
    ready: &Ready,
    stamp: &mut Stamp,
) -> AssistantMessage {
    AssistantMessage {
        id: stamp.message_id(),
        session_id: info.id.clone(),
        role: AssistantRole::Assistant,
        time: AssistantTime { created: admit::next_message_time(state, stamp), completed: None },
        error: None,
        parent_id: user.clone(),
        model_id: ready.model_id.clone(),
        provider_id: ready.provider_id.clone(),
        mode: ready.agent.clone(),
        agent: ready.agent.clone(),
        path: ready.path.clone().into(),
        summary: None,
        cost: Num::ZERO,
        tokens: Tokens::default(),
        structured: None,
        variant: ready.variant.clone(),
        finish: None,
    }
}

/// The model said something.
pub(super) fn said(
    state: &State,
    message: &MessageId,
    attempt: u32,
    said: Said,
    stamp: &mut Stamp,
    out: &mut Decision,
) {
    // Late news is no news: the step was aborted, or this attempt was given up.
    let Some(step) = state.step_at(message, attempt) else { return };
    if step.finished.is_some() || step.stopping {
        return;
    }
    if !step.began {
        begin(step, stamp, out);
    }
    match said {
        Said::Started => {}
        Said::TextStarted { block, metadata } => {
            // One text is open at a time; a provider that forgets the end of one gets it here.
            close_texts(step, Which::Text, None, stamp, out);
            let text = TextPart { metadata, time: Some(since(stamp.now())), ..TextPart::default() };
            open_text(step, block, PartBody::Text(text), stamp, out);
        }
        Said::ReasoningStarted { block, metadata } => {
            if step.open_text(&block).is_none() {
                let time = since(stamp.now());
                let reasoning = ReasoningPart { text: String::new(), metadata, time };
                open_text(step, block, PartBody::Reasoning(reasoning), stamp, out);
            }
        }
        Said::TextGrew { block, text } | Said::ReasoningGrew { block, text, .. } => {
            grow(step, &block, text, out);
        }
        Said::TextEnded { block, metadata } | Said::ReasoningEnded { block, metadata } => {
            close_texts(step, Which::Block(&block), metadata, stamp, out);
        }
        Said::TextReplaced { block, text, metadata } => {
            close_texts(step, Which::Block(&block), metadata, stamp, out);
            replace_closed(text, out);
        }
        // Nothing was offered to a model that summarises; what it calls all the same is nothing.
        Said::ToolInputStarted { .. } | Said::ToolCalled { .. } | Said::ToolReturned { .. }
            if step.ready.kind.is_compaction() => {}
        Said::ToolInputStarted { call, name } => tools::announced(step, call, name, stamp, out),
        Said::ToolInputGrew { .. } => {}
        Said::ToolCalled { call, name, input, metadata, by_provider } => {
            let called = tools::Called { call, name, input, metadata, by_provider };
            tools::called(state, step, called, stamp, out);
        }
        Said::ToolReturned { call, output, is_error } => {
            tools::provider_returned(step, &call, output, is_error, stamp, out);
        }
        Said::Finished { reason, usage, .. } => finished(state, step, reason, usage, stamp, out),
    }
}

/// The provider was heard for the first time in this attempt.
fn begin(step: &OpenStep, stamp: &mut Stamp, out: &mut Decision) {
    let start = StepStartPart { snapshot: step.ready.tree.clone() };
    write_part(step, PartBody::StepStart(start), stamp, out);
}

/// The model's last word. The step ends when its calls have.
fn finished(
    state: &State,
    step: &OpenStep,
    reason: FinishReason,
    usage: Usage,
    stamp: &mut Stamp,
    out: &mut Decision,
) {
    close_texts(step, Which::All, None, stamp, out);
    if step.has_running_calls() {
        out.fact(Fact::ModelFinished { message: step.message.clone(), reason, usage });
        return;
    }
    finish(state, step, reason, usage, stamp, out);
}

/// Writes down why the step stopped and what it used, then ends it.
pub(super) fn finish(
    state: &State,
    step: &OpenStep,
    reason: FinishReason,
    usage: Usage,
    stamp: &mut Stamp,
    out: &mut Decision,
) {
    let (tokens, cost) = (usage.tokens(), usage.cost(&step.ready.prices));
    let reason = reason.as_str().to_owned();
    let after = step.files.as_ref().map(|files| files.after.clone());
    let snapshot = after.or_else(|| step.ready.tree.clone());
    let part = StepFinishPart { reason: reason.clone(), snapshot, cost, tokens };
    write_part(step, PartBody::StepFinish(part), stamp, out);
    out.fact(Fact::StepFinished { message: step.message.clone(), finish: reason.clone(), cost, tokens });
    files::write_down(step, files::Ended::Finished, stamp, out);
    let has_changed =
        step.files.is_some() || state.machine.turn.as_ref().is_some_and(|turn| turn.has_changed);
    if let Some(info) = state.info.as_deref()
        && state.machine.turn.as_ref().is_some_and(|turn| turn.asked.is_some())
        && !has_changed
    {
        // The record as the fact above leaves it.
        let mut record = info.clone();
        record.cost += cost;
        record.tokens.add(&tokens);
        summarise(record, &step.user, stamp, out);
    }
    next::after_finish(state, step, &reason, &tokens, stamp, out);
}

/// Tells clients that the turn has changed nothing on disk so far.
fn summarise(mut record: Session, user: &MessageId, stamp: &Stamp, out: &mut Decision) {
    let none = Num::ZERO;
    // What the session has changed before this turn stays known.
    let has_changed = record.summary.as_ref().is_some_and(|summary| summary.files != none);
    if !has_changed {
        record.summary = Some(SessionSummary { additions: none, deletions: none, files: none, diffs: None });
    }
    record.time.updated = stamp.now().max(record.time.updated);
    out.fact(Fact::SessionEdited { edit: Edit::Summarised, info: Box::new(record) });
    if !has_changed {
        out.fact(Fact::SessionDiffed { diff: Vec::new() });
    }
    out.fact(Fact::TurnSummarised { message: user.clone(), diffs: Vec::new() });
}

fn since(start: Millis) -> Span {
    Span { start, end: None }
}

fn open_text(step: &OpenStep, block: String, body: PartBody, stamp: &mut Stamp, out: &mut Decision) {
    let part = Box::new(new_part(step, body, stamp));
    out.fact(Fact::TextStarted { part, block });
}

fn grow(step: &OpenStep, block: &str, delta: String, out: &mut Decision) {
    let Some(open) = step.open_text(block) else { return };
    if !delta.is_empty() {
        out.fact(Fact::TextGrew { message: step.message.clone(), part: open.part.clone(), delta });
    }
}

/// Which open texts to close.
#[derive(Clone, Copy)]
pub(super) enum Which<'a> {
    All,
    Text,
    Block(&'a str),
}

/// Invariant I9: a closed text is the sum of its chunks.
pub(super) fn close_texts(
    step: &OpenStep,
    which: Which<'_>,
    metadata: Option<Map>,
    stamp: &mut Stamp,
    out: &mut Decision,
) {
    for open in &step.texts {
        let Some(mut part) = open.body.clone() else { continue };
        let is_text = matches!(part.body, PartBody::Text(_));
        let wanted = match which {
            Which::All => true,
            Which::Text => is_text,
            Which::Block(block) => open.block == block,
        };
        if !wanted {
            continue;
        }
        match &mut part.body {
            PartBody::Text(text) => {
                let start = text.time.map_or(stamp.now(), |time| time.start);
                text.time = Some(Span { start, end: Some(stamp.now()) });
                text.metadata = metadata.clone().or_else(|| text.metadata.take());
            }
            PartBody::Reasoning(reasoning) => {
                reasoning.time.end = Some(stamp.now());
                reasoning.metadata = metadata.clone().or_else(|| reasoning.metadata.take());
            }
            _ => {}
        }
        out.fact(Fact::TextEnded { part });
    }
}

/// Keeps another text in place of the one that was just closed. It was closed as it was said, so that its
/// growth still adds up; what replaces it is a change like any other.
fn replace_closed(words: String, out: &mut Decision) {
    let Some(Fact::TextEnded { part }) = out.facts.last() else { return };
    let mut part = part.clone();
    if let PartBody::Text(text) = &mut part.body
        && text.text != words
    {
        text.text = words;
        out.fact(Fact::PartWritten { part });
    }
}

pub(super) fn new_part(step: &OpenStep, body: PartBody, stamp: &mut Stamp) -> Part {
    let session_id = match &step.info {
        Some(info) => info.session_id.clone(),
        None => unreachable!("BUG: an open step has its message"),
    };
    Part { id: stamp.part_id(), session_id, message_id: step.message.clone(), body }
}

pub(super) fn write_part(step: &OpenStep, body: PartBody, stamp: &mut Stamp, out: &mut Decision) {
    let part = Box::new(new_part(step, body, stamp));
    out.fact(Fact::PartWritten { part });
}
