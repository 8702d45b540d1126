//! Which addresses may be connected to.
//!
//! A name is resolved once, by us, and the connection goes to what was checked: a name that
//! resolves to a public address when it is checked and to this machine when it is used gains
//! nothing. Addresses written as numbers are checked as they are.
//!
//! Behind a proxy the proxy resolves; there a name is refused when we know it to be private, and
//! otherwise it is the proxy's to judge.

use crate::tool::Reach;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use url::{Host, Url};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);

#[derive(Debug, thiserror::Error)]
#[error("{0} is on this machine or in a private network, which webfetch does not reach")]
pub(super) struct Private(String);

/// A client that connects only where it may.
pub(super) fn client(reach: Reach) -> Result<reqwest::Client, reqwest::Error> {
    let builder = reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(CONNECT_TIMEOUT);
    match reach {
        Reach::Public if !has_proxy() => builder.no_proxy().dns_resolver(Arc::new(PublicOnly)).build(),
        Reach::Public | Reach::Anywhere => builder.build(),
    }
}

/// Judges what can be judged before connecting.
pub(super) async fn check(url: &Url, reach: Reach) -> Result<(), Private> {
    if reach == Reach::Anywhere {
        return Ok(());
    }
    let refused = || Private(url.host_str().unwrap_or_default().to_owned());
    match url.host() {
        Some(Host::Ipv4(address)) if is_private(address.into()) => Err(refused()),
        Some(Host::Ipv6(address)) if is_private(address.into()) => Err(refused()),
        Some(Host::Ipv4(_) | Host::Ipv6(_)) => Ok(()),
        Some(Host::Domain(name)) => {
            let resolved = tokio::net::lookup_host((name, url.port_or_known_default().unwrap_or(80))).await;
            let mut addresses = resolved.into_iter().flatten();
            if addresses.any(|address| is_private(address.ip())) { Err(refused()) } else { Ok(()) }
        }
        None => Err(refused()),
    }
}

pub(crate) fn has_proxy() -> bool {
    let names = ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"];
    names.iter().any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
}

/// Resolves names and drops what must not be reached.
struct PublicOnly;

impl Resolve for PublicOnly {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let public: Vec<SocketAddr> = found.filter(|address| !is_private(address.ip())).collect();
            if public.is_empty() {
                return Err(Private(name.as_str().to_owned()).into());
            }
            Ok(Box::new(public.into_iter()) as Addrs)
        })
    }
}

/// True for this machine, its networks, and addresses that are nobody's.
#[must_use]
pub fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_private_v4(address),
        IpAddr::V6(address) => is_private_v6(address),
    }
}

fn is_private_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    address.is_loopback()
        || address.is_private()
        || address.is_link_local()
        || address.is_multicast()
        || address.is_documentation()
        || a == 0
        || a >= 240
        || (a == 100 && (64..128).contains(&b))
        || (a == 198 && (18..20).contains(&b))
        || (a == 192 && b == 0 && c == 0)
}

fn is_private_v6(address: Ipv6Addr) -> bool {
    let words = address.segments();
    let embedded = |high: u16, low: u16| {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        is_private_v4(Ipv4Addr::new(a, b, c, d))
    };
    match words {
        // ::, ::1 and the forms that carry an IPv4 address.
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low] => embedded(high, low),
        [0, 0, 0, 0, 0xffff, 0, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => embedded(high, low),
        [0x64, 0xff9b, 1, ..] => true,
        [0x2002, high, low, ..] => embedded(high, low),
        // Unique local, link-local, site-local, multicast, documentation.
        [first, second, ..] => {
            first & 0xfe00 == 0xfc00
                || first & 0xffc0 == 0xfe80
                || first & 0xffc0 == 0xfec0
                || first & 0xff00 == 0xff00
                || (first == 0x2001 && second == 0xdb8)
        }
    }
}
