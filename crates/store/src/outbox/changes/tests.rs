//! A change costs the reading of that change, however long the session is.

use super::{MESSAGE, OPEN_PARTS, PART, SAID, SESSION, UNSENT, changes};
use crate::committer::note_change;
use crate::migrate;
use rusqlite::{Connection, StatementStatus};
use serde_json::json;
use sturdy_session::id::{MessageId, SessionId};
use sturdy_session::row::{MessageRow, RowChange};

const SHARED: &str = "ses_a";

/// A session of so many messages with a part each, all of them sealed.
fn session_of(messages: i64) -> Connection {
    let mut connection = Connection::open_in_memory().unwrap();
    migrate::migrate(&mut connection).unwrap();
    let insert = "INSERT INTO session
        (id, project_id, directory, title, created, updated, archived, data, machine, position)
        VALUES (?1, 'p', '/', 'long', 1, 1, 0, '{}', '', 1)";
    connection.execute(insert, [SHARED]).unwrap();
    let log = "INSERT INTO log (position, session_id, seq, kind, at, data, actor) VALUES (?1, ?2, ?1, 'session.compacted.1', 1, '{}', '')";
    let message =
        "INSERT INTO message (id, session_id, ord, created, data, position) VALUES (?1, ?2, ?3, 1, '{}', ?3)";
    let part = "INSERT INTO part (id, message_id, session_id, ord, is_open, data, position) VALUES (?1, ?2, ?3, 1, 0, '{}', ?4)";
    let said = "INSERT INTO share_said (session_id, kind, id, parent, version, hash) VALUES (?1, ?2, ?3, '', ?4, x'00')";
    for number in 1..=messages {
        let id = format!("msg_{number}");
        let of_part = format!("prt_{number}");
        connection.execute(log, (number, SHARED)).unwrap();
        connection.execute(message, (&id, SHARED, number)).unwrap();
        connection.execute(part, (&of_part, &id, SHARED, number)).unwrap();
        connection.execute(said, (SHARED, "message", &id, number)).unwrap();
        connection.execute(said, (SHARED, "part", &of_part, number)).unwrap();
    }
    connection
}

/// Steps of the database's machine that the statements of a look at the changes have taken so far.
fn steps(connection: &Connection) -> i32 {
    let statements = [UNSENT, SESSION, MESSAGE, PART, OPEN_PARTS, SAID];
    statements
        .iter()
        .map(|text| connection.prepare_cached(text).unwrap().get_status(StatementStatus::VmStep))
        .sum()
}

fn change_of(messages: i64) -> i32 {
    let connection = session_of(messages);
    let row = MessageRow {
        id: MessageId::parse("msg_3").unwrap(),
        session_id: SessionId::parse(SHARED).unwrap(),
        ord: 3,
        created: 1,
        data: json!({}).to_string(),
    };
    note_change(&connection, SHARED, &RowChange::Message(row), messages + 1).unwrap();

    let found = changes(&connection, SHARED).unwrap().unwrap();

    assert_eq!(found.drafts.len(), 1);
    assert_eq!(found.drafts[0].id, "msg_3");
    steps(&connection)
}

#[test]
fn a_change_of_a_long_session_is_found_in_as_many_steps_as_one_of_a_short_session() {
    let short = change_of(5);
    let long = change_of(2_000);

    assert!(short > 0);
    assert_eq!(long, short);
}
