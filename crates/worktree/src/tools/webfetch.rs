//! `webfetch`: a page of the web, as text.
//!
//! Every hop is checked: the scheme, and the address the name resolves to, which is the address
//! that is connected to (`webfetch/guard.rs`). This machine and its networks are reached after the permission
//! `private_network`, which names host and port; a redirect that leads there asks too. Size and time have limits; the
//! time in which a person thinks is not counted.

mod convert;
mod guard;

pub(crate) use guard::has_proxy;
pub use guard::{is_metadata, is_private};

use super::ask;
use crate::tool::{Attached, Call, Done, PermissionAsk, Reach, Tool, ToolFailure, World, map, spec, text};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use convert::Format;
use futures_util::future::BoxFuture;
use guard::AddressKind;
use reqwest::header::{ACCEPT, ACCEPT_LANGUAGE, CONTENT_TYPE, LOCATION, USER_AGENT};
use serde::Deserialize;
use serde_json::json;
use std::time::Duration;
use sturdy_session::talk::ToolSpec;
use tokio::time::{Instant, timeout};
use url::Url;

const BODY_BYTES_MAX: usize = 5 * 1024 * 1024;

const TIMEOUT_S: f64 = 30.0;
const TIMEOUT_S_MAX: f64 = 120.0;

const REDIRECTS_MAX: usize = 10;

const AGENT: &str = concat!("Mozilla/5.0 (compatible; Sturdy/", env!("CARGO_PKG_VERSION"), ")");

#[derive(Debug)]
pub struct WebFetch(ToolSpec);

#[derive(Deserialize)]
struct Input {
    url: String,
    #[serde(default)]
    format: Format,
    timeout: Option<f64>,
}

impl WebFetch {
    #[must_use]
    #[allow(clippy::new_without_default, reason = "a tool is made once, by name")]
    pub fn new() -> Self {
        let properties = json!({
            "url": text("The address, beginning with http:// or https://"),
            "format": {
                "type": "string", "enum": ["text", "markdown", "html"], "default": "markdown",
                "description": "The form of the result (default markdown)",
            },
            "timeout": { "type": "number", "description": "Time limit in seconds (default 30, at most 120)" },
        });
        Self(spec("webfetch", include_str!("webfetch.md"), properties, &["url"]))
    }
}

impl Tool for WebFetch {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn run<'a>(&'a self, call: Call, world: &'a World) -> BoxFuture<'a, Result<Done, ToolFailure>> {
        Box::pin(async move {
            let input: Input = call.decode()?;
            let url = checked_url(&input.url)?;
            let mut metadata = map(json!({ "url": input.url, "format": input.format.name() }));
            if let Some(timeout) = input.timeout {
                metadata.insert("timeout".to_owned(), json!(timeout));
            }
            ask::permission(world, "webfetch", &input.url, metadata).await?;

            let wanted = input.timeout.filter(|seconds| seconds.is_finite() && *seconds > 0.0);
            let limit = Duration::from_secs_f64(wanted.unwrap_or(TIMEOUT_S).min(TIMEOUT_S_MAX));
            let private = Private::Asked(world);
            let fetch = Fetch { reach: world.settings.reach, private, limit, format: input.format };
            let page = tokio::select! {
                () = world.stop.cancelled() => return Err(ToolFailure::aborted()),
                fetched = fetch.run(url) => fetched?,
            };
            told(world, &input, page).await
        })
    }
}

/// Who named an address that nobody is asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamedBy {
    /// The person whose machine this is: its host may be in a private network.
    User,
    Project,
}

/// The text at an address, as it is, under the same guards.
pub async fn fetch_text(
    address: &str,
    named_by: NamedBy,
    reach: Reach,
    limit: Duration,
) -> Result<String, ToolFailure> {
    let url = checked_url(address)?;
    let named = url.host_str().filter(|_| named_by == NamedBy::User).map(str::to_owned);
    let page = Fetch { reach, private: Private::Named(named), limit, format: Format::Text }.run(url).await?;
    Ok(String::from_utf8_lossy(&page.body).into_owned())
}

/// How a page is fetched.
struct Fetch<'a> {
    reach: Reach,
    private: Private<'a>,
    /// For all hops together.
    limit: Duration,
    format: Format,
}

/// How this machine and its networks are reached.
enum Private<'a> {
    /// After a person was asked.
    Asked(&'a World),
    /// At this host alone, if at all.
    Named(Option<String>),
}

/// What a hop led to.
enum Hop {
    Page(Page),
    Redirect(Url),
}

struct Page {
    content_type: String,
    body: Vec<u8>,
}

fn checked_url(text: &str) -> Result<Url, ToolFailure> {
    let url = Url::parse(text).ok().filter(Url::has_host);
    let url = url.filter(|url| matches!(url.scheme(), "http" | "https"));
    url.ok_or_else(|| {
        ToolFailure::failed(format!(
            "{text} is not an address of the web: such a one begins with http:// or https:// and names a host."
        ))
    })
}

