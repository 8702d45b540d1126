//! What a share shows besides rows: the models that answered, and what the session changed.
//!
//! Both are worked out again only when a row that they depend on is said, because they cost more than a row. They are
//! said before that row: if a batch has no room for all, or the process dies after it was sealed, the row that is still
//! to be said leads to them again.

use super::Inner;
use crate::directory::instance::Instance;
use crate::records::{self, readable};
use serde_json::{Map, Value};
use std::collections::HashSet;
use std::sync::Arc;
use sturdy_session::id::SessionId;
use sturdy_store::outbox::Draft;
use sturdy_store::share::Kind;
use tracing::debug;

/// The public fields of a model. Its URL, headers and options are not shared.
const PUBLIC: [&str; 9] =
    ["id", "providerID", "name", "family", "status", "cost", "limit", "capabilities", "release_date"];
/// Models of one session that are described.
const MODELS_MAX: usize = 256;

/// The parts of a session's record that its diff depends on.
type DiffOf = (Value, Value);

/// What was sealed so far, so that it is not computed again.
#[derive(Debug, Default)]
pub(super) struct Known {
    models: HashSet<String>,
    diff_of: Option<DiffOf>,
    /// The same, and not sealed yet.
    new_models: HashSet<String>,
    new_diff_of: Option<DiffOf>,
}

impl Known {
    /// Puts what follows from these rows before them.
    pub(super) async fn add(
        &mut self,
        inner: &Arc<Inner>,
        session: &SessionId,
        position: u64,
        rows: Vec<Draft>,
    ) -> Vec<Draft> {
        self.new_models.clear();
        self.new_diff_of = None;
        let mut drafts = Vec::new();
        for (kind, row) in rows.iter().filter_map(parsed) {
            let follows = match kind {
                Kind::Message => self.model(inner, session, position, &row).await,
                Kind::Session => self.diff(inner, session, position, &row).await,
                Kind::Part
                | Kind::SessionDiff
                | Kind::Model
                | Kind::MessageRemove
                | Kind::PartRemove
                | Kind::SnapshotBegin
                | Kind::SnapshotEnd => None,
            };
            drafts.extend(follows);
        }
        drafts.extend(rows);
        drafts
    }

    /// Everything that was added last is sealed.
    pub(super) fn sealed(&mut self) {
        self.models.extend(self.new_models.drain());
        if let Some(diff_of) = self.new_diff_of.take() {
            self.diff_of = Some(diff_of);
        }
    }

    /// Everything is said anew.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }

    async fn model(
        &mut self,
        inner: &Arc<Inner>,
        session: &SessionId,
        position: u64,
        message: &Value,
    ) -> Option<Draft> {
        let named = if message["model"].is_object() { &message["model"] } else { message };
        let provider = named["providerID"].as_str()?;
        let model = named["modelID"].as_str()?;
        let id = format!("{provider}/{model}");
        let is_known = self.models.contains(&id) || self.new_models.contains(&id);
        if is_known || self.models.len() + self.new_models.len() >= MODELS_MAX {
            return None;
        }
        // A directory that cannot be read any more leaves the name, which the message has.
        let instance = inner.directories.instance_of(session).await.ok()?;
        self.new_models.insert(id.clone());
        let shown = described(&instance, provider, model)?;
        Some(Draft::of(Kind::Model, id, position, shown.to_string()))
    }

    async fn diff(
        &mut self,
        inner: &Arc<Inner>,
        session: &SessionId,
        position: u64,
        record: &Value,
    ) -> Option<Draft> {
        let depends_on = (record["summary"].clone(), record["revert"].clone());
        if self.diff_of.as_ref() == Some(&depends_on) {
            return None;
        }
        match inner.sessions.session_diff(session).await {
            Ok(diff) => {
                self.new_diff_of = Some(depends_on);
                let text = serde_json::to_string(&diff).expect("BUG: a diff is always JSON");
                Some(Draft::of(Kind::SessionDiff, "", position, text))
            }
            // It is worked out again when the record changes.
            Err(cause) => {
                debug!(%session, %cause, "what a shared session changed cannot be worked out");
                None
            }
        }
    }
}

/// The models with these ids, as far as the session's directory knows them.
pub(super) async fn models(inner: &Arc<Inner>, session: &SessionId, ids: &[String]) -> Vec<Value> {
    let Ok(instance) = inner.directories.instance_of(session).await else { return Vec::new() };
    let named = ids.iter().filter_map(|id| id.split_once('/'));
    named.filter_map(|(provider, model)| described(&instance, provider, model)).collect()
}

fn parsed(draft: &Draft) -> Option<(Kind, Value)> {
    let payload = draft.payload.as_deref().filter(|_| matches!(draft.kind, Kind::Message | Kind::Session))?;
    Some((draft.kind, readable(records::fields("a row of a shared session", payload))?))
}

fn described(instance: &Instance, provider: &str, model: &str) -> Option<Value> {
    let catalog = instance.catalog();
    let provider = catalog.known.iter().find(|one| one.id == provider)?;
    let info = provider.models.iter().find(|one| one.id == model)?;
    let all = instance.settings.shown(&**info);
    let public: Map<String, Value> =
        PUBLIC.iter().filter_map(|name| Some(((*name).to_owned(), all.get(*name)?.clone()))).collect();
    Some(Value::Object(public))
}
