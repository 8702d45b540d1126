//! A decision while it is being made: what has happened so far is part of what the next line sees.
//!
//! Most inputs push one or two facts and look at nothing afterwards, a piece of text above all. So the working
//! state is made when somebody looks, and not for each fact.

use super::{Decision, Effect, Refusal, State};
use crate::fact::Fact;
use crate::stamp::Stamp;
use std::ops::Deref;
use std::rc::Rc;

pub(super) struct Deciding<'a> {
    before: &'a State,
    /// The state behind the first `seen` facts.
    working: Option<Rc<State>>,
    seen: usize,
    pub(super) stamp: &'a mut Stamp,
    out: Decision,
}

/// The state as of now: behind every fact that was pushed.
#[derive(Clone)]
pub(super) enum Now<'a> {
    Before(&'a State),
    Working(Rc<State>),
}

impl Deref for Now<'_> {
    type Target = State;

    fn deref(&self) -> &State {
        match self {
            Self::Before(state) => state,
            Self::Working(state) => state,
        }
    }
}

impl<'a> Deciding<'a> {
    pub(super) fn new(before: &'a State, stamp: &'a mut Stamp) -> Self {
        Self { before, working: None, seen: 0, stamp, out: Decision::default() }
    }

    pub(super) fn end(self) -> Decision {
        self.out
    }

    pub(super) fn now(&mut self) -> Now<'a> {
        if self.out.facts.is_empty() {
            return Now::Before(self.before);
        }
        let working = self.working.get_or_insert_with(|| Rc::new(self.before.clone()));
        if self.seen < self.out.facts.len() {
            let state = Rc::make_mut(working);
            self.out.facts[self.seen..].iter().for_each(|fact| state.apply(fact));
            self.seen = self.out.facts.len();
        }
        Now::Working(working.clone())
    }

    pub(super) fn fact(&mut self, fact: Fact) {
        self.out.facts.push(fact);
    }

    pub(super) fn effect(&mut self, effect: Effect) {
        self.out.effects.push(effect);
    }

    /// The input is not allowed now. Said before anything has happened.
    pub(super) fn refuse(&mut self, why: Refusal) {
        debug_assert!(self.out.facts.is_empty(), "BUG: a refusal changes nothing");
        self.out = Decision { refusal: Some(why), ..Decision::default() };
    }
}
