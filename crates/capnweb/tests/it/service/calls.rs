//! Plain calls, objects handed out, callbacks taken in.

use std::{
    sync::{Arc, PoisonError},
    time::Duration,
};

use sturdy_capnweb::{Bytes, Call, ErrorValue, Interface, Object, Reply, Stub, Value};

use super::{Answer, COUNTER, Counter, Service, SessionSlot, counted};

pub(super) fn add(interface: Interface<Service>) -> Interface<Service> {
    callbacks(objects(values(interface)))
}

fn values(interface: Interface<Service>) -> Interface<Service> {
    interface
        .quick("square", |_, mut call| match call.take::<f64>() {
            Ok(number) => Reply::value(number * number),
            Err(reason) => Reply::error(reason),
        })
        .quick("echo", |_, mut call| Reply::Now(Ok(call.arg())))
        .quick("fib", |_, mut call| match call.take_or(0u32) {
            Ok(count) => Reply::value(fibonacci(count)),
            Err(reason) => Reply::error(reason),
        })
        .quick("returnNull", |_, _| Reply::Now(Ok(Value::Null)))
        .quick("returnUndefined", |_, _| Reply::value(()))
        .getter("prop", |_, _| async {
            let list = Value::array([10.into(), 20.into(), Value::object([("c", "deep")])]);
            Ok(Value::object([("a", Value::object([("b", list)]))]))
        })
        .method("slow", |_, mut call| async move {
            let wait: u64 = call.take_or(0)?;
            tokio::time::sleep(Duration::from_millis(wait)).await;
            Ok(call.arg())
        })
        .quick("greet", |_, mut call| match call.take_or("world".to_owned()) {
            Ok(name) => Reply::value(format!("hello {name}")),
            Err(reason) => Reply::error(reason),
        })
        .method("probeValue", |_, call| async move { probe_value(call) })
}

fn fibonacci(count: u32) -> Value {
    let mut pair = (0f64, 1f64);
    let numbers = (0..count).map(|_| {
        let number = pair.0;
        pair = (pair.1, pair.0 + pair.1);
        Value::Number(number)
    });
    Value::Array(numbers.collect())
}

/// `{when, bytes, nested}` to `{when: ISO text, bytes: numbers, size, nested}`.
fn probe_value(mut call: Call) -> Answer {
    let mut given: Object = call.take()?;
    let when = match given.remove("when") {
        Some(Value::Date(milliseconds)) => iso(milliseconds)?,
        other => return Err(ErrorValue::type_error(format!("when: {other:?} is no date")).into()),
    };
    let bytes = Bytes::try_from(given.remove("bytes").unwrap_or_default())?;
    let numbers: Vec<u32> = bytes.as_slice().iter().map(|&byte| u32::from(byte)).collect();
    Ok(Value::object([
        ("when", Value::from(when)),
        ("size", numbers.len().into()),
        ("bytes", numbers.into()),
        ("nested", given.remove("nested").unwrap_or_default()),
    ]))
}

/// The text of JavaScript's `toISOString`, by the civil calendar.
fn iso(milliseconds: f64) -> Result<String, ErrorValue> {
    if !milliseconds.is_finite() {
        return Err(ErrorValue::range_error("Invalid time value"));
    }
    let all = milliseconds as i64;
    let days = all.div_euclid(86_400_000);
    let rest = all.rem_euclid(86_400_000);
    let (year, month, day) = civil(days);
    let hour = rest / 3_600_000;
    let minute = rest / 60_000 % 60;
    let second = rest / 1000 % 60;
    let year = match year {
        0..=9999 => format!("{year:04}"),
        _ => format!("{}{:06}", if year < 0 { '-' } else { '+' }, year.abs()),
    };
    Ok(format!("{year}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z", rest % 1000))
}

/// Days since 1970 to year, month, day. Eras of 400 years repeat.
fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

