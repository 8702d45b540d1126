//! What a client would have seen: the feed, read to the end and remembered.

use std::collections::HashMap;
use sturdy_engine::feed::{Body, Feed, Page, Shown};
use sturdy_session::fact::Fact;
use sturdy_session::id::{MessageId, PartId};
use sturdy_session::types::event::Event;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Everything a reader was shown.
#[derive(Clone, Debug, Default)]
pub struct Record {
    pub positions: Vec<u64>,
    pub facts: Vec<Fact>,
    /// The text of each part, put together from what was shown.
    pub texts: HashMap<PartId, String>,
    /// Prompts that were shown as admitted.
    pub prompts: Vec<MessageId>,
    /// What `session.error` said beside the log.
    pub failures: Vec<String>,
}

/// A reader that runs beside the test.
#[derive(Debug)]
pub struct Seen {
    record: watch::Receiver<Record>,
    task: JoinHandle<()>,
}

impl Seen {
    /// Begins to read what comes from now on. What was shown is looked up in the log, which has it first.
    #[must_use]
    pub fn from_now(feed: &Feed) -> Self {
        let (sender, record) = watch::channel(Record::default());
        let mut reader = feed.reader();
        let store = feed.store().clone();
        let mut position = reader.position();
        let task = tokio::spawn(async move {
            while let Ok(page) = reader.next().await {
                if let Page::Entries(entries) = &page {
                    sender.send_modify(|record| entries.iter().for_each(|shown| record.told(shown)));
                }
                while position < reader.position() {
                    let Ok(entries) = store.log_after(position, 256).await else {
                        // The store has died, and whoever waits looks for that by itself.
                        return std::future::pending().await;
                    };
                    let shown: Vec<_> =
                        entries.into_iter().filter(|entry| entry.position <= reader.position()).collect();
                    position = shown.last().map_or(reader.position(), |entry| entry.position);
                    sender.send_modify(|record| {
                        for entry in &shown {
                            let fact = Fact::parse(&entry.kind, &entry.data).expect("a fact");
                            record.note(entry.position, &fact);
                        }
                    });
                }
            }
        });
        Self { record, task }
    }

    /// Waits until something was shown.
    pub async fn until(&mut self, holds: impl FnMut(&Record) -> bool) -> Record {
        self.record.wait_for(holds).await.expect("the reader ended").clone()
    }

    #[must_use]
    pub fn record(&self) -> Record {
        self.record.borrow().clone()
    }
}

impl Drop for Seen {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Record {
    /// What is shown and not stored.
    fn told(&mut self, shown: &Shown) {
        if let Body::Told(event) = &shown.body
            && let Event::SessionError { error: Some(error), .. } = &**event
        {
            self.failures.push(format!("{error:?}"));
        }
    }

    fn note(&mut self, position: u64, fact: &Fact) {
        self.positions.push(position);
        match fact {
            Fact::TextStarted { part, .. } => {
                self.texts.insert(part.clone(), String::new());
            }
            Fact::TextGrew { part, delta } => {
                // The arguments of a call grow too, and are no text.
                let calls = |fact: &Fact| matches!(fact, Fact::ToolCalled { part: call, .. } if call == part);
                if !self.facts.iter().any(calls) {
                    self.texts.entry(part.clone()).or_default().push_str(delta);
                }
            }
            Fact::PromptAdmitted { posted, .. } => self.prompts.push(posted.info.id.clone()),
            _ => {}
        }
        self.facts.push(fact.clone());
    }

    /// Whether the session went idle since it last was busy.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        let moves = |fact: &&Fact| {
            matches!(
                fact,
                Fact::SessionIdled { .. }
                    | Fact::PromptAdmitted { begins: true, .. }
                    | Fact::CompactionWanted { begins: true, .. }
                    | Fact::TurnContinued { .. }
                    | Fact::ShellStarted { .. }
                    | Fact::StepStarted { .. }
            )
        };
        matches!(self.facts.iter().rev().find(moves), Some(Fact::SessionIdled { .. }))
    }
}
