//! From a fact to what clients see: the one place that makes events of what is stored.
//!
//! `show` takes a fact and the state before it and gives the events in the order clients know them: none,
//! one, or several. Compatibility lives here and nowhere else: that `busy` is said again with every request
//! and once more before a session rests, that a session record is sent with every prompt, that a turn which
//! changed nothing on disk is summarised all the same.
//!
//! `replay` does the same for readers that were away, forward from a keyframe: what it shows is what was
//! shown live, to the byte.
//!
//! Not here: events that are not stored (`types/event.rs` has their shapes), ids and envelopes (the server).

mod next;
mod replay;

pub(crate) use next::count_durable;
pub use next::{NextEvent, show_next};
pub use replay::{Replay, ReplayError};

use crate::fact::{Fact, Posted, TurnEnd};
use crate::id::{MessageId, SessionId};
use crate::records::{self, Owner};
use crate::stamp::Millis;
use crate::turn::{OpenStep, State, StepKind};
use crate::types::diff::FileDiff;
use crate::types::event::{
    Event, OfSession, PermissionReplied, QuestionRejected, QuestionReplied, SessionInfo,
};
use crate::types::message::Message;
use crate::types::part::Part;
use crate::types::session::Session;
use crate::types::status::Status;

/// The events of one fact; `before` is the state it came upon, `at` its time.
#[must_use]
pub fn show(before: &State, fact: &Fact, at: Millis) -> Vec<Event> {
    let Some(info) = record(before, fact) else { return Vec::new() };
    let mut shown = Shown { session: &info.id, at, events: Vec::new() };
    shown.fact(before, info, fact);
    shown.events
}

/// The session record that a fact is about.
fn record<'a>(before: &'a State, fact: &'a Fact) -> Option<&'a Session> {
    // A removed session has nothing but this fact left; it says by itself what the session was.
    if let Fact::SessionCreated { info } | Fact::SessionRemoved { info } = fact {
        return Some(info);
    }
    before.info.as_deref()
}

struct Shown<'a> {
    session: &'a SessionId,
    at: Millis,
    events: Vec<Event>,
}

