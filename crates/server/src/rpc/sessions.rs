//! All sessions: those that fit a filter, and one by its id.

use super::{failure, session, value};
use crate::app::App;
use crate::error::{ApiError, Kind};
use crate::wire::listing::Listing;
use std::sync::{Arc, LazyLock};
use sturdy_capnweb::{Call, Interface, Outcome, Stub, Thrown, Value, from_value};
use sturdy_session::id::SessionId;

struct Sessions {
    app: App,
}

static SESSIONS: LazyLock<Arc<Interface<Sessions>>> = LazyLock::new(|| {
    Interface::named("Sessions")
        .method("list", |this: Arc<Sessions>, mut call: Call| async move { this.list(call.arg()).await })
        .method("get", |this, mut call| async move {
            let id: String = call.take()?;
            this.get(&id).await
        })
        .build()
});

pub(super) fn stub(app: &App) -> Stub {
    SESSIONS.stub(Sessions { app: app.clone() })
}

impl Sessions {
    async fn list(&self, query: Value) -> Outcome {
        let listing: Listing = if query.is_nothing() { Listing::default() } else { from_value(query)? };
        let records = self.records(listing).await;
        let records = match records {
            Ok(records) => records,
            Err(cause) => return Err(failure::thrown(cause).await),
        };
        let mut sessions = Vec::with_capacity(records.len());
        for record in &records {
            sessions.push(value::record(record).await?);
        }
        Ok(Value::Array(sessions))
    }

    async fn records(&self, listing: Listing) -> Result<Vec<String>, ApiError> {
        let engine = self.app.engine();
        let here = engine.instance(listing.directory.as_deref().unwrap_or_default()).await?;
        Ok(engine.reads().sessions(listing.within(&here)).await?)
    }

    async fn get(&self, id: &str) -> Outcome {
        match self.find(id).await {
            Ok(id) => Ok(session::stub(&self.app, id).into()),
            Err(cause) => Err(failure::thrown(cause).await),
        }
    }

    async fn find(&self, id: &str) -> Result<SessionId, ApiError> {
        let id = SessionId::parse(id).map_err(|cause| ApiError::schema(Kind::Params, cause.to_string()))?;
        self.app.engine().session_record(&id).await?;
        Ok(id)
    }
}

/// A sentence about an argument that does not fit, as `BadRequest`.
pub(super) async fn bad_argument(message: &str) -> Thrown {
    failure::thrown(ApiError::schema(Kind::Payload, message)).await
}
