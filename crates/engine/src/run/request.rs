//! Builds what a model is asked, from the store as it stands.

use crate::directory::instance::Instance;
use crate::directory::instructions::addresses;
use crate::error::EngineError;
use crate::records;
use crate::run::Sessions;
use crate::run::effects::model::Call;
use crate::run::reading::{self, StepReading};
use crate::run::{structured, window};
use std::ops::ControlFlow;
use std::sync::Arc;
use sturdy_llm::catalog::Ask;
use sturdy_llm::{Model, ModelEntry};
use sturdy_session::id::{MessageId, SessionId};
use sturdy_session::prompt::history::{Gather, drop_failed_compactions};
use sturdy_session::prompt::lower::{Target, lower};
use sturdy_session::prompt::reminders;
use sturdy_session::talk::{Request, ToolChoice, Turn, UserItem};
use sturdy_session::turn::Tools;
use sturdy_session::types::failure::Failure;
use sturdy_session::types::message::{AssistantMessage, Message, MessageWithParts, UserMessage};
use sturdy_session::types::part::PartBody;
use sturdy_session::types::session::Session;
use sturdy_store::{Before, MessageQuery, RawMessage};

/// Messages read at first, newest first. Most requests want no more.
const PAGE: u32 = 50;
/// Messages read when one is looked for that stands near the end.
const NEAR_END_PAGE: u32 = 8;
/// The largest page: more at once only holds memory.
const PAGE_MAX: u32 = 800;

/// Below this size, parsing is faster than handing the text to another thread.
const PARSED_HERE_BYTES_MAX: usize = 16 * 1024;

/// Something that answers, and the question.
pub(crate) type Asked = (Arc<dyn Model>, Request);

/// The request of one step: the conversation up to it, or the summary that is wanted of it.
pub(crate) async fn for_step(sessions: &Arc<Sessions>, call: &Call) -> Result<Asked, Failure> {
    if let Some(text) = &call.summary {
        return for_summary(sessions, call, text).await;
    }
    let (reading, mut history) = match still_so(sessions, call).await {
        Some(reading) => {
            (reading, call.kept.history(sessions, &call.session, &call.step).await.map_err(unknown)?)
        }
        None => read_all(sessions, call).await.map_err(unknown)?,
    };
    let StepReading { user, info, instance, instructions, offered } = &*reading;
    let agent = instance.agent(&user.agent).map_err(unknown)?;
    let entry = instance.model(&user.model.provider_id, &user.model.model_id).map_err(unknown)?;
    let model = entry.connect()?;
    drop_failed_compactions(&mut history);
    reminders::remind(&mut history, &user.agent);
    let object = structured::tool(user);

    let ask = Ask {
        session: call.session.as_str(),
        agent_options: Some(&agent.options),
        variant: user.model.variant.as_deref(),
        is_small: false,
    };
    let sampling = entry.sampling();
    let can_set_temperature = entry.info.capabilities.temperature;
    instance.fetched.refresh(addresses(&instance.settings), instance.tool_settings.reach).await;
    // Also in the last step: the calls of the conversation need their tools, and a changed list costs the cache.
    let mut offered = offered.clone();
    let mut messages = lower(&history, &target(&entry));
    let is_structured = object.is_some();
    let tool_choice = match object {
        Some(tool) => {
            if call.tools == Tools::Withheld {
                offered.clear();
            }
            structured::offer(tool, &mut offered, &mut messages);
            ToolChoice::Required
        }
        None if call.tools == Tools::Withheld => {
            messages.push(user_turn(reminders::last_step()));
            ToolChoice::None
        }
        None => ToolChoice::Auto,
    };
    if let Some(Turn::Assistant(_)) = messages.last() {
        // The step before ended without a reason. Not every model takes a request that ends with its own words.
        messages.push(user_turn(reminders::go_on()));
    }
    let request = Request {
        model: entry.info.api.id.clone(),
        tools: offered,
        tool_choice,
        system: instance.system_text(
            agent,
            &entry,
            instructions.clone(),
            is_structured,
            user.system.as_deref(),
        ),
        messages,
        output_tokens_max: Some(entry.output_tokens_max(ceiling(sessions))),
        temperature: agent.temperature.filter(|_| can_set_temperature).or(sampling.temperature),
        top_p: agent.top_p.or(sampling.top_p),
        top_k: sampling.top_k,
        options: entry.options(ask),
        headers: headers(&call.session, info.parent_id.as_ref()),
        session: call.session.to_string(),
    };
    Ok((model, request))
}

