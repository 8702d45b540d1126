//! One answer of the model: it opens, texts and reasoning grow, it finishes.

use super::state::{OpenStep, said_in};
use super::{Decision, Effect, Ready, State, StepKind, admit, files, next, subtask, tools};
use crate::fact::{Fact, Words};
use crate::id::MessageId;
use crate::json::Map;
use crate::records;
use crate::stamp::Stamp;
use crate::talk::{FinishReason, Said};
use crate::title::is_default_title;
use crate::types::part::PartBody;
use crate::types::usage::Usage;

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
        let message = stamp.message_id();
        let created = admit::next_message_time(stamp);
        out.fact(Fact::StepStarted {
            message: message.clone(),
            user,
            created,
            takes: Vec::new(),
            ready: Box::new(ready),
        });
        return out.effect(Effect::Summarise { step: message, attempt: 0, text });
    }
    if let Some(part) = subtask::pending(state) {
        return out.effect(Effect::PrepareSubtask { user, part });
    }
    let first_of_turn = turn.user.as_ref() != Some(&user);
    let counts_on = !first_of_turn || turn.goes_on_with(state.machine.waiting.len());
    let steps_before = if counts_on { turn.steps } else { 0 };
    let takes = state.machine.waiting.iter().map(|waiting| waiting.message.clone()).collect();
    let steps_max = ready.steps_max;
    let message = stamp.message_id();
    let created = admit::next_message_time(stamp);
    out.fact(Fact::StepStarted {
        message: message.clone(),
        user: user.clone(),
        created,
        takes,
        ready: Box::new(ready),
    });
    let tools = next::tools_of(steps_before + 1, steps_max);
    out.effect(Effect::CallModel { step: message, user: user.clone(), attempt: 0, tools });
    if first_of_turn && info.parent_id.is_none() && is_default_title(&info.title) {
        out.effect(Effect::MakeTitle { user });
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
        out.fact(Fact::StepBegan { message: step.message.clone(), part: stamp.part_id() });
    }
    match said {
        Said::Started => {}
        Said::TextStarted { block, metadata } => {
            // One text is open at a time; a provider that forgets the end of one gets it here.
            close_texts(step, Which::Text, None, stamp, out);
            open_text(step, block, Words::Text, metadata, stamp, out);
        }
        Said::ReasoningStarted { block, metadata } => {
            if step.open_text(&block).is_none() {
                open_text(step, block, Words::Reasoning, metadata, stamp, out);
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
            replace_closed(step, text, out);
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
    let tokens = usage.tokens();
    let cost = usage.cost(&step.ready.prices);
    out.fact(Fact::StepFinished {
        message: step.message.clone(),
        part: stamp.part_id(),
        reason,
        cost,
        tokens,
        time: stamp.now(),
    });
    files::write_down(state, step, files::Ended::Finished, stamp, out);
    next::after_finish(state, step, reason, &tokens, stamp, out);
}

fn open_text(
    step: &OpenStep,
    block: String,
    words: Words,
    metadata: Option<Map>,
    stamp: &mut Stamp,
    out: &mut Decision,
) {
    let message = step.message.clone();
    out.fact(Fact::TextStarted {
        message,
        part: stamp.part_id(),
        block,
        words,
        start: stamp.now(),
        metadata,
    });
}

fn grow(step: &OpenStep, block: &str, delta: String, out: &mut Decision) {
    let Some(open) = step.open_text(block) else { return };
    if !delta.is_empty() {
        out.fact(Fact::TextGrew { part: open.part.clone(), delta });
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
        let Some(body) = open.body.as_deref() else { continue };
        let wanted = match which {
            Which::All => true,
            Which::Text => matches!(body.body, PartBody::Text(_)),
            Which::Block(block) => open.block == block,
        };
        if let (true, Some(text)) = (wanted, said_in(body)) {
            let text = text.to_owned();
            out.fact(Fact::TextEnded {
                part: open.part.clone(),
                text,
                end: stamp.now(),
                metadata: metadata.clone(),
            });
        }
    }
}

/// Keeps another text in place of the one that was just closed. It was closed as it was said, so that its
/// growth still adds up; what replaces it is a change like any other.
fn replace_closed(step: &OpenStep, words: String, out: &mut Decision) {
    let Some(Fact::TextEnded { part, text, end, metadata }) = out.facts.last() else { return };
    let open = step.texts.iter().find(|open| open.part == *part).and_then(|open| open.body.as_deref());
    let Some(open) = open.filter(|open| matches!(open.body, PartBody::Text(_)) && *text != words) else {
        return;
    };
    let replaced = records::closed(open.clone(), &words, *end, metadata.as_ref());
    out.fact(Fact::PartWritten { part: Box::new(replaced) });
}
