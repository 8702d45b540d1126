//! Grants at the door: a narrow right to one session, shown as a bearer like the token of a program.
//!
//! The records are the store's (`sturdy_store::grants`). Here a reference becomes a caller, a request is compared with what
//! the grant is for (`access/grants/need`), and whatever a grant opened is closed when it does not stand any more: an answer that is
//! waited for, an event stream, a WebSocket. What is stored with a grant is judged again by the store, in the transaction
//! that stores it.

pub(crate) mod make;
pub(crate) mod standing;

use crate::access::auth::Refused;
use crate::access::caller::{Caller, first_half};
use crate::access::door::Ends;
use crate::access::grants::{Granted, Need, need};
use crate::app::App;
use crate::error::ApiError;
use crate::streams::stream_until;
use axum::response::{IntoResponse as _, Response};
use futures_util::FutureExt as _;
use http::request::Parts;
use std::future::Future;
use std::time::Duration;
use sturdy_engine::behalf::Behalf;
use sturdy_store::grants::{GrantCall, GrantKeeper, GrantUse, Rights};
use sturdy_store::share::{Refusal, ShareError, SturdyRef};
use tracing::warn;

/// A grant that ends by itself is looked at again at least this often: clocks are set.
const LOOK_EVERY: Duration = Duration::from_secs(30);

/// Who shows this reference, if it is let in for this request.
pub(crate) async fn admit(app: &App, reference: SturdyRef, request: &Parts) -> Result<Caller, Refused> {
    let now = app.engine().clock().now();
    let id = reference.capability.clone();
    let row = match app.engine().store().redeem_grant(now, reference).await {
        Ok(row) => row,
        Err(ShareError::Refused(refusal @ (Refusal::Revoked | Refusal::Expired))) => {
            note(app, request, &id, "refused", refusal.code()).await;
            return Err(Refused::Grant(refusal));
        }
        Err(ShareError::Refused(_)) => return Err(Refused::Unknown),
        Err(ShareError::Store(cause)) => {
            warn!(%cause, "a grant could not be looked up");
            return Err(Refused::Unanswered);
        }
    };
    let Some(granted) = Granted::of(&row) else { return Err(Refused::Unknown) };
    let is_due = app.grants().count(&id, now).map_err(Refused::TooOften)?;
    let caller = Caller::Grant(granted);
    if !caller.may(request) {
        note(app, request, &id, "refused", "forbidden_scope").await;
        return Err(Refused::Scope);
    }
    if is_due {
        note(app, request, &id, "use", "ok").await;
    }
    Ok(caller)
}

async fn note(app: &App, request: &Parts, id: &str, method: &'static str, code: &'static str) {
    let call = GrantCall { actor: format!("grant:{id}"), ..call(app, request, &Caller::Anyone) };
    if let Err(cause) = app.engine().store().note_grant(call, id.to_owned(), method, code).await {
        warn!(%cause, "the use of a grant could not be written to its audit log");
    }
}

/// Who looks after grants, from where, and when.
pub(crate) fn call(app: &App, request: &Parts, caller: &Caller) -> GrantCall {
    GrantCall {
        now: app.engine().clock().now(),
        actor: caller.to_string(),
        transport: "http",
        address: address(request),
    }
}

/// With what right this caller looks after grants.
pub(crate) fn keeper(caller: &Caller) -> GrantKeeper {
    match caller {
        Caller::Grant(granted) => GrantKeeper::Holder(granted.id.clone()),
        Caller::Anyone | Caller::User(_) | Caller::Device(_) | Caller::Token { .. } | Caller::Ticket => {
            GrantKeeper::Owner
        }
    }
}

pub(crate) fn address(request: &Parts) -> String {
    // The socket's, not what a forwarding header says: whoever calls can invent that.
    let peer = request.extensions.get::<Ends>().map(|ends| ends.theirs.ip());
    peer.map(first_half).unwrap_or_default()
}

/// On whose behalf a request is answered.
pub(crate) fn behalf(caller: &Caller, request: &Parts) -> Behalf {
    let grant = match caller {
        Caller::Grant(granted) => need(request, granted.session.as_str())
            .map(|need| used(granted, need, "http", address(request)))
            // Reads need no further right.
            .or_else(|| Some(used(granted, Need::READ, "http", address(request)))),
        _ => None,
    };
    Behalf { actor: caller.to_string().into(), grant }
}

/// The use of a grant for something that is needed.
pub(crate) fn used(granted: &Granted, need: Need, transport: &'static str, address: String) -> GrantUse {
    GrantUse {
        grant: granted.id.clone(),
        right: need.right.unwrap_or(Rights::READ),
        method: need.method,
        is_counted: need.is_counted,
        actor: format!("grant:{}", granted.id),
        transport,
        address,
    }
}

/// Answers a request of a grant's holder; waiting and event streams end when the grant does.
pub(crate) async fn while_it_stands(
    app: &App,
    granted: &Granted,
    answer: impl Future<Output = Response>,
) -> Response {
    let response = tokio::select! {
        biased;
        response = answer => response,
        refusal = ended(app.clone(), granted.id.clone()) => return ApiError::Grant(refusal).into_response(),
    };
    let end = ended(app.clone(), granted.id.clone());
    stream_until(response, end.map(drop))
}

/// Whether a grant that was let in before still allows to read.
pub(crate) async fn still_reads(app: &App, granted: &Granted) -> Result<bool, ApiError> {
    let now = app.engine().clock().now();
    match app.engine().store().standing_grant(now, granted.id.clone()).await {
        Ok(row) => Ok(row.rights.contains(Rights::READ)),
        Err(ShareError::Refused(_)) => Ok(false),
        Err(ShareError::Store(cause)) => Err(cause.into()),
    }
}

/// Waits until a grant does not stand any more.
pub(crate) async fn ended(app: App, id: String) -> Refusal {
    let mut changes = app.grants().watch();
    loop {
        // Before the look: what changes during it is seen by the next.
        changes.borrow_and_update();
        let now = app.engine().clock().now();
        let row = match app.engine().store().standing_grant(now, id.clone()).await {
            Ok(row) => Some(row),
            Err(ShareError::Refused(refusal)) => return refusal,
            // A store that does not answer says nothing about the grant; whatever needs it will say so.
            Err(ShareError::Store(_)) => None,
        };
        let left = row.and_then(|row| row.expires).map(|expires| expires.saturating_sub(now));
        let wait = left.map_or(LOOK_EVERY, |left| Duration::from_millis(left).min(LOOK_EVERY));
        let _ = tokio::time::timeout(wait, changes.changed()).await;
    }
}
