//! A message as it is sent: its row and those of its parts, joined as text.

use sturdy_engine::reads::RawMessage;

/// `{"info":…,"parts":[…]}` from texts that are JSON already.
pub(crate) fn joined(message: &RawMessage) -> String {
    let mut out = String::with_capacity(joined_bytes(message));
    join_into(&mut out, message);
    out
}

/// A list of them.
pub(crate) fn list_of(messages: &[RawMessage]) -> String {
    let mut out = "[".to_owned();
    join_behind(&mut out, messages);
    out.push(']');
    out
}

/// The items of a list behind what is there already: each text is copied once.
pub(crate) fn join_behind(out: &mut String, messages: &[RawMessage]) {
    out.reserve(messages.iter().map(joined_bytes).sum::<usize>() + 1);
    for (index, message) in messages.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        join_into(out, message);
    }
}

fn join_into(out: &mut String, message: &RawMessage) {
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

/// How long it is, with a comma behind it.
fn joined_bytes(message: &RawMessage) -> usize {
    let parts: usize = message.parts.iter().map(|part| part.len() + 1).sum();
    message.info.len() + parts + 24
}
