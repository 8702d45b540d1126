//! What happened in a session, as the v2 API tells it: `sturdy_session::show::next` makes these.

use super::v2::{CompactionReasonV2, DeliveryV2, ErrorV2, ExecutedV2, PromptV2, TokensV2, ToolContentV2};
use crate::wire::event_v2::{DurablePlace, EventLocation};
use sturdy_session::id::{EventId, MessageId, SessionId};
use sturdy_session::json::{Nothing, Num};
use sturdy_session::types::event::Event;
use sturdy_session::types::session::{Revert, SessionModel};
use utoipa::ToSchema;

/// An event on `/event`.
#[derive(ToSchema, serde::Serialize)]
pub(crate) struct EventFrame {
    id: EventId,
    #[serde(flatten)]
    event: Event,
}

/// The same on `/global/event`, with where it happened.
#[derive(ToSchema)]
pub(crate) struct GlobalEvent {
    directory: Option<String>,
    project: Option<String>,
    payload: EventFrame,
}

/// Something that happened in a session.
#[derive(ToSchema, serde::Serialize)]
pub(crate) struct SessionEvent {
    id: EventId,
    /// Its position, for clients that reconnect. Text deltas have none: the event that ends the text has all of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    durable: Option<DurablePlace>,
    #[serde(skip_serializing_if = "Option::is_none")]
    location: Option<EventLocation>,
    #[serde(flatten)]
    event: NextEvent,
}

/// An event on `/api/event`: of a session, of the server, or one of the v1 API.
#[derive(ToSchema, serde::Serialize)]
#[serde(untagged)]
pub(crate) enum ServerEvent {
    Session(Box<SessionEvent>),
    Other(OtherEvent),
}

#[derive(ToSchema, serde::Serialize)]
pub(crate) struct OtherEvent {
    id: EventId,
    #[serde(rename = "type")]
    kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    location: Option<EventLocation>,
    #[schema(value_type = Object)]
    data: (),
}

/// With `timestamp` and `sessionID` in every `data`.
#[derive(ToSchema, serde::Serialize)]
#[serde(tag = "type", content = "data")]
pub(crate) enum NextEvent {
    #[serde(rename = "session.next.agent.switched")]
    AgentSwitched(OfNext<AgentChosen>),
    #[serde(rename = "session.next.model.switched")]
    ModelSwitched(OfNext<ModelChosen>),
    #[serde(rename = "session.next.revert.staged")]
    RevertStaged(OfNext<StagedRevert>),
    #[serde(rename = "session.next.revert.cleared")]
    RevertCleared(OfNext<Nothing>),
    #[serde(rename = "session.next.revert.committed")]
    RevertCommitted(OfNext<CommittedRevert>),
    #[serde(rename = "session.next.prompt.admitted")]
    PromptAdmitted(OfNext<PromptTold>),
    #[serde(rename = "session.next.prompted")]
    Prompted(OfNext<PromptTold>),
    #[serde(rename = "session.next.step.started")]
    StepStarted(OfNext<StartedStep>),
    #[serde(rename = "session.next.step.ended")]
    StepEnded(OfNext<EndedStep>),
    #[serde(rename = "session.next.step.failed")]
    StepFailed(OfNext<FailedStep>),
    #[serde(rename = "session.next.retried")]
    Retried(OfNext<RetriedStep>),
    #[serde(rename = "session.next.text.started")]
    TextStarted(OfNext<TextPlace>),
    #[serde(rename = "session.next.text.delta")]
    TextDelta(OfNext<TextGrowth>),
    #[serde(rename = "session.next.text.ended")]
    TextEnded(OfNext<WholeText>),
    #[serde(rename = "session.next.reasoning.started")]
    ReasoningStarted(OfNext<ReasoningPlace>),
    #[serde(rename = "session.next.reasoning.delta")]
    ReasoningDelta(OfNext<ReasoningGrowth>),
    #[serde(rename = "session.next.reasoning.ended")]
    ReasoningEnded(OfNext<WholeReasoning>),
    #[serde(rename = "session.next.tool.input.started")]
    ToolInputStarted(OfNext<NamedCall>),
    #[serde(rename = "session.next.tool.input.delta")]
    ToolInputDelta(OfNext<CallGrowth>),
    #[serde(rename = "session.next.tool.input.ended")]
    ToolInputEnded(OfNext<CallText>),
    #[serde(rename = "session.next.tool.called")]
    ToolCalled(OfNext<CalledTool>),
    #[serde(rename = "session.next.tool.progress")]
    ToolProgress(OfNext<CallProgress>),
    #[serde(rename = "session.next.tool.success")]
    ToolSuccess(OfNext<CallResult>),
    #[serde(rename = "session.next.tool.failed")]
    ToolFailed(OfNext<CallFailure>),
    #[serde(rename = "session.next.shell.started")]
    ShellStarted(OfNext<StartedShell>),
    #[serde(rename = "session.next.shell.ended")]
    ShellEnded(OfNext<EndedShell>),
    #[serde(rename = "session.next.compaction.started")]
    CompactionStarted(OfNext<StartedCompaction>),
    #[serde(rename = "session.next.compaction.delta")]
    CompactionDelta(OfNext<CompactionGrowth>),
    #[serde(rename = "session.next.compaction.ended")]
    CompactionEnded(OfNext<EndedCompaction>),
}

