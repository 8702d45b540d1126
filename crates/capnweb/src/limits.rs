//! What a peer may cost us.
//!
//! Every bound of the protocol and every bound of our own stands here, with the
//! default it has when nobody says otherwise. All are checked before the work is done.

use std::time::Duration;

/// Bounds of one session. `Limits::default()` is right for a public server.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Longest message, in bytes. Breach ends the session.
    pub message_bytes_max: usize,
    /// Deepest evaluation: arrays, objects and nested calls. The npm package has the same.
    pub depth_max: usize,
    /// Deepest JSON brackets. An escaped array is two, so this is a little over twice `depth_max`.
    pub bracket_depth_max: usize,
    /// Longest bigint, in characters with its sign.
    pub bigint_digits_max: usize,
    /// Exports and imports together.
    pub table_entries_max: usize,
    /// Calls running at once; above it the session stops reading.
    pub running_calls_max: usize,
    /// Longest property path.
    pub path_elements_max: usize,
    /// Captures of one map.
    pub map_captures_max: usize,
    /// Instructions of one map.
    pub map_instructions_max: usize,
    /// Elements times instructions of one map, nested maps included. Breach rejects that map.
    pub map_evaluations_max: u64,
    /// Pipes the peer may have open.
    pub pipes_max: usize,
    /// Bytes waiting in one pipe. Breach rejects the write.
    pub pipe_bytes_max: usize,
    /// Bytes waiting in all pipes of a session. Breach rejects the write.
    pub session_pipe_bytes_max: usize,
    /// Largest blob.
    pub blob_bytes_max: usize,
    /// Bytes of results the peer makes us keep. Breach ends the session.
    pub retained_bytes_max: usize,
    /// Bytes we have queued for a peer that does not read; above it the session stops reading as well,
    /// at twice as much it ends.
    pub outbox_bytes_max: usize,
    /// Longest body of an HTTP batch.
    pub batch_bytes_max: usize,
    /// Most messages in an HTTP batch.
    pub batch_messages_max: usize,
    /// How long a batch may run before what is unanswered is rejected.
    pub batch_deadline: Duration,
    /// How often a silent WebSocket is pinged.
    pub ping_every: Duration,
    /// How long a WebSocket may be silent before it is closed.
    pub silence_max: Duration,
}

const MIB: usize = 1024 * 1024;

impl Default for Limits {
    fn default() -> Self {
        Limits {
            message_bytes_max: 32 * MIB,
            depth_max: 256,
            bracket_depth_max: 530,
            bigint_digits_max: 16_384,
            table_entries_max: 20_000,
            running_calls_max: 1_024,
            path_elements_max: 64,
            map_captures_max: 256,
            map_instructions_max: 1_024,
            map_evaluations_max: 100_000,
            pipes_max: 64,
            pipe_bytes_max: 16 * MIB,
            session_pipe_bytes_max: 64 * MIB,
            blob_bytes_max: 64 * MIB,
            retained_bytes_max: 256 * MIB,
            outbox_bytes_max: 64 * MIB,
            batch_bytes_max: 32 * MIB,
            batch_messages_max: 10_000,
            batch_deadline: Duration::from_secs(30),
            ping_every: Duration::from_secs(30),
            silence_max: Duration::from_secs(90),
        }
    }
}
