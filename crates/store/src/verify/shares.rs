//! What shares promise, looked up in their tables: numbers are used once, cursors count what was applied, rights only
//! narrow, a deleted share is empty, and a link has sealed what it says.
//!
//! Each promise is a query for what breaks it. All are asked at one moment: a commit in between would look like damage.

use super::Report;
use crate::error::ReadError;
use rusqlite::Connection;

/// What is broken, and the query for where.
const BROKEN: [(&str, &str); 13] = [
    (
        "its log does not hold what was applied after its beginning",
        "SELECT 'share ' || share_id FROM share WHERE deleted IS NULL AND cursor - log_from <>
         (SELECT COUNT(*) FROM share_op WHERE share_op.share_id = share.share_id
         AND share_op.cursor > share.log_from AND share_op.cursor <= share.cursor)",
    ),
    (
        "its log reaches beyond its cursor, or has what was cut away",
        "SELECT 'share ' || share.share_id FROM share JOIN share_op ON share_op.share_id = share.share_id
         WHERE share_op.cursor > share.cursor OR share_op.cursor <= share.log_from",
    ),
    (
        "a number of a writer was applied twice",
        "SELECT 'share ' || share_id || ', writer ' || writer_id || ', number ' || seq FROM share_op
         GROUP BY share_id, writer_id, seq HAVING COUNT(*) > 1",
    ),
    (
        "a number of a writer was applied and rejected",
        "SELECT 'share ' || share_op.share_id || ', writer ' || share_op.writer_id || ', number ' || share_op.seq
         FROM share_op JOIN share_reject ON share_reject.share_id = share_op.share_id
         AND share_reject.writer_id = share_op.writer_id AND share_reject.seq = share_op.seq
         JOIN share_writer ON share_writer.share_id = share_op.share_id
         AND share_writer.writer_id = share_op.writer_id",
    ),
    (
        "something above the last number of its writer was applied",
        "SELECT 'share ' || share_op.share_id || ', writer ' || share_op.writer_id || ', number ' || share_op.seq
         FROM share_op JOIN share_writer ON share_writer.share_id = share_op.share_id
         AND share_writer.writer_id = share_op.writer_id WHERE share_op.seq > share_writer.applied_seq",
    ),
    (
        "more had an effect than was numbered",
        "SELECT 'share ' || share_id || ', writer ' || writer_id FROM share_writer
         WHERE applied_count > applied_seq",
    ),
    (
        "its writers have applied more than its cursor counts",
        "SELECT 'share ' || share.share_id FROM share JOIN share_writer
         ON share_writer.share_id = share.share_id GROUP BY share.share_id, share.cursor
         HAVING SUM(share_writer.applied_count) > share.cursor",
    ),
    (
        "it shows something that was written after its cursor, or that is not JSON",
        "SELECT 'share ' || share.share_id || ', ' || share_entity.key FROM share JOIN share_entity
         ON share_entity.share_id = share.share_id
         WHERE share_entity.cursor > share.cursor OR json_valid(share_entity.payload) = 0",
    ),
    (
        "it does not hold as many bytes as it counts",
        "SELECT 'share ' || share_id FROM share WHERE bytes <>
         (SELECT COALESCE(SUM(length(CAST(payload AS BLOB))), 0) FROM share_entity
         WHERE share_entity.share_id = share.share_id)",
    ),
    (
        "it was deleted and something of it is left",
        "SELECT 'share ' || share_id FROM share WHERE deleted IS NOT NULL
         AND (EXISTS (SELECT 1 FROM share_entity WHERE share_entity.share_id = share.share_id)
         OR EXISTS (SELECT 1 FROM share_op WHERE share_op.share_id = share.share_id)
         OR EXISTS (SELECT 1 FROM share_capability WHERE share_capability.share_id = share.share_id
         AND share_capability.revoked IS NULL))",
    ),
    (
        "it is wider than the right it was made of, or outlived it",
        "SELECT 'right ' || child.cap_id || ' of share ' || child.share_id FROM share_capability AS child
         JOIN share_capability AS parent ON parent.cap_id = child.parent_id
         WHERE child.share_id <> parent.share_id OR (child.scope & ~parent.scope) <> 0
         OR (parent.revoked IS NOT NULL AND child.revoked IS NULL)
         OR (parent.expires IS NOT NULL AND (child.expires IS NULL OR child.expires > parent.expires))",
    ),
    (
        "what it has sealed is not the batch that is stored",
        "SELECT 'the link of session ' || share_link.session_id FROM share_link LEFT JOIN share_sealed
         ON share_sealed.session_id = share_link.session_id
         WHERE share_link.acked_seq > share_link.sealed_seq
         OR (share_link.acked_seq = share_link.sealed_seq) <> (share_sealed.session_id IS NULL)
         OR share_sealed.first_seq <> share_link.acked_seq + 1
         OR share_sealed.last_seq <> share_link.sealed_seq",
    ),
    (
        "a change of a session is noted that is not shared",
        "SELECT 'session ' || session_id FROM share_unsent WHERE NOT EXISTS
         (SELECT 1 FROM share_link WHERE share_link.session_id = share_unsent.session_id)",
    ),
];

/// One damaged share can break a promise in a million places.
const PLACES_MAX: i64 = 100;

pub(super) fn check(connection: &Connection, report: &mut Report) -> Result<(), ReadError> {
    let moment = connection.unchecked_transaction()?;
    for (what, query) in BROKEN {
        let mut statement = moment.prepare(&format!("{query} LIMIT {PLACES_MAX}"))?;
        let mut rows = statement.query(())?;
        while let Some(row) = rows.next()? {
            let place: String = row.get(0)?;
            report.found(place, what);
        }
    }
    Ok(())
}
