//! Per-provider message rules.
//!
//! What every provider of a family wants changed in a request, before any protocol writes it:
//! files the model cannot read, empty blocks, the letters of call ids, sampling it refuses, fillers. Cache marks and
//! the names of fields are the protocols' own business.
//!
//! Lone surrogates need no rule: our strings cannot hold them.

use crate::catalog::{CallIds, Modalities, ModelInfo, TakesSampling};
use crate::media::{self, Modality};
use crate::schema;
use sturdy_session::talk::{AssistantItem, Media, Request, Turn, UserItem};

const MISTRAL_ID_CHARS: usize = 9;
/// Stands between a tool's result and a prompt where two of them may not touch.
const FILLER: &str = "Done.";

/// Applies every rule that concerns this model.
pub(crate) fn apply(model: &ModelInfo, request: &mut Request) {
    let traits = &model.traits;
    replace_unreadable(&model.capabilities.input, &mut request.messages);
    if traits.refuses_empty {
        drop_empty(&mut request.messages);
    }
    match traits.call_ids {
        CallIds::Any => {}
        CallIds::Claude => rename_calls(&mut request.messages, claude_id),
        CallIds::Mistral => rename_calls(&mut request.messages, mistral_id),
    }
    match traits.takes_sampling {
        TakesSampling::All => {}
        TakesSampling::NotBoth => request.top_p = request.top_p.filter(|_| request.temperature.is_none()),
        TakesSampling::Nothing => {
            request.temperature = None;
            request.top_p = None;
            request.top_k = None;
        }
    }
    if traits.wants_filler {
        fill_after_tools(&mut request.messages);
    }
    for tool in &mut request.tools {
        schema::fit(traits.schema, &mut tool.parameters);
    }
}

/// A file the model cannot read becomes a sentence it can.
fn replace_unreadable(input: &Modalities, turns: &mut [Turn]) {
    let items = turns.iter_mut().filter_map(|turn| match turn {
        Turn::User(items) => Some(items),
        Turn::Assistant(_) | Turn::Tool(_) => None,
    });
    for item in items.flatten() {
        let UserItem::File(file) = item else { continue };
        if let Some(sentence) = unreadable(input, file) {
            *item = UserItem::Text(sentence);
        }
    }
}

fn unreadable(input: &Modalities, file: &Media) -> Option<String> {
    let modality = Modality::of(&file.mime);
    if modality == Modality::Image && media::base64_of(file).is_some_and(str::is_empty) {
        return Some(
            "ERROR: Cannot read the image: it is empty. Tell the user that the file is damaged.".to_owned(),
        );
    }
    let is_readable = match modality {
        Modality::Image => input.image,
        Modality::Audio => input.audio,
        Modality::Video => input.video,
        Modality::Pdf => input.pdf,
        // Its type is unknown, so nothing says that the model does not take it.
        Modality::Other => true,
    };
    if is_readable {
        return None;
    }
    let kind = modality.as_str();
    let name = file.filename.as_deref().map_or_else(|| "the file".to_owned(), |name| format!("{name:?}"));
    Some(format!("ERROR: Cannot read {name}: this model takes no {kind} input. Tell the user so."))
}

fn drop_empty(turns: &mut Vec<Turn>) {
    for turn in turns.iter_mut() {
        match turn {
            Turn::User(items) => {
                items.retain(|item| !matches!(item, UserItem::Text(text) if text.is_empty()));
            }
            Turn::Assistant(items) => items.retain(has_content),
            Turn::Tool(_) => {}
        }
    }
    turns.retain(|turn| match turn {
        Turn::User(items) => !items.is_empty(),
        Turn::Assistant(items) => !items.is_empty(),
        Turn::Tool(results) => !results.is_empty(),
    });
}

fn has_content(item: &AssistantItem) -> bool {
    match item {
        AssistantItem::Text { text, .. } => !text.is_empty(),
        AssistantItem::Reasoning { text, metadata } => {
            let own = metadata.as_ref().and_then(|metadata| metadata.get("anthropic"));
            let is_sealed =
                own.is_some_and(|own| own["signature"].is_string() || own["redactedData"].is_string());
            !text.trim().is_empty() || is_sealed
        }
        AssistantItem::Call { .. } => true,
    }
}

fn rename_calls(turns: &mut [Turn], rename: fn(&str) -> String) {
    for turn in turns {
        match turn {
            Turn::User(_) => {}
            Turn::Assistant(items) => {
                for item in items {
                    if let AssistantItem::Call { id, .. } = item {
                        *id = rename(id);
                    }
                }
            }
            Turn::Tool(results) => results.iter_mut().for_each(|result| result.call = rename(&result.call)),
        }
    }
}

fn claude_id(id: &str) -> String {
    let allowed = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
    id.chars().map(|letter| if allowed(letter) { letter } else { '_' }).collect()
}

fn mistral_id(id: &str) -> String {
    let short: String = id.chars().filter(char::is_ascii_alphanumeric).take(MISTRAL_ID_CHARS).collect();
    format!("{short:0<MISTRAL_ID_CHARS$}")
}

fn fill_after_tools(turns: &mut Vec<Turn>) {
    let mut filled = Vec::with_capacity(turns.len());
    for turn in turns.drain(..) {
        if matches!(turn, Turn::User(_)) && matches!(filled.last(), Some(Turn::Tool(_))) {
            filled
                .push(Turn::Assistant(vec![AssistantItem::Text { text: FILLER.to_owned(), metadata: None }]));
        }
        filled.push(turn);
    }
    *turns = filled;
}

#[cfg(test)]
mod tests;
