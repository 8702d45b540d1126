//! Stored texts as types.

use sturdy_session::depth::read_stored;
use sturdy_session::id::SessionId;
use sturdy_session::placeholder;
use sturdy_session::types::session::Session;
use sturdy_store::{ReadError, Store};

/// A session's record as it is stored; if that cannot be read, as much as the columns beside it know. None if there
/// is no such session.
pub(crate) async fn readable_record(store: &Store, id: &SessionId) -> Result<Option<String>, ReadError> {
    let Some(record) = store.session(id).await? else { return Ok(None) };
    if read_stored::<Session>(&record).is_ok() {
        return Ok(Some(record));
    }
    let Some(columns) = store.session_columns(id).await? else { return Ok(None) };
    store.note_damage(id, &format!("session {id}"));
    let known = placeholder::session(id, columns);
    Ok(Some(serde_json::to_string(&known).expect("BUG: a session is always JSON")))
}
