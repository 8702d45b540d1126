//! Makes a `Model` from an entry of the catalog.

use crate::catalog::protocol::{self, Protocol};
use crate::catalog::{Interleaved, ModelEntry, ModelInfo, ThoughtReplay};
use crate::demo::{self, Demo, Kind};
use crate::http::Timeouts;
use crate::link::Link;
use crate::openai_chat::{Dialect, Thoughts};
use crate::secret::Secret;
use crate::{Model, ModelError, adjust, anthropic, failure, gemini, openai_chat, openai_responses};
use futures_util::stream::BoxStream;
use serde_json::Value;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use sturdy_session::json::Map;
use sturdy_session::talk::{Request, Said};
use sturdy_session::types::failure::Failure;

/// How long OpenAI may take until its answer begins. Others have no limit unless one is configured: a model
/// on the user's own machine may think for ten minutes before its first word.
const OPENAI_HEADERS_MS: u64 = 300_000;

impl ModelEntry {
    /// A model that can be asked. Nothing is sent yet.
    ///
    /// # Errors
    /// A missing key or address, as clients see it.
    pub fn connect(&self) -> Result<Arc<dyn Model>, Failure> {
        if self.provider.id == demo::PROVIDER && self.info.api.npm == demo::PACKAGE {
            let kind = if self.info.api.id == "story" { Kind::Story } else { Kind::Echo };
            return Ok(Arc::new(Demo::new(kind, self.provider.options.0.clone(), self.demo_pace_ms)));
        }
        let npm = &self.info.api.npm;
        let protocol = Protocol::of(npm)
            .ok_or_else(|| failure::unspoken(&self.provider.id, &self.provider.name, npm))?;
        if self.provider.is_key_withheld && !self.brings_own_key() {
            return Err(failure::withheld_key(&self.provider.id, &self.provider.name));
        }
        let login = self.provider.login.as_ref().filter(|_| self.provider.key.is_none());
        if let Some((_, expires)) = login.filter(|_| !self.brings_own_key()) {
            self.check_login(protocol, *expires)?;
        } else if protocol.needs_key() && self.provider.key.is_none() && !self.brings_own_key() {
            return Err(failure::missing_key(&self.provider.id, &self.provider.name, &self.provider.env));
        }
        let link = self.link(protocol)?;
        Ok(Arc::new(Connected {
            info: Arc::clone(&self.info),
            link,
            protocol,
            include_usage: self
                .provider
                .options
                .get("includeUsage")
                .and_then(Value::as_bool)
                .unwrap_or(self.info.traits.asks_usage),
        }))
    }

    /// Whether a stored login can be used. Compatible servers take its token as they take a key; what the others do
    /// with theirs is an agreement with their own programs, and a token that has run out is renewed by whoever
    /// issued it.
    fn check_login(&self, protocol: Protocol, expires: i64) -> Result<(), Failure> {
        let now_ms = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
        let is_over = expires > 0 && u128::from(expires.unsigned_abs()) <= now_ms;
        let why = match protocol {
            Protocol::Chat if is_over => "has run out",
            Protocol::Chat => return Ok(()),
            Protocol::Responses | Protocol::Anthropic | Protocol::Gemini => "(OAuth) is not supported",
        };
        Err(failure::unusable_login(&self.provider.id, &self.provider.name, why, &self.provider.env))
    }

    /// A header of the user's that authenticates makes a key unnecessary.
    fn brings_own_key(&self) -> bool {
        let names = ["authorization", "x-api-key", "x-goog-api-key", "api-key"];
        self.headers().iter().any(|(name, _)| names.contains(&name.to_ascii_lowercase().as_str()))
    }

    fn headers(&self) -> Vec<(String, String)> {
        let own = self.provider.options.get("headers").and_then(Value::as_object);
        let own = own.into_iter().flatten();
        let own = own.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())));
        own.chain(self.info.headers.0.clone()).collect()
    }

    /// The token of a login, for those who take it as a key.
    fn token(&self, protocol: Protocol) -> Option<Secret> {
        let (token, _) = self.provider.login.as_ref()?;
        (protocol == Protocol::Chat && !self.brings_own_key()).then(|| token.clone())
    }

    fn link(&self, protocol: Protocol) -> Result<Link, Failure> {
        let own = self.provider.options.get("baseURL").and_then(Value::as_str);
        let address = own.filter(|url| !url.is_empty()).or(Some(self.info.api.url.as_str()));
        let Some(address) =
            address.filter(|url| !url.is_empty()).or_else(|| protocol::home(&self.info.api.npm))
        else {
            return Err(Failure::unknown(format!(
                "provider {} has no address: set options.baseURL in opencode.json",
                self.provider.id
            )));
        };
        Ok(Link {
            http: self.http.clone(),
            provider: self.provider.id.clone(),
            base_url: protocol::below(&self.info.api.npm, address),
            key: self.provider.key.clone().or_else(|| self.token(protocol)),
            headers: self.headers(),
            timeouts: timeouts(&self.provider.id, &self.provider.options.0),
        })
    }
}

/// The limits a provider has: those of its options, `false` for none.
fn timeouts(provider: &str, options: &Map) -> Timeouts {
    let limit = |name: &str, otherwise: Option<u64>| match options.get(name) {
        None | Some(Value::Null) => otherwise,
        Some(value) => value.as_u64().filter(|limit| *limit > 0),
    };
    Timeouts {
        request_ms: limit("timeout", None),
        header_ms: limit("headerTimeout", (provider == "openai").then_some(OPENAI_HEADERS_MS)),
        chunk_ms: limit("chunkTimeout", None),
    }
}

/// A model at the other end of a connection.
#[derive(Debug)]
struct Connected {
    info: Arc<ModelInfo>,
    link: Link,
    protocol: Protocol,
    include_usage: bool,
}

impl Model for Connected {
    fn stream(&self, mut request: Request) -> BoxStream<'static, Result<Said, ModelError>> {
        if request.model.is_empty() {
            request.model.clone_from(&self.info.api.id);
        }
        adjust::apply(&self.info, &mut request);
        match self.protocol {
            Protocol::Chat => {
                let dialect = Dialect {
                    thoughts: self.thoughts(),
                    include_usage: self.include_usage,
                    takes_top_k: self.info.traits.takes_top_k,
                    marks_cache: self.info.traits.marks_cache,
                };
                openai_chat::stream(&self.link, &dialect, &request)
            }
            Protocol::Responses => openai_responses::stream(&self.link, &self.info, &request),
            Protocol::Anthropic => anthropic::stream(&self.link, &self.info, &request),
            Protocol::Gemini => gemini::stream(&self.link, &request),
        }
    }
}

impl Connected {
    /// Where replayed reasoning stands. What is known of the model counts more than its family.
    fn thoughts(&self) -> Thoughts {
        let family = self.info.traits.thought_replay;
        match (&self.info.capabilities.interleaved, family) {
            (_, ThoughtReplay::Details) => Thoughts::Details,
            (_, ThoughtReplay::Blocks) => Thoughts::Blocks,
            (Interleaved::Field { field }, _) => Thoughts::Always(field.clone()),
            (_, ThoughtReplay::Always(field)) => Thoughts::Always(field.to_owned()),
            (_, ThoughtReplay::Field(field)) => Thoughts::IfAny(field),
            (_, ThoughtReplay::Never) => Thoughts::Never,
        }
    }
}

#[cfg(test)]
mod tests;
