//! The share service over Cap'n Web at `/rpc/share`: the same core, the same answers.
//!
//! The root takes a share and a secret with every call. `redeemShare` answers with a handle besides what the capability
//! is good for; its methods are those of that capability, and every call looks at the stored record again, so a handle
//! on an open socket loses its power with the revocation. Payloads are JSON as text: peers drop some names of objects.

use super::at::{AtShare, actor_of, caller};
use super::follow::{Follower, ViewerUpdate};
use super::grants::{Narrow, attenuated, listed, reading, rotated, visible};
use super::http::{CreateShare, announced, created};
use super::limits::PAGE;
use super::refuse::ShareFailure;
use crate::access::caller::Caller;
use crate::app::App;
use crate::described::{Routes, routes};
use crate::error::ApiError;
use crate::rpc::{answer_batch, answer_upgrade};
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::{Request, State};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesOrdered;
use http::request::Parts;
use serde::Deserialize;
use std::sync::{Arc, LazyLock};
use sturdy_capnweb::{
    Asked, Call, ErrorValue, Interface, Object, Outcome, Reply, Stub, Thrown, Value, to_value,
};
use sturdy_store::share::{Batch, LegacyItem, Scope, ShareAuth, ShareCall, ShownOp};
use tokio_util::sync::CancellationToken;

/// Calls of one sink that wait for their answer.
const UNDER_WAY_MAX: usize = 64;

pub(super) fn routes() -> Routes {
    Routes::new().routes(routes!(post)).route("/rpc/share", get(upgrade))
}

/// The share service: a Cap'n Web session in one request. An upgrade of the same address is one over a WebSocket.
#[utoipa::path(post, path = "/rpc/share", operation_id = "share.rpc",
    request_body(content = String, content_type = "text/plain", description = "Messages, one per line"),
    responses((status = 200, description = "Messages, one per line", content_type = "text/plain", body = String),
        (status = 401, description = "The gateway key is wrong")))]
async fn post(State(app): State<App>, request: Request) -> Result<Response, ApiError> {
    let (parts, body) = request.into_parts();
    let root = match root(&app, &parts) {
        Ok(root) => root,
        Err(unmet) => return Ok(unmet.into_response()),
    };
    Ok(announced(answer_batch(&app, Request::from_parts(parts, body), root).await?))
}

