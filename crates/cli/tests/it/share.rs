//! `sturdy share serve` and `sturdy share import`.

#[cfg(target_os = "linux")]
mod kill;
#[cfg(target_os = "linux")]
mod pair;
#[cfg(target_os = "linux")]
mod read_only;
#[cfg(target_os = "linux")]
mod relay;

use crate::program::{Place, Server};
use serde_json::{Value, json};
use std::path::Path;
use std::time::{Duration, Instant};

/// Longer than anything takes on a busy machine; nothing waits for it.
const WAIT_MAX: Duration = Duration::from_secs(60);

fn status(answer: &str) -> &str {
    answer.split_whitespace().nth(1).unwrap()
}

fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < WAIT_MAX, "{what}");
        std::thread::yield_now();
    }
}

/// Texts of a share, once it is there.
fn texts(service: &Server, share: &str) -> Vec<String> {
    let path = format!("/api/share/{share}/data");
    let (status, items) = service.json_with_status("GET", &path, "");
    if status != "200" {
        return Vec::new();
    }
    let parts = items.as_array().unwrap().iter().filter(|item| item["type"] == "part");
    parts.filter_map(|part| part["data"]["text"].as_str().map(str::to_owned)).collect()
}

#[test]
fn the_share_service_alone_receives_shares_and_offers_nothing_else() {
    let place = Place::new();
    let service = place.serve_shares(&[]);
    assert_eq!(service.said[1], format!("sturdy share service listening on {}", service.url));
    let sender = Place::new().with("STURDY_TRUST_ALL", "1");
    let config = json!({ "enterprise": { "url": service.url } }).to_string();
    std::fs::write(sender.project().join("opencode.json"), config).unwrap();
    let server = sender.serve(&["--share-limit", "gather-ms=10"]);
    let session = server.json("POST", "/session", "{}")["id"].as_str().unwrap().to_owned();
    let prompt = r#"{"parts":[{"type":"text","text":"keep this"}]}"#;
    server.json("POST", &format!("/session/{session}/message"), prompt);

    let shared = server.json("POST", &format!("/session/{session}/share"), "");

    let url = shared["share"]["url"].as_str().unwrap().to_owned();
    assert!(url.starts_with(&format!("{}/share/", service.url)), "{url}");
    let share = url.rsplit('/').next().unwrap();
    until("the share shows what was asked", || {
        texts(&service, share).contains(&"keep this".to_owned()).then_some(())
    });
    let page = service.ask("GET", &format!("/share/{share}"), "accept: text/html\r\n", "");
    assert_eq!(status(&page), "200");
    // Nothing else is served to others, and with the password there is no route for it either.
    for path in ["/session", "/event", "/config", "/sturdy/share", "/rpc"] {
        assert_eq!(status(&service.ask("GET", path, "", "")), "401", "{path}");
    }
    assert_eq!(status(&service.ask("GET", "/", "accept: text/html\r\n", "")), "404");
    assert_eq!(status(&service.ask("POST", "/sturdy/share/import", "", "{}")), "401");

    service.signal("TERM");
    assert_eq!(service.ended().0, Some(0));
    let service = place.serve_shares(&[]);
    assert!(texts(&service, share).contains(&"keep this".to_owned()));
    service.signal("INT");
    assert_eq!(service.ended().0, Some(130));
}

#[test]
fn a_share_service_with_a_password_has_no_sessions_either() {
    let place = Place::new().with("STURDY_SERVER_PASSWORD", "hush-hush");
    let service = place.serve_shares(&[]);
    // opencode:hush-hush
    let known = "authorization: Basic b3BlbmNvZGU6aHVzaC1odXNo\r\n";

    assert_eq!(status(&service.ask("GET", "/global/health", known, "")), "200");
    for path in ["/session", "/event", "/config", "/sturdy/share"] {
        assert_eq!(status(&service.ask("GET", path, known, "")), "404", "{path}");
    }
}

fn old_share(id: &str, secret: &str, title: &str) -> Value {
    let session = json!({ "type": "session", "data": { "id": "ses_old", "title": title } });
    let message = json!({ "type": "message", "data": { "id": "msg_1", "sessionID": "ses_old" } });
    json!({ "id": id, "sessionID": "ses_old", "secret": secret, "data": [session, message] })
}

