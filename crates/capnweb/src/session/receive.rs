//! Messages in.

use std::sync::{Arc, atomic::Ordering};

use bumpalo::Bump;

use super::{Mode, Shared, import::ImportKind, import::no_return_path};
use crate::{
    ErrorValue, Thrown, Value,
    codec::evaluate::{Evaluator, Scope},
    codec::json::{self, Json, ReadError},
    value::reference::hook::Hook,
};

impl Shared {
    /// Takes one message. Whatever is wrong with it ends the session.
    pub(super) fn receive(self: &Arc<Self>, text: &str, arena: &Bump) {
        if self.lock().ended.is_some() {
            return;
        }
        if let Err(reason) = self.accept(text, arena) {
            self.abort(reason);
        }
    }

    fn accept(self: &Arc<Self>, text: &str, arena: &Bump) -> Result<(), Thrown> {
        let most = self.limits().message_bytes_max;
        if text.len() > most {
            let text = format!("Incoming message exceeds maximum size of {most} UTF-16 code units.");
            return Err(ErrorValue::type_error(text).into());
        }
        match short(text) {
            Some(Short::Pull(id)) => return self.pulled(id),
            Some(Short::Release(id, count)) => return self.released(id, count),
            None => {}
        }
        match json::read(text, self.limits().bracket_depth_max, arena) {
            Ok((message, replaced)) => {
                if replaced > 0 {
                    self.replaced.fetch_add(u64::from(replaced), Ordering::Relaxed);
                }
                self.dispatch(&message)
            }
            Err(reason @ ReadError::TooDeep(_)) => Err(ErrorValue::type_error(reason.to_string()).into()),
            Err(reason @ ReadError::Syntax(_)) => {
                Err(ErrorValue::named("SyntaxError", reason.to_string()).into())
            }
        }
    }

    fn dispatch(self: &Arc<Self>, message: &Json<'_>) -> Result<(), Thrown> {
        let bad = || -> Thrown { ErrorValue::new(format!("bad RPC message: {}", message.excerpt())).into() };
        let Some([Json::String(name), rest @ ..]) = message.as_array() else { return Err(bad()) };
        let integer = |at: usize| rest.get(at).and_then(Json::as_integer);
        match (*name, rest) {
            ("push", [expression, ..]) => self.take_push(expression),
            ("stream", [expression, ..]) => self.take_stream(expression),
            ("pipe", _) => {
                let id = self.lock().next_received();
                self.open_pipe(id)
            }
            ("pull", _) => self.pulled(integer(0).ok_or_else(bad)?),
            ("release", [_, Json::Number(count), ..]) => {
                let id = integer(0).ok_or_else(bad)?;
                // A fraction is no count; as zero it is refused with the right words.
                self.released(id, if count.fract() == 0.0 { *count as i64 } else { 0 })
            }
            ("resolve", [_, expression, ..]) => {
                let id = integer(0).ok_or_else(bad)?;
                let value = self.evaluate(expression)?;
                self.settled(id, Ok(value))
            }
            ("reject", [_, expression, ..]) => {
                let id = integer(0).ok_or_else(bad)?;
                let value = self.evaluate(expression)?;
                self.settled(id, Err(Thrown(value)))
            }
            ("abort", [expression, ..]) => {
                let value = self.evaluate(expression).unwrap_or_else(|reason| reason.0);
                self.aborted_by_peer(value);
                Ok(())
            }
            _ => Err(bad()),
        }
    }

    fn evaluate(self: &Arc<Self>, expression: &Json<'_>) -> Result<Value, Thrown> {
        let origin = self.origin();
        Evaluator { scope: Scope::Session(self), limits: self.limits(), origin: &origin, fills: false }
            .value(expression, 0)
    }

    fn take_push(self: &Arc<Self>, expression: &Json<'_>) -> Result<(), Thrown> {
        let hook = as_hook(self.evaluate(expression)?, self);
        self.enter(hook, false).map(drop)
    }

    fn take_stream(self: &Arc<Self>, expression: &Json<'_>) -> Result<(), Thrown> {
        let hook = as_hook(self.evaluate(expression)?, self);
        let id = self.enter(hook, true)?;
        self.pulled(id)
    }

