//! A session on the bench: inputs go in, decisions come out, the state follows.

use crate::told::{detail, name_of, without_ids};
use std::fmt::Write as _;
use std::sync::Arc;
use sturdy_session::fact::{Fact, Outcome};
use sturdy_session::id::{MessageId, PartId, PermissionId, SessionId};
use sturdy_session::json::Num;
use sturdy_session::rows::fold;
use sturdy_session::rules::{CallRules, Wanted};
use sturdy_session::stamp::Stamp;
use sturdy_session::talk::{CallInput, FinishReason, Said};
use sturdy_session::turn::{
    Ask, Decision, Effect, Follow, Input, NewPrompt, NewShell, PathPair, PromptStart, Ready, State, StepKind,
    decide,
};
use sturdy_session::types::delivery::Delivery;
use sturdy_session::types::event::Event;
use sturdy_session::types::failure::{ApiFailure, Failure};
use sturdy_session::types::message::ModelRef;
use sturdy_session::types::part::{PartBody, SubtaskPart, TextPart};
use sturdy_session::types::session::{Action, Rule, Session, SessionTime};
use sturdy_session::types::usage::{Prices, Tokens, Usage};

pub(crate) const START: u64 = 1_794_770_276_000;

pub(crate) struct Bench {
    pub(crate) state: State,
    pub(crate) log: Vec<Fact>,
    /// What readers saw of each fact, and when.
    pub(crate) shown: Vec<(u64, Vec<Event>)>,
    pub(crate) effects: Vec<Effect>,
    stamp: Stamp,
    now: u64,
}

impl Bench {
    /// A session that was just created.
    pub(crate) fn new() -> Self {
        let mut stamp = Stamp::fixed(START);
        let info = session(stamp.session_id());
        let mut bench = Self {
            state: State::default(),
            log: Vec::new(),
            shown: Vec::new(),
            effects: Vec::new(),
            stamp,
            now: START,
        };
        bench.feed(Input::Create { info: Box::new(info) });
        bench
    }

    /// With a prompt that the model is answering.
    pub(crate) fn talking() -> Self {
        let mut bench = Self::new();
        bench.feed(prompt("hi"));
        bench.prepare();
        bench
    }

    /// Decides, applies, remembers; gives the decision as text.
    pub(crate) fn feed(&mut self, input: Input) -> String {
        let decision = self.decide(input);
        let text = show(&decision);
        self.take(decision);
        text
    }

    pub(crate) fn decide(&mut self, input: Input) -> Decision {
        self.now += 1;
        self.stamp.tick(self.now);
        decide(&self.state, input, &mut self.stamp)
    }

    pub(crate) fn take(&mut self, decision: Decision) {
        let seq = self.log.len() as u64;
        let folded = fold(&mut self.state, decision.facts, seq, self.now);
        for entry in folded.entries {
            self.log.push(entry.fact);
            self.shown.push((entry.at, entry.events));
        }
        self.effects = decision.effects;
    }

    /// Answers the last `Prepare`.
    pub(crate) fn prepare(&mut self) -> String {
        let user = self.effects.iter().find_map(|effect| match effect {
            Effect::Prepare { user } => Some(user.clone()),
            _ => None,
        });
        let user = user.expect("nothing is to be prepared");
        self.feed(Input::Prepared { user, ready: Box::new(ready()) })
    }

    /// Answers the last `PrepareSubtask`, as a subtask of the explore agent.
    pub(crate) fn prepare_subtask(&mut self, command: Option<&str>) -> String {
        let part = self.effects.iter().find_map(|effect| match effect {
            Effect::PrepareSubtask { part, .. } => Some(part.clone()),
            _ => None,
        });
        self.feed(subtask_ready(part.expect("no subtask is to be prepared"), command))
    }

    pub(crate) fn step(&self) -> MessageId {
        self.state.open_step().expect("no step is open").message.clone()
    }

    pub(crate) fn said(&mut self, said: Said) -> String {
        let open = self.state.open_step().expect("no step is open");
        let step = open.message.clone();
        let attempt = open.attempt;
        self.feed(Input::Said { step, attempt, said })
    }

    pub(crate) fn failed(&mut self, failure: Failure) -> String {
        let open = self.state.open_step().expect("no step is open");
        let step = open.message.clone();
        let attempt = open.attempt;
        self.feed(Input::Failed { step, attempt, failure })
    }

    /// The wall clock is set, ahead or back.
    pub(crate) fn jump_to(&mut self, now: u64) {
        self.now = now;
    }

    /// The part of the first call that is still open.
    pub(crate) fn call(&self) -> PartId {
        let step = self.state.open_step().expect("no step is open");
        step.calls.iter().find(|call| call.body.is_some()).expect("no call is open").part.clone()
    }

    /// The process dies: what is left is what the store has.
    pub(crate) fn crash(&mut self) {
        if self.state.info().is_none() {
            return;
        }
        let stored = serde_json::to_string(&self.state.keyframe()).expect("a state is JSON");
        let keyframe = serde_json::from_str(&stored).expect("what was stored can be read");
        self.state = State::from_keyframe(keyframe).expect("the stored state fits together");
        self.effects.clear();
    }
}

pub(crate) fn session(id: SessionId) -> Session {
    Session {
        id,
        slug: "quiet-river".to_owned(),
        project_id: "global".to_owned(),
        workspace_id: None,
        directory: "/srv/project".to_owned(),
        path: Some(String::new()),
        parent_id: None,
        summary: None,
        cost: Num::ZERO,
        tokens: Tokens::default(),
        share: None,
        title: "A test".to_owned(),
        agent: None,
        model: None,
        version: "1.18.33".to_owned(),
        metadata: None,
        time: SessionTime { created: START, updated: START, compacting: None, archived: None },
        permission: None,
        revert: None,
    }
}