#[derive(ToSchema, serde::Serialize)]
pub(crate) struct OfNext<T> {
    timestamp: u64,
    #[serde(rename = "sessionID")]
    session_id: SessionId,
    #[serde(flatten)]
    what: T,
}

macro_rules! data {
    ($($name:ident { $($(#[$meta:meta])* $field:ident: $kind:ty),* $(,)? })*) => {$(
        #[derive(ToSchema, serde::Serialize)]
        pub(crate) struct $name {
            $($(#[$meta])* $field: $kind),*
        }
    )*};
}

data! {
    AgentChosen { #[serde(rename = "messageID")] message_id: MessageId, agent: String }
    ModelChosen { #[serde(rename = "messageID")] message_id: MessageId, model: SessionModel }
    StagedRevert { revert: Revert }
    CommittedRevert { #[serde(rename = "messageID")] message_id: MessageId }
    PromptTold { #[serde(rename = "messageID")] message_id: MessageId, prompt: PromptV2, delivery: DeliveryV2 }
    StartedStep {
        #[serde(rename = "assistantMessageID")] message_id: MessageId,
        agent: String,
        model: SessionModel,
        #[serde(skip_serializing_if = "Option::is_none")] snapshot: Option<String>,
    }
    EndedStep {
        #[serde(rename = "assistantMessageID")] message_id: MessageId,
        finish: String,
        cost: Num,
        tokens: TokensV2,
        #[serde(skip_serializing_if = "Option::is_none")] snapshot: Option<String>,
        files: Vec<String>,
    }
    FailedStep { #[serde(rename = "assistantMessageID")] message_id: MessageId, error: ErrorV2 }
    RetriedStep { attempt: u64, error: RetryReason }
    RetryReason { message: String, #[serde(rename = "isRetryable")] is_retryable: bool }
    TextPlace {
        #[serde(rename = "assistantMessageID")] message_id: MessageId,
        #[serde(rename = "textID")] id: String,
    }
    TextGrowth {
        #[serde(rename = "assistantMessageID")] message_id: MessageId,
        #[serde(rename = "textID")] id: String,
        delta: String,
    }
    WholeText {
        #[serde(rename = "assistantMessageID")] message_id: MessageId,
        #[serde(rename = "textID")] id: String,
        text: String,
    }
    ReasoningPlace {
        #[serde(rename = "assistantMessageID")] message_id: MessageId,
        #[serde(rename = "reasoningID")] id: String,
    }
    ReasoningGrowth {
        #[serde(rename = "assistantMessageID")] message_id: MessageId,
        #[serde(rename = "reasoningID")] id: String,
        delta: String,
    }
    WholeReasoning {
        #[serde(rename = "assistantMessageID")] message_id: MessageId,
        #[serde(rename = "reasoningID")] id: String,
        text: String,
    }
    NamedCall {
        #[serde(rename = "assistantMessageID")] message_id: MessageId,
        #[serde(rename = "callID")] call_id: String,
        name: String,
    }
    CallGrowth {
        #[serde(rename = "assistantMessageID")] message_id: MessageId,
        #[serde(rename = "callID")] call_id: String,
        delta: String,
    }
    CallText {
        #[serde(rename = "assistantMessageID")] message_id: MessageId,
        #[serde(rename = "callID")] call_id: String,
        text: String,
    }
    CalledTool {
        #[serde(rename = "assistantMessageID")] message_id: MessageId,
        #[serde(rename = "callID")] call_id: String,
        tool: String,
        #[schema(value_type = Object)] input: (),
        provider: ExecutedV2,
    }
    CallProgress {
        #[serde(rename = "assistantMessageID")] message_id: MessageId,
        #[serde(rename = "callID")] call_id: String,
        #[schema(value_type = Object)] structured: (),
        content: Vec<ToolContentV2>,
    }
    CallResult {
        #[serde(rename = "assistantMessageID")] message_id: MessageId,
        #[serde(rename = "callID")] call_id: String,
        #[schema(value_type = Object)] structured: (),
        content: Vec<ToolContentV2>,
        #[serde(rename = "outputPaths")] output_paths: Vec<String>,
        provider: ExecutedV2,
    }
    CallFailure {
        #[serde(rename = "assistantMessageID")] message_id: MessageId,
        #[serde(rename = "callID")] call_id: String,
        error: ErrorV2,
        provider: ExecutedV2,
    }
    StartedShell {
        #[serde(rename = "messageID")] message_id: MessageId,
        #[serde(rename = "callID")] call_id: String,
        command: String,
    }
    EndedShell { #[serde(rename = "callID")] call_id: String, output: String }
    StartedCompaction { #[serde(rename = "messageID")] message_id: MessageId, reason: CompactionReasonV2 }
    CompactionGrowth { #[serde(rename = "messageID")] message_id: MessageId, text: String }
    EndedCompaction {
        #[serde(rename = "messageID")] message_id: MessageId,
        reason: CompactionReasonV2,
        text: String,
        recent: String,
    }
}
