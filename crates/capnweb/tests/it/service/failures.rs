//! Everything that can be thrown.

use sturdy_capnweb::{ErrorValue, Interface, Reply, Thrown, Value};

use super::{Service, counter};

pub(super) fn add(interface: Interface<Service>) -> Interface<Service> {
    interface
        .quick("throwRange", |_, _| Reply::error(ErrorValue::range_error("test error")))
        .quick("throwString", |_, _| Reply::error(Thrown("just a string".into())))
        .quick("throwUndefined", |_, _| Reply::error(Thrown(Value::Undefined)))
        .quick("throwRecord", |_, _| Reply::error(Thrown(Value::object([("code", 7)]))))
        .quick("throwProps", |_, _| {
            let details = Value::object([("n", Value::from(1)), ("when", Value::date(5.0))]);
            Reply::error(ErrorValue::type_error("with props").code("E_X").with("details", details))
        })
        .quick("throwCause", |_, _| {
            Reply::error(ErrorValue::new("outer").with("cause", ErrorValue::range_error("inner")))
        })
        .quick("throwAggregate", |_, _| {
            let errors = Value::array([ErrorValue::type_error("a"), ErrorValue::new("b")]);
            Reply::error(ErrorValue::named("AggregateError", "many").with("errors", errors))
        })
        .quick("throwMixedProps", |_, _| {
            Reply::error(ErrorValue::new("has stub").with("ok", 1).with("stub", counter(1)))
        })
        // Rust has no Map; a member an npm peer would lose is what our encoder refuses.
        .quick("returnUnsupported", |_, _| Reply::value(Value::object([("toString", 1)])))
}
