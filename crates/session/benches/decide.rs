//! What one decision costs, in sessions of different length.
//!
//! A session is driven through whole turns until it has so many parts; then one turn more is driven, and each
//! `decide` of it is timed, and `fold`, which applies its facts. The same turn is timed many times; the
//! table shows the dearest input by its best round, because a shared machine only ever adds.
//!
//! `cargo bench -p sturdy-session`. Nothing here asserts.

#![allow(clippy::unwrap_used, reason = "a measurement that cannot be made has failed")]

#[allow(dead_code, reason = "the tests use the rest of it")]
#[path = "../tests/it/bench.rs"]
mod bench;
#[path = "../tests/it/told.rs"]
mod told;

use bench::{Bench, done, finished, prompt, text, text_ended, text_started, tool_call};
use std::time::{Duration, Instant};
use sturdy_session::talk::{FinishReason, Said};
use sturdy_session::turn::{Effect, Input};

/// Parts that one turn of `drive` writes.
const PARTS_PER_TURN: usize = 10;
/// The turn that is timed, again and again.
const ROUNDS: usize = 200;
const DELTAS: usize = 20;

fn main() {
    println!("{:>10}  {:>22}  {:>12}  {:>14}", "parts", "dearest decide, us", "mean, us", "fold, mean us");
    for parts in [10, 1_000, 100_000] {
        let mut session = Bench::new();
        for _ in 0..parts / PARTS_PER_TURN {
            drive(&mut session, &mut Times::default());
            session.log.clear();
        }
        let mut best: Option<Times> = None;
        for _ in 0..ROUNDS {
            let mut times = Times::default();
            drive(&mut session, &mut times);
            session.log.clear();
            best = Some(match best {
                Some(best) => best.best_of(&times),
                None => times,
            });
        }
        best.unwrap().print(parts);
    }
}

/// How long each input of a turn took, in the order of the turn.
#[derive(Default)]
struct Times {
    decide: Vec<Duration>,
    fold: Vec<Duration>,
}

impl Times {
    fn best_of(self, other: &Self) -> Self {
        let least = |one: &[Duration], two: &[Duration]| {
            assert_eq!(one.len(), two.len(), "every round is the same turn");
            one.iter().zip(two).map(|(one, two)| *one.min(two)).collect()
        };
        Self { decide: least(&self.decide, &other.decide), fold: least(&self.fold, &other.fold) }
    }

    fn print(&self, parts: usize) {
        let micros = |time: Duration| time.as_secs_f64() * 1e6;
        let mean = |times: &[Duration]| micros(times.iter().sum()) / times.len() as f64;
        let dearest = self.decide.iter().max().copied().map(micros).unwrap();
        println!("{parts:>10}  {dearest:>22.2}  {:>12.2}  {:>14.2}", mean(&self.decide), mean(&self.fold));
    }
}

/// A turn of two steps: a text and three calls, then an answer.
fn drive(session: &mut Bench, times: &mut Times) {
    feed(session, times, prompt("please look around and tell me what you see"));
    prepare(session, times);
    said(session, times, text_started("t1"));
    for _ in 0..DELTAS {
        said(session, times, text("t1", "some words of an answer "));
    }
    said(session, times, text_ended("t1"));
    for call in ["c1", "c2", "c3"] {
        said(session, times, tool_call(call, "bash"));
    }
    said(session, times, finished(FinishReason::ToolCalls));
    for _ in 0..3 {
        let part = session.call();
        feed(session, times, Input::Returned { part, outcome: done("a.txt\nb.txt\n") });
    }
    prepare(session, times);
    said(session, times, text_started("t1"));
    said(session, times, text("t1", "Two files."));
    said(session, times, text_ended("t1"));
    said(session, times, finished(FinishReason::Stop));
    assert!(session.state.is_idle(), "a turn ends");
}

fn prepare(session: &mut Bench, times: &mut Times) {
    let user = session.effects.iter().find_map(|effect| match effect {
        Effect::Prepare { user } => Some(user.clone()),
        _ => None,
    });
    feed(session, times, Input::Prepared { user: user.unwrap(), ready: Box::new(bench::ready()) });
}

fn said(session: &mut Bench, times: &mut Times, said: Said) {
    let open = session.state.open_step().unwrap();
    let step = open.message.clone();
    let attempt = open.attempt;
    feed(session, times, Input::Said { step, attempt, said });
}

fn feed(session: &mut Bench, times: &mut Times, input: Input) {
    let began = Instant::now();
    let decision = session.decide(input);
    times.decide.push(began.elapsed());
    let began = Instant::now();
    session.take(decision);
    times.fold.push(began.elapsed());
}
