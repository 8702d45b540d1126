//! Divides a conversation for a compaction, and looks for outputs that need not be sent again.
//!
//! Both only read. What is divided here is written down in the step's beginning, so that a second try
//! of the model is asked for the same summary.

use super::InputSender;
use crate::directory::instance::Instance;
use crate::error::EngineError;
use crate::extension::SummaryWords;
use crate::run::Sessions;
use crate::run::request;
use crate::run::window;
use std::sync::Arc;
use sturdy_llm::ModelEntry;
use sturdy_session::id::{MessageId, PartId, SessionId};
use sturdy_session::prompt::prune::Prune;
use sturdy_session::prompt::serialise::{SummaryRequest, conversation};
use sturdy_session::prompt::tail::{Plan, TailRules, plan, replayed_parts};
use sturdy_session::turn::{Compaction, FollowUp, Input, Limits, Ready, StepKind, Words};
use sturdy_session::types::failure::Failure;
use sturdy_session::types::message::{Message, MessageWithParts, UserMessage};
use sturdy_session::types::part::{CompactionPart, Part, PartBody};

/// Who summarises.
const AGENT: &str = "compaction";
/// Outputs handed over at a time: a commit stays small.
const PRUNED_AT_ONCE: usize = 64;

/// What the session asked for.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    pub(crate) request: MessageId,
    pub(crate) first_waiting: Option<MessageId>,
    pub(crate) goes_on: bool,
}

pub(crate) async fn prepare(sessions: Arc<Sessions>, session: SessionId, wanted: Wanted, back: InputSender) {
    let user = wanted.request.clone();
    let input = match ready(&sessions, &session, &wanted).await {
        Ok(ready) => Input::Prepared { user, ready: Box::new(ready) },
        Err(failure) => Input::NotPrepared { user, failure },
    };
    back.say(input).await;
}

async fn ready(sessions: &Arc<Sessions>, session: &SessionId, wanted: &Wanted) -> Result<Ready, Failure> {
    let failed = |cause: EngineError| Failure::unknown(cause.to_string());
    let asked = request::message(sessions, session, &wanted.request).await.map_err(failed)?;
    let Some((user, part_id, part)) = asking(asked) else {
        return Err(Failure::unknown("This message does not ask for a compaction"));
    };
    let instance = sessions.directories.instance_of(session).await.map_err(failed)?;
    let agent = instance.agent(AGENT).map_err(failed)?;
    let spoken = instance.model(&user.model.provider_id, &user.model.model_id).map_err(failed)?;
    let entry = match &agent.model {
        Some(own) => instance.model(&own.provider_id, &own.model_id).map_err(failed)?,
        None => spoken.clone(),
    };
    let mut history = request::history(sessions, session, &wanted.request).await.map_err(failed)?;
    let waits = |message: &MessageWithParts| Some(message.info.id()) == wanted.first_waiting.as_ref();
    if let Some(at) = history.iter().position(waits) {
        // Nobody has answered these: they stay as they are, whatever else is summarised.
        history.truncate(at);
    }
    let plan = divide(sessions, &instance, &history, &part, wanted, &spoken);
    let mut words = SummaryWords::default();
    sessions.extensions.before_summary(session, &mut words).await;
    let text = summary_request(&plan, &words)?;
    let compaction = Compaction {
        part: part_id,
        auto: part.auto,
        overflow: part.overflow,
        goes_on: wanted.goes_on,
        tail: plan.tail_start.or(wanted.first_waiting.as_ref()).cloned(),
        text: text.into(),
        follow: Some(Box::new(follow_up(&plan, &history, &user, part.overflow == Some(true)))),
    };
    Ok(Ready {
        agent: AGENT.to_owned(),
        provider_id: entry.info.provider_id.clone(),
        model_id: entry.info.id.clone(),
        variant: user.model.variant.clone().filter(|_| agent.model.is_none()),
        path: instance.paths(),
        prices: entry.info.cost.clone(),
        limits: limits(&entry),
        prune: instance.settings.compaction().prune,
        kind: StepKind::Compact(Box::new(compaction)),
        ..Ready::default()
    })
}

