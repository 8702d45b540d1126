//! What decodes encodes, and what was encoded decodes to the same text.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sturdy_capnweb::codec;

fuzz_target!(|text: &str| {
    if let Ok(value) = codec::decode(text)
        && let Ok(once) = codec::encode(&value)
    {
        let again = codec::decode(&once).expect("what we write we read");
        assert_eq!(codec::encode(&again).expect("again"), once);
    }
});
