//! Values without promises in them.
//!
//! A value may hold promises anywhere. Before a method or an awaiting caller sees it,
//! each is replaced by what it came to. All are asked for at once; the first that fails
//! fails the whole.

use std::future::Future;

use futures_util::future::{BoxFuture, FutureExt, try_join_all};

use crate::{ErrorValue, Promise, Thrown, Value};

/// True when a call with these arguments has to wait.
pub(crate) fn has_promise(values: &[Value]) -> bool {
    values.iter().any(holds_promise)
}

fn holds_promise(value: &Value) -> bool {
    match value {
        Value::Promise(_) => true,
        Value::Array(items) => has_promise(items),
        Value::Object(object) => object.iter().any(|(_, value)| holds_promise(value)),
        Value::Error(error) => error.props.iter().any(|(_, value)| holds_promise(value)),
        _ => false,
    }
}

/// Replaces the promises that are kept already. True when none is left, so that the call need
/// not wait: the usual case for what is pipelined on a call that has ended.
pub(crate) fn complete_now(values: &mut [Value]) -> Result<bool, Thrown> {
    complete_items(values, 0)
}

/// Deepest a value may get by filling in promises. Each of them may be as deep as a message, and
/// hold promises again; what comes of it is dropped, copied and walked by recursion.
const DEPTH_MAX: usize = 512;

fn too_deep() -> Thrown {
    ErrorValue::range_error("a value nests too deeply once its promises are filled in")
        .code("too_deep")
        .into()
}

fn complete_items(values: &mut [Value], depth: usize) -> Result<bool, Thrown> {
    for value in values {
        if !complete_one(value, depth)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn complete_one(value: &mut Value, depth: usize) -> Result<bool, Thrown> {
    if depth > DEPTH_MAX {
        return Err(too_deep());
    }
    match value {
        Value::Promise(promise) => match promise.0.peek() {
            None => Ok(false),
            Some(outcome) => {
                *value = outcome?;
                complete_one(value, depth + 1)
            }
        },
        Value::Array(items) => complete_items(items, depth + 1),
        Value::Object(object) => {
            for member in object.values_mut() {
                if !complete_one(member, depth + 1)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        Value::Error(_) => Ok(!holds_promise(value)),
        _ => Ok(true),
    }
}

/// The values with every promise replaced.
pub(crate) async fn complete_all(values: Vec<Value>) -> Result<Vec<Value>, Thrown> {
    complete_within(values, 0).await
}

/// `hops` is how many promises led here, each inside the value of the one before.
async fn complete_within(mut values: Vec<Value>, hops: usize) -> Result<Vec<Value>, Thrown> {
    if hops > HOPS_MAX {
        return Err(too_deep());
    }
    let mut promises = Vec::new();
    values.iter().for_each(|value| collect(value, &mut promises));
    let mut results = wait(promises, hops).await?.into_iter();
    values.iter_mut().try_for_each(|value| replace(value, &mut results))?;
    if values.iter().any(|value| is_deeper(value, DEPTH_MAX)) {
        return Err(too_deep());
    }
    Ok(values)
}

/// Futures of nested promises are polled by recursion too.
const HOPS_MAX: usize = 128;

fn is_deeper(value: &Value, levels: usize) -> bool {
    let Some(levels) = levels.checked_sub(1) else { return true };
    match value {
        Value::Array(items) => items.iter().any(|item| is_deeper(item, levels)),
        Value::Object(object) => object.iter().any(|(_, value)| is_deeper(value, levels)),
        Value::Error(error) => error.props.iter().any(|(_, value)| is_deeper(value, levels)),
        _ => false,
    }
}

/// The value with every promise in it replaced.
pub(crate) fn complete(value: Value, hops: usize) -> BoxFuture<'static, Result<Value, Thrown>> {
    async move {
        let mut values = complete_within(vec![value], hops).await?;
        values.pop().ok_or_else(|| ErrorValue::new("BUG: a value was lost").into())
    }
    .boxed()
}

/// What each promise came to.
fn wait(promises: Vec<Promise>, hops: usize) -> impl Future<Output = Result<Vec<Value>, Thrown>> {
    try_join_all(promises.into_iter().map(move |promise| promise.ask_within(hops)))
}

fn collect(value: &Value, promises: &mut Vec<Promise>) {
    match value {
        Value::Promise(promise) => promises.push(promise.clone()),
        Value::Array(items) => items.iter().for_each(|item| collect(item, promises)),
        Value::Object(object) => object.iter().for_each(|(_, value)| collect(value, promises)),
        Value::Error(error) => error.props.iter().for_each(|(_, value)| collect(value, promises)),
        _ => {}
    }
}

/// Walks in the order of `collect`.
fn replace(value: &mut Value, results: &mut impl Iterator<Item = Value>) -> Result<(), Thrown> {
    match value {
        Value::Promise(_) => {
            *value = results.next().ok_or_else(|| ErrorValue::new("BUG: fewer results than promises"))?;
            Ok(())
        }
        Value::Array(items) => items.iter_mut().try_for_each(|item| replace(item, results)),
        Value::Object(object) => object.values_mut().try_for_each(|value| replace(value, results)),
        Value::Error(error) => error.props.values_mut().try_for_each(|value| replace(value, results)),
        _ => Ok(()),
    }
}
