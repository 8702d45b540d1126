//! Finds out what a subtask needs: its agent, its model, the place.

use super::InputSender;
use crate::error::EngineError;
use crate::run::Sessions;
use crate::run::lookup::find_part;
use crate::run::request;
use std::sync::Arc;
use sturdy_session::id::{MessageId, PartId, SessionId};
use sturdy_session::turn::{Follow, Input, Ready, StepKind};
use sturdy_session::types::failure::Failure;
use sturdy_session::types::part::{PartBody, SubtaskPart};

pub(crate) async fn run(
    sessions: Arc<Sessions>,
    session: SessionId,
    user: MessageId,
    part: PartId,
    back: InputSender,
) {
    let input = match ready(&sessions, &session, &user, &part).await {
        Ok((subtask, ready)) => {
            Input::SubtaskReady { part, subtask: Box::new(subtask), ready: Box::new(ready) }
        }
        Err(cause) => Input::NotPrepared { user, failure: Failure::unknown(cause.to_string()) },
    };
    back.say(input).await;
}

async fn ready(
    sessions: &Arc<Sessions>,
    session: &SessionId,
    user: &MessageId,
    part: &PartId,
) -> Result<(SubtaskPart, Ready), EngineError> {
    let prompt = request::user_message(sessions, session, user).await?;
    let instance = sessions.directories.instance_of(session).await?;
    let gone = || EngineError::Unknown(format!("Subtask not found: {part}"));
    let PartBody::Subtask(subtask) = find_part(&sessions.store, session, part).await?.ok_or_else(gone)?.body
    else {
        return Err(gone());
    };
    instance.agent(&subtask.agent)?;
    let (provider_id, model_id, variant) = match &subtask.model {
        Some(model) => (model.provider_id.clone(), model.model_id.clone(), None),
        None => {
            let model = prompt.model.clone();
            (model.provider_id, model.model_id, model.variant)
        }
    };
    instance.model(&provider_id, &model_id)?;
    let follow =
        subtask.command.is_some().then(|| Box::new(Follow { agent: prompt.agent, model: prompt.model }));
    let ready = Ready {
        kind: StepKind::Subtask { part: part.clone(), follow },
        agent: subtask.agent.clone(),
        provider_id,
        model_id,
        variant,
        path: instance.paths(),
        ..Ready::default()
    };
    Ok((subtask, ready))
}