impl Shown<'_> {
    fn fact(&mut self, before: &State, info: &Session, fact: &Fact) {
        let step = before.open_step();
        match fact {
            Fact::SessionCreated { info } => {
                let created = SessionInfo { session_id: info.id.clone(), info: info.clone() };
                self.events.push(Event::SessionCreated(created));
            }
            Fact::SessionEdited { edit } => self.session_updated(records::edited(info, edit)),
            Fact::SessionReverted { revert, totals, updated, .. } => {
                if let Some(totals) = totals {
                    self.session_diff(totals.session.clone());
                }
                let revert = revert.as_deref();
                let totals = totals.as_deref();
                self.session_updated(records::reverted(info, revert, totals, *updated));
            }
            Fact::SessionRemoved { info } => {
                let removed = SessionInfo { session_id: info.id.clone(), info: info.clone() };
                self.events.push(Event::SessionDeleted(removed));
            }
            Fact::MessageAdded { posted } => self.posted(info, posted),
            Fact::PromptAdmitted { posted, begins, .. } => {
                self.posted(info, posted);
                self.busy_if(*begins);
                let line = before.line();
                let joins = (!begins).then_some(&posted.info.id);
                self.line(before, line.into_iter().chain(joins).cloned().collect());
            }
            Fact::CompactionWanted { posted, begins, .. } => {
                self.posted(info, posted);
                self.busy_if(*begins);
            }
            Fact::PromptWithdrawn { message } | Fact::MessageRemoved { message, .. } => {
                let session_id = self.session.clone();
                let message_id = message.clone();
                self.events.push(Event::MessageRemoved { session_id, message_id });
                self.line_without(before, std::slice::from_ref(message));
            }
            Fact::MessageCopied { info, .. } => self.message((**info).clone()),
            Fact::PartWritten { part } => self.part((**part).clone()),
            Fact::PartRemoved { message, part, .. } => self.events.push(Event::PartRemoved {
                session_id: self.session.clone(),
                message_id: message.clone(),
                part_id: part.clone(),
            }),
            Fact::TurnDiffed { diffed, updated } => {
                self.session_updated(records::diffed(info, diffed, *updated));
                self.session_diff(diffed.session.clone());
                self.message(Message::User(Box::new(diffed.prompt.clone())));
            }
            Fact::TurnContinued { .. } => self.status(Status::Busy),
            Fact::SessionIdled { end } => {
                self.line(before, before.waiting().cloned().collect());
                self.idle(*end);
            }
            Fact::StepStarted { message, user, created, takes, ready } => {
                let opening = records::opening(self.session, message, user, *created, ready);
                self.message(Message::Assistant(Box::new(opening)));
                match &ready.kind {
                    StepKind::Answer => {
                        if let Some(newest) = takes.last() {
                            self.summary(before, records::summarised(info.clone(), *created), newest);
                        }
                        // Said again with every request, as clients count on it.
                        self.status(Status::Busy);
                    }
                    StepKind::Compact(_) => self.status(Status::Busy),
                    StepKind::Shell | StepKind::Subtask { .. } => {}
                }
                self.line_without(before, takes);
            }
            Fact::ShellStarted { posted, message, created, ready } => {
                self.status(Status::Busy);
                self.posted(info, posted);
                let opening = records::opening(self.session, message, &posted.info.id, *created, ready);
                self.message(Message::Assistant(Box::new(opening)));
            }
            Fact::StepBegan { message, part } => {
                if let Some(step) = step {
                    self.part(self.owner(message).step_start(part, &step.ready));
                }
            }
            Fact::StepDelayed { message, attempt, reason, next, note } => {
                if let Some(note) = note {
                    self.part(self.owner(message).retry(note, *attempt));
                }
                let attempt = *attempt;
                let reason = reason.clone();
                let next = *next;
                self.status(Status::Retry { attempt, message: reason, action: None, next });
            }
            Fact::StepRetried { .. } => self.status(Status::Busy),
            Fact::StepFinished { message, part, reason, cost, tokens, time } => {
                let Some(step) = step else { return };
                let tree = step.tree_after();
                self.part(self.owner(message).step_finish(part, tree, *reason, *cost, *tokens));
                if let Some(info) = step.info.as_deref() {
                    let finished = records::finished(info.clone(), *reason, *cost, tokens);
                    self.message(Message::Assistant(Box::new(finished)));
                }
                let used = records::with_usage(info, *cost, tokens);
                if !before.turn_has_changed_files() {
                    self.summary(before, records::summarised(used, *time), &step.user);
                }
            }
            Fact::StepEnded { .. } => {
                if let Some(info) = step.and_then(|step| step.info.as_deref()) {
                    self.message(Message::Assistant(Box::new(records::ended(info.clone(), fact))));
                }
            }
            Fact::TextStarted { message, part, words, start, metadata, .. } => {
                self.part(self.owner(message).text(part, *words, *start, metadata.clone()));
            }
            Fact::TextGrew { part, delta } => {
                // Clients of this wire are not told of arguments while they stream.
                let is_text = |step: &&OpenStep| step.texts.iter().any(|text| text.part == *part);
                let Some(step) = step.filter(is_text) else { return };
                self.events.push(Event::PartDelta {
                    session_id: self.session.clone(),
                    message_id: step.message.clone(),
                    part_id: part.clone(),
                    field: "text".to_owned(),
                    delta: delta.clone(),
                });
            }
            Fact::TextEnded { .. }
            | Fact::ToolStarted { .. }
            | Fact::ToolProgressed { .. }
            | Fact::ToolEnded { .. }
            | Fact::ToolCompacted { .. } => {
                self.events.extend(part_after(before, fact).map(|part| self.updated(part)));
            }
            Fact::ToolCalled { message, part, call, tool, running } => {
                self.part(self.owner(message).call(part, call, tool, running.as_deref()));
            }
            Fact::PermissionAsked { request, .. } => {
                self.events.push(Event::PermissionAsked((**request).clone()));
            }
            Fact::PermissionReplied { request, reply, .. } => {
                let session_id = self.session.clone();
                let request_id = request.clone();
                let replied = PermissionReplied { session_id, request_id, reply: *reply };
                self.events.push(Event::PermissionReplied(replied));
            }
            Fact::QuestionAsked { request } => self.events.push(Event::QuestionAsked((**request).clone())),
            Fact::QuestionReplied { request, answers } => {
                let session_id = self.session.clone();
                let request_id = request.clone();
                let replied = QuestionReplied { session_id, request_id, answers: answers.clone() };
                self.events.push(Event::QuestionReplied(replied));
            }
            Fact::QuestionRejected { request } => {
                let session_id = self.session.clone();
                let request_id = request.clone();
                self.events.push(Event::QuestionRejected(QuestionRejected { session_id, request_id }));
            }
            Fact::TodoSet { todos } => {
                let session_id = self.session.clone();
                let todos = todos.clone();
                self.events.push(Event::TodoUpdated { session_id, todos });
            }
            Fact::SessionCompacted => self.events.push(Event::SessionCompacted(self.of_session())),
            Fact::SessionFailed { error } => {
                let session_id = Some(self.session.clone());
                let error = Some(error.clone());
                self.events.push(Event::SessionError { session_id, error });
            }
            Fact::CommandExecuted { name, arguments, message } => self.events.push(Event::CommandExecuted {
                name: name.clone(),
                session_id: self.session.clone(),
                arguments: arguments.clone(),
                message_id: message.clone(),
            }),
            Fact::PromptFailed { messages } => self.line_without(before, messages),
            // Whoever still waits goes on waiting until somebody asks for something.
            Fact::TurnStopping => self.line(before, before.waiting().cloned().collect()),
            Fact::CopyStarted
            | Fact::CopyFinished
            | Fact::SnippetsStarted { .. }
            | Fact::ModelFinished { .. }
            | Fact::FilesChanged { .. }
            | Fact::ToolAllowed { .. } => {}
        }
    }

    /// The prompts that wait now, if that has changed.
    fn line(&mut self, before: &State, messages: Vec<MessageId>) {
        if !messages.iter().eq(before.line()) {
            self.events.push(Event::SturdyQueue { session_id: self.session.clone(), messages });
        }
    }

    fn line_without(&mut self, before: &State, gone: &[MessageId]) {
        let stay = before.line().into_iter().filter(|message| !gone.contains(message));
        self.line(before, stay.cloned().collect());
    }

    fn owner<'b>(&'b self, message: &'b MessageId) -> Owner<'b> {
        Owner { session: self.session, message }
    }

    /// A message in the person's place, and what it does to the session record.
    fn posted(&mut self, info: &Session, posted: &Posted) {
        let prompted = records::prompted(info, posted);
        let (chosen, touched, permitted) = match prompted {
            Some(prompted) => (prompted.chosen, Some(prompted.touched), prompted.permitted),
            None => (None, None, None),
        };
        chosen.into_iter().for_each(|record| self.session_updated(record));
        for error in &posted.failures {
            let session_id = Some(self.session.clone());
            let error = Some(error.clone());
            self.events.push(Event::SessionError { session_id, error });
        }
        self.message(Message::User(Box::new(posted.info.clone())));
        posted.parts.iter().for_each(|part| self.part(part.clone()));
        touched.into_iter().chain(permitted).for_each(|record| self.session_updated(record));
    }

    /// The turn has changed nothing on disk so far.
    fn summary(&mut self, before: &State, record: Session, user: &MessageId) {
        let Some(asked) = before.asked(user) else { return };
        let has_changed_files = records::has_changed_files(&record);
        self.session_updated(record);
        if !has_changed_files {
            self.session_diff(Vec::new());
        }
        self.message(Message::User(Box::new(records::with_summary(asked))));
    }

    fn session_diff(&mut self, diff: Vec<FileDiff>) {
        self.events.push(Event::SessionDiff { session_id: self.session.clone(), diff });
    }

    fn idle(&mut self, end: TurnEnd) {
        // Clients of this wire are told that a session is at work once more before it rests after a
        // step: that is when it was looked for something else to do.
        self.busy_if(end == TurnEnd::Done);
        self.status(Status::Idle);
        self.events.push(Event::SessionIdle(self.of_session()));
    }

    fn session_updated(&mut self, record: Session) {
        let updated = SessionInfo { session_id: record.id.clone(), info: Box::new(record) };
        self.events.push(Event::SessionUpdated(updated));
    }

    fn message(&mut self, info: Message) {
        self.events.push(Event::MessageUpdated { session_id: self.session.clone(), info });
    }

    fn part(&mut self, part: Part) {
        let event = self.updated(part);
        self.events.push(event);
    }

    fn updated(&self, part: Part) -> Event {
        Event::PartUpdated { session_id: self.session.clone(), part: Box::new(part), time: self.at }
    }

    fn busy_if(&mut self, holds: bool) {
        if holds {
            self.status(Status::Busy);
        }
    }

    fn status(&mut self, status: Status) {
        self.events.push(Event::SessionStatus { session_id: self.session.clone(), status });
    }

    fn of_session(&self) -> OfSession {
        OfSession { session_id: self.session.clone() }
    }
}

/// The part a fact changed, right after it, for facts that say only what changed.
pub(crate) fn part_after(before: &State, fact: &Fact) -> Option<Part> {
    let step = before.open_step();
    if let Fact::TextEnded { part, text, end, metadata } = fact {
        let open = step?.texts.iter().find(|open| open.part == *part)?;
        return Some(records::closed(open.body.as_deref()?.clone(), text, *end, metadata.as_ref()));
    }
    if let Fact::ToolStarted { part, .. } | Fact::ToolProgressed { part, .. } | Fact::ToolEnded { part, .. } =
        fact
    {
        let body = step?.calls.iter().find(|call| call.part == *part)?.body.as_deref()?;
        return Some(records::moved(body.clone(), fact));
    }
    // Changed far from what is open: whoever found it hands it along.
    if let Fact::ToolCompacted { before: part, .. } = fact {
        return Some(records::moved((**part.as_ref()?).clone(), fact));
    }
    None
}
