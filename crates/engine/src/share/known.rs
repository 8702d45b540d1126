//! What a share shows besides rows: the models that answered, and what the session changed.
//!
//! Both are worked out again only when a row that they depend on was said, because they cost more than a row.

use crate::directory::instance::Instance;
use crate::engine::{Engine, Inner};
use serde_json::{Map, Value};
use std::collections::HashSet;
use std::sync::Arc;
use sturdy_session::id::SessionId;
use sturdy_store::outbox::Draft;
use sturdy_store::share::Kind;
use tracing::debug;

/// What is public of a model. Its address, headers and options are nobody's business.
const PUBLIC: [&str; 9] =
    ["id", "providerID", "name", "family", "status", "cost", "limit", "capabilities", "release_date"];
/// Models of one session that are described.
const MODELS_MAX: usize = 256;

/// What was worked out so far.
#[derive(Debug, Default)]
pub(super) struct Known {
    models: HashSet<String>,
    /// The parts of the record that the diff depends on, as they were.
    diff_of: Option<(Value, Value)>,
    /// Worked out and not sealed yet.
    waiting: Vec<Draft>,
}

impl Known {
    /// Adds what follows from these rows.
    pub(super) async fn add(
        &mut self,
        inner: &Arc<Inner>,
        session: &SessionId,
        position: u64,
        drafts: &mut Vec<Draft>,
    ) {
        let rows: Vec<(Kind, Value)> = drafts.iter().filter_map(parsed).collect();
        for (kind, row) in rows {
            match kind {
                Kind::Message => self.add_model(inner, session, position, &row).await,
                Kind::Session => self.add_diff(inner, session, position, &row).await,
                Kind::Part
                | Kind::SessionDiff
                | Kind::Model
                | Kind::MessageRemove
                | Kind::PartRemove
                | Kind::SnapshotBegin
                | Kind::SnapshotEnd => {}
            }
        }
        drafts.extend(self.waiting.iter().cloned());
    }

    /// Everything that was added is sealed.
    pub(super) fn sealed(&mut self) {
        self.waiting.clear();
    }

    /// Everything is said anew.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }

    async fn add_model(&mut self, inner: &Arc<Inner>, session: &SessionId, position: u64, message: &Value) {
        let named = if message["model"].is_object() { &message["model"] } else { message };
        let (Some(provider), Some(model)) = (named["providerID"].as_str(), named["modelID"].as_str()) else {
            return;
        };
        let id = format!("{provider}/{model}");
        if self.models.len() >= MODELS_MAX || self.models.contains(&id) {
            return;
        }
        // A directory that cannot be read any more leaves the name, which the message has.
        let Ok(instance) = inner.instance_of(session).await else { return };
        if let Some(shown) = described(&instance, provider, model) {
            self.waiting.push(Draft::of(Kind::Model, id.clone(), position, shown.to_string()));
        }
        self.models.insert(id);
    }

    async fn add_diff(&mut self, inner: &Arc<Inner>, session: &SessionId, position: u64, record: &Value) {
        let depends_on = (record["summary"].clone(), record["revert"].clone());
        if self.diff_of.as_ref() == Some(&depends_on) {
            return;
        }
        let engine = Engine { inner: inner.clone() };
        match engine.session_diff(session).await {
            Ok(diff) => {
                let text = serde_json::to_string(&diff).expect("BUG: a diff is always JSON");
                self.waiting.retain(|draft| draft.kind != Kind::SessionDiff);
                self.waiting.push(Draft::of(Kind::SessionDiff, "", position, text));
                self.diff_of = Some(depends_on);
            }
            // It is worked out again when the record changes.
            Err(cause) => debug!(%session, %cause, "what a shared session changed cannot be worked out"),
        }
    }
}

fn parsed(draft: &Draft) -> Option<(Kind, Value)> {
    let payload = draft.payload.as_deref().filter(|_| matches!(draft.kind, Kind::Message | Kind::Session))?;
    Some((draft.kind, serde_json::from_str(payload).ok()?))
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
