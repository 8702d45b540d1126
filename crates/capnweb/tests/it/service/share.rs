//! A share service as small as the recorded frames need it.

use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use sturdy_capnweb::{Call, ErrorValue, Interface, Reply, Stub, Value};

use super::Service;

pub(super) fn add(interface: Interface<Service>) -> Interface<Service> {
    interface
        .quick("createShare", |_, _| {
            Reply::value(Value::object([
                ("id", "EXAMPLESHARE"),
                ("url", "https://share.example/share/EXAMPLESHARE"),
                ("secret", "stdy1.EXAMPLESHARE.EXAMPLECAP.EXAMPLESECRET"),
            ]))
        })
        .quick("redeemShare", |_, mut call| {
            call.arg();
            if call.arg().as_str() == Some("stale") {
                return Reply::error(ErrorValue::new("revoked: capability was revoked").code("revoked"));
            }
            Reply::value(Value::object([
                ("share", Value::from(SHARE.stub(Share::default()))),
                ("cursor", 0.into()),
                ("epoch", 1.into()),
            ]))
        })
        .quick("appendOps", |_, _| {
            let error = ErrorValue::new("stale_epoch: capability epoch 1 is not 2").code("stale_epoch");
            Reply::error(error.with("epoch", 2))
        })
        .quick("syncShare", |_, _| {
            Reply::value(Value::object([("success", Value::Bool(true)), ("syncCount", 1.into())]))
        })
}

/// With the sinks of those who follow.
#[derive(Default)]
struct Share(Mutex<Vec<Stub>>);

static SHARE: LazyLock<Arc<Interface<Share>>> = LazyLock::new(|| {
    Interface::named("Share")
        .quick("appendOps", |_, call| Reply::Now(Ok(appended(call))))
        .method("subscribe", |this: Arc<Share>, mut call| async move {
            call.arg();
            let sink: Stub = call.take()?;
            let event = Value::object([
                ("cursor", Value::from(3)),
                ("key", "session".into()),
                ("kind", "session".into()),
                ("payload_json", "{}".into()),
            ]);
            drop(sink.call("event", [event]));
            // The server keeps the sink: more events may follow.
            this.0.lock().unwrap_or_else(PoisonError::into_inner).push(sink);
            Ok(Value::object([("cursor", 3)]))
        })
        .build()
});

fn appended(mut call: Call) -> Value {
    let given = call.arg();
    let member = |name: &str| given.get(name).cloned().unwrap_or_default();
    let ids = given.get("ops").and_then(Value::as_array).unwrap_or_default().iter();
    let applied: Vec<Value> = ids.map(|op| op.get("op_id").cloned().unwrap_or_default()).collect();
    Value::object([
        ("batch_id", member("batch_id")),
        ("status", "ok".into()),
        ("cursor", 2.into()),
        ("applied_seq", 2.into()),
        ("applied_count", applied.len().into()),
        ("chain", member("chain_after")),
        ("applied", applied.into()),
        ("duplicates", Value::Array(Vec::new())),
        ("rejected", Value::Array(Vec::new())),
        ("epoch", 1.into()),
        ("server_time", Value::Number(1_770_000_000_000.0)),
    ])
}
