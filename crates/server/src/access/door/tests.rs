//! Names, addresses and pages, one by one.

use super::{Names, is_address};
use crate::access::cors::{Authority, Site};
use std::net::IpAddr;
use url::Host;

fn served(origin: &str, host: &str) -> bool {
    let page = Site::parse(origin).expect("an origin");
    Authority::parse(host).is_some_and(|host| page.is_served_as(&host))
}

#[test]
fn a_page_is_our_own_if_its_origin_is_our_host_and_port() {
    assert!(served("http://127.0.0.1:4096", "127.0.0.1:4096"));
    assert!(served("https://agent.example", "agent.example"));
    assert!(served("http://Agent.example:80", "agent.EXAMPLE"));
    assert!(served("http://[::1]:4096", "[::1]:4096"));

    assert!(!served("http://127.0.0.1:4097", "127.0.0.1:4096"));
    assert!(!served("https://evil.example", "127.0.0.1:4096"));
    assert!(!served("https://agent.example", "agent.example:80"));
    assert!(!served("http://agent.example", "eve@agent.example"));
}

#[test]
fn a_text_that_is_not_exactly_an_origin_is_refused() {
    for text in [
        "",
        "null",
        "localhost",
        "http://",
        "http://localhost:3000/",
        "http://localhost:1@evil.example",
        "http://localhost:3000.evil.example",
        "http://localhost\\@evil.example",
        "http://localhost?x",
        "http://localhost#x",
        "data:text/html,x",
    ] {
        assert_eq!(Site::parse(text), None, "{text}");
    }
}

#[test]
fn a_configured_name_is_read_with_or_without_a_port_and_brackets() {
    let names = Names::new(&["Agent.lan:8080".to_owned(), "10.0.0.7".to_owned(), "fd00::7".to_owned()]);

    for host in ["agent.lan", "10.0.0.7", "[fd00::7]"] {
        assert!(names.0.contains(&Host::parse(host).expect("a host")), "{host}");
    }
}

#[test]
fn an_address_is_the_same_in_either_family() {
    let is = |host: &str, address: &str| {
        let address: IpAddr = address.parse().expect("an address");
        is_address(&Host::parse(host).expect("a host"), address)
    };

    assert!(is("10.0.0.7", "::ffff:10.0.0.7"));
    assert!(is("[::ffff:10.0.0.7]", "10.0.0.7"));
    assert!(!is("10.0.0.8", "10.0.0.7"));
    assert!(!is("agent.lan", "10.0.0.7"));
}
