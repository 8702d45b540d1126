//! Finds out what a step needs: the agent, the model with its prices and limits, the place.

use super::Back;
use super::compact::limits;
use crate::error::EngineError;
use crate::run::Sessions;
use crate::run::request;
use crate::run::{structured, window};
use std::sync::Arc;
use sturdy_session::id::{MessageId, SessionId};
use sturdy_session::turn::{Input, Ready, STRUCTURED_TOOL};
use sturdy_session::types::failure::Failure;
use tokio_util::sync::CancellationToken;

pub(crate) async fn run(
    sessions: Arc<Sessions>,
    session: SessionId,
    user: MessageId,
    back: Back,
    stop: CancellationToken,
) {
    // Somebody may be asked on the way, and the turn stopped instead of answered.
    let ready = tokio::select! {
        ready = ready(&sessions, &session, &user) => ready,
        () = stop.cancelled() => return,
    };
    let input = match ready {
        Ok(ready) => Input::Prepared { user, ready: Box::new(ready) },
        Err(failure) => Input::NotPrepared { user, failure },
    };
    back.say(input).await;
}

async fn ready(sessions: &Arc<Sessions>, session: &SessionId, user: &MessageId) -> Result<Ready, Failure> {
    let failed = |cause: EngineError| Failure::unknown(cause.to_string());
    let reading = tokio::try_join!(
        request::user_message(sessions, session, user),
        request::session_info(sessions, session)
    );
    let (prompt, info) = reading.map_err(failed)?;
    sessions.directories.start_servers(&info.directory).await.map_err(failed)?;
    sessions.directories.settle_trust(session, &info.directory).await.map_err(failed)?;
    let instance = sessions.directories.instance(&info.directory).await.map_err(failed)?;
    let agent = instance.agent(&prompt.agent).map_err(failed)?;
    let entry = instance.model(&prompt.model.provider_id, &prompt.model.model_id).map_err(failed)?;
    let structured = structured::retries(&prompt)?;
    let compaction = instance.settings.compaction();
    let tree = sessions.tree_before(&instance, session, user).await;
    Ok(Ready {
        agent: prompt.agent.clone(),
        provider_id: prompt.model.provider_id.clone(),
        model_id: prompt.model.model_id.clone(),
        variant: prompt.model.variant.clone(),
        path: instance.paths(),
        prices: entry.info.cost.clone(),
        limits: limits(&entry),
        tree: tree.map(|tree| tree.to_string()),
        steps_max: agent.steps,
        tools: instance
            .tools_left(agent, &info, &prompt)
            .await
            .iter()
            .map(|tool| tool.spec().name.clone())
            .filter(|name| name != "invalid")
            .chain(structured.map(|_| STRUCTURED_TOOL.to_owned()))
            .collect(),
        continue_on_deny: instance.settings.continue_loop_on_deny(),
        usable: window::usable(&entry, &instance.settings, &sessions.environment),
        auto_compact: compaction.auto,
        prune: compaction.prune,
        structured,
        ..Ready::default()
    })
}