#[test]
fn old_shares_are_imported_by_command_once_and_their_secrets_replaced() {
    let place = Place::new();
    let service = place.serve_shares(&[]);
    let data = place.data().display().to_string();
    let file = place.project().join("old.json").display().to_string();
    let shares = json!([
        old_share("abcd1234", "the-old-secret-1", "One"),
        old_share("efgh5678", "the-old-secret-2", "Two")
    ]);
    std::fs::write(&file, shares.to_string()).unwrap();

    let first = place.run(&["share", "import", "--data-dir", &data, &file]);
    let again = place.run(&["share", "import", "--data-dir", &data, &file]);

    assert_eq!((first.code, first.stdout.as_str()), (Some(0), ""), "{}", first.stderr);
    assert_eq!(first.stderr, "Imported abcd1234, 2 values.\nImported efgh5678, 2 values.\n");
    assert_eq!(again.stderr, "Already here: abcd1234, 2 values.\nAlready here: efgh5678, 2 values.\n");
    assert_eq!(service.json("GET", "/api/share/abcd1234/data", "")[0]["data"]["title"], "One");
    let sync = json!({ "secret": "the-old-secret-1", "data": [{ "type": "session", "data": { "id": "ses_old", "title": "Later" } }] });
    assert_eq!(service.json("POST", "/api/share/abcd1234/sync", &sync.to_string())["success"], true);

    let rotated = place.run(&["share", "import", "--rotate", "--json", "--data-dir", &data, &file]);

    assert_eq!(rotated.code, Some(0), "{}", rotated.stderr);
    let rotated: Value = serde_json::from_str(&rotated.stdout).unwrap();
    let fresh = rotated[0]["secret"].as_str().unwrap();
    assert!(fresh.starts_with("stdy1.abcd1234."), "{fresh}");
    let json = "content-type: application/json\r\n";
    let refused = service.ask("POST", "/api/share/abcd1234/sync", json, &sync.to_string());
    assert_eq!(status(&refused), "403", "{refused}");
    let sync = json!({ "secret": fresh, "data": sync["data"] });
    assert_eq!(service.json("POST", "/api/share/abcd1234/sync", &sync.to_string())["success"], true);
}

/// Was: the secrets that were replaced before a share was refused were printed nowhere.
#[test]
fn a_list_that_breaks_off_shows_the_secrets_it_replaced_and_may_be_imported_again() {
    let place = Place::new();
    let _service = place.serve_shares(&[]);
    let data = place.data().display().to_string();
    let file = place.project().join("old.json").display().to_string();
    let import = |shares: &Value| {
        std::fs::write(&file, shares.to_string()).unwrap();
        place.run(&["share", "import", "--rotate", "--json", "--data-dir", &data, &file])
    };
    let one = old_share("abcd1234", "the-old-secret-1", "One");
    let two = old_share("efgh5678", "the-old-secret-2", "Two");

    let broken = import(&json!([one, old_share("../up", "the-old-secret-2", "Two")]));
    let again = import(&json!([one, two]));

    assert_eq!(broken.code, Some(1), "{}", broken.stderr);
    let broken: Value = serde_json::from_str(&broken.stdout).unwrap();
    assert!(broken[0]["secret"].as_str().unwrap().starts_with("stdy1.abcd1234."), "{broken}");
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    let again: Value = serde_json::from_str(&again.stdout).unwrap();
    assert_eq!((&again[0]["isRotated"], &again[0]["secret"]), (&json!(true), &Value::Null));
    assert!(again[1]["secret"].as_str().unwrap().starts_with("stdy1.efgh5678."), "{again}");
}

