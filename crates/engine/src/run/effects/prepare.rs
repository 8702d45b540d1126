//! Finds out what a step needs: the agent, the model with its prices and limits, the place.

use super::InputSender;
use super::compact::limits;
use crate::directory::instance::Instance;
use crate::error::EngineError;
use crate::run::Sessions;
use crate::run::reading::{self, NextStep, StepReading, StepWithoutInstructions};
use crate::run::request;
use crate::run::{structured, window};
use std::sync::Arc;
use sturdy_session::id::{MessageId, SessionId};
use sturdy_session::turn::{Input, Ready, STRUCTURED_TOOL};
use sturdy_session::types::failure::Failure;
use sturdy_session::types::message::UserMessage;
use sturdy_session::types::session::Session;
use tokio_util::sync::CancellationToken;

pub(crate) async fn run(
    sessions: Arc<Sessions>,
    session: SessionId,
    user: MessageId,
    back: InputSender,
    stop: CancellationToken,
) {
    // Somebody may be asked on the way, and the turn stopped instead of answered.
    let found = tokio::select! {
        found = find(&sessions, &session, &user) => found,
        () = stop.cancelled() => return,
    };
    match found {
        Ok((ready, reading)) => {
            let next = reading.map(|reading| NextStep { reading, ready: None });
            back.say_next(vec![Input::Prepared { user, ready: Box::new(ready) }], next).await;
        }
        Err(failure) => back.say(Input::NotPrepared { user, failure }).await,
    }
}

async fn find(
    sessions: &Arc<Sessions>,
    session: &SessionId,
    user: &MessageId,
) -> Result<(Ready, Option<Arc<StepReading>>), Failure> {
    let (prompt, info) = request::user_message_and_session(sessions, session, user).await.map_err(failed)?;
    sessions.directories.start_servers(&info.directory).await.map_err(failed)?;
    sessions.directories.settle_trust(session, &info.directory).await.map_err(failed)?;
    let instance = sessions.directories.instance(&info.directory).await.map_err(failed)?;
    let tree = sessions.tree_before(&instance, session, user);
    let instructions = reading::instructions_soon(sessions, &instance);
    let (tree, instructions, found) =
        tokio::join!(biased; tree, instructions, ready(sessions, &instance, prompt, info));
    let (mut ready, unread) = found?;
    ready.tree = tree.map(|tree| tree.to_string());
    Ok((ready, instructions.map(|instructions| unread.with(instructions))))
}

/// What the step behind a call needs, if that can be had at once: the call has ended, and somebody waits for the model. The
/// tree is added when the call is accounted for.
pub(super) async fn ahead(
    sessions: &Arc<Sessions>,
    session: &SessionId,
    user: &MessageId,
    instance: &Arc<Instance>,
) -> Option<NextStep> {
    let found = async {
        let (prompt, info) = request::user_message_and_session(sessions, session, user).await.ok()?;
        let now = sessions.directories.instance(&info.directory).await.ok()?;
        // When it is not trusted, a person may have to be asked.
        if !Arc::ptr_eq(&now, instance) || now.settings.trust().is_untrusted() {
            return None;
        }
        ready(sessions, instance, prompt, info).await.ok()
    };
    let instructions = reading::instructions_soon(sessions, instance);
    let (instructions, found) = tokio::join!(biased; instructions, found);
    let (ready, unread) = found?;
    Some(NextStep { reading: unread.with(instructions?), ready: Some(Box::new(ready)) })
}

fn failed(cause: EngineError) -> Failure {
    Failure::unknown(cause.to_string())
}

/// Everything but the tree and the instructions.
async fn ready(
    sessions: &Arc<Sessions>,
    instance: &Arc<Instance>,
    prompt: UserMessage,
    info: Session,
) -> Result<(Ready, StepWithoutInstructions), Failure> {
    let agent = instance.agent(&prompt.agent).map_err(failed)?;
    let entry = instance.model(&prompt.model.provider_id, &prompt.model.model_id).map_err(failed)?;
    let structured = structured::retries(&prompt)?;
    let compaction = instance.settings.compaction();
    let left = instance.tools_left(agent, &info, &prompt).await;
    let names = left.iter().map(|tool| tool.spec().name.clone()).filter(|name| name != "invalid");
    let ready = Ready {
        agent: prompt.agent.clone(),
        provider_id: prompt.model.provider_id.clone(),
        model_id: prompt.model.model_id.clone(),
        variant: prompt.model.variant.clone(),
        path: instance.paths(),
        prices: entry.info.cost.clone(),
        limits: limits(&entry),
        steps_max: agent.steps,
        tools: names.chain(structured.map(|_| STRUCTURED_TOOL.to_owned())).collect(),
        continue_on_deny: instance.settings.continue_loop_on_deny(),
        usable: window::usable(&entry, &instance.settings, &sessions.environment),
        auto_compact: compaction.auto,
        prune: compaction.prune,
        structured,
        ..Ready::default()
    };
    let offered = reading::offered(&left, &entry);
    Ok((ready, StepWithoutInstructions { user: prompt, info, instance: instance.clone(), offered }))
}