async fn upgrade(
    State(app): State<App>,
    parts: Parts,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Response {
    match root(&app, &parts) {
        Ok(root) => {
            let place = app.share_sockets().take();
            answer_upgrade(app, upgrade, root, Caller::Anyone, place).await
        }
        Err(unmet) => unmet.into_response(),
    }
}

/// The first object, for whoever has the gateway key where there is one.
fn root(app: &App, parts: &Parts) -> Result<Stub, ShareFailure> {
    let shares = app.shares().ok_or(ShareFailure::Off)?;
    if !shares.may_create(parts) {
        return Err(ShareFailure::Gateway);
    }
    let call = ShareCall { transport: "rpc", ..caller(app, parts) };
    Ok(ROOT.stub(Root { app: app.clone(), call }))
}

struct Root {
    app: App,
    call: ShareCall,
}

/// What a share is made with besides its session.
#[derive(Default, Deserialize)]
#[serde(default)]
struct CreateOptions {
    request_id: Option<String>,
    secret: Option<String>,
    visibility: Option<String>,
    title: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RedeemOptions {
    writer_id: Option<String>,
}

/// Which rows of a list are wanted.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct OfActor {
    actor: Option<String>,
}

/// One capability, or all but the shown.
#[derive(Deserialize)]
struct Revoke {
    cap_id: Option<String>,
    #[serde(default)]
    all: bool,
}

static ROOT: LazyLock<Arc<Interface<Root>>> = LazyLock::new(|| {
    Interface::named("ShareService")
        .method("createShare", |this: Arc<Root>, mut call: Call| async move {
            let session_id: String = call.take()?;
            let options: CreateOptions = optional(&mut call)?;
            let CreateOptions { request_id, secret, visibility, title } = options;
            let wanted = CreateShare { session_id, request_id, secret, visibility, title };
            let made = created(&this.app, this.now(), wanted).await;
            given(made).await
        })
        .method("syncShare", |this, mut call| async move {
            let at = this.share(&mut call)?;
            let items: Vec<LegacyItem> = call.parse()?;
            at.sync(items).await
        })
        .method("deleteShare", |this, mut call| async move { this.share(&mut call)?.delete().await })
        .method("redeemShare", |this, mut call| async move {
            let at = this.share(&mut call)?;
            let options: RedeemOptions = optional(&mut call)?;
            at.redeem(options.writer_id).await
        })
        .method("appendOps", |this, mut call| async move {
            let at = this.share(&mut call)?;
            let epoch: u64 = call.parse()?;
            let batch: Batch = call.parse()?;
            at.append(Batch { capability_epoch: epoch, ..batch }).await
        })
        .method("revokeCapability", |this, mut call| async move {
            let at = this.share(&mut call)?;
            let wanted: Revoke = call.parse()?;
            at.revoke(wanted).await
        })
        .quick("probeValue", |_, mut call| Reply::Now(Ok(call.arg())))
        .method("probeCallback", |_, mut call| async move {
            let callback: Stub = call.take()?;
            callback.invoke([]).await
        })
        .build()
});

impl Root {
    fn now(&self) -> ShareCall {
        ShareCall { now: self.app.engine().clock().now(), ..self.call.clone() }
    }

    /// The first two arguments: which share, and what right to it.
    fn share(&self, call: &mut Call) -> Result<Handle, Thrown> {
        let share: String = call.take()?;
        let secret: String = call.take()?;
        Ok(Handle { app: self.app.clone(), call: self.call.clone(), share, auth: ShareAuth::parse(&secret) })
    }
}

/// A share and a right to it.
struct Handle {
    app: App,
    call: ShareCall,
    share: String,
    auth: ShareAuth,
}

static HANDLE: LazyLock<Arc<Interface<Handle>>> = LazyLock::new(|| {
    Interface::named("Share")
        .method("info", |this: Arc<Handle>, _| async move { this.info().await })
        .method("snapshot", |this, _| async move { this.snapshot().await })
        .method("readOps", |this, mut call: Call| async move {
            let after: u64 = or_default(&mut call)?;
            let limit: Option<u64> = or_default(&mut call)?;
            this.read_ops(after, limit.unwrap_or(PAGE)).await
        })
        .method("subscribe", |this, mut call| async move {
            let after: Option<u64> = or_default(&mut call)?;
            let sink: Stub = call.take()?;
            this.subscribe(after, sink).await
        })
        .method("appendOps", |this, mut call| async move {
            let batch: Batch = call.parse()?;
            this.append(batch).await
        })
        .method("attenuate", |this, mut call| async move {
            let wanted: Narrow = call.parse()?;
            let made = attenuated(&mut this.at(), wanted).await;
            given(made).await
        })
        .method("revoke", |this, mut call| async move {
            let cap_id: String = call.take()?;
            this.revoke(Revoke { cap_id: Some(cap_id), all: false }).await
        })
        .method("rotate", |this, _| async move {
            let at = this.at();
            given(rotated(&at, this.auth.clone()).await).await
        })
        .method("setVisibility", |this, mut call| async move {
            let wanted: String = call.take()?;
            let at = this.at();
            given(visible(&at, this.auth.clone(), &wanted).await).await
        })
        .method("listCapabilities", |this, mut call| async move {
            let wanted: OfActor = optional(&mut call)?;
            given(listed(&this.at(), this.auth.clone(), wanted.actor.as_deref()).await).await
        })
        .method("readers", |this, _| async move { given(reading(&this.at(), this.auth.clone()).await).await })
        .method("audit", |this, mut call| async move {
            let after: u64 = or_default(&mut call)?;
            let wanted: OfActor = optional(&mut call)?;
            let at = this.at();
            let rows = at
                .store()
                .share_audit(at.call.clone(), at.share.clone(), this.auth.clone(), after, wanted.actor)
                .await;
            given(rows.map_err(ShareFailure::from)).await
        })
        .method("delete", |this, _| async move { this.delete().await })
        .build()
});

impl Handle {
    fn at(&self) -> AtShare {
        let now = self.app.engine().clock().now();
        AtShare {
            app: self.app.clone(),
            share: self.share.clone(),
            call: ShareCall { now, actor: actor_of(&self.auth), ..self.call.clone() },
            bearer: Some(self.auth.clone()),
        }
    }

    async fn redeem(self, writer: Option<String>) -> Outcome {
        let at = self.at();
        let found =
            at.store().redeem_share(at.call.clone(), at.share.clone(), self.auth.clone(), writer).await;
        let may_append = found.as_ref().is_ok_and(|found| found.scope.contains(Scope::APPEND));
        let Value::Object(mut answer) = given(found.map_err(ShareFailure::from)).await? else {
            return Err(ErrorValue::new("BUG: a capability is an object").into());
        };
        if let Some(shares) = at.app.shares().filter(|_| may_append) {
            // So that a sender gathers for a shorter time while somebody watches.
            answer.insert("viewers", shares.readers().of(&at.share).values().sum::<usize>());
        }
        answer.insert("share", HANDLE.stub(self));
        Ok(answer.into())
    }

    async fn info(&self) -> Outcome {
        let at = self.at();
        let found = at.store().redeem_share(at.call.clone(), at.share.clone(), self.auth.clone(), None).await;
        given(found.map_err(ShareFailure::from)).await
    }

    async fn append(&self, batch: Batch) -> Outcome {
        let at = self.at();
        if let Err(unmet) = at.count_batch() {
            return Err(unmet.thrown().await);
        }
        let ack = at.store().append_share(at.call.clone(), at.share.clone(), self.auth.clone(), batch).await;
        let answer = given(ack.map_err(ShareFailure::from)).await?;
        at.wake();
        Ok(answer)
    }

    async fn sync(&self, items: Vec<LegacyItem>) -> Outcome {
        let at = self.at();
        if let Err(unmet) = at.count_batch() {
            return Err(unmet.thrown().await);
        }
        let synced = at.store().sync_share(at.call.clone(), at.share.clone(), self.auth.clone(), items).await;
        let answer = synced.map(
            |(count, cursor)| serde_json::json!({ "success": true, "syncCount": count, "cursor": cursor }),
        );
        let answer = given(answer.map_err(ShareFailure::from)).await?;
        at.wake();
        Ok(answer)
    }

    async fn delete(&self) -> Outcome {
        let at = self.at();
        let deleted = at.store().delete_share(at.call.clone(), at.share.clone(), self.auth.clone()).await;
        let answer = deleted.map(|()| serde_json::json!({ "success": true }));
        let answer = given(answer.map_err(ShareFailure::from)).await?;
        at.wake();
        Ok(answer)
    }

    async fn revoke(&self, wanted: Revoke) -> Outcome {
        let at = self.at();
        let call = at.call.clone();
        let share = at.share.clone();
        let auth = self.auth.clone();
        let epoch = match wanted {
            Revoke { all: true, .. } => at.store().revoke_all_share_capabilities(call, share, auth).await,
            Revoke { cap_id: Some(one), .. } => {
                at.store().revoke_share_capability(call, share, auth, one).await
            }
            Revoke { cap_id: None, all: false } => {
                return Err(ErrorValue::type_error("malformed: `cap_id` or `all` is wanted")
                    .code("malformed")
                    .into());
            }
        };
        let answer = epoch.map(|epoch| serde_json::json!({ "epoch": epoch }));
        let answer = given(answer.map_err(ShareFailure::from)).await?;
        at.wake();
        Ok(answer)
    }

    async fn snapshot(&self) -> Outcome {
        let at = self.at();
        at.note_read().await;
        match read_whole(&at).await {
            Ok(whole) => Ok(whole),
            Err(refused) => Err(refused.thrown().await),
        }
    }

    async fn read_ops(&self, after: u64, limit: u64) -> Outcome {
        let at = self.at();
        at.note_read().await;
        let found =
            at.store().share_ops(at.call.now, at.share.clone(), at.bearer.clone(), after, limit).await;
        match found {
            Ok(page) => Ok(Value::object([
                ("ops", Value::array(page.ops.iter().map(event))),
                ("cursor", number(page.cursor)),
                ("more", Value::from(page.more)),
                ("reset", Value::from(page.is_behind)),
            ])),
            Err(refused) => Err(ShareFailure::from(refused).thrown().await),
        }
    }

    /// Calls `event` of the sink with everything that comes, until the right ends or the sink is gone.
    async fn subscribe(&self, after: Option<u64>, sink: Stub) -> Outcome {
        let info = match self
            .at()
            .store()
            .redeem_share(self.at().call, self.share.clone(), self.auth.clone(), None)
            .await
        {
            Ok(info) => info,
            Err(refused) => return Err(ShareFailure::from(refused).thrown().await),
        };
        let follower = Follower::new(&self.app, self.share.clone(), Some(self.auth.clone()), after).await;
        let follower = match follower {
            Ok(follower) => follower,
            Err(unmet) => return Err(unmet.thrown().await),
        };
        let gone = CancellationToken::new();
        let broken = gone.clone();
        sink.on_broken(move |_| broken.cancel());
        self.app.engine().tasks().spawn("viewer", async move {
            let _ = gone.run_until_cancelled(pass_on(follower, sink)).await;
        });
        Ok(Value::object([("cursor", number(info.cursor))]))
    }
}

async fn pass_on(mut follower: Follower, sink: Stub) {
    let mut under_way: FuturesOrdered<Asked> = FuturesOrdered::new();
    while let Some(update) = follower.next().await {
        let said = match update {
            ViewerUpdate::Page(page) => match &page.whole {
                Some(info) => vec![whole(info.cursor, &page.ops)],
                None => page.ops.iter().map(event).collect(),
            },
            ViewerUpdate::Silence => Vec::new(),
            ViewerUpdate::Closed(code) => vec![Value::object([("kind", "closed"), ("code", code)])],
            // Whoever follows by a callback hears it only if it is told.
            ViewerUpdate::Lost => vec![Value::object([("kind", "closed"), ("code", "overloaded")])],
        };
        for value in said {
            if under_way.len() >= UNDER_WAY_MAX && !matches!(under_way.next().await, Some(Ok(_))) {
                return;
            }
            under_way.push_back(sink.call("event", [value]).ask());
        }
    }
    // What is under way arrives before the sink is let go.
    while let Some(Ok(_)) = under_way.next().await {}
}

/// Everything, as one value.
fn whole(cursor: u64, ops: &[ShownOp]) -> Value {
    Value::object([
        ("kind", Value::from("snapshot")),
        ("cursor", number(cursor)),
        ("items", Value::array(ops.iter().map(event))),
    ])
}

fn event(op: &ShownOp) -> Value {
    let mut object = Object::new();
    object.insert("cursor", number(op.cursor));
    object.insert("key", op.key.as_str());
    object.insert("kind", op.kind.as_str());
    if let Some(data) = &op.data {
        object.insert("payload_json", data.get());
    }
    object.into()
}

/// Cursors are counted, and nobody counts beyond what a double holds.
fn number(count: u64) -> Value {
    Value::Number(count as f64)
}

/// An object that may be left out.
fn optional<T: Default + serde::de::DeserializeOwned>(call: &mut Call) -> Result<T, Thrown> {
    or_default(call)
}

fn or_default<T: Default + serde::de::DeserializeOwned>(call: &mut Call) -> Result<T, Thrown> {
    match call.arg() {
        nothing if nothing.is_nothing() => Ok(T::default()),
        value => Ok(sturdy_capnweb::from_value(value)?),
    }
}

/// An answer as a value, or the refusal as an error.
async fn given<T: serde::Serialize>(answer: Result<T, ShareFailure>) -> Outcome {
    match answer {
        Ok(answer) => Ok(to_value(&answer)?),
        Err(unmet) => Err(unmet.thrown().await),
    }
}

async fn read_whole(at: &AtShare) -> Result<Value, ShareFailure> {
    let weight = at.store().share_weight(at.share.clone()).await?;
    let _room = at.room_for(weight.map_or(0, |weight| weight.bytes))?;
    let found = at.store().share_snapshot(at.call.now, at.share.clone(), at.bearer.clone()).await;
    let (info, ops) = found?;
    Ok(whole(info.cursor, &ops))
}
