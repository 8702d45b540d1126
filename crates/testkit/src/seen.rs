//! What a client would have seen: the feed, read to the end and remembered.

use std::collections::HashMap;
use sturdy_engine::feed::{Body, Feed, Reader};
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
    /// Begins to read what comes from now on.
    #[must_use]
    pub fn from_now(feed: &Feed) -> Self {
        Self::of(feed.reader())
    }

    #[must_use]
    pub fn of(mut reader: Reader) -> Self {
        let (sender, record) = watch::channel(Record::default());
        let task = tokio::spawn(async move {
            while let Ok(page) = reader.next().await {
                sender.send_modify(|record| {
                    for shown in &page {
                        match &shown.body {
                            Body::Fact(fact) => record.note(fact.position, &fact.fact),
                            Body::Event(event) => {
                                if let Event::SessionError { error: Some(error), .. } = &**event {
                                    record.failures.push(format!("{error:?}"));
                                }
                            }
                        }
                    }
                });
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
    fn note(&mut self, position: u64, fact: &Fact) {
        self.positions.push(position);
        match fact {
            Fact::TextStarted { part, .. } => {
                self.texts.insert(part.id.clone(), String::new());
            }
            Fact::TextGrew { part, delta, .. } => {
                self.texts.entry(part.clone()).or_default().push_str(delta);
            }
            Fact::PromptAdmitted { message } => self.prompts.push(message.clone()),
            _ => {}
        }
        self.facts.push(fact.clone());
    }

    /// Whether the session went idle since it last was busy.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        let last = self.facts.iter().rev().find(|fact| matches!(fact, Fact::StatusChanged { .. }));
        matches!(last, Some(Fact::StatusChanged { status: sturdy_session::types::status::Status::Idle }))
    }
}