#[test]
fn the_owner_narrows_hides_rotates_audits_and_revokes_by_command() {
    let place = Place::new().with("STURDY_TRUST_ALL", "1");
    let server = place.serve(&["--share", "--share-limit", "gather-ms=10"]);
    let session = server.json("POST", "/session", "{}")["id"].as_str().unwrap().to_owned();
    let data = place.data().display().to_string();
    let share = |arguments: &[&str]| {
        let all: Vec<&str> =
            ["share"].iter().chain(arguments).chain(&["--data-dir", &data]).copied().collect();
        let done = place.run(&all);
        assert_eq!(done.code, Some(0), "{arguments:?}: {}", done.stderr);
        done
    };
    let url = share(&["create", "--private", &session]).stdout.trim().to_owned();
    let read = format!("/api/share/{}/data", url.rsplit('/').next().unwrap());
    let plain = || status(&server.ask("GET", &read, "", "")).to_owned();
    assert_eq!(plain(), "401");

    share(&["visibility", &session, "link"]);
    assert_eq!(plain(), "200");
    let narrowed = ["narrow", &session, "drop-box", "--kind", "message", "--max-ops", "7", "--json"];
    let narrowed: Value = serde_json::from_str(&share(&narrowed).stdout).unwrap();
    assert_eq!(narrowed["capability"]["kinds"], json!(["message"]));
    assert_eq!(narrowed["capability"]["max_ops"], 7);
    let rotated: Value = serde_json::from_str(&share(&["rotate", &session, "--json"]).stdout).unwrap();
    assert_eq!(rotated["epoch"], 3);
    let revoked = share(&["revoke", &session, "--all"]);

    assert!(revoked.stderr.contains("the plain link"), "{}", revoked.stderr);
    assert_eq!(plain(), "401");
    let listed: Value = serde_json::from_str(&share(&["list", &session, "--json"]).stdout).unwrap();
    let standing = listed.as_array().unwrap().iter().filter(|one| one["revoked_at"].is_null()).count();
    assert_eq!((listed.as_array().unwrap().len(), standing), (2, 1), "{listed}");
    let owner = format!("cap:{}", listed[0]["cap_id"].as_str().unwrap());
    let audit = share(&["audit", &session, "--actor", &owner, "--json"]).stdout;
    let audit: Value = serde_json::from_str(&audit).unwrap();
    let did: Vec<&str> =
        audit.as_array().unwrap().iter().map(|row| row["method"].as_str().unwrap()).collect();
    for verb in ["visibility", "attenuate", "rotate", "revoke_all"] {
        assert!(did.contains(&verb), "{verb} is not in {did:?}");
    }
}

/// Every file below a directory, joined.
fn bytes_below(directory: &Path) -> Vec<u8> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(bytes_below(&path));
        } else {
            all.extend(std::fs::read(&path).unwrap());
        }
    }
    all
}

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

