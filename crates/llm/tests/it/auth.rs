//! Stored credentials.

use serde_json::json;
use std::fs;
use sturdy_llm::Secret;
use sturdy_llm::auth::{AuthError, Credential, Credentials};

#[test]
fn what_is_saved_is_read_back_and_unknown_kinds_are_kept() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("deep/auth.json");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let before = json!({
        "a": { "type": "api", "key": "k1", "metadata": { "x": "1" } },
        "b": { "type": "oauth", "access": "acc", "refresh": "ref", "expires": 5, "accountId": "me" },
        "c": { "type": "wellknown", "key": "NAME", "token": "t" },
        "d": { "type": "tomorrow", "key": "?" },
    });
    fs::write(&path, before.to_string()).unwrap();

    let mut credentials = Credentials::load(&path).unwrap();
    credentials.set("e", Credential::Api { key: Secret::new("k5"), metadata: None });
    assert!(credentials.remove("c"));
    credentials.save(&path).unwrap();

    let after: serde_json::Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(
        after,
        json!({
            "d": { "type": "tomorrow", "key": "?" },
            "a": { "type": "api", "key": "k1", "metadata": { "x": "1" } },
            "b": { "type": "oauth", "refresh": "ref", "access": "acc", "expires": 5, "accountId": "me" },
            "e": { "type": "api", "key": "k5" },
        })
    );
    assert_eq!(Credentials::load(&path).unwrap().key("e"), Some(&Secret::new("k5")));
}

#[cfg(unix)]
#[test]
fn only_the_owner_can_read_the_file_and_nothing_is_left_beside_it() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("auth.json");
    fs::write(&path, "{}").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();

    Credentials::load(&path).unwrap().save(&path).unwrap();

    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
}

#[test]
fn no_file_is_no_credentials_and_a_damaged_one_is_said_without_its_text() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("auth.json");
    assert_eq!(Credentials::load(&path).unwrap().providers().count(), 0);

    fs::write(&path, "{\n\"a\": sk-secret }").unwrap();
    let error = Credentials::load(&path).unwrap_err();

    assert!(matches!(error, AuthError::Damaged { line: 2, .. }));
    assert!(!format!("{error} {error:?}").contains("sk-secret"));
}

#[test]
fn credentials_print_as_stars() {
    let credential = Credential::from_json(&json!({ "type": "api", "key": "sk-secret" })).unwrap();
    let mut credentials = Credentials::default();
    credentials.set("a", credential);

    assert!(!format!("{credentials:?}").contains("sk-secret"));
}
