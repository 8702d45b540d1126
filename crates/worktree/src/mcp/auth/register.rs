//! Registers us as a client of an authorization server (RFC 7591), once.
//!
//! What it gives us, a name and perhaps a secret, is kept beside the tokens (`store.rs`) and used again for
//! as long as it is good: for this redirect address, this authorization server, and until the secret
//! expires.
//!
//! The request is ours and not the SDK's, which forgets when a secret expires and never asks for one. It
//! goes where the SDK's own would: an authorization server may stand in a private network, and on this
//! machine only if the MCP server does.

use super::OAuth;
use crate::tools::{has_proxy, is_private};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use rmcp::transport::auth::AuthorizationMetadata;
use serde_json::{Map, Value, json};
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use url::{Host, Url};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// A registration repeats what we said and adds a few words.
const ANSWER_BYTES_MAX: usize = 64 * 1024;

const METHODS: &str = "token_endpoint_auth_methods_supported";

/// What an authorization server knows us by.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Registration {
    pub(super) id: String,
    pub(super) secret: Option<String>,
    /// Seconds, as the server said.
    pub(super) issued_at: Option<u64>,
    /// Seconds; 0 is never.
    pub(super) secret_expires_at: Option<u64>,
    pub(super) issuer: Option<String>,
    /// Where a browser may come back to. Other programs that share the file do not note it.
    pub(super) redirect: Option<String>,
}

impl fmt::Debug for Registration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Registration(***)")
    }
}

/// Why we are not known.
#[derive(Debug, thiserror::Error)]
pub(super) enum RegisterError {
    #[error("the authorization server's registration endpoint is not a usable URL")]
    Address,
    #[error("the authorization server cannot be reached for the client registration")]
    Lost(#[source] reqwest::Error),
    #[error("the authorization server refused the client registration (status {status}): {why}")]
    Refused { status: u16, why: String },
    #[error("the authorization server's response to a client registration is not valid")]
    Nonsense,
}

impl Registration {
    /// Whether a login with this redirect address at this authorization server can use it.
    pub(super) fn is_good(&self, redirect: &str, issuer: Option<&str>, now_s: u64) -> bool {
        let is_here = match &self.redirect {
            Some(noted) => noted == redirect,
            None => super::redirect(&OAuth::default()) == redirect,
        };
        let is_other = self.issuer.as_deref().zip(issuer).is_some_and(|(ours, theirs)| ours != theirs);
        let expires = self.secret_expires_at.filter(|&at| at > 0 && self.secret.is_some());
        is_here && !is_other && expires.is_none_or(|at| at > now_s)
    }

    /// As it is kept.
    pub(super) fn kept(&self) -> Value {
        let mut kept = json!({ "clientId": self.id });
        for (key, value) in [
            ("clientSecret", self.secret.as_ref().map(|value| json!(value))),
            ("clientIdIssuedAt", self.issued_at.map(|value| json!(value))),
            ("clientSecretExpiresAt", self.secret_expires_at.map(|value| json!(value))),
            ("issuer", self.issuer.as_ref().map(|value| json!(value))),
            ("redirectUri", self.redirect.as_ref().map(|value| json!(value))),
        ] {
            if let Some(value) = value {
                kept[key] = value;
            }
        }
        kept
    }

