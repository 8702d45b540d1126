//! Which sessions are shared, sharing one and taking it back: the same as the routes of `routes/sessions/share`.
//!
//! Not here: what the owner of a share may do with it, which its service answers at `/rpc/share` for the `reference`.

use super::failure;
use super::granted::given;
use crate::access::caller::Caller;
use crate::app::App;
use crate::error::{ApiError, Kind};
use crate::wire::share_link::{LinkQuery, ShareRequest, owned};
use std::sync::{Arc, LazyLock};
use sturdy_capnweb::{Call, Interface, Outcome, Stub, from_value};
use sturdy_engine::EngineError;
use sturdy_engine::behalf::{Behalf, on_behalf};
use sturdy_session::id::SessionId;

struct SharedSessions {
    app: App,
    who: Caller,
}

static SHARES: LazyLock<Arc<Interface<SharedSessions>>> = LazyLock::new(|| {
    Interface::named("Shares")
        .method("list", |this: Arc<SharedSessions>, mut call: Call| async move {
            let wanted = call.arg();
            let wanted: LinkQuery =
                if wanted.is_nothing() { LinkQuery::default() } else { from_value(wanted)? };
            let links = this.app.engine().share_links().await.map_err(ApiError::from);
            given(links.map(|links| wanted.pick(&links))).await
        })
        .method("share", |this, mut call| async move {
            let id: String = call.take()?;
            let wanted = call.arg();
            let wanted: ShareRequest =
                if wanted.is_nothing() { ShareRequest::default() } else { from_value(wanted)? };
            this.share(&id, wanted).await
        })
        .method("unshare", |this, mut call| async move {
            let id: String = call.take()?;
            this.unshare(&id).await
        })
        .build()
});

pub(super) fn stub(app: &App, who: Caller) -> Stub {
    SHARES.stub(SharedSessions { app: app.clone(), who })
}

impl SharedSessions {
    async fn share(&self, id: &str, wanted: ShareRequest) -> Outcome {
        let sharing = async {
            let id = session(id)?;
            let engine = self.app.engine();
            engine.share_session(&id, wanted.visibility()?).await.map_err(ApiError::of(&id))?;
            let link = engine.share_link(&id).await?.ok_or_else(|| EngineError::NotShared(id.clone()))?;
            Ok(owned(&link))
        };
        let shared: Result<_, ApiError> = on_behalf(self.behalf(), sharing).await;
        given(shared).await
    }

    async fn unshare(&self, id: &str) -> Outcome {
        let unsharing = async {
            let id = session(id)?;
            self.app.engine().unshare_session(&id).await.map_err(ApiError::of(&id))
        };
        let unshared: Result<(), ApiError> = on_behalf(self.behalf(), unsharing).await;
        match unshared {
            Ok(()) => Ok(true.into()),
            Err(cause) => Err(failure::thrown(cause).await),
        }
    }

    fn behalf(&self) -> Behalf {
        Behalf { actor: self.who.to_string().into(), grant: None }
    }
}

fn session(id: &str) -> Result<SessionId, ApiError> {
    SessionId::parse(id).map_err(|cause| ApiError::schema(Kind::Params, cause.to_string()))
}
