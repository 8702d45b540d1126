//! Finds a title for a conversation. Nobody waits for it and nothing fails with it.

use super::InputSender;
use crate::run::Sessions;
use crate::run::request;
use futures_util::StreamExt as _;
use std::sync::Arc;
use std::time::Duration;
use sturdy_session::id::{MessageId, SessionId};
use sturdy_session::talk::Said;
use sturdy_session::title::clean_generated_title;
use sturdy_session::turn::Input;
use sturdy_session::types::failure::Failure;
use tokio_util::sync::CancellationToken;
use tracing::debug;

/// A title that takes longer is not worth its tokens.
const WAIT_MAX: Duration = Duration::from_secs(120);
/// Nobody needs a title this long; a model that talks on is cut off.
const ANSWER_BYTES_MAX: usize = 16 * 1024;

pub(crate) async fn run(
    sessions: Arc<Sessions>,
    session: SessionId,
    user: MessageId,
    back: InputSender,
    stop: CancellationToken,
) {
    let found = tokio::select! {
        () = stop.cancelled() => return,
        found = tokio::time::timeout(WAIT_MAX, find(&sessions, &session, &user)) => found,
    };
    match found {
        Ok(Ok(Some(title))) => back.say(Input::Titled { title }).await,
        Ok(Ok(None)) => {}
        Ok(Err(_)) => debug!(%session, "no title: the model failed"),
        Err(_) => debug!(%session, "no title: the model took too long"),
    }
}

async fn find(
    sessions: &Arc<Sessions>,
    session: &SessionId,
    user: &MessageId,
) -> Result<Option<String>, Failure> {
    let Some((model, request)) = request::for_title(sessions, session, user).await? else { return Ok(None) };
    let mut stream = model.stream(request);
    let mut answer = String::new();
    while let Some(said) = stream.next().await {
        if let Said::TextGrew { text, .. } = said.map_err(sturdy_llm::ModelError::into_failure)? {
            answer.push_str(&text);
        }
        if answer.len() > ANSWER_BYTES_MAX {
            break;
        }
    }
    Ok(clean_generated_title(&answer))
}
