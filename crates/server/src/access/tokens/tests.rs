//! Which token counts, for what, and how often.

use super::{NewToken, Presented, Scope, TokenError, Tokens};
use http::Request;
use http::request::Parts;
use std::os::unix::fs::PermissionsExt as _;

fn new(scopes: &[Scope]) -> NewToken {
    NewToken { name: "ci".to_owned(), scopes: scopes.to_vec(), rate: None, expires: None }
}

fn request(method: &str, path: &str) -> Parts {
    Request::builder().method(method).uri(path).body(()).unwrap().into_parts().0
}

#[test]
fn a_token_counts_after_a_restart_until_it_is_revoked_and_its_secret_is_not_kept() {
    let dir = tempfile::tempdir().unwrap();
    let (token, secret) = Tokens::open(dir.path()).create(new(&[Scope::Read]), 1000).unwrap();

    let tokens = Tokens::open(dir.path());
    assert_eq!(tokens.list(), std::slice::from_ref(&token));
    assert!(
        matches!(tokens.present(&secret, 2000), Presented::Known { token: known, .. } if known.id == token.id)
    );
    assert!(matches!(tokens.present("sturdy_0000", 2000), Presented::Unknown));
    let file = dir.path().join("tokens.json");
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(!text.contains(&secret), "the secret itself is stored");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);

    assert!(tokens.revoke(&token.id).unwrap());
    assert!(!tokens.revoke(&token.id).unwrap());
    assert!(matches!(tokens.present(&secret, 2000), Presented::Unknown));
    assert!(matches!(Tokens::open(dir.path()).present(&secret, 2000), Presented::Unknown));
}

#[test]
fn a_token_expires_and_asks_only_as_often_as_it_may() {
    let dir = tempfile::tempdir().unwrap();
    let tokens = Tokens::open(dir.path());
    let short = NewToken { expires: Some(5000), ..new(&[Scope::Read]) };
    let (_, short) = tokens.create(short, 1000).unwrap();
    let rare = NewToken { rate: Some(2), ..new(&[Scope::Read]) };
    let (_, rare) = tokens.create(rare, 1000).unwrap();

    assert!(matches!(tokens.present(&short, 4999), Presented::Known { .. }));
    assert!(matches!(tokens.present(&short, 5000), Presented::Unknown));
    assert!(matches!(tokens.present(&rare, 1), Presented::Known { .. }));
    assert!(matches!(tokens.present(&rare, 1), Presented::Known { .. }));
    assert!(matches!(tokens.present(&rare, 1), Presented::TooOften(wait) if !wait.is_zero()));
}

#[test]
fn what_is_not_a_token_is_refused_and_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let tokens = Tokens::open(dir.path());
    for bad in [
        NewToken { name: " ".to_owned(), ..new(&[Scope::Read]) },
        NewToken { name: "a\nb".to_owned(), ..new(&[Scope::Read]) },
        new(&[]),
        NewToken { rate: Some(0), ..new(&[Scope::Read]) },
        NewToken { expires: Some(1000), ..new(&[Scope::Read]) },
    ] {
        assert!(matches!(tokens.create(bad, 1000), Err(TokenError::Bad(_))));
    }
    assert!(tokens.list().is_empty());

    std::fs::remove_dir_all(dir.path()).unwrap();
    assert!(matches!(tokens.create(new(&[Scope::Read]), 1000), Err(TokenError::Unwritable(_))));
    assert!(tokens.list().is_empty(), "a token that is not on disk counts");
}

#[test]
fn a_damaged_file_is_put_aside_and_not_overwritten() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("tokens.json"), "[{").unwrap();

    Tokens::open(dir.path()).create(new(&[Scope::Admin]), 1).unwrap();

    assert_eq!(std::fs::read_to_string(dir.path().join("tokens.damaged")).unwrap(), "[{");
    assert_eq!(Tokens::open(dir.path()).list().len(), 1);
}

#[test]
fn each_scope_allows_what_it_says() {
    let mut upgrade = request("GET", "/pty/pty_x/connect");
    upgrade.headers.insert("upgrade", "websocket".parse().unwrap());
    let all = [Scope::Metrics, Scope::Read, Scope::Write, Scope::Admin];
    let allowed = |request: &Parts| all.map(|scope| u8::from(scope.allows(request)));

    assert_eq!(allowed(&request("GET", "/metrics")), [1, 1, 1, 1]);
    assert_eq!(allowed(&request("GET", "/session")), [0, 1, 1, 1]);
    assert_eq!(allowed(&request("POST", "/session")), [0, 0, 1, 1]);
    assert_eq!(allowed(&upgrade), [0, 0, 1, 1]);
    assert_eq!(allowed(&request("GET", "/config")), [0, 1, 1, 1]);
    assert_eq!(allowed(&request("PATCH", "/config")), [0, 0, 0, 1]);
    assert_eq!(allowed(&request("PUT", "/auth/anthropic")), [0, 0, 0, 1]);
    assert_eq!(allowed(&request("GET", "/sturdy/token")), [0, 0, 0, 1]);
    assert_eq!(allowed(&request("DELETE", "/sturdy/token/tok_1")), [0, 0, 0, 1]);
    // Not below it, only called alike.
    assert_eq!(allowed(&request("POST", "/configured")), [0, 0, 1, 1]);
}
