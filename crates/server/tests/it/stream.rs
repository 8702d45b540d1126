//! Reading an event stream frame by frame.

use crate::document;
use crate::world::World;
use jsonschema::Validator;
use reqwest::Response;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

/// Long enough for a slow machine; a test that waits for it has failed.
const WAIT_MAX: Duration = Duration::from_secs(120);

/// One frame, as it was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) raw: String,
}

impl Frame {
    pub(crate) fn id(&self) -> Option<String> {
        self.raw.lines().find_map(|line| line.strip_prefix("id: ")).map(str::to_owned)
    }

    pub(crate) fn json(&self) -> Value {
        let data = self.raw.lines().find_map(|line| line.strip_prefix("data: ")).unwrap();
        serde_json::from_str(data).unwrap()
    }

    /// The event, out of its envelope if it has one.
    pub(crate) fn event(&self) -> Value {
        let json = self.json();
        json.get("payload").cloned().unwrap_or(json)
    }

    pub(crate) fn kind(&self) -> String {
        self.event()["type"].as_str().unwrap().to_owned()
    }

    /// Of the log: neither a greeting nor a beat.
    pub(crate) fn is_stored(&self) -> bool {
        self.id().is_some() && self.kind() != "server.connected"
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.kind() == "session.idle"
    }
}

/// Where a cursor stands: by entry, and behind its last event when it names none.
pub(crate) fn place(cursor: &str) -> (u64, u64) {
    let mut words = cursor.split('.').skip(1);
    let position = words.next().unwrap().parse().unwrap();
    (position, words.next().map_or(u64::MAX, |seen| seen.parse().unwrap()))
}

/// Whether cursors stand in the order of their events.
pub(crate) fn ascend<'a>(cursors: impl IntoIterator<Item = &'a String>) -> bool {
    let places: Vec<_> = cursors.into_iter().map(|cursor| place(cursor)).collect();
    places.windows(2).all(|pair| pair[0] < pair[1])
}

pub(crate) struct Stream {
    pub(crate) response: Response,
    buffer: String,
    /// So far there is no end of a frame in the buffer.
    searched: usize,
    /// What the document says of its frames.
    described: Option<Arc<Validator>>,
}

impl Stream {
    pub(crate) async fn open(world: &World, path: &str) -> Self {
        Self::after(world, path, None).await
    }

    /// Of frames that are not in the words of the document.
    pub(crate) async fn undescribed(world: &World, path: &str) -> Self {
        Self { described: None, ..Self::open(world, path).await }
    }

    pub(crate) async fn after(world: &World, path: &str, id: Option<&str>) -> Self {
        let mut request = world.request("GET", path);
        if let Some(id) = id {
            request = request.header("last-event-id", id);
        }
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 200);
        Self { response, buffer: String::new(), searched: 0, described: document::frames_of(path) }
    }

    /// The next frame; none at the end of the stream.
    pub(crate) async fn next(&mut self) -> Option<Frame> {
        loop {
            if let Some(end) = self.buffer[self.searched..].find("\n\n") {
                let raw = self.buffer.drain(..self.searched + end + 2).collect();
                self.searched = 0;
                let frame = Frame { raw };
                self.check(&frame);
                return Some(frame);
            }
            // The first half of the end may be here already.
            self.searched = self.buffer.len().saturating_sub(1);
            while !self.buffer.is_char_boundary(self.searched) {
                self.searched -= 1;
            }
            let read = tokio::time::timeout(WAIT_MAX, self.response.chunk());
            let chunk = read.await.expect("the stream is silent").unwrap()?;
            self.buffer.push_str(std::str::from_utf8(&chunk).expect("frames are cut between characters"));
        }
    }

    fn check(&self, frame: &Frame) {
        let Some(described) = &self.described else { return };
        // A comment keeps a silent stream alive, and says nothing.
        if frame.raw.starts_with(':') {
            return;
        }
        let told = frame.json();
        let wrong: Vec<String> = described.iter_errors(&told).map(|error| error.to_string()).collect();
        assert!(wrong.is_empty(), "{} is not what the document says: {wrong:#?}\n{told:#}", frame.kind());
    }

    /// All frames up to the first that fits, which is the last of them.
    pub(crate) async fn until(&mut self, wanted: impl Fn(&Frame) -> bool) -> Vec<Frame> {
        let mut frames = Vec::new();
        while let Some(frame) = self.next().await {
            let is_last = wanted(&frame);
            frames.push(frame);
            if is_last {
                return frames;
            }
        }
        panic!("the stream ended: {frames:#?}");
    }
}