    pub(super) fn parse(kept: &Value) -> Option<Self> {
        let text = |key: &str| kept.get(key).and_then(Value::as_str).map(str::to_owned);
        Some(Self {
            id: text("clientId")?,
            secret: text("clientSecret").filter(|secret| !secret.is_empty()),
            issued_at: seconds(kept.get("clientIdIssuedAt")),
            secret_expires_at: seconds(kept.get("clientSecretExpiresAt")),
            issuer: text("issuer"),
            redirect: text("redirectUri"),
        })
    }
}

fn seconds(value: Option<&Value>) -> Option<u64> {
    value.and_then(Value::as_f64).map(|value| value as u64)
}

/// Registers us.
pub(super) async fn register(
    server: &str,
    metadata: &AuthorizationMetadata,
    redirect: &str,
    scopes: &[String],
) -> Result<Registration, RegisterError> {
    let endpoint = metadata.registration_endpoint.as_deref().unwrap_or_default();
    let endpoint = Url::parse(endpoint).map_err(|_| RegisterError::Address)?;
    let body = words(metadata, redirect, scopes);
    let client = client(server, &endpoint)?;
    let mut answer = client.post(endpoint).json(&body).send().await.map_err(lost)?;
    let status = answer.status();
    let mut bytes = Vec::new();
    while let Some(chunk) = answer.chunk().await.map_err(lost)? {
        if bytes.len() + chunk.len() > ANSWER_BYTES_MAX {
            return Err(RegisterError::Nonsense);
        }
        bytes.extend_from_slice(&chunk);
    }
    let said: Map<String, Value> = serde_json::from_slice(&bytes).unwrap_or_default();
    let text = |key: &str| said.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    if !status.is_success() {
        let why = text("error_description").or_else(|| text("error")).unwrap_or("it does not say why");
        let why = crate::bound::prefix(why, 200).to_owned();
        return Err(RegisterError::Refused { status: status.as_u16(), why });
    }
    Ok(Registration {
        id: text("client_id").ok_or(RegisterError::Nonsense)?.to_owned(),
        secret: text("client_secret").map(str::to_owned),
        issued_at: seconds(said.get("client_id_issued_at")),
        secret_expires_at: seconds(said.get("client_secret_expires_at")),
        issuer: metadata.issuer.clone(),
        redirect: Some(redirect.to_owned()),
    })
}

fn lost(cause: reqwest::Error) -> RegisterError {
    RegisterError::Lost(cause.without_url())
}

/// What we say of ourselves.
fn words(metadata: &AuthorizationMetadata, redirect: &str, scopes: &[String]) -> Value {
    // Without a secret where that is possible: we could not keep one from whoever uses this machine. The order
    // of the others is the SDK's, which sends the secret.
    let supported = metadata.additional_fields.get(METHODS).and_then(Value::as_array);
    let knows = |method: &&&str| supported.is_some_and(|all| all.iter().any(|one| one == **method));
    let method = ["none", "client_secret_basic", "client_secret_post"].iter().find(knows).unwrap_or(&"none");
    let mut body = json!({
        "client_name": super::CLIENT_NAME,
        "redirect_uris": [redirect],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": method,
        "application_type": "native",
    });
    if !scopes.is_empty() {
        body["scope"] = json!(scopes.join(" "));
    }
    body
}

/// A client that connects only where it may.
fn client(server: &str, endpoint: &Url) -> Result<reqwest::Client, RegisterError> {
    let is_local = Url::parse(server).is_ok_and(|url| match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        None => false,
    });
    let near = Near { is_local };
    let may = match endpoint.host() {
        Some(Host::Ipv4(address)) => near.may_reach(address.into()),
        Some(Host::Ipv6(address)) => near.may_reach(address.into()),
        Some(Host::Domain(_)) => true,
        None => false,
    };
    if !may || !matches!(endpoint.scheme(), "http" | "https") {
        return Err(RegisterError::Address);
    }
    let builder = reqwest::Client::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .redirect(reqwest::redirect::Policy::none())
        .user_agent(concat!("sturdy/", env!("CARGO_PKG_VERSION")));
    // Behind a proxy the proxy resolves, and only its own name is asked for here.
    let builder = if has_proxy() { builder } else { builder.no_proxy().dns_resolver(Arc::new(near)) };
    builder.build().map_err(lost)
}

/// Resolves names and drops what must not be reached.
#[derive(Clone, Copy)]
struct Near {
    /// The MCP server itself stands on this machine.
    is_local: bool,
}

impl Near {
    fn may_reach(self, address: IpAddr) -> bool {
        match address.to_canonical() {
            address if !is_private(address) => true,
            address if address.is_loopback() => self.is_local,
            // A company's authorization server may stand in the company's network.
            IpAddr::V4(address) => address.is_private() || matches!(address.octets(), [100, 64..=127, ..]),
            IpAddr::V6(address) => address.is_unique_local(),
        }
    }
}

impl Resolve for Near {
    fn resolve(&self, name: Name) -> Resolving {
        let near = *self;
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let may: Vec<SocketAddr> = found.filter(|address| near.may_reach(address.ip())).collect();
            if may.is_empty() {
                return Err(RegisterError::Address.into());
            }
            Ok(Box::new(may.into_iter()) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Near, Registration};

    fn registration() -> Registration {
        Registration {
            id: "client-1".to_owned(),
            secret: Some("hunter2".to_owned()),
            issued_at: Some(5),
            secret_expires_at: Some(100),
            issuer: Some("https://a.example".to_owned()),
            redirect: Some("http://127.0.0.1:1/back".to_owned()),
        }
    }

    #[test]
    fn a_registration_is_good_until_something_about_it_changes() {
        let known = registration();
        let here = "http://127.0.0.1:1/back";

        assert!(known.is_good(here, Some("https://a.example"), 99));
        assert!(known.is_good(here, None, 99));
        assert!(!known.is_good(here, Some("https://a.example"), 100), "expired");
        assert!(!known.is_good(here, Some("https://b.example"), 99), "another server");
        assert!(!known.is_good("http://127.0.0.1:2/back", None, 99), "another redirect address");
        let never = Registration { secret_expires_at: Some(0), ..known.clone() };
        assert!(never.is_good(here, None, u64::MAX));
        let others = Registration { redirect: None, ..known };
        assert!(!others.is_good(here, None, 99));
        assert!(others.is_good("http://127.0.0.1:19876/mcp/oauth/callback", None, 99), "the usual one");
    }

    #[test]
    fn a_registration_is_kept_whole_and_prints_as_stars() {
        let known = registration();

        assert_eq!(Registration::parse(&known.kept()), Some(known.clone()));
        assert_eq!(format!("{known:?}"), "Registration(***)");
    }

    #[test]
    fn this_machine_is_reached_only_for_a_server_on_it() {
        for (address, far, near) in [
            ("127.0.0.1", false, true),
            ("::1", false, true),
            ("::ffff:127.0.0.1", false, true),
            ("10.0.0.9", true, true),
            ("fd00::1", true, true),
            ("93.184.215.14", true, true),
            ("169.254.169.254", false, false),
            ("0.0.0.0", false, false),
            ("fe80::1", false, false),
        ] {
            let reached = [false, true].map(|is_local| Near { is_local }.may_reach(address.parse().unwrap()));
            assert_eq!(reached, [far, near], "{address}");
        }
    }
}
