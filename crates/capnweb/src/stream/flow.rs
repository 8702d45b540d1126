//! How much may be on its way before the first acknowledgement comes back.
//!
//! Nothing of this is on the wire: the sender counts the text it has not heard about and
//! stops at a window. The window follows what the line carries in one round trip: it
//! doubles per round trip at first, until that no longer helps, and then moves slowly.
//! Time is given, not asked for.

use std::time::Duration;

const WINDOW_START: f64 = 262_144.0;
const WINDOW_MIN: f64 = 65_536.0;
const WINDOW_MAX: f64 = 1_073_741_824.0;

/// Growth per round trip while the line is being learnt, and afterwards.
const GROW_START: f64 = 2.0;
const GROW_STEADY: f64 = 1.25;
/// The least a window keeps per round trip.
const SHRINK: f64 = 0.90;
/// A round that grew by less taught nothing; three of them end the start.
const WORTHWHILE: f64 = 1.25;
const FLAT_ROUNDS: u32 = 3;

/// The window of one stream.
#[derive(Clone, Debug)]
pub struct Flow {
    window: f64,
    in_flight: usize,
    delivered: u64,
    shortest_trip: Option<Duration>,
    starting: bool,
    flat_rounds: u32,
    best_rate: f64,
    round_ends_at: u64,
    was_full: bool,
}

/// Remembers how things were when a message left.
#[derive(Clone, Copy, Debug)]
pub struct Ticket {
    units: usize,
    left_at: Duration,
    delivered_then: u64,
}

impl Default for Flow {
    fn default() -> Flow {
        Flow {
            window: WINDOW_START,
            in_flight: 0,
            delivered: 0,
            shortest_trip: None,
            starting: true,
            flat_rounds: 0,
            best_rate: 0.0,
            round_ends_at: 0,
            was_full: false,
        }
    }
}

impl Flow {
    /// True while another message may leave. One that passes the window still does.
    pub fn is_open(&self) -> bool {
        (self.in_flight as f64) < self.window
    }

    pub fn window(&self) -> usize {
        self.window as usize
    }

    pub fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// A message of so many units left.
    pub fn sent(&mut self, units: usize, now: Duration) -> Ticket {
        self.in_flight += units;
        self.was_full |= !self.is_open();
        Ticket { units, left_at: now, delivered_then: self.delivered }
    }

    /// It was acknowledged.
    pub fn acknowledged(&mut self, ticket: Ticket, now: Duration) {
        self.in_flight = self.in_flight.saturating_sub(ticket.units);
        self.delivered += ticket.units as u64;

        let trip = now.saturating_sub(ticket.left_at);
        let shortest = self.shortest_trip.map_or(trip, |known| known.min(trip));
        self.shortest_trip = Some(shortest);
        if trip.is_zero() {
            return;
        }
        // What arrived while this message was on its way, per second of its way.
        let rate = (self.delivered - ticket.delivered_then) as f64 / trip.as_secs_f64();
        self.best_rate = self.best_rate.max(rate);

        // A round is over when something sent after its start is acknowledged.
        if ticket.delivered_then >= self.round_ends_at {
            self.round_ends_at = self.delivered;
            self.adjust(shortest);
        }
    }

    fn adjust(&mut self, shortest: Duration) {
        let wanted = self.best_rate * shortest.as_secs_f64();
        let before = self.window;
        let (grow, aim) = if self.starting {
            (GROW_START, wanted * GROW_START)
        } else {
            (GROW_STEADY, wanted * GROW_STEADY)
        };
        if self.was_full {
            self.window = aim.clamp(before * SHRINK, before * grow).clamp(WINDOW_MIN, WINDOW_MAX);
        }
        if self.starting {
            self.flat_rounds = if self.window < before * WORTHWHILE { self.flat_rounds + 1 } else { 0 };
            self.starting = self.flat_rounds < FLAT_ROUNDS;
        }
        // A window that was never full says nothing about the line.
        self.was_full = false;
        self.best_rate = 0.0;
    }
}
