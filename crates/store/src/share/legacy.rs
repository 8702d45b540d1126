//! Sync as clients without numbers do it: a list of values, each replacing the one of its key.
//!
//! The service numbers them in the order of arrival, under a writer of its own for each capability.

use super::ShareCall;
use super::append::{Applied, Applier, load_writer, store_writer};
use super::audit::{self, Entry};
use super::capability::{self, Scope};
use super::op::{Operation, SCHEMA};
use super::reference::ShareAuth;
use super::refusal::{Refusal, ShareError};
use rusqlite::Transaction;
use serde::Deserialize;
use serde_json::Value;

pub(super) const WRITER_PREFIX: &str = "legacy:";
/// Values in one call.
const ITEMS_MAX: usize = 10_000;

/// One value, as OpenCode's client sends it.
#[derive(Clone, Debug, Deserialize)]
pub struct LegacyItem {
    #[serde(rename = "type")]
    pub kind: String,
    pub data: Value,
}

impl crate::Store {
    /// Takes values over. Answers with how many calls the share has taken, and its cursor.
    pub async fn sync_share(
        &self,
        call: ShareCall,
        share: String,
        auth: ShareAuth,
        items: Vec<LegacyItem>,
    ) -> Result<(u64, u64), ShareError> {
        self.change_share(move |transaction| sync(transaction, &call, &share, &auth, &items)).await
    }
}

pub(super) fn sync(
    transaction: &Transaction<'_>,
    call: &ShareCall,
    share: &str,
    auth: &ShareAuth,
    items: &[LegacyItem],
) -> Result<(u64, u64), ShareError> {
    let (row, capability) = capability::authorize(transaction, share, auth, call.now)?;
    capability.require(Scope::APPEND, "writing")?;
    if items.len() > ITEMS_MAX {
        return Err(Refusal::TooLarge(format!("at most {ITEMS_MAX} values at once")).into());
    }
    let writer_id = format!("{WRITER_PREFIX}{}", capability.cap_id);
    let mut writer = load_writer(transaction, share, &writer_id, &capability, || Ok(()))?;
    let values = items.iter().flat_map(spread);
    let mut ops = Vec::new();
    for (kind, key, data) in values {
        let Some(key) = key else {
            return Err(Refusal::Malformed(format!("a {kind} has no id")).into());
        };
        let seq = writer.applied_seq + 1 + ops.len() as u64;
        ops.push(Operation {
            op_id: format!("{writer_id}:{seq}"),
            seq,
            kind,
            key,
            version: 0,
            schema: SCHEMA,
            depends_on: Vec::new(),
            payload_json: Some(data.to_string()),
        });
    }
    if !ops.iter().all(Operation::is_well_formed) {
        return Err(Refusal::Malformed("an id is too long or has control characters".to_owned()).into());
    }
    let mut applier = Applier::new(transaction, call, share, &writer_id, row, &capability)?;
    let Applied { applied, rejected } = applier.all(&ops)?;
    let row = applier.finish(applied.len())?;
    writer.applied_seq += ops.len() as u64;
    writer.applied_count += applied.len() as u64;
    store_writer(transaction, call, share, &writer_id, &writer)?;
    let entry = Entry {
        applied: applied.len(),
        rejected: rejected.len(),
        ..Entry::of(share, &capability.cap_id, "sync")
    };
    audit::write(transaction, call, &entry)?;
    Ok((row.sync_count, row.cursor))
}

/// The values of an item with their keys. A list of models is one value each, so that the last does not win.
fn spread(item: &LegacyItem) -> Vec<(String, Option<String>, Value)> {
    let id = |value: &Value, name: &str| value[name].as_str().map(str::to_owned);
    let data = &item.data;
    let one = |key: Option<String>| vec![(item.kind.clone(), key, data.clone())];
    match item.kind.as_str() {
        "session" => one(Some("session".to_owned())),
        "session_diff" => one(Some("session_diff".to_owned())),
        "message" => one(id(data, "id").map(|id| format!("message/{id}"))),
        "part" => {
            let key = id(data, "messageID").zip(id(data, "id"));
            one(key.map(|(message, part)| format!("part/{message}/{part}")))
        }
        "model" => {
            let models = data.as_array().cloned().unwrap_or_else(|| vec![data.clone()]);
            let keyed = |model: Value| {
                let key = id(&model, "providerID").zip(id(&model, "id"));
                let key = key.map(|(provider, model)| format!("model/{provider}/{model}"));
                (item.kind.clone(), key, model)
            };
            models.into_iter().map(keyed).collect()
        }
        // The operation itself says that the kind is unknown.
        _ => one(Some("session".to_owned())),
    }
}