impl Fetch<'_> {
    async fn run(&self, mut url: Url) -> Result<Page, ToolFailure> {
        let first = url.clone();
        let late = |_| {
            let seconds = self.limit.as_secs();
            ToolFailure::failed(format!("{first} did not answer within {seconds} seconds."))
        };
        let mut left = self.limit;
        let mut permitted = Vec::new();
        for _ in 0..=REDIRECTS_MAX {
            let begun = Instant::now();
            let place = timeout(left, guard::place_of(&url)).await.map_err(late)?;
            left = left.saturating_sub(begun.elapsed());
            let reach = self.permit(&url, place, &mut permitted).await?;

            let begun = Instant::now();
            match timeout(left, self.hop(&url, reach)).await.map_err(late)?? {
                Hop::Page(page) => return Ok(page),
                Hop::Redirect(to) => url = to,
            }
            left = left.saturating_sub(begun.elapsed());
        }
        Err(ToolFailure::failed(format!(
            "{url} leads on to other addresses more than {REDIRECTS_MAX} times."
        )))
    }

    /// How far the next connection may reach. May wait for a person.
    async fn permit(
        &self,
        url: &Url,
        place: AddressKind,
        permitted: &mut Vec<String>,
    ) -> Result<Reach, ToolFailure> {
        let refused = |why: &str| {
            let host = url.host_str().unwrap_or_default();
            Err(ToolFailure::failed(format!("{host} is {why}, which webfetch does not reach.")))
        };
        match (place, self.reach, &self.private) {
            (_, Reach::Anywhere, _) => Ok(Reach::Anywhere),
            (AddressKind::Public, reach, _) => Ok(reach),
            (AddressKind::Metadata, ..) => refused("an address at which clouds tell machines their secrets"),
            (AddressKind::Private, Reach::Private, _) => Ok(Reach::Private),
            (AddressKind::Private, Reach::Public, Private::Named(host))
                if host.as_deref() == url.host_str() =>
            {
                Ok(Reach::Private)
            }
            (AddressKind::Private, Reach::Public, Private::Named(_)) => {
                refused("on this machine or in a private network")
            }
            (AddressKind::Private, Reach::Public, Private::Asked(world)) => {
                let port = url.port_or_known_default().unwrap_or_default();
                let host = format!("{}:{port}", url.host_str().unwrap_or_default());
                if !permitted.contains(&host) {
                    let patterns = vec![host.clone()];
                    let metadata = map(json!({ "url": url.as_str() }));
                    let ask = PermissionAsk::new("private_network", patterns.clone(), patterns, metadata);
                    world.ask(ask).await?;
                    permitted.push(host);
                }
                Ok(Reach::Private)
            }
        }
    }

    async fn hop(&self, url: &Url, reach: Reach) -> Result<Hop, ToolFailure> {
        let client = guard::client(reach).map_err(|error| failed(url, &error))?;
        let request = client
            .get(url.clone())
            .header(USER_AGENT, AGENT)
            .header(ACCEPT, self.format.accept())
            .header(ACCEPT_LANGUAGE, "en-US,en;q=0.9");
        let response = request.send().await.map_err(|error| failed(url, &error))?;
        let status = response.status();
        if status.is_redirection()
            && let Some(to) = response.headers().get(LOCATION)
        {
            let to = to.to_str().ok().and_then(|to| url.join(to).ok());
            let to = to.ok_or_else(|| {
                ToolFailure::failed(format!("{url} leads to an address that cannot be read."))
            })?;
            return checked_url(to.as_str()).map(Hop::Redirect);
        }
        if !status.is_success() {
            return Err(ToolFailure::failed(format!("{url} answered with status {}.", status.as_u16())));
        }
        read(url, response).await.map(Hop::Page)
    }
}

async fn read(url: &Url, mut response: reqwest::Response) -> Result<Page, ToolFailure> {
    let too_large = || ToolFailure::failed(format!("{url} is larger than 5 MB."));
    if response.content_length().is_some_and(|length| length > BODY_BYTES_MAX as u64) {
        return Err(too_large());
    }
    let content_type = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let content_type = content_type.unwrap_or_default().to_owned();
    let mut body = Vec::new();
    // Counted as it comes, after decompression: a small answer may unpack to anything.
    while let Some(chunk) = response.chunk().await.map_err(|error| failed(url, &error))? {
        if body.len() + chunk.len() > BODY_BYTES_MAX {
            return Err(too_large());
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Page { content_type, body })
}

async fn told(world: &World, input: &Input, page: Page) -> Result<Done, ToolFailure> {
    let mime = page.content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let title = format!("{} ({})", input.url, page.content_type);
    if mime.starts_with("image/") && mime != "image/svg+xml" {
        let mut done = Done::new(title, "The image was fetched.", json!({}));
        let url = format!("data:{mime};base64,{}", BASE64_STANDARD.encode(&page.body));
        done.attachments.push(Attached { mime, filename: None, url });
        return Ok(done);
    }
    let format = input.format;
    let content_type = page.content_type;
    let output =
        world.blocking(move || Ok(convert::convert(&page.body, &content_type, &mime, format))).await?;
    Ok(Done::new(title, output, json!({})))
}

/// The innermost cause says what happened; the ones around it repeat the address.
fn failed(url: &Url, error: &dyn std::error::Error) -> ToolFailure {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    ToolFailure::failed(format!("{url} cannot be fetched: {cause}."))
}

#[cfg(test)]
mod tests;
