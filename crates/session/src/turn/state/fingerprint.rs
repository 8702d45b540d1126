//! Numbers that tell whether two things are the same. They are stored, so the function stays what it is: FNV-1a, 64 bits.

use crate::json::Map;

/// Of a call: the same for the same tool with the same arguments.
pub(super) fn of_call(tool: &str, input: &Map) -> u64 {
    of_words(std::iter::once(tool.to_owned()).chain(of_map(input)))
}

/// Of a request for permission: the same for the same patterns, shown with the same words and differences.
pub(in crate::turn) fn of_ask(permission: &str, patterns: &[String], shown: &Map) -> u64 {
    of_words(std::iter::once(permission.to_owned()).chain(patterns.iter().cloned()).chain(of_map(shown)))
}

fn of_map(map: &Map) -> impl Iterator<Item = String> {
    map.iter().flat_map(|(key, value)| [key.clone(), value.to_string()])
}

fn of_words(words: impl Iterator<Item = String>) -> u64 {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for word in words {
        // With its end, so that "a" "bc" is not "ab" "c".
        for byte in word.bytes().chain(std::iter::once(0xff)) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
    hash
}
