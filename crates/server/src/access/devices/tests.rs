//! Who is let in, and for how long.

use super::{CODE_LIFE_MS, Devices, LIFE_MS, PAGE_HEADER, cookie, cookie_name};
use http::HeaderMap;
use http::header::COOKIE;

fn carrying(token: &str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(COOKIE, format!("other=1; sturdy_4096={token}").parse().unwrap());
    headers.insert(PAGE_HEADER, "1".parse().unwrap());
    headers
}

#[test]
fn a_cookie_counts_beside_the_header_of_the_page_and_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let token = Devices::open(dir.path()).admit("a phone", 1000);

    let devices = Devices::open(dir.path());
    let headers = carrying(&token);
    let mut bare = headers.clone();
    bare.remove(PAGE_HEADER);

    assert!(devices.admits(&headers, 2000).is_some());
    assert!(devices.admits(&bare, 2000).is_none());
    assert!(devices.admits(&carrying("0123"), 2000).is_none());
    assert!(devices.admits(&headers, 1001 + LIFE_MS).is_none());
    let stored = std::fs::read_to_string(dir.path().join("devices.json")).unwrap();
    assert!(!stored.contains(&token), "the token itself is stored");
}

#[test]
fn a_browser_that_is_logged_out_is_not_let_in() {
    let dir = tempfile::tempdir().unwrap();
    let devices = Devices::open(dir.path());
    let one = devices.admit("one", 0);
    let two = devices.admit("two", 0);
    let id = devices.list()[1].id.clone();

    assert!(devices.forget(Some(&id), &HeaderMap::new()));
    assert!(devices.forget(None, &carrying(&one)));

    assert!(devices.admits(&carrying(&one), 1).is_none());
    assert!(devices.admits(&carrying(&two), 1).is_none());
    assert!(!devices.forget(Some(&id), &HeaderMap::new()));
}

#[test]
fn a_code_is_good_once_and_for_two_minutes() {
    let dir = tempfile::tempdir().unwrap();
    let devices = Devices::open(dir.path());
    let code = devices.code(0);
    let late = devices.code(0);

    assert!(devices.redeem(&code, 1));
    assert!(!devices.redeem(&code, 1));
    assert!(!devices.redeem(&late, CODE_LIFE_MS));
}

#[test]
fn a_cookie_is_not_for_scripts_nor_for_other_sites() {
    assert_eq!(cookie_name(4096, false), "sturdy_4096");
    assert_eq!(
        cookie(&cookie_name(1, true), "t", true),
        "__Host-sturdy=t; HttpOnly; SameSite=Strict; Path=/; Max-Age=2592000; Secure"
    );
    assert!(cookie("n", "", false).ends_with("Max-Age=0"));
}