/// What was read before the step began, if nothing of it has changed.
async fn still_so(sessions: &Arc<Sessions>, call: &Call) -> Option<Arc<StepReading>> {
    let reading = call.reading.clone()?;
    let instance = sessions.directories.instance(&reading.info.directory).await.ok()?;
    Arc::ptr_eq(&instance, &reading.instance).then_some(reading)
}

/// All that a request is made of. A person waits: what is read does not wait for each other.
async fn read_all(
    sessions: &Arc<Sessions>,
    call: &Call,
) -> Result<(Arc<StepReading>, Vec<Arc<MessageWithParts>>), EngineError> {
    let (user, info, history) = tokio::try_join!(
        user_message(sessions, &call.session, &call.user),
        session_info(sessions, &call.session),
        call.kept.history(sessions, &call.session, &call.step),
    )?;
    let instance = sessions.directories.instance(&info.directory).await?;
    let agent = instance.agent(&user.agent)?;
    let entry = instance.model(&user.model.provider_id, &user.model.model_id)?;
    let instructions = reading::instructions_of(sessions, &instance);
    let (instructions, left) = tokio::join!(instructions, instance.tools_left(agent, &info, &user));
    let instructions = instructions?;
    let offered = reading::offered(&left, &entry);
    Ok((Arc::new(StepReading { user, info, instance, instructions, offered }), history))
}

fn user_turn(words: &str) -> Turn {
    Turn::User(vec![UserItem::Text(words.to_owned())])
}

/// The request for a summary: its agent's words, the conversation as one text, nothing to call.
async fn for_summary(sessions: &Arc<Sessions>, call: &Call, text: &str) -> Result<Asked, Failure> {
    let step = assistant_message(sessions, &call.session, &call.step).await.map_err(unknown)?;
    let instance = sessions.directories.instance_of(&call.session).await.map_err(unknown)?;
    let agent = instance.agent(&step.agent).map_err(unknown)?;
    let entry = instance.model(&step.provider_id, &step.model_id).map_err(unknown)?;
    let model = entry.connect()?;
    let ask = Ask {
        session: call.session.as_str(),
        agent_options: Some(&agent.options),
        variant: step.variant.as_deref(),
        is_small: false,
    };
    let sampling = entry.sampling();
    let can_set_temperature = entry.info.capabilities.temperature;
    let request = Request {
        model: entry.info.api.id.clone(),
        system: agent.prompt.iter().cloned().collect(),
        messages: vec![Turn::User(vec![UserItem::Text(text.to_owned())])],
        output_tokens_max: Some(entry.output_tokens_max(ceiling(sessions))),
        temperature: agent.temperature.filter(|_| can_set_temperature).or(sampling.temperature),
        top_p: agent.top_p.or(sampling.top_p),
        top_k: sampling.top_k,
        options: entry.options(ask),
        headers: headers(&call.session, None),
        session: call.session.to_string(),
        ..Request::default()
    };
    Ok((model, request))
}

/// The request for a title; none when the conversation has no words of a person.
pub(crate) async fn for_title(
    sessions: &Arc<Sessions>,
    session: &SessionId,
    user: &MessageId,
) -> Result<Option<Asked>, Failure> {
    let instance = sessions.directories.instance_of(session).await.map_err(unknown)?;
    let Some(raw) = sessions.store.message(session, user).await.map_err(|cause| unknown(cause.into()))?
    else {
        return Ok(None);
    };
    let message = parsed(&raw).map_err(unknown)?;
    let Some((prompt, text)) = words_of_a_person(message) else { return Ok(None) };
    let Some(agent) = instance.agents.get("title") else { return Ok(None) };
    let entry = title_model(&instance, agent.model.as_ref(), &prompt)?;
    let model = entry.connect()?;
    let ask = Ask { session: session.as_str(), is_small: true, ..Ask::default() };
    let request = Request {
        model: entry.info.api.id.clone(),
        system: agent.prompt.iter().cloned().collect(),
        messages: vec![
            Turn::User(vec![UserItem::Text(
                "Find a title for the conversation that begins like this:".to_owned(),
            )]),
            Turn::User(vec![UserItem::Text(text)]),
        ],
        output_tokens_max: Some(entry.output_tokens_max(ceiling(sessions))),
        temperature: agent.temperature.filter(|_| entry.info.capabilities.temperature),
        options: entry.options(ask),
        headers: headers(session, None),
        session: session.to_string(),
        ..Request::default()
    };
    Ok(Some((model, request)))
}

