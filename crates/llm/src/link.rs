//! How to reach a provider: URL, key, headers, timeouts.

mod body;

pub(crate) use body::Body;

use crate::http::{Call, Http, Timeouts, add_header};
use crate::secret::{Redactor, Secret, is_sensitive};
use ::http::{HeaderMap, header};
use serde::Serialize;
use sturdy_session::types::failure::Failure;

/// Everything about the connection that is not the request itself.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    pub(crate) http: Http,
    pub(crate) provider: String,
    /// Without a slash at the end.
    pub(crate) base_url: String,
    pub(crate) key: Option<Secret>,
    /// The user's own, of the provider and of the model.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) timeouts: Timeouts,
}

/// How a protocol carries the key.
#[derive(Clone, Copy, Debug)]
pub(crate) enum KeyIn {
    Bearer,
    Header(&'static str),
}

impl Link {
    /// A request to `path` below the base address. Later headers replace earlier ones: the
    /// protocol's, the user's, the request's.
    pub(crate) fn call(
        &self,
        path: &str,
        key_in: KeyIn,
        protocol_headers: &[(&str, &str)],
        request_headers: &[(String, String)],
        body: &impl Serialize,
    ) -> Result<Call, Failure> {
        let mut headers = HeaderMap::new();
        let mut redactor = Redactor::default();
        headers.insert(header::ACCEPT, header::HeaderValue::from_static("text/event-stream"));
        for (name, value) in protocol_headers {
            add_header(&mut headers, name, value)?;
        }
        if let Some(key) = &self.key {
            redactor.add(key.reveal());
            match key_in {
                KeyIn::Bearer => {
                    add_header(&mut headers, "authorization", &format!("Bearer {}", key.reveal()))?;
                }
                KeyIn::Header(name) => add_header(&mut headers, name, key.reveal())?,
            }
        }
        for (name, value) in self.headers.iter().chain(request_headers) {
            if is_sensitive(name) {
                redactor.add(value);
            }
            add_header(&mut headers, name, value)?;
        }
        let body = serde_json::to_vec(body)
            .map_err(|error| Failure::unknown(format!("request cannot be written as JSON: {error}")))?;
        Ok(Call {
            http: self.http.clone(),
            provider: self.provider.clone(),
            url: format!("{}{path}", self.base_url),
            headers,
            body,
            timeouts: self.timeouts,
            redactor,
        })
    }
}
