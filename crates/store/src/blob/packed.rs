//! Text that takes less room on disk than in memory.
//!
//! What a model and its tools say stands in the log and, for whoever reads a conversation, in its row. Rows are read all
//! the time and stay as they are; the log is read by who was away. So an entry is packed where that pays, in the
//! zlib format, whose checksum finds a spoilt byte.

use crate::error::Failure;
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use std::io::{Read as _, Write as _};

/// Less is not worth the work: a few words of a stream stay readable with any SQLite shell.
const PACK_FROM: usize = 1024;
/// The one thread that writes packs it, and everybody's commits wait meanwhile: some milliseconds at most.
const PACK_TO: usize = 1024 * 1024;

/// The same in fewer bytes; none where that would save less than a quarter or hold up others.
pub(crate) fn pack(bytes: &[u8]) -> Option<Vec<u8>> {
    if !(PACK_FROM..=PACK_TO).contains(&bytes.len()) {
        return None;
    }
    let mut encoder = ZlibEncoder::new(Vec::with_capacity(bytes.len() / 2), Compression::fast());
    // Neither fails: it writes to memory.
    encoder.write_all(bytes).ok()?;
    let packed = encoder.finish().ok()?;
    (packed.len() <= bytes.len() / 4 * 3).then_some(packed)
}

/// What was packed, if it is no more than `most` bytes: nobody packs more, so it would be damage.
pub(crate) fn unpack(packed: &[u8], most: usize, place: impl Fn() -> String) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::with_capacity(most.min(packed.len().saturating_mul(4)));
    ZlibDecoder::new(packed)
        .take(most as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::broken(place(), error))?;
    if bytes.len() > most {
        return Err(Failure::broken(place(), format!("it holds more than {most} bytes")));
    }
    Ok(bytes)
}