/// A message with its parts.
pub(crate) async fn message(
    sessions: &Arc<Sessions>,
    session: &SessionId,
    id: &MessageId,
) -> Result<MessageWithParts, EngineError> {
    parsed(&sessions.store.message(session, id).await?.ok_or_else(|| no_message(id))?)
}

/// The prompt a step answers.
pub(crate) async fn user_message(
    sessions: &Arc<Sessions>,
    session: &SessionId,
    user: &MessageId,
) -> Result<UserMessage, EngineError> {
    prompt_of(user, message_info(sessions, session, user).await?)
}

/// The prompt that is answered, and the session, with one read.
pub(crate) async fn user_message_and_session(
    sessions: &Arc<Sessions>,
    session: &SessionId,
    user: &MessageId,
) -> Result<(UserMessage, Session), EngineError> {
    let (info, record) = sessions.store.message_info_and_session(session, user).await?;
    let session = records::session_info_of(&sessions.store, session, record)?;
    let info = info.ok_or_else(|| no_message(user))?;
    Ok((prompt_of(user, records::message(user, &info)?)?, session))
}

fn prompt_of(id: &MessageId, message: Message) -> Result<UserMessage, EngineError> {
    match message {
        Message::User(info) => Ok(*info),
        Message::Assistant(_) => Err(no_message(id)),
    }
}

/// The answer a call belongs to.
pub(crate) async fn assistant_message(
    sessions: &Arc<Sessions>,
    session: &SessionId,
    step: &MessageId,
) -> Result<AssistantMessage, EngineError> {
    match message_info(sessions, session, step).await? {
        Message::Assistant(info) => Ok(*info),
        Message::User(_) => Err(no_message(step)),
    }
}

/// A message without its parts.
async fn message_info(
    sessions: &Arc<Sessions>,
    session: &SessionId,
    id: &MessageId,
) -> Result<Message, EngineError> {
    let info = sessions.store.message_info(session, id).await?.ok_or_else(|| no_message(id))?;
    Ok(records::message(id, &info)?)
}

fn no_message(id: &MessageId) -> EngineError {
    EngineError::Unknown(format!("Message not found: {id}"))
}

pub(crate) async fn session_info(
    sessions: &Arc<Sessions>,
    session: &SessionId,
) -> Result<Session, EngineError> {
    records::session_info(&sessions.store, session).await
}

impl Sessions {
    /// The whole conversation, oldest first.
    pub(crate) async fn conversation(
        &self,
        session: &SessionId,
    ) -> Result<Vec<MessageWithParts>, EngineError> {
        let page = self.store.messages(session, MessageQuery::default()).await?;
        let read = move || page.items.iter().map(records::message_with_parts).collect::<Result<Vec<_>, _>>();
        Ok(tokio::task::spawn_blocking(read).await.map_err(|_| EngineError::Closing)??)
    }
}

/// What the model sees: everything before the step, back to the last compaction. A prompt that came
/// in since is not part of it; it has its own step.
pub(crate) async fn history(
    sessions: &Arc<Sessions>,
    session: &SessionId,
    step: &MessageId,
) -> Result<Vec<MessageWithParts>, EngineError> {
    let mut gather = Gather::default();
    let mut reached_step = false;
    walk_back(sessions, session, None, |message| {
        if !reached_step {
            reached_step = message.info.id() == step;
            return ControlFlow::Continue(());
        }
        gather.push(message)
    })
    .await?;
    Ok(gather.finish())
}

