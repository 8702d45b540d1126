//! One answer of the model: it opens, texts and reasoning grow, it finishes.

use super::deciding::Deciding;
use super::phase::Phase;
use super::state::{OpenStep, said_in};
use super::{Effect, Ready, StepKind, admit, files, next, subtask, tools};
use crate::fact::{Fact, Words};
use crate::id::MessageId;
use crate::json::Map;
use crate::records;
use crate::talk::{FinishReason, Said};
use crate::title::is_default_title;
use crate::types::part::{Part, PartBody};
use crate::types::usage::Usage;

impl Deciding<'_> {
    /// Opens a step for the newest prompt. Everybody who waited to join is promoted with it.
    ///
    /// Invariant I6: at most one step is open, and nothing joins a closed one.
    pub(super) fn start_step(&mut self, user: MessageId, ready: Ready) {
        let state = self.now();
        let (Some(info), Some(turn)) = (state.info.as_deref(), state.machine.turn.as_ref()) else { return };
        if turn.step.is_some() || !self.is_awaited(&user) {
            return;
        }
        if let StepKind::Compact(compaction) = &ready.kind {
            let text = compaction.text.clone();
            let message = self.stamp.message_id();
            let created = admit::next_message_time(self.stamp);
            self.fact(Fact::StepStarted {
                message: message.clone(),
                user,
                created,
                takes: Vec::new(),
                ready: Box::new(ready),
            });
            return self.effect(Effect::Summarise { step: message, attempt: 0, text });
        }
        if let Some(part) = subtask::pending(&state) {
            return self.effect(Effect::PrepareSubtask { user, part });
        }
        let first_of_turn = turn.user.as_ref() != Some(&user);
        let takes = state.next_prompts();
        let steps_max = ready.steps_max;
        let message = self.stamp.message_id();
        let created = admit::next_message_time(self.stamp);
        self.fact(Fact::StepStarted {
            message: message.clone(),
            user: user.clone(),
            created,
            takes,
            ready: Box::new(ready),
        });
        let steps = self.now().machine.turn.as_ref().map_or(0, |turn| turn.steps);
        let tools = next::tools_of(steps, steps_max);
        self.effect(Effect::CallModel { step: message, user: user.clone(), attempt: 0, tools });
        if first_of_turn && info.parent_id.is_none() && is_default_title(&info.title) {
            self.effect(Effect::MakeTitle { user });
        }
    }

    /// The model said something.
    pub(super) fn said(&mut self, message: &MessageId, attempt: u32, said: Said) {
        let state = self.now();
        // A stale input is dropped: the step was aborted, or this attempt was given up.
        let Some(step) = state.step_at(message, attempt) else { return };
        if !step.phase.hears_the_model() {
            return;
        }
        if step.phase != Phase::Talking {
            let part = self.stamp.part_id();
            self.fact(Fact::StepBegan { message: step.message.clone(), part });
        }
        match said {
            Said::Started => {}
            Said::TextStarted { block, metadata } => {
                // One text is open at a time; a provider that forgets the end of one gets it here.
                self.close_texts(step, Which::Text, None);
                self.open_text(step, block, Words::Text, metadata);
            }
            Said::ReasoningStarted { block, metadata } => {
                if step.open_text(&block).is_none() {
                    self.open_text(step, block, Words::Reasoning, metadata);
                }
            }
            Said::TextGrew { block, text } | Said::ReasoningGrew { block, text, .. } => {
                self.grow_text(step, &block, text);
            }
            Said::TextEnded { block, metadata } | Said::ReasoningEnded { block, metadata } => {
                self.close_texts(step, Which::Block(&block), metadata);
            }
            Said::TextReplaced { block, text, metadata } => {
                self.replace_text(step, &block, &text, metadata);
            }
            // Nothing was offered to a model that summarises; what it calls all the same is nothing.
            Said::ToolInputStarted { .. } | Said::ToolCalled { .. } | Said::ToolReturned { .. }
                if step.ready.kind.is_compaction() => {}
            Said::ToolInputStarted { call, name } => self.announced(step, call, name),
            Said::ToolInputGrew { call, json } => self.arguments_grew(step, &call, json),
            Said::ToolCalled { call, name, input, metadata, by_provider } => {
                let called = tools::Called { call, name, input, metadata, by_provider };
                self.called(step, called);
            }
            Said::ToolReturned { call, output, is_error } => {
                self.provider_returned(step, &call, output, is_error);
            }
            Said::Finished { reason, usage, .. } => self.model_finished(step, reason, usage),
        }
    }

    /// The model's last word. The step ends when its calls have.
    fn model_finished(&mut self, step: &OpenStep, reason: FinishReason, usage: Usage) {
        self.close_texts(step, Which::All, None);
        if step.has_running_calls() {
            self.fact(Fact::ModelFinished { message: step.message.clone(), reason, usage });
            return;
        }
        self.finish_step(step, reason, usage);
    }

    /// Writes down why the step stopped and what it used, then ends it.
    pub(super) fn finish_step(&mut self, step: &OpenStep, reason: FinishReason, usage: Usage) {
        let tokens = usage.tokens();
        let cost = usage.cost(&step.ready.prices);
        let part = self.stamp.part_id();
        self.fact(Fact::StepFinished {
            message: step.message.clone(),
            part,
            reason,
            cost,
            tokens,
            time: self.stamp.now(),
        });
        self.write_down_files(step, files::Ended::Finished);
        self.after_finish(step, reason, &tokens);
    }

    fn open_text(&mut self, step: &OpenStep, block: String, words: Words, metadata: Option<Map>) {
        let message = step.message.clone();
        let part = self.stamp.part_id();
        self.fact(Fact::TextStarted { message, part, block, words, start: self.stamp.now(), metadata });
    }

    fn grow_text(&mut self, step: &OpenStep, block: &str, delta: String) {
        let Some(open) = step.open_text(block) else { return };
        if !delta.is_empty() {
            self.fact(Fact::TextGrew { part: open.part.clone(), delta });
        }
    }
}

/// Which open texts to close.
#[derive(Clone, Copy)]
pub(super) enum Which<'a> {
    All,
    Text,
    Block(&'a str),
}

impl Deciding<'_> {
    /// Invariant I9: a closed text is the sum of its chunks.
    pub(super) fn close_texts(&mut self, step: &OpenStep, which: Which<'_>, metadata: Option<Map>) {
        for open in &step.texts {
            let Some(body) = open.body.as_deref() else { continue };
            let wanted = match which {
                Which::All => true,
                Which::Text => matches!(body.body, PartBody::Text(_)),
                Which::Block(block) => open.block == block,
            };
            if let (true, Some(text)) = (wanted, said_in(body)) {
                let text = text.to_owned();
                self.fact(Fact::TextEnded {
                    part: open.part.clone(),
                    text,
                    end: self.stamp.now(),
                    metadata: metadata.clone(),
                });
            }
        }
    }

    /// Closes a text and keeps another in its place. It is closed as it was said, so that its growth still adds
    /// up; what replaces it is a change like any other.
    fn replace_text(&mut self, step: &OpenStep, block: &str, words: &str, metadata: Option<Map>) {
        self.close_texts(step, Which::Block(block), metadata.clone());
        let open = step.open_text(block).and_then(|open| open.body.as_deref());
        let differs = |open: &&Part| matches!(&open.body, PartBody::Text(text) if text.text != words);
        if let Some(open) = open.filter(differs) {
            let replaced = records::closed(open.clone(), words, self.stamp.now(), metadata.as_ref());
            self.fact(Fact::PartWritten { part: Box::new(replaced) });
        }
    }
}