pub(crate) fn ready() -> Ready {
    Ready {
        agent: "build".to_owned(),
        provider_id: "acme".to_owned(),
        model_id: "main".to_owned(),
        path: PathPair { cwd: "/srv/project".to_owned(), root: "/".to_owned() },
        prices: Prices { input: Num(1.0), output: Num(2.0), ..Prices::default() },
        ..Ready::default()
    }
}

pub(crate) fn prompt(text: &str) -> Input {
    Input::Prompt(Box::new(new_prompt(text)))
}

/// A prompt that only has subtasks.
pub(crate) fn subtasks(descriptions: &[&str]) -> Input {
    let part = |description: &&str| (None, PartBody::Subtask(subtask(description, None)));
    let parts = descriptions.iter().map(part).collect();
    Input::Prompt(Box::new(NewPrompt { parts, ..new_prompt("") }))
}

pub(crate) fn subtask(description: &str, command: Option<&str>) -> SubtaskPart {
    SubtaskPart {
        prompt: "look around".to_owned(),
        description: description.to_owned(),
        agent: "explore".to_owned(),
        model: None,
        command: command.map(str::to_owned),
    }
}

pub(crate) fn subtask_ready(part: PartId, command: Option<&str>) -> Input {
    let ModelRef { provider_id, model_id, variant } = new_prompt("").model;
    let model = ModelRef { provider_id, model_id, variant };
    let follow = command.map(|_| Box::new(Follow { agent: "build".to_owned(), model }));
    let kind = StepKind::Subtask { part: part.clone(), follow };
    let ready = Ready { kind, agent: "explore".to_owned(), ..ready() };
    Input::SubtaskReady { part, subtask: Box::new(subtask("Look", command)), ready: Box::new(ready) }
}

pub(crate) fn shell(command: &str) -> Input {
    Input::Shell(Box::new(NewShell {
        message: None,
        agent: "build".to_owned(),
        model: new_prompt("").model,
        path: ready().path,
        command: command.to_owned(),
    }))
}

pub(crate) fn new_prompt(text: &str) -> NewPrompt {
    NewPrompt {
        message: None,
        agent: "build".to_owned(),
        model: ModelRef { provider_id: "acme".to_owned(), model_id: "main".to_owned(), variant: None },
        parts: vec![(None, PartBody::Text(TextPart { text: text.to_owned(), ..TextPart::default() }))],
        system: None,
        tools: None,
        format: None,
        wants_reply: true,
        delivery: Delivery::Steer,
        start: PromptStart::AtOnce,
        digest: None,
        failures: Vec::new(),
    }
}

pub(crate) fn text_started(block: &str) -> Said {
    Said::TextStarted { block: block.to_owned(), metadata: None }
}

pub(crate) fn text(block: &str, text: &str) -> Said {
    Said::TextGrew { block: block.to_owned(), text: text.to_owned() }
}

pub(crate) fn text_ended(block: &str) -> Said {
    Said::TextEnded { block: block.to_owned(), metadata: None }
}

pub(crate) fn tool_call(call: &str, name: &str) -> Said {
    Said::ToolCalled {
        call: call.to_owned(),
        name: name.to_owned(),
        input: CallInput::Json(serde_json::json!({ "command": "ls" })),
        metadata: None,
        by_provider: false,
    }
}

pub(crate) fn finished(reason: FinishReason) -> Said {
    let usage = Usage { input: Some(100), output: Some(7), total: Some(107), ..Usage::default() };
    Said::Finished { reason, usage, metadata: None }
}

pub(crate) fn done(output: &str) -> Outcome {
    Outcome::Done {
        output: output.to_owned(),
        title: "bash".to_owned(),
        metadata: serde_json::Map::new(),
        attachments: Vec::new(),
    }
}

pub(crate) fn overloaded() -> Failure {
    Failure::Api(ApiFailure {
        message: "Overloaded".to_owned(),
        status_code: Some(529),
        is_retryable: true,
        ..ApiFailure::default()
    })
}

pub(crate) fn refused() -> Failure {
    Failure::Api(ApiFailure {
        message: "Bad key".to_owned(),
        status_code: Some(401),
        ..ApiFailure::default()
    })
}

/// A call wants permission to run `ls`, and no rule speaks of it.
pub(crate) fn permission(id: &str, pattern: &str) -> Ask {
    permission_by(id, pattern, &[])
}

/// The same where rules do.
pub(crate) fn permission_by(id: &str, pattern: &str, actions: &[Action]) -> Ask {
    let rule =
        |action: &Action| Rule { permission: "bash".to_owned(), pattern: "*".to_owned(), action: *action };
    let rules: Vec<Rule> = actions.iter().map(rule).collect();
    let floor = rules.clone();
    Ask::Permission {
        id: PermissionId::parse(id).expect("an id"),
        wanted: Wanted {
            permission: "bash".to_owned(),
            patterns: vec![pattern.to_owned()],
            ..Wanted::default()
        },
        rules: Arc::new(CallRules { rules, floor, ..CallRules::default() }),
        always: vec!["ls *".to_owned()],
        metadata: serde_json::Map::new(),
        checkout: None,
    }
}

/// A decision in one line per fact and effect, without ids and times.
pub(crate) fn show(decision: &Decision) -> String {
    let mut out = String::new();
    for fact in &decision.facts {
        let kind = fact.kind().trim_end_matches(".1");
        let _ = writeln!(out, "fact   {kind} {}", detail(fact).trim_end());
    }
    for effect in &decision.effects {
        let _ = writeln!(out, "effect {}", name_of(effect));
    }
    if let Some(refusal) = &decision.refusal {
        let _ = writeln!(out, "refuse {}", without_ids(&refusal.to_string()));
    }
    out.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}
