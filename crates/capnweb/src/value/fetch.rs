//! The shapes of the Fetch standard: headers, requests, responses, blobs.

use std::sync::Arc;

use super::{Object, Readable, Value};
use url::Url;

/// An HTTP header list. Names are lower case and unique; values of one name are joined.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Headers(Vec<(String, String)>);

impl Headers {
    pub fn new() -> Headers {
        Headers::default()
    }

    /// Adds a value, joined with what the name already has. `false` when the name or the value
    /// is not allowed in HTTP.
    pub fn append(&mut self, name: &str, value: &str) -> bool {
        let value = value.trim_matches([' ', '\t', '\r', '\n']);
        if !is_token(name) || value.contains(['\0', '\r', '\n']) {
            return false;
        }
        let name = name.to_ascii_lowercase();
        match self.0.binary_search_by(|(known, _)| known.as_str().cmp(&name)) {
            Ok(at) => {
                let joined = &mut self.0[at].1;
                joined.push_str(", ");
                joined.push_str(value);
            }
            // Sorted, because that is the order in which JavaScript lists them.
            Err(at) => self.0.insert(at, (name, value.to_owned())),
        }
        true
    }

    /// From pairs, in any number: sorted once. `None` when one is not allowed in HTTP.
    pub(crate) fn from_pairs<'p>(pairs: impl Iterator<Item = (&'p str, &'p str)>) -> Option<Headers> {
        let mut all = Vec::new();
        for (name, value) in pairs {
            let value = value.trim_matches([' ', '\t', '\r', '\n']);
            if !is_token(name) || value.contains(['\0', '\r', '\n']) {
                return None;
            }
            all.push((name.to_ascii_lowercase(), value.to_owned()));
        }
        // Stable, so that values of one name stay in their order.
        all.sort_by(|(a, _), (b, _)| a.cmp(b));
        let mut headers: Vec<(String, String)> = Vec::with_capacity(all.len());
        for (name, value) in all {
            match headers.last_mut() {
                Some((last, joined)) if *last == name => {
                    joined.push_str(", ");
                    joined.push_str(&value);
                }
                _ => headers.push((name, value)),
            }
        }
        Some(Headers(headers))
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        let name = name.to_ascii_lowercase();
        self.0.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// A token of RFC 9110: what names of headers and methods are made of.
pub(crate) fn is_token(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

/// The body of a request or response.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Body {
    #[default]
    Empty,
    Text(String),
    Bytes(Vec<u8>),
    Stream(Readable),
}

/// An HTTP request as a value.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    pub url: Url,
    pub method: String,
    pub headers: Headers,
    pub body: Body,
    /// The other members of JavaScript's `RequestInit`, plain data.
    pub init: Object,
}

impl Request {
    pub fn new(method: &str, url: Url) -> Request {
        Request {
            url,
            method: method.to_owned(),
            headers: Headers::new(),
            body: Body::Empty,
            init: Object::new(),
        }
    }
}

/// An HTTP response as a value.
#[derive(Clone, Debug, PartialEq)]
pub struct Response {
    pub status: u16,
    pub status_text: String,
    pub headers: Headers,
    pub body: Body,
    /// The other members of JavaScript's `ResponseInit`, plain data.
    pub init: Object,
}

impl Response {
    pub fn new(status: u16) -> Response {
        Response {
            status,
            status_text: String::new(),
            headers: Headers::new(),
            body: Body::Empty,
            init: Object::new(),
        }
    }
}

/// Bytes with a media type. Copies share the bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blob {
    mime: String,
    data: Arc<Vec<u8>>,
}

impl Blob {
    pub fn new(mime: impl Into<String>, data: Vec<u8>) -> Blob {
        Blob { mime: mime.into(), data: Arc::new(data) }
    }

    pub fn mime(&self) -> &str {
        &self.mime
    }

    pub fn bytes(&self) -> &[u8] {
        &self.data
    }

    pub(crate) fn shared(&self) -> Arc<Vec<u8>> {
        Arc::clone(&self.data)
    }
}

impl From<Blob> for Value {
    fn from(blob: Blob) -> Value {
        Value::Blob(blob)
    }
}
