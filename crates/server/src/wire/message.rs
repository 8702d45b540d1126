//! A message as it is sent: its row and those of its parts, joined as text.

use sturdy_engine::reads::RawMessage;

/// `{"info":…,"parts":[…]}` from texts that are JSON already.
pub(crate) fn joined(message: &RawMessage) -> String {
    let mut out = String::new();
    join_into(&mut out, message);
    out
}

/// The same behind what is there already.
pub(crate) fn join_into(out: &mut String, message: &RawMessage) {
    let parts: usize = message.parts.iter().map(|part| part.len() + 1).sum();
    out.reserve(message.info.len() + parts + 24);
    out.push_str("{\"info\":");
    out.push_str(&message.info);
    out.push_str(",\"parts\":[");
    for (index, part) in message.parts.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        out.push_str(part);
    }
    out.push_str("]}");
}
