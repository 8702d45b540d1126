//! An event of the v2 API as it is sent.

use crate::error::ApiError;
use crate::wire::event::entry_event_id;
use crate::wire::message_v2;
use bytes::Bytes;
use serde::Serialize;
use serde_json::{Value, json};
use sturdy_engine::Engine;
use sturdy_engine::feed::NumberedEvent;
use sturdy_engine::records::{self, readable};
use sturdy_session::id::SessionId;
use utoipa::ToSchema;

/// Something that happened in a session.
#[derive(Serialize, ToSchema)]
pub(crate) struct NextWire {
    id: String,
    /// `session.next.` and what happened.
    #[serde(rename = "type")]
    kind: String,
    /// Its position, for clients that reconnect. Text deltas have none: the event that ends the text has all of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    durable: Option<DurablePlace>,
    #[serde(skip_serializing_if = "Option::is_none")]
    location: Option<EventLocation>,
    #[schema(value_type = Object)]
    data: Value,
}

#[derive(Serialize, ToSchema)]
pub(crate) struct DurablePlace {
    #[serde(rename = "aggregateID")]
    #[schema(value_type = String)]
    aggregate_id: SessionId,
    seq: u64,
    version: u32,
}

#[derive(Serialize, ToSchema)]
pub(crate) struct EventLocation {
    directory: String,
}

impl NextWire {
    /// Tells where it happened too: for a stream about more than one session.
    pub(crate) fn at(mut self, directory: Option<String>) -> Self {
        self.location = directory.map(|directory| EventLocation { directory });
        self
    }

    pub(crate) fn frame(&self) -> Bytes {
        Bytes::from(format!("data: {}\n\n", json!(self)))
    }
}

/// With the prompt it is about, read from its message.
pub(crate) async fn wired(engine: &Engine, numbered: NumberedEvent) -> Result<NextWire, ApiError> {
    let NumberedEvent { session, seq, position, at, index, event, .. } = numbered;
    let mut data = event.data;
    if let Some(message) = &event.prompt_of {
        let stored = engine.reads().message(&session, message).await?;
        let parts = stored.iter().flat_map(records::parts_json);
        let parts: Vec<Value> = parts.filter_map(readable).collect();
        data["prompt"] = Value::Object(message_v2::prompt(&parts));
    }
    let version = event.version;
    let durable = seq.map(|seq| DurablePlace { aggregate_id: session, seq, version });
    Ok(NextWire {
        // Another one than that of the same entry's events in the v1 API.
        id: entry_event_id(at, position, NEXT_INDEX + index),
        kind: format!("session.next.{}", event.kind),
        durable,
        location: None,
        data,
    })
}

/// Above every event that an entry shows in the v1 API.
const NEXT_INDEX: usize = 1 << 20;
