//! What a scripted provider says, one answer after another.

use crate::dialect::{Saying, Usage};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;

/// One answer of the model, as a list of things to send.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    pub(crate) refusal: Option<Refusal>,
    pub(crate) acts: Vec<Act>,
}

/// An answer that is no stream.
#[derive(Clone, Debug)]
pub(crate) struct Refusal {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

#[derive(Clone, Debug)]
pub(crate) enum Act {
    /// In the words of whatever protocol is spoken.
    Say(Saying),
    /// One `data:` line as it is.
    Send(Value),
    /// Bytes as they are, to send what no provider should.
    Raw(String),
    /// A chunk of text made when it is sent: what a clock says.
    SendNow(fn() -> u64),
    /// Wait until the test opens the gate.
    Gate(Gate),
    Pace(Duration),
    /// Close the connection in the middle.
    BreakOff,
    /// Say nothing more and keep the connection open.
    Hang,
}

/// Holds an answer back until the test lets it go on.
#[derive(Clone, Debug)]
pub struct Gate(Arc<Semaphore>);

impl Gate {
    #[must_use]
    pub fn new() -> Self {
        Self(Arc::new(Semaphore::new(0)))
    }

    /// Lets one waiting answer pass.
    pub fn open(&self) {
        self.0.add_permits(1);
    }

    pub(crate) async fn pass(&self) {
        if let Ok(permit) = self.0.acquire().await {
            permit.forget();
        }
    }
}

impl Default for Gate {
    fn default() -> Self {
        Self::new()
    }
}

/// Begins an answer.
#[must_use]
pub fn answer() -> Answer {
    Answer::default()
}

impl Answer {
    /// A chunk of text.
    #[must_use]
    pub fn text(self, text: &str) -> Self {
        self.say(Saying::Text(text.to_owned()))
    }

    /// A text in chunks of `chars` characters.
    #[must_use]
    pub fn text_in_chunks(mut self, text: &str, chars: usize) -> Self {
        let letters: Vec<char> = text.chars().collect();
        for chunk in letters.chunks(chars.max(1)) {
            self = self.text(&chunk.iter().collect::<String>());
        }
        self
    }

    #[must_use]
    pub fn reasoning(self, text: &str) -> Self {
        self.say(Saying::Reasoning(text.to_owned()))
    }

    /// What the provider wants to have back with the reasoning before it.
    #[must_use]
    pub fn seal(self, seal: &str) -> Self {
        self.say(Saying::Seal(seal.to_owned()))
    }

    /// A whole tool call in one chunk.
    #[must_use]
    pub fn call(self, index: u32, id: &str, name: &str, arguments: &str) -> Self {
        self.say(Saying::Call {
            index,
            id: id.to_owned(),
            name: name.to_owned(),
            arguments: arguments.to_owned(),
        })
    }

    /// The normal end: a finish reason and the usage.
    #[must_use]
    pub fn finish(self, reason: &str) -> Self {
        let usage = Usage::Counted { input: 100, output: 7 };
        self.say(Saying::Finish { reason: reason.to_owned(), usage })
    }

    #[must_use]
    pub fn finish_with(self, reason: &str, usage: Value) -> Self {
        self.say(Saying::Finish { reason: reason.to_owned(), usage: Usage::Chat(usage) })
    }

    /// An error instead of an answer.
    #[must_use]
    pub fn error(status: u16, message: &str) -> Self {
        let body = json!({ "error": { "message": message } }).to_string();
        Self { refusal: Some(Refusal { status, headers: Vec::new(), body }), acts: Vec::new() }
    }

    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        if let Some(refusal) = &mut self.refusal {
            refusal.headers.push((name.to_owned(), value.to_owned()));
        }
        self
    }

    #[must_use]
    pub fn gate(self, gate: &Gate) -> Self {
        self.act(Act::Gate(gate.clone()))
    }

    /// A pause of real time, for a provider that is slow and not for synchronisation.
    #[must_use]
    pub fn pace(self, pause: Duration) -> Self {
        self.act(Act::Pace(pause))
    }

    /// A chunk with a number that is read off at the moment it is sent.
    #[must_use]
    pub fn text_now(self, number: fn() -> u64) -> Self {
        self.act(Act::SendNow(number))
    }

    #[must_use]
    pub fn break_off(self) -> Self {
        self.act(Act::BreakOff)
    }

    #[must_use]
    pub fn hang(self) -> Self {
        self.act(Act::Hang)
    }

    #[must_use]
    pub fn raw(self, text: &str) -> Self {
        self.act(Act::Raw(text.to_owned()))
    }

    #[must_use]
    pub fn send(self, chunk: Value) -> Self {
        self.act(Act::Send(chunk))
    }

    fn say(self, saying: Saying) -> Self {
        self.act(Act::Say(saying))
    }

    fn act(mut self, act: Act) -> Self {
        self.acts.push(act);
        self
    }
}