fn objects(interface: Interface<Service>) -> Interface<Service> {
    interface
        .quick("makeCounter", |this, mut call| match call.take_or(0i64) {
            Ok(start) => Reply::value(counted(start, &this.disposed)),
            Err(reason) => Reply::error(reason),
        })
        .quick("pair", |this, _| {
            // One object, two appearances: each is disposed by itself.
            let counter = Arc::new(Counter { value: 1.into(), disposed: Some(Arc::clone(&this.disposed)) });
            Reply::value(Value::array([COUNTER.stub_of(Arc::clone(&counter)), COUNTER.stub_of(counter)]))
        })
        .quick("getFunction", |_, _| Reply::value(add_one()))
        .quick("getRecord", |this, _| {
            Reply::value(Value::object([
                ("add", Value::from(add_one())),
                ("n", 5.into()),
                ("c", counted(1, &this.disposed).into()),
            ]))
        })
        .quick("manyCounters", |this, mut call| match call.take_or(0u32) {
            Ok(count) => {
                Reply::value(Value::array((0..count).map(|at| counted(i64::from(at), &this.disposed))))
            }
            Err(reason) => Reply::error(reason),
        })
        .quick("disposedCount", |this, _| {
            Reply::value(this.disposed.load(std::sync::atomic::Ordering::Relaxed))
        })
        .quick("sessionStats", |_, call| {
            match call.context().get::<Arc<SessionSlot>>().and_then(|slot| slot.0.get()) {
                Some(session) => {
                    let stats = session.stats();
                    Reply::value(Value::object([("imports", stats.imports), ("exports", stats.exports)]))
                }
                None => Reply::error(ErrorValue::new("no session")),
            }
        })
        .method("callClientMain", |_, mut call| async move {
            let session = call.context().get::<Arc<SessionSlot>>().and_then(|slot| slot.0.get()).cloned();
            let session = session.ok_or_else(|| ErrorValue::new("no session"))?;
            session.remote().call("square", [call.arg()]).await
        })
        .quick("abortSession", |_, mut call| {
            if let Some(session) =
                call.context().get::<Arc<SessionSlot>>().and_then(|slot| slot.0.get()).cloned()
            {
                session.abort(ErrorValue::type_error(call.take_or(String::new()).unwrap_or_default()));
            }
            Reply::value(())
        })
        .quick("seen", |this, _| {
            let seen = this.seen.lock().unwrap_or_else(PoisonError::into_inner).clone();
            Reply::value(seen)
        })
        .quick("note", |this, mut call| match call.take::<String>() {
            Ok(what) => {
                this.note(what);
                Reply::value(())
            }
            Err(reason) => Reply::error(reason),
        })
}

fn add_one() -> Stub {
    Stub::function(|mut call| async move { Ok(Value::Number(call.take::<f64>()? + 1.0)) })
}

fn callbacks(interface: Interface<Service>) -> Interface<Service> {
    interface
        .quick("incrementCounter", |_, mut call| match (call.take::<Stub>(), call.take_or(1i64)) {
            (Ok(counter), Ok(by)) => Reply::value(counter.call("increment", [by.into()])),
            (Err(reason), _) | (_, Err(reason)) => Reply::error(reason),
        })
        .method("callFunction", |_, mut call| async move {
            let function: Stub = call.take()?;
            let result = function.invoke([call.arg()]).await?;
            Ok(Value::object([("result", result)]))
        })
        .method("probeCallback", |_, mut call| async move { call.take::<Stub>()?.invoke([21.into()]).await })
        .quick("callSquare", |_, mut call| match call.take::<Stub>() {
            Ok(this) => Reply::value(Value::object([("result", this.call("square", [call.arg()]))])),
            Err(reason) => Reply::error(reason),
        })
        .quick("callAndReturnPromise", |_, mut call| match call.take::<Stub>() {
            Ok(function) => Reply::value(function.invoke([call.arg()])),
            Err(reason) => Reply::error(reason),
        })
        .quick("callAndReturnNested", |_, mut call| match call.take::<Stub>() {
            Ok(function) => Reply::value(Value::object([("p", function.invoke([call.arg()]))])),
            Err(reason) => Reply::error(reason),
        })
        .quick("dupBack", |_, mut call| Reply::Now(Ok(call.arg())))
        .quick("dupBackNested", |_, mut call| Reply::value(Value::object([("c", call.arg())])))
        .quick("notify", |_, mut call| match call.take::<Stub>() {
            Ok(callback) => {
                // Not awaited: nobody here wants to know what the callback said.
                drop(callback.invoke(["hi".into()]));
                Reply::value("sent")
            }
            Err(reason) => Reply::error(reason),
        })
        .quick("ignore", |_, _| Reply::value("ignored"))
        .quick("keep", |this, mut call| match call.take::<Stub>() {
            Ok(stub) => {
                let before = this.kept.lock().unwrap_or_else(PoisonError::into_inner).replace(stub);
                drop(before);
                Reply::value("kept")
            }
            Err(reason) => Reply::error(reason),
        })
        .method("useKept", |this: Arc<Service>, _| async move {
            let kept = this.kept.lock().unwrap_or_else(PoisonError::into_inner).clone();
            kept.ok_or_else(|| ErrorValue::new("nothing is kept"))?.call("increment", []).await
        })
        .quick("dropKept", |this, _| {
            let kept = this.kept.lock().unwrap_or_else(PoisonError::into_inner).take();
            drop(kept);
            Reply::value("dropped")
        })
}
