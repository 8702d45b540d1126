//! The recorded traffic of the npm package, replayed.
//!
//! `tests/data/vectors.jsonl` holds one vector per line. Children: `codec` (values alone),
//! `server` (our server fed with what clients sent), `client` (our client fed with what
//! servers sent), `batch` (whole HTTP bodies).

mod batch;
mod client;
mod codec;
mod scripts;
mod server;

use serde_json::Value as Json;

/// One recorded exchange.
pub(crate) struct Vector {
    pub(crate) name: String,
    pub(crate) via: String,
    pub(crate) from: String,
    pub(crate) frames: Vec<(String, Frame)>,
    pub(crate) raw: Json,
}

#[derive(Clone, Debug)]
pub(crate) enum Frame {
    Text(String),
    /// A frame that is no text.
    Binary,
}

impl Vector {
    pub(crate) fn texts(&self, direction: &str) -> Vec<String> {
        let wanted = self.frames.iter().filter(|(found, _)| found == direction);
        wanted
            .filter_map(|(_, frame)| match frame {
                Frame::Text(text) => Some(text.clone()),
                Frame::Binary => None,
            })
            .collect()
    }

    pub(crate) fn flag(&self, name: &str) -> bool {
        self.raw[name].as_bool().unwrap_or(false)
    }
}

pub(crate) fn all() -> Vec<Vector> {
    include_str!("../data/vectors.jsonl").lines().map(parse).collect()
}

fn parse(line: &str) -> Vector {
    let raw: Json = serde_json::from_str(line).expect("a vector is JSON");
    let text = |name: &str| raw[name].as_str().unwrap_or_default().to_owned();
    let frames = raw["frames"].as_array().into_iter().flatten().flat_map(frames).collect();
    Vector { name: text("name"), via: text("via"), from: text("from"), frames, raw: raw.clone() }
}

/// A frame is a text, a pattern repeated inside a text, or bytes.
fn frames(frame: &Json) -> Vec<(String, Frame)> {
    let direction = frame[0].as_str().unwrap_or_default().to_owned();
    if let Some(text) = frame[1].as_str() {
        return vec![(direction, Frame::Text(text.to_owned()))];
    }
    let Some(template) = frame[1].get("template") else { return vec![(direction, Frame::Binary)] };
    let part = |name: &str| template[name].as_str().unwrap_or_default().to_owned();
    let count = usize::try_from(template["count"].as_u64().unwrap_or(0)).expect("fits");
    let text = part("prefix") + &part("repeat").repeat(count) + &part("suffix");
    let times = usize::try_from(frame[1]["times"].as_u64().unwrap_or(1)).expect("fits");
    vec![(direction, Frame::Text(text)); times]
}

#[test]
fn there_are_284_vectors_with_284_names() {
    let vectors = all();
    let mut names: Vec<_> = vectors.iter().map(|vector| vector.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();

    assert_eq!((vectors.len(), names.len()), (284, 284));
}
