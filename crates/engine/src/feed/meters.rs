//! What sessions did since the server started, for who watches over it: turns, and what models used.
//!
//! Counted when it is durable, from the facts themselves, so that the numbers and the log agree.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use std::sync::atomic::AtomicU64;
use sturdy_session::fact::Fact;
use sturdy_session::json::Num;
use sturdy_session::rows::Entry;
use sturdy_session::types::event::Event;
use sturdy_session::types::message::Message;
use sturdy_session::types::usage::Tokens;

/// Names and values, as they stand behind a metric.
pub type Labels = Vec<(&'static str, String)>;

/// Cheap to clone; all clones count the same.
#[derive(Clone, Debug, Default)]
pub struct EngineMeters {
    /// By `end`: how each ended.
    pub turns: Family<Labels, Counter>,
    /// By `provider` and `model`.
    pub steps: Family<Labels, Counter>,
    /// By `provider`, `model` and `kind`: input, output, reasoning, cache_read, cache_write.
    pub tokens: Family<Labels, Counter>,
    /// By `provider` and `model`, in dollars.
    pub cost: Family<Labels, Counter<f64, AtomicU64>>,
}

/// Something to count as soon as it is durable.
#[derive(Debug)]
pub(crate) enum Counted {
    Turn { end: &'static str },
    Step { provider: String, model: String, cost: Num, tokens: Tokens },
}

/// What an entry adds up to.
pub(crate) fn counted(entry: &Entry) -> Option<Counted> {
    match &entry.fact {
        Fact::SessionIdled { end } => Some(Counted::Turn { end: end.word() }),
        Fact::StepFinished { cost, tokens, .. } => {
            // The fact does not repeat who answered; the message it shows does.
            let answer = entry.events.iter().find_map(|event| match event {
                Event::MessageUpdated { info: Message::Assistant(answer), .. } => Some(answer),
                _ => None,
            })?;
            let provider = answer.provider_id.clone();
            let model = answer.model_id.clone();
            Some(Counted::Step { provider, model, cost: *cost, tokens: *tokens })
        }
        _ => None,
    }
}

impl EngineMeters {
    pub(crate) fn count(&self, counted: Counted) {
        match counted {
            Counted::Turn { end } => {
                self.turns.get_or_create(&vec![("end", end.to_owned())]).inc();
            }
            Counted::Step { provider, model, cost, tokens } => {
                let of = vec![("provider", provider), ("model", model)];
                self.steps.get_or_create(&of).inc();
                self.cost.get_or_create(&of).inc_by(cost.0.max(0.0));
                let kinds = [
                    ("input", tokens.input),
                    ("output", tokens.output),
                    ("reasoning", tokens.reasoning),
                    ("cache_read", tokens.cache.read),
                    ("cache_write", tokens.cache.write),
                ];
                for (kind, number) in kinds {
                    let mut labels = of.clone();
                    labels.push(("kind", kind.to_owned()));
                    self.tokens.get_or_create(&labels).inc_by(number.0.max(0.0) as u64);
                }
            }
        }
    }
}