/// T-CAP-11: a share is made, narrowed, used, misused, rotated and revoked, with everything logged that can be.
#[test]
fn no_secret_of_a_share_is_in_a_log_an_error_an_audit_or_the_services_files() {
    let service_place = Place::new().with("STURDY_SHARE_KEY", "key-of-the-gateway");
    let logs = tempfile::tempdir().unwrap();
    let service_log = logs.path().join("service");
    let service = service_place.serve_into(&["share", "serve"], &service_log, &[]);
    let sender_place =
        Place::new().with("STURDY_TRUST_ALL", "1").with("STURDY_SHARE_SERVICE_KEY", "key-of-the-gateway");
    let config = json!({ "enterprise": { "url": service.url } }).to_string();
    std::fs::write(sender_place.project().join("opencode.json"), config).unwrap();
    let sender_log = logs.path().join("sender");
    let sender = sender_place.serve_into(&["serve"], &sender_log, &["--share-limit", "gather-ms=10"]);
    let session = sender.json("POST", "/session", "{}")["id"].as_str().unwrap().to_owned();
    let prompt = r#"{"parts":[{"type":"text","text":"keep this"}]}"#;
    sender.json("POST", &format!("/session/{session}/message"), prompt);
    sender.json("POST", &format!("/session/{session}/share"), "");
    let link = sender.json("POST", &format!("/sturdy/session/{session}/share"), "");
    let owner = link["reference"].as_str().unwrap();
    let share = link["shareID"].as_str().unwrap();
    until("the share shows what was asked", || {
        texts(&service, share).contains(&"keep this".to_owned()).then_some(())
    });

    let at = format!("/api/share/{share}");
    let headers =
        |right: &str| format!("authorization: Bearer {right}\r\ncontent-type: application/json\r\n");
    let wish = r#"{"scope":["read"],"label":"reader","secret":"secret-of-a-reader-0123456789abcdefghijkl"}"#;
    let narrowed = service.ask("POST", &format!("{at}/capabilities"), &headers(owner), wish);
    assert_eq!(status(&narrowed), "201", "{narrowed}");
    let reader_secret = "secret-of-a-reader-0123456789abcdefghijkl";
    let capability = narrowed.split("\"cap_id\":\"").nth(1).unwrap().split('"').next().unwrap();
    let reader = format!("stdy1.{share}.{capability}.{reader_secret}");
    let wrong = format!("{owner}x");
    let mut answers = vec![
        service.ask("GET", &format!("{at}/data"), &headers(&reader), ""),
        service.ask("POST", &format!("{at}/ops"), &headers(&reader), r#"{"writer_id":"wr_1"}"#),
        service.ask("POST", &format!("{at}/rotate"), &headers(&reader), ""),
        service.ask("GET", &format!("{at}/data"), &headers(&wrong), ""),
        service.ask(
            "POST",
            "/rpc/share",
            "x-opencode-share-key: key-of-the-gateway\r\n",
            &format!(r#"["push",["pipeline",0,["redeemShare"],["{share}","{wrong}"]]]{}["pull",1]"#, "\n"),
        ),
        service.ask("POST", &format!("{at}/rotate"), &headers(owner), ""),
        service.ask("DELETE", &format!("{at}/capabilities/{capability}"), &headers(owner), ""),
        service.ask("GET", &format!("{at}/data"), &headers(&reader), ""),
        service.ask("GET", &format!("{at}/capabilities"), &headers(owner), ""),
        service.ask("GET", &format!("{at}/audit"), &headers(owner), ""),
    ];
    sender.json("POST", &format!("/session/{session}/message"), prompt);
    answers.push(sender.ask("GET", "/sturdy/share", "", ""));
    sender.ask("DELETE", &format!("/session/{session}/share"), "", "");
    until("the share is gone", || texts(&service, share).is_empty().then_some(()));
    service.signal("TERM");
    sender.signal("TERM");
    drop(service);
    drop(sender);

    let secrets = [owner.rsplit('.').next().unwrap(), reader_secret, "key-of-the-gateway"];
    let service_log = std::fs::read(service_log).unwrap();
    let sender_log = std::fs::read(sender_log).unwrap();
    assert!(!service_log.is_empty() && !sender_log.is_empty());
    let files = bytes_below(&service_place.data());
    for secret in secrets {
        assert!(!contains(&service_log, secret), "a secret is in the log of the service");
        assert!(!contains(&sender_log, secret), "a secret is in the log of the sender");
        assert!(!contains(&files, secret), "a secret is in the files of the service");
        for answer in &answers {
            assert!(!answer.contains(secret), "a secret is in an answer: {answer}");
        }
    }
}

#[test]
fn a_file_that_is_not_a_list_of_shares_is_refused_with_its_place() {
    let place = Place::new();
    let data = place.data().display().to_string();
    let file = place.project().join("old.json").display().to_string();
    for (text, hint) in [
        ("{", "this is not a file of shares"),
        ("[1]", "a share is an object"),
        (r#"{"id":"abcd1234"}"#, "sessionID"),
        (r#"{"id":"../up","sessionID":"s","secret":"long-enough-secret","data":[]}"#, "letters, digits"),
        (r#"{"id":"abcd1234","sessionID":"s","secret":"short","data":[]}"#, "too short"),
        (
            r#"{"id":"abcd1234","sessionID":"s","secret":"long-enough-secret","data":[{"type":"session"}]}"#,
            "data",
        ),
    ] {
        std::fs::write(&file, text).unwrap();
        let refused = place.run(&["share", "import", "--data-dir", &data, &file]);
        assert_eq!((refused.code, refused.stdout.as_str()), (Some(1), ""), "{text}: {}", refused.stderr);
        assert!(refused.stderr.starts_with("error: "), "{}", refused.stderr);
        assert!(refused.stderr.contains(hint), "{text}: {}", refused.stderr);
    }
    let service = place.serve_shares(&[]);
    assert_eq!(status(&service.ask("GET", "/api/share/abcd1234/data", "", "")), "404");
}
