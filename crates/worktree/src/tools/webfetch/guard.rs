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

/// The kind of address a connection would go to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AddressKind {
    Public,
    /// This machine or its networks.
    Private,
    /// The metadata service of a cloud provider, which hands out credentials.
    Metadata,
}

#[derive(Debug, thiserror::Error)]
#[error("{0} resolves to a private address, which needs permission")]
struct Unreached(String);

/// A client that connects only where it may.
pub(super) fn client(reach: Reach) -> Result<reqwest::Client, reqwest::Error> {
    let builder = reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(CONNECT_TIMEOUT);
    match reach {
        Reach::Public if !has_proxy() => builder.no_proxy().dns_resolver(Arc::new(Resolver(reach))).build(),
        // What is on this machine or in its networks is not asked of a proxy.
        Reach::Private => builder.no_proxy().dns_resolver(Arc::new(Resolver(reach))).build(),
        Reach::Public | Reach::Anywhere => builder.build(),
    }
}

/// Where an address leads, as far as can be known before connecting. The worst of several counts.
pub(super) async fn place_of(url: &Url) -> AddressKind {
    match url.host() {
        Some(Host::Ipv4(address)) => place_of_address(address.into()),
        Some(Host::Ipv6(address)) => place_of_address(address.into()),
        Some(Host::Domain(name)) => {
            let resolved = tokio::net::lookup_host((name, url.port_or_known_default().unwrap_or(80))).await;
            let places: Vec<AddressKind> =
                resolved.into_iter().flatten().map(|address| place_of_address(address.ip())).collect();
            let worst = [AddressKind::Metadata, AddressKind::Private]
                .into_iter()
                .find(|place| places.contains(place));
            worst.unwrap_or(AddressKind::Public)
        }
        None => AddressKind::Private,
    }
}

fn place_of_address(address: IpAddr) -> AddressKind {
    match () {
        () if is_metadata(address) => AddressKind::Metadata,
        () if is_private(address) => AddressKind::Private,
        () => AddressKind::Public,
    }
}

pub(crate) fn has_proxy() -> bool {
    let names = ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"];
    names.iter().any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
}

/// Resolves names and drops what must not be reached.
struct Resolver(Reach);

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let reach = self.0;
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let may_reach = |address: &SocketAddr| match (place_of_address(address.ip()), reach) {
                (_, Reach::Anywhere) | (AddressKind::Public, _) | (AddressKind::Private, Reach::Private) => {
                    true
                }
                (AddressKind::Private, Reach::Public)
                | (AddressKind::Metadata, Reach::Public | Reach::Private) => false,
            };
            let reached: Vec<SocketAddr> = found.filter(may_reach).collect();
            if reached.is_empty() {
                return Err(Unreached(name.as_str().to_owned()).into());
            }
            Ok(Box::new(reached.into_iter()) as Addrs)
        })
    }
}

/// True for the addresses at which clouds tell a machine its keys: link-local ones, and those that single clouds chose.
#[must_use]
pub fn is_metadata(address: IpAddr) -> bool {
    const CHOSEN: [Ipv4Addr; 3] =
        [Ipv4Addr::new(100, 100, 100, 200), Ipv4Addr::new(168, 63, 129, 16), Ipv4Addr::new(192, 0, 0, 192)];
    const CHOSEN_V6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254);
    match address {
        IpAddr::V4(address) => address.is_link_local() || CHOSEN.contains(&address),
        IpAddr::V6(address) => {
            address == CHOSEN_V6
                || address.is_unicast_link_local()
                || embedded_v4(address).is_some_and(|inner| is_metadata(inner.into()))
        }
    }
}

/// The IPv4 address in one of the forms that carry one.
fn embedded_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let ([0, 0, 0, 0, 0, 0 | 0xffff, high, low]
    | [0, 0, 0, 0, 0xffff, 0, high, low]
    | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
    | [0x2002, high, low, ..]) = address.segments()
    else {
        return None;
    };
    let [a, b] = high.to_be_bytes();
    let [c, d] = low.to_be_bytes();
    Some(Ipv4Addr::new(a, b, c, d))
}

/// True for this machine, its networks, and reserved addresses.
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
    if let Some(inner) = embedded_v4(address) {
        return is_private_v4(inner);
    }
    match address.segments() {
        [0x64, 0xff9b, 1, ..] => true,
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