/// Shows messages, newest first or from before one on, until the visitor has seen enough.
///
/// Pages grow, and from the second on the next is read while this one is looked at: a long conversation
/// costs as much as its reading or its parsing, whichever is more, and a short one is read no further.
pub(crate) async fn walk_back(
    sessions: &Arc<Sessions>,
    session: &SessionId,
    before: Option<Before>,
    mut visit: impl FnMut(MessageWithParts) -> ControlFlow<()>,
) -> Result<(), EngineError> {
    let mut limit = PAGE;
    let mut page = sessions.store.messages(session, MessageQuery { limit: Some(limit), before }).await?;
    loop {
        let oldest = page.items.first().filter(|_| page.more);
        let before = oldest.map(|oldest| Before { id: oldest.id.clone(), time: oldest.created });
        let is_first = limit == PAGE;
        limit = (limit * 2).min(PAGE_MAX);
        let query = before.map(|before| MessageQuery { limit: Some(limit), before: Some(before) });
        let ahead = async {
            match &query {
                Some(query) if !is_first => Some(sessions.store.messages(session, query.clone()).await),
                _ => None,
            }
        };
        let look = async {
            for message in parsed_all(page.items).await? {
                if visit(message?).is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            Ok::<_, EngineError>(ControlFlow::Continue(()))
        };
        let (ahead, seen) = tokio::join!(biased; ahead, look);
        let (ControlFlow::Continue(()), Some(query)) = (seen?, query) else { return Ok(()) };
        page = match ahead {
            Some(page) => page?,
            None => sessions.store.messages(session, query).await?,
        };
    }
}

/// The newest message that is wanted, as it is stored. Few are read at a time: it is usually among the last.
pub(crate) async fn find_back(
    sessions: &Sessions,
    session: &SessionId,
    is_wanted: impl Fn(&RawMessage) -> bool,
) -> Result<Option<RawMessage>, EngineError> {
    let mut before: Option<Before> = None;
    loop {
        let query = MessageQuery { limit: Some(NEAR_END_PAGE), before: before.take() };
        let mut page = sessions.store.messages(session, query).await?;
        before = page.items.first().map(|oldest| Before { id: oldest.id.clone(), time: oldest.created });
        if let Some(at) = page.items.iter().rposition(&is_wanted) {
            return Ok(Some(page.items.swap_remove(at)));
        }
        if !page.more {
            return Ok(None);
        }
    }
}

/// Newest first, and off the workers if it is much: a long conversation takes a while to read.
pub(crate) async fn parsed_all(
    page: Vec<RawMessage>,
) -> Result<impl Iterator<Item = Result<MessageWithParts, EngineError>>, EngineError> {
    let parse = |page: &[RawMessage]| page.iter().rev().map(parsed).collect::<Vec<_>>();
    let bytes: usize = page.iter().flat_map(|raw| &raw.parts).map(String::len).sum();
    if bytes < PARSED_HERE_BYTES_MAX {
        return Ok(parse(&page).into_iter());
    }
    let parsing = tokio::task::spawn_blocking(move || parse(&page));
    Ok(parsing.await.map_err(|_| EngineError::Closing)?.into_iter())
}

fn parsed(raw: &RawMessage) -> Result<MessageWithParts, EngineError> {
    Ok(records::message_with_parts(raw)?)
}

fn words_of_a_person(message: MessageWithParts) -> Option<(UserMessage, String)> {
    let Message::User(info) = message.info else { return None };
    let texts = message.parts.into_iter().filter_map(|part| match part.body {
        PartBody::Text(text) if text.synthetic != Some(true) => Some(text.text),
        PartBody::Subtask(subtask) => Some(subtask.prompt),
        _ => None,
    });
    let text = texts.collect::<Vec<_>>().join("\n");
    (!text.trim().is_empty()).then_some((*info, text))
}

fn title_model(
    instance: &Instance,
    own: Option<&crate::directory::agents::AgentModel>,
    prompt: &UserMessage,
) -> Result<Arc<ModelEntry>, Failure> {
    if let Some(own) = own {
        return instance.model(&own.provider_id, &own.model_id).map_err(unknown);
    }
    let provider = &prompt.model.provider_id;
    match instance.catalog().small_model(provider, instance.settings.small_model()) {
        Some(small) => Ok(small),
        None => instance.model(provider, &prompt.model.model_id).map_err(unknown),
    }
}

pub(crate) fn target(entry: &ModelEntry) -> Target {
    Target {
        provider_id: entry.info.provider_id.clone(),
        model_id: entry.info.id.clone(),
        media_in_results: entry.info.traits.media_in_results,
    }
}

/// Most tokens of one answer here.
fn ceiling(sessions: &Sessions) -> u64 {
    window::output_tokens_max(&sessions.environment)
}

/// Lets a provider keep the requests of one session on one machine.
fn headers(session: &SessionId, parent: Option<&SessionId>) -> Vec<(String, String)> {
    let parent = parent.map(|parent| ("x-parent-session-id".to_owned(), parent.to_string()));
    let own = [
        ("x-session-affinity".to_owned(), session.to_string()),
        ("x-session-id".to_owned(), session.to_string()),
    ];
    own.into_iter().chain(parent).collect()
}

fn unknown(cause: EngineError) -> Failure {
    Failure::unknown(cause.to_string())
}
