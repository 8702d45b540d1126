//! A store in a temporary directory, and short ways to say what is committed to it.

use serde_json::json;
use sturdy_session::id::{MessageId, PartId, SessionId};
use sturdy_session::row::{MessageRow, PartRow, RowChange, RowWrite, SessionRow};
use sturdy_store::{Commit, NewEntry, Options, Store};
use tempfile::TempDir;

/// Makes one test for each database out of an async function that is given an empty store.
macro_rules! stores {
    ($($(#[$meta:meta])* async fn $name:ident($store:ident: Store) $body:block)*) => {$(
        $(#[$meta])*
        #[tokio::test]
        async fn $name() {
            let directory = tempfile::tempdir().unwrap();
            let $store = crate::bench::open(&directory).await;
            $body
            let report = $store.verify(|_| {}).await.unwrap();
            assert_eq!(report.findings, [], "the store is sound afterwards");
            $store.close().await;
        }
    )*};
}

pub(crate) async fn open(directory: &TempDir) -> Store {
    Store::open(Options::new(directory.path())).await.unwrap()
}

pub(crate) fn ses(name: &str) -> SessionId {
    SessionId::parse(&format!("ses_{name}")).unwrap()
}

pub(crate) fn msg(name: &str) -> MessageId {
    MessageId::parse(&format!("msg_{name}")).unwrap()
}

pub(crate) fn prt(name: &str) -> PartId {
    PartId::parse(&format!("prt_{name}")).unwrap()
}

/// Entries and rows, collected one after the other.
#[derive(Clone)]
pub(crate) struct Draft {
    pub(crate) commit: Commit,
    at: u64,
}

impl Draft {
    pub(crate) fn new(session: &str, expected: u64) -> Self {
        Self {
            commit: Commit {
                session: ses(session),
                expected,
                entries: vec![],
                rows: vec![],
                parent: None,
                grant: None,
            },
            at: 1_000,
        }
    }

    pub(crate) fn at(mut self, at: u64) -> Self {
        self.at = at;
        self
    }

    pub(crate) fn fact(mut self, kind: &'static str, data: impl ToString) -> Self {
        self.commit.entries.push(NewEntry {
            kind,
            subject: None,
            at: self.at,
            data: data.to_string(),
            actor: None,
            tells: 0,
        });
        self
    }

    /// What the last fact is about.
    pub(crate) fn about(mut self, subject: &str) -> Self {
        self.commit.entries.last_mut().unwrap().subject = Some(subject.to_owned());
        self
    }

    /// The last fact tells so many things that are numbered.
    pub(crate) fn telling(mut self, tells: u64) -> Self {
        self.commit.entries.last_mut().unwrap().tells = tells;
        self
    }

    /// A fact that says nothing, for tests of order.
    pub(crate) fn idled(self) -> Self {
        self.fact("session.compacted.1", "{}")
    }

    pub(crate) fn row(mut self, change: RowChange) -> Self {
        let entry = self.commit.entries.len().saturating_sub(1);
        self.commit.rows.push(RowWrite { entry, change });
        self
    }

    pub(crate) fn session(self, title: &str) -> Self {
        let row = session_row(self.commit.session.as_str(), title);
        self.idled().row(RowChange::Session(row))
    }

    pub(crate) fn message(self, id: &str, ord: u64, created: u64) -> Self {
        let row = MessageRow {
            id: msg(id),
            session_id: self.commit.session.clone(),
            ord,
            created,
            data: json!({ "id": msg(id), "ord": ord }).to_string(),
        };
        self.idled().row(RowChange::Message(row))
    }

    pub(crate) fn part(self, message: &str, id: &str, ord: u64, text: &str) -> Self {
        let row = part_row(self.commit.session.as_str(), message, id, ord, text, false);
        self.idled().row(RowChange::Part(row))
    }

    pub(crate) fn open_part(self, message: &str, id: &str, ord: u64) -> Self {
        let row = part_row(self.commit.session.as_str(), message, id, ord, "", true);
        self.idled().row(RowChange::Part(row))
    }

    pub(crate) fn grew(self, message: &str, part: &str, delta: &str) -> Self {
        let data = json!({ "message": msg(message), "part": prt(part), "delta": delta });
        self.fact("text.grew.1", data)
    }
}

pub(crate) fn session_row(id: &str, title: &str) -> SessionRow {
    SessionRow {
        id: SessionId::parse(id).unwrap(),
        project_id: "global".to_owned(),
        directory: "/work".to_owned(),
        path: Some(String::new()),
        parent_id: None,
        title: title.to_owned(),
        created: 1,
        updated: 1,
        is_archived: false,
        data: json!({ "id": id, "title": title }).to_string(),
        machine: String::new(),
    }
}

pub(crate) fn part_row(
    session: &str,
    message: &str,
    id: &str,
    ord: u64,
    text: &str,
    is_open: bool,
) -> PartRow {
    PartRow {
        id: prt(id),
        message_id: msg(message),
        session_id: SessionId::parse(session).unwrap(),
        ord,
        is_open,
        data: part_json(id, text),
    }
}

/// What a part of these tests looks like when it is read.
pub(crate) fn part_json(id: &str, text: &str) -> String {
    json!({ "id": prt(id), "type": "text", "text": text, "time": { "start": 1.0 } }).to_string()
}