fn divide<'a>(
    sessions: &Sessions,
    instance: &Instance,
    history: &'a [MessageWithParts],
    part: &CompactionPart,
    wanted: &Wanted,
    spoken: &ModelEntry,
) -> Plan<'a> {
    let settings = instance.settings.compaction();
    let usable = window::usable(spoken, &instance.settings, &sessions.environment);
    let rules = TailRules {
        turns: settings.tail_turns.map(|turns| i64::try_from(turns).unwrap_or(i64::MAX)),
        tokens: settings.preserve_recent_tokens,
        usable: usable.unwrap_or(0),
    };
    let overflow = part.overflow == Some(true);
    plan(history, &wanted.request, overflow, &request::target(spoken), &rules)
}

fn summary_request(plan: &Plan<'_>, words: &SummaryWords) -> Result<String, Failure> {
    let conversation = conversation(plan.head.iter().copied());
    if conversation.is_empty() && plan.previous_summary.is_none() {
        return Err(Failure::unknown("There is nothing to summarise yet"));
    }
    let request = SummaryRequest {
        conversation: &conversation,
        previous: plan.previous_summary.as_deref(),
        context: &words.context,
        prompt: words.prompt.as_deref(),
    };
    Ok(request.text())
}

/// What is said behind the summary, if anything is: by whom and with what the newest prompt asked for.
fn follow_up(
    plan: &Plan<'_>,
    history: &[MessageWithParts],
    request: &UserMessage,
    overflow: bool,
) -> FollowUp {
    let newest = plan.replay.or_else(|| history.iter().rev().find(|message| is_prompt(message)));
    let prompt = newest.and_then(|message| match &message.info {
        Message::User(info) => Some(info.as_ref()),
        Message::Assistant(_) => None,
    });
    let source = prompt.unwrap_or(request);
    let words = match plan.replay {
        Some(replay) => Words::Again(replayed_parts(replay)),
        None => Words::GoOn { overflow, request: plan.request.clone() },
    };
    let by = if plan.replay.is_some() { source } else { request };
    FollowUp {
        agent: by.agent.clone(),
        model: by.model.clone(),
        format: source.format.clone(),
        system: source.system.clone(),
        tools: source.tools.clone(),
        words,
    }
}

fn is_prompt(message: &MessageWithParts) -> bool {
    let asks = |part: &Part| matches!(part.body, PartBody::Compaction(_));
    matches!(message.info, Message::User(_)) && !message.parts.iter().any(asks)
}

fn asking(message: MessageWithParts) -> Option<(UserMessage, PartId, CompactionPart)> {
    let Message::User(info) = message.info else { return None };
    message.parts.into_iter().find_map(|part| match part.body {
        PartBody::Compaction(body) => Some(((*info).clone(), part.id, body)),
        _ => None,
    })
}

pub(super) fn limits(entry: &ModelEntry) -> Limits {
    let limit = &entry.info.limit;
    Limits {
        context: limit.context.count(),
        input: limit.input.map(sturdy_session::json::Num::count),
        output: limit.output.count(),
    }
}

/// Nobody waits for it and nothing fails with it: what is not marked now is marked after the next turn.
pub(crate) async fn prune(sessions: Arc<Sessions>, session: SessionId, edits: u32, back: InputSender) {
    let Ok(parts) = prunable(&sessions, &session).await else { return };
    for parts in parts.chunks(PRUNED_AT_ONCE) {
        back.say(Input::Pruned { edits, parts: parts.to_vec() }).await;
    }
}

async fn prunable(sessions: &Arc<Sessions>, session: &SessionId) -> Result<Vec<Part>, EngineError> {
    let mut prune = Prune::default();
    let mut tools = Vec::new();
    request::walk_back(sessions, session, None, |message| {
        let flow = prune.push(&message);
        tools.extend(message.parts.into_iter().filter(|part| matches!(part.body, PartBody::Tool(_))));
        flow
    })
    .await?;
    let found = prune.finish();
    tools.retain(|part| found.contains(&part.id));
    Ok(tools)
}
