//! The first object of a connection: three probes, and the ways to sessions, grants and shares.

use super::value::iso_time;
use super::{failure, granted, grants, sessions, shares};
use crate::access::caller::Caller;
use crate::app::App;
use crate::error::ApiError;
use std::sync::{Arc, LazyLock};
use sturdy_capnweb::{Call, ErrorValue, Interface, Object, Outcome, Reply, Stub, Value};

struct Root {
    app: App,
    who: Caller,
    address: String,
}

static ROOT: LazyLock<Arc<Interface<Root>>> = LazyLock::new(|| {
    Interface::named("Root")
        .quick("echo", |_, mut call: Call| Reply::Now(Ok(call.arg())))
        .quick("probeValue", |_, mut call| Reply::Now(call.take().and_then(probe_value)))
        .method("probeCallback", |_, mut call| async move {
            let callback: Stub = call.take()?;
            callback.invoke([]).await
        })
        .quick("sessions", |this: Arc<Root>, _| Reply::value(sessions::stub(&this.app)))
        .method("grants", |this, _| async move {
            // The same as for `/sturdy/grant`: `/rpc` itself is open to every token that may write.
            if !this.who.is_admin() {
                return Err(failure::thrown(ApiError::Scope).await);
            }
            Ok(grants::stub(&this.app, this.who.clone(), this.address.clone()).into())
        })
        .quick("shares", |this, _| Reply::value(shares::stub(&this.app, this.who.clone())))
        .method("redeem", |this, mut call| async move {
            granted::redeem(&this.app, call.arg(), this.address.clone()).await
        })
        .build()
});

pub(super) fn stub(app: &App, who: Caller, address: String) -> Stub {
    ROOT.stub(Root { app: app.clone(), who, address })
}

/// Shows that a date, bytes and whatever else arrived as what they are.
fn probe_value(input: Object) -> Outcome {
    let wanted = |name: &str, kind: &str| {
        let found = input.get(name).map_or("undefined", Value::kind);
        ErrorValue::type_error(format!("`{name}` should be {kind}, found {found}"))
    };
    let Some(Value::Date(when)) = input.get("when") else { return Err(wanted("when", "a date").into()) };
    let Some(Value::Bytes(bytes)) = input.get("bytes") else { return Err(wanted("bytes", "bytes").into()) };

    let when = iso_time(*when).ok_or_else(|| ErrorValue::range_error("`when` is an invalid date"))?;
    let bytes = bytes.as_slice();
    let nested = input.get("nested").cloned().unwrap_or_default();
    Ok(Value::object([
        ("when", Value::from(when)),
        ("bytes", Value::array(bytes.iter().map(|byte| u32::from(*byte)))),
        ("size", bytes.len().into()),
        ("nested", nested),
    ]))
}
