//! How long somebody who was let in may stay: what a caller has opened ends when the caller would not be let in any more.

use crate::access::caller::Caller;
use crate::app::App;
use crate::grants;
use std::future::pending;

/// Why a caller may not stay.
#[derive(Debug)]
pub(crate) struct NoLongerAdmitted {
    pub(crate) message: String,
    pub(crate) code: &'static str,
}

/// Waits until a caller may not ask any more: a token is revoked or expires, a browser is logged out, a grant does not
/// stand. Others may stay for as long as they like.
pub(crate) async fn ended(app: App, caller: Caller) -> NoLongerAdmitted {
    let message = match caller {
        Caller::Token { id, .. } => {
            app.tokens().ended(&id, || app.engine().clock().now()).await;
            "The token was revoked, or has expired."
        }
        Caller::Device(id) => {
            app.devices().logged_out(&id).await;
            "The browser was logged out."
        }
        Caller::Grant(granted) => {
            let refusal = grants::ended(app, granted.id).await;
            return NoLongerAdmitted { message: refusal.to_string(), code: refusal.code() };
        }
        Caller::Anyone | Caller::User(_) | Caller::Ticket => pending().await,
    };
    NoLongerAdmitted { message: message.to_owned(), code: "revoked" }
}