    /// The peer settled something we import.
    fn settled(&self, id: i64, value: Result<Value, Thrown>) -> Result<(), Thrown> {
        if id == 0 {
            return Err(ErrorValue::new("the main object cannot be resolved").into());
        }
        let held = {
            let mut state = self.lock();
            match state.imports.get(&id).map(|import| (import.kind, import.introductions)) {
                Some((ImportKind::Result | ImportKind::Promise, introductions)) => {
                    let import = state.imports.remove(&id);
                    state.post_release(id, introductions);
                    import
                }
                Some((ImportKind::Once, _)) => state.imports.remove(&id),
                // Late, or not a promise: the value is dropped, which releases what it holds.
                _ => None,
            }
        };
        match held.and_then(|import| import.held.upgrade()) {
            Some(import) => import.settle(value),
            None => drop(value),
        }
        Ok(())
    }

    /// Nothing more will come: promises the peer did not keep by now are broken.
    pub(crate) fn no_more_input(&self) {
        if self.mode() != Mode::BatchServer {
            return;
        }
        let mut waiting: Vec<_> = {
            let state = self.lock();
            let promises = state.imports.iter().filter(|(_, import)| import.kind == ImportKind::Promise);
            promises.filter_map(|(id, import)| Some((*id, import.held.upgrade()?))).collect()
        };
        waiting.sort_by_key(|(id, _)| std::cmp::Reverse(*id));
        for (_, import) in waiting {
            import.settle(Err(no_return_path()));
        }
    }
}

/// A message that is nothing but numbers.
#[derive(Debug, PartialEq)]
enum Short {
    Pull(i64),
    Release(i64, i64),
}

/// Two of the three messages of a call, read without a tree if they are spelled as every peer
/// spells them. Anything else is for the parser, which also says what is wrong with it.
fn short(text: &str) -> Option<Short> {
    let body = text.strip_suffix(']')?;
    if let Some(id) = body.strip_prefix("[\"pull\",") {
        return Some(Short::Pull(number(id)?));
    }
    let (id, count) = body.strip_prefix("[\"release\",")?.split_once(',')?;
    Some(Short::Release(number(id)?, number(count)?))
}

/// A whole number as JSON has it, of a size that a double holds exactly.
fn number(text: &str) -> Option<i64> {
    const DIGITS_MAX: usize = 15;
    let digits = text.strip_prefix('-').unwrap_or(text).as_bytes();
    match digits {
        [] => return None,
        // A zero stands alone: `007` is no number, and what `-0` is the parser knows.
        [b'0', ..] => return (text == "0").then_some(0),
        _ if digits.len() > DIGITS_MAX || !digits.iter().all(u8::is_ascii_digit) => return None,
        _ => {}
    }
    text.parse().ok()
}

/// What a push leaves in the table.
fn as_hook(value: Value, session: &Arc<Shared>) -> Hook {
    match value {
        Value::Promise(promise) if promise.0.path.is_empty() => promise.0.hook,
        Value::Promise(promise) => promise.0.read(Vec::new(), &session.origin()),
        other => Hook::value(other),
    }
}

#[cfg(test)]
mod tests {
    use super::{Short, short};

    #[test]
    fn a_short_message_is_read_as_the_parser_reads_it_or_left_to_it() {
        assert_eq!(short("[\"pull\",7]"), Some(Short::Pull(7)));
        assert_eq!(short("[\"pull\",0]"), Some(Short::Pull(0)));
        assert_eq!(short("[\"pull\",-12]"), Some(Short::Pull(-12)));
        assert_eq!(short("[\"release\",3,1]"), Some(Short::Release(3, 1)));
        assert_eq!(short("[\"release\",-3,-1]"), Some(Short::Release(-3, -1)));
        let left = [
            "",
            "]",
            "[\"pull\"]",
            "[\"pull\",]",
            "[\"pull\",-]",
            "[\"pull\",-0]",
            "[\"pull\",07]",
            "[\"pull\",+7]",
            "[\"pull\",7.0]",
            "[\"pull\", 7]",
            "[\"pull\",7,8]",
            "[\"pull\",1e2]",
            "[\"pull\",\"7\"]",
            "[\"pull\",9007199254740993]",
            "[\"release\",1]",
            "[\"release\",1,1,1]",
            "[\"release\",1,0.5]",
            "[\"push\",1]",
        ];
        for text in left {
            assert_eq!(short(text), None, "{text}");
        }
    }
}
