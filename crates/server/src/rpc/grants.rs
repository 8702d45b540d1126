//! Grants to sessions, for whoever may use the whole server: the same as `/sturdy/grant` over HTTP.

use super::granted::given;
use crate::access::caller::Caller;
use crate::app::App;
use crate::grants::keeper;
use crate::grants::make::{GrantLimits, WantedGrant, made, narrowed, revoked};
use serde::Deserialize;
use std::sync::{Arc, LazyLock};
use sturdy_capnweb::{Call, Interface, Stub, from_value};
use sturdy_store::grants::{GrantCall, GrantQuery};

struct Grants {
    app: App,
    who: Caller,
    address: String,
}

/// Everything may be left out.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Listing {
    #[serde(rename = "sessionID")]
    session: Option<String>,
    actor: Option<String>,
}

static GRANTS: LazyLock<Arc<Interface<Grants>>> = LazyLock::new(|| {
    Interface::named("Grants")
        .method("list", |this: Arc<Grants>, mut call: Call| async move {
            let query = call.arg();
            let query: Listing = if query.is_nothing() { Listing::default() } else { from_value(query)? };
            let query = GrantQuery { session: query.session, actor: query.actor };
            let store = this.app.engine().store();
            given(store.grants(this.call().now, keeper(&this.who), query).await).await
        })
        .method("create", |this, mut call| async move {
            let wanted: WantedGrant = call.parse()?;
            given(made(&this.app, this.call(), wanted).await).await
        })
        .method("narrow", |this, mut call| async move {
            let id: String = call.take()?;
            let wanted: GrantLimits = call.parse()?;
            given(narrowed(&this.app, this.call(), keeper(&this.who), &id, wanted).await).await
        })
        .method("revoke", |this, mut call| async move {
            let id: String = call.take()?;
            let revoked = revoked(&this.app, this.call(), keeper(&this.who), &id).await;
            given(revoked.map(|revoked| serde_json::json!({ "revoked": revoked }))).await
        })
        .method("audit", |this, mut call| async move {
            let id: String = call.take()?;
            let after = call.arg();
            let after: u64 = if after.is_nothing() { 0 } else { from_value(after)? };
            let store = this.app.engine().store();
            given(store.grant_audit(this.call().now, keeper(&this.who), id, after).await).await
        })
        .build()
});

pub(super) fn stub(app: &App, who: Caller, address: String) -> Stub {
    GRANTS.stub(Grants { app: app.clone(), who, address })
}

impl Grants {
    fn call(&self) -> GrantCall {
        GrantCall {
            now: self.app.engine().clock().now(),
            actor: self.who.to_string(),
            transport: "rpc",
            address: self.address.clone(),
        }
    }
}
