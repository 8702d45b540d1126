//! `sturdy session`, `models`, `auth`, `mcp`, `doctor`, `attach`, completions and the manual.

use crate::program::Place;
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt as _;

fn json_of(place: &Place, arguments: &[&str]) -> Value {
    let ended = place.run(arguments);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{arguments:?}");
    serde_json::from_str(&ended.stdout).unwrap()
}

fn ids(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|session| session["id"].as_str().unwrap()).collect()
}

// Was: the export had the newest 2,000 messages, and said nothing of the others.
#[test]
fn an_export_has_every_message_of_a_long_session() {
    let place = Place::new();
    let server = place.serve(&["--durability", "normal"]);
    let session = server.json("POST", "/session", "{}")["id"].as_str().unwrap().to_owned();
    for number in 0..=2000 {
        let prompt = json!({ "noReply": true, "parts": [{ "type": "text", "text": number.to_string() }] });
        server.json("POST", &format!("/session/{session}/message"), &prompt.to_string());
    }

    let data = place.data().display().to_string();
    let exported = json_of(&place, &["session", "export", &session, "--data-dir", &data]);

    let messages = exported["messages"].as_array().unwrap();
    let text = |at: usize| messages[at]["parts"][0]["text"].as_str().unwrap();
    assert_eq!((messages.len(), text(0), text(2000)), (2001, "0", "2000"));
}

#[test]
fn sessions_are_listed_found_renamed_copied_exported_and_removed() {
    let place = Place::new();
    place.run(&["run", "--title", "About rivers", "one"]);
    place.run(&["run", "--title", "About hills", "two"]);
    let list = json_of(&place, &["session", "list", "--json"]);
    let hills = ids(&list)[0];
    let rivers = ids(&list)[1];

    // In a pipe nothing is shortened.
    let table = place.run(&["session", "list"]).stdout;
    let rows: Vec<_> = table.lines().collect();
    assert_eq!(rows[0].split_whitespace().collect::<Vec<_>>(), ["ID", "TITLE", "STATE", "UPDATED", "COST"]);
    assert!(rows[1].starts_with(&format!("{hills}  About hills")), "{table}");

    assert_eq!(place.run(&["session", "rename", rivers, "About streams"]).code, Some(0));
    assert_eq!(ids(&json_of(&place, &["session", "search", "STREAMS", "--json"])), [rivers]);
    assert_eq!(ids(&json_of(&place, &["session", "list", "--limit", "1", "--json"])), [hills]);
    assert_eq!(ids(&json_of(&place, &["session", "list", "--all", "--json"])).len(), 2);

    let copy = place.run(&["session", "fork", rivers]).stdout.trim().to_owned();
    let shown = place.run(&["session", "show", &copy]);
    assert!(
        shown.stdout.starts_with("About streams (fork #1)\n") && shown.stdout.contains("you\none\n"),
        "{shown:?}"
    );

    let file = place.project().join("out.json");
    let file = file.to_str().unwrap();
    assert_eq!(place.run(&["session", "export", rivers, "--output", file]).code, Some(0));
    let exported: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    assert_eq!(exported["info"]["id"], rivers);
    assert_eq!(exported["messages"][0]["parts"][0]["text"], "one");
    assert_eq!(std::fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(place.run(&["session", "export", rivers, "--output", file]).code, Some(1));

    let page = place.run(&["session", "export", rivers, "--html", "--redact"]);
    assert!(page.stdout.contains("<p>Redacted: ") && page.stdout.contains("<pre>one</pre>"), "{page:?}");
    let page = place.run(&["session", "export", rivers, "--html", "--redact=outputs,files"]);
    assert!(page.stdout.contains("<p>Redacted: outputs of tools and contents of files are"), "{page:?}");
    assert_eq!(place.run(&["session", "export", rivers, "--html", "--redact=names"]).code, Some(2));
    assert_eq!(
        place.run(&["session", "export", rivers, "--redact"]).code,
        Some(2),
        "only a page is redacted"
    );

    let asked = place.run(&["session", "rm", rivers, &copy]);
    assert_eq!(asked.code, Some(1));
    assert!(asked.stderr.contains("About streams") && asked.stderr.contains("--yes"), "{}", asked.stderr);
    let partly = place.run(&["session", "rm", rivers, "ses_nope", "--yes"]);
    assert_eq!(partly.code, Some(1));
    assert_eq!(ids(&json_of(&place, &["session", "list", "--json"])).len(), 3);
    assert_eq!(place.run(&["session", "rm", rivers, &copy, "--yes"]).code, Some(0));
    assert_eq!(ids(&json_of(&place, &["session", "list", "--json"])), [hills]);
}

#[test]
fn models_and_keys_are_listed_and_a_key_is_never_shown() {
    let place = Place::new();
    let models = json_of(&place, &["models", "--json"]);
    assert!(models.as_array().unwrap().iter().any(|model| model["model"] == "demo/echo"));
    let unknown = place.run(&["models", "nobody"]);
    assert_eq!(unknown.code, Some(1));
    assert!(unknown.stderr.contains("sturdy auth login nobody"), "{}", unknown.stderr);

    let mut login = place.command(&["auth", "login", "anthropic"]);
    let mut login =
        login.stdin(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(&mut login.stdin.take().unwrap(), b"sk-very-secret\n").unwrap();
    let said = login.wait_with_output().unwrap();
    assert!(said.status.success() && !String::from_utf8_lossy(&said.stderr).contains("secret"));

    let list = json_of(&place, &["auth", "list", "--json"]);
    let stored = list.as_array().unwrap().iter().find(|line| line["provider"] == "anthropic").unwrap();
    assert_eq!(stored["source"], "api");
    assert!(!place.run(&["auth", "list"]).stdout.contains("secret"));
    assert_eq!(place.run(&["auth", "logout", "anthropic"]).code, Some(0));
    let list = json_of(&place, &["auth", "list", "--json"]);
    assert!(!list.to_string().contains("anthropic"));
    // Nothing by the pipe is not a key.
    assert_eq!(place.run(&["auth", "login", "anthropic"]).code, Some(2));
}

#[test]
fn whoever_names_no_provider_is_shown_those_that_take_a_key() {
    let place = Place::new();

    let asked = place.run(&["auth", "login"]);

    assert_eq!(asked.code, Some(2));
    let line = asked.stdout.lines().find(|line| line.starts_with("anthropic ")).unwrap();
    assert!(line.contains("ANTHROPIC_API_KEY") && line.contains("https://console.anthropic.com/"), "{line}");
    assert!(!asked.stdout.contains("demo"), "the demo needs no key: {}", asked.stdout);
    assert!(asked.stderr.contains("no provider is named"), "{}", asked.stderr);
    assert_eq!(place.run(&["auth", "login", "--key-stdin"]).code, Some(2));
}

#[test]
fn a_key_for_a_provider_that_nobody_knows_is_stored_and_said_to_be_one() {
    let place = Place::new();
    let mut login = place.command(&["auth", "login", "nobody", "--key-stdin"]);
    let mut login =
        login.stdin(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();

    std::io::Write::write_all(&mut login.stdin.take().unwrap(), b"sk-very-secret\n").unwrap();
    let said = login.wait_with_output().unwrap();

    let told = String::from_utf8_lossy(&said.stderr);
    assert!(said.status.success() && told.contains("not a provider that is known here"), "{told}");
    assert!(told.contains("opencode.json") && !told.contains("secret"), "{told}");
}

#[test]
fn mcp_servers_are_listed_with_what_is_wrong() {
    let place = Place::new();
    assert_eq!(json_of(&place, &["mcp", "list", "--json"]), json!({}));
    let config = r#"{"mcp": {"broken": {"type": "local", "command": ["/no/such/program"]}}}"#;
    std::fs::write(place.project().join("opencode.json"), config).unwrap();

    let list = place.run(&["mcp", "list"]);

    assert_eq!(list.code, Some(0));
    assert!(list.stdout.lines().nth(1).unwrap().starts_with("broken  failed  "), "{}", list.stdout);
    let unknown = place.run(&["mcp", "login", "nobody"]);
    assert_eq!(unknown.code, Some(1));
}

#[test]
fn the_doctor_finds_what_is_wrong_and_changes_nothing() {
    let place = Place::new();
    let data = place.data().display().to_string();
    let well = place.run(&["doctor", "--data-dir", &data]);
    assert_eq!(well.code, Some(0), "{}", well.stdout);
    assert!(!place.data().exists());
    place.serve(&[]);
    std::fs::write(place.project().join("opencode.json"), "{\"model\": 7}").unwrap();
    std::fs::set_permissions(place.data(), std::fs::Permissions::from_mode(0o755)).unwrap();

    let ill = place.run(&["doctor", "--data-dir", &data, "--json"]);

    assert_eq!(ill.code, Some(1));
    let findings: Value = serde_json::from_str(&ill.stdout).unwrap();
    let state = |what: &str| {
        findings.as_array().unwrap().iter().find(|found| found["what"] == what).unwrap()["state"].clone()
    };
    assert_eq!([state("configuration"), state("data"), state("git")], ["wrong", "warning", "ok"]);
}

#[test]
fn attach_gives_the_terminal_the_url_and_the_password() {
    let place = Place::new();
    let data = place.data().display().to_string();
    let program = place.home().join("opencode");
    std::fs::write(
        &program,
        "#!/bin/sh\necho \"$1 $2\" $5\necho \"$OPENCODE_SERVER_PASSWORD\" > key\nexit 7\n",
    )
    .unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", place.home().display(), std::env::var("PATH").unwrap());
    let attach = |url: Option<&str>| {
        let mut command = place.command(&["attach", "--data-dir", &data]);
        command.args(url).args(["--", "--continue"]);
        command.env("PATH", &path).output().unwrap()
    };

    // None runs: one is started, closed to everybody without the key.
    let started = attach(None);
    assert_eq!(started.status.code(), Some(7), "{started:?}");
    let said = String::from_utf8(started.stdout).unwrap();
    assert!(said.starts_with("attach http://127.0.0.1:") && said.ends_with(" --continue\n"), "{said}");
    assert_eq!(std::fs::read_to_string(place.project().join("key")).unwrap().trim().len(), 64);

    let server = place.serve(&[]);
    let found = String::from_utf8(attach(None).stdout).unwrap();
    assert_eq!(found, format!("attach {} --continue\n", server.url));
    assert_eq!(attach(Some("http://127.0.0.1:9")).status.code(), Some(3));
    // Was: the password stood in the command line of the terminal, for every user of the machine to see.
    let with_password = server.url.replace("http://", "http://ada:hush%21@");
    let named = String::from_utf8(attach(Some(&with_password)).stdout).unwrap();
    assert_eq!(named, format!("attach {} --continue\n", server.url));
    assert_eq!(std::fs::read_to_string(place.project().join("key")).unwrap().trim(), "hush!");

    // A directory of another machine is passed on as it is, and an end by a signal is told as a shell tells it.
    std::fs::write(&program, "#!/bin/sh\necho \"$3 $4\"\nkill -TERM $$\n").unwrap();
    let mut far = place.command(&["attach", "--data-dir", &data, "--dir", "/nowhere/at/all", &server.url]);
    let far = far.env("PATH", &path).output().unwrap();
    assert_eq!(
        (far.status.code(), String::from_utf8(far.stdout).unwrap()),
        (Some(143), "--dir /nowhere/at/all\n".to_owned())
    );

    let missing = place.command(&["attach", "--data-dir", &data]).env("PATH", "/nowhere").output().unwrap();
    assert_eq!(missing.status.code(), Some(1));
    assert!(String::from_utf8(missing.stderr).unwrap().contains("npm install -g opencode-ai"));
}

#[test]
fn a_second_command_uses_the_server_of_the_first() {
    let place = Place::new();
    let mut first = place.command(&["run", "/demo hang 1"]);
    let mut first =
        first.stdin(std::process::Stdio::null()).stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    let mut out = std::io::BufReader::new(first.stdout.take().unwrap());
    std::io::BufRead::read_line(&mut out, &mut line).unwrap();

    let list = json_of(&place, &["session", "list", "--json"]);

    assert_eq!(list[0]["state"], "busy");
    first.kill().unwrap();
    first.wait().unwrap();
}

#[test]
fn every_shell_has_its_completions_and_every_command_its_page() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = place.run(&["completions", shell]);
        assert_eq!(script.code, Some(0));
        assert!(script.stdout.contains("rename"), "{shell}");
    }
    let page = place.run(&["man", "session", "list"]).stdout;
    assert!(page.contains(".TH sturdy-session-list 1") && page.contains("newest change first"), "{page}");
    assert_eq!(place.run(&["man", "nothing"]).code, Some(2));
}

#[test]
fn every_help_begins_with_a_verb_and_ends_with_an_example() {
    let place = Place::new();
    for arguments in [
        &["run"][..],
        &["attach"],
        &["session"],
        &["session", "list"],
        &["session", "search"],
        &["session", "show"],
        &["session", "fork"],
        &["session", "rename"],
        &["session", "export"],
        &["session", "rm"],
        &["models"],
        &["auth", "login"],
        &["auth", "list"],
        &["auth", "logout"],
        &["mcp", "list"],
        &["mcp", "login"],
        &["mcp", "logout"],
        &["grant"],
        &["grant", "create"],
        &["grant", "list"],
        &["grant", "narrow"],
        &["grant", "revoke"],
        &["grant", "audit"],
        &["doctor"],
        &["completions"],
        &["man"],
    ] {
        let help = place.run(&[arguments, &["--help"]].concat());
        let examples = help.stdout.split("Examples:\n").nth(1).unwrap_or_default();
        let line = format!("sturdy {}", arguments.join(" "));
        assert!(examples.contains(&line) || examples.contains("sturdy"), "{line}: {}", help.stdout);
    }
}

#[test]
fn colours_are_left_out_when_nobody_looks_or_nobody_wants_them() {
    let place = Place::new().with("NO_COLOR", "1");
    place.run(&["run", "--title", "Plain", "hello"]);
    let list = json_of(&place, &["session", "list", "--json"]);

    let shown = place.run(&["session", "show", ids(&list)[0]]).stdout;

    assert!(!shown.contains('\u{1b}'), "{shown}");
}

#[test]
fn a_token_is_made_shown_once_listed_and_revoked() {
    let place = Place::new();
    let made = place.run(&["token", "create", "ci", "--scope", "write", "--scope", "read", "--days", "90"]);
    let secret = made.stdout.trim();
    assert!(made.code == Some(0) && secret.starts_with("sturdy_") && secret.len() > 64, "{made:?}");

    let list = json_of(&place, &["token", "list", "--json"]);
    let token = &list[0];
    assert_eq!((&token["name"], &token["scopes"]), (&json!("ci"), &json!(["read", "write"])));
    assert!(token["expires"].as_u64().unwrap() > token["created"].as_u64().unwrap());
    let table = place.run(&["token", "list"]).stdout;
    assert!(table.contains("read write") && table.contains("in 90 days"), "{table}");
    assert!(!list.to_string().contains(secret) && !table.contains(secret));

    let id = token["id"].as_str().unwrap();
    assert_eq!(place.run(&["token", "revoke", id]).code, Some(0));
    let again = place.run(&["token", "revoke", id]);
    assert_eq!(again.code, Some(1));
    assert!(again.stderr.contains("there is no such token"), "{}", again.stderr);
    assert_eq!(json_of(&place, &["token", "list", "--json"]), json!([]));
    assert_eq!(place.run(&["token", "create", "ci", "--scope", "everything"]).code, Some(2));
}

#[test]
fn a_grant_is_made_shown_once_narrowed_listed_audited_and_revoked() {
    let place = Place::new();
    place.run(&["run", "--title", "Shared with a colleague", "hello"]);
    let sessions = json_of(&place, &["session", "list", "--json"]);
    let session = ids(&sessions)[0];

    let made =
        place.run(&["grant", "create", session, "--right", "read", "--right", "prompt", "--hours", "8"]);
    let reference = made.stdout.trim();
    assert!(made.code == Some(0) && reference.starts_with(&format!("stdy1.{session}.grt")), "{made:?}");
    let list = json_of(&place, &["grant", "list", session, "--json"]);
    let id = list[0]["id"].as_str().unwrap();
    assert_eq!((&list[0]["rights"], &list[0]["used"]), (&json!(["read", "prompt"]), &json!(0)));
    let child = json_of(&place, &["grant", "narrow", id, "--right", "read", "--label", "guest", "--json"]);
    assert_eq!((&child["parent"], &child["label"]), (&json!(id), &json!("guest")));
    let wider = place.run(&["grant", "narrow", id, "--right", "answer"]);
    assert_eq!(wider.code, Some(1), "{wider:?}");

    let table = place.run(&["grant", "list"]).stdout;
    assert!(table.contains("read prompt") && table.contains("in 8 h") && table.contains("guest"), "{table}");
    let audit = json_of(&place, &["grant", "audit", id, "--json"]);
    let methods: Vec<&str> =
        audit.as_array().unwrap().iter().filter_map(|row| row["method"].as_str()).collect();
    assert_eq!(methods, ["create", "narrow"]);
    assert!(!list.to_string().contains(reference) && !table.contains(reference));

    let revoked = json_of(&place, &["grant", "revoke", id, "--json"]);
    assert_eq!(revoked, json!([{ "id": id, "revoked": 2 }]));
    let unknown = place.run(&["grant", "revoke", "grtnone"]);
    assert_eq!(unknown.code, Some(1));
    assert!(unknown.stderr.contains("no such session or grant"), "{}", unknown.stderr);
}
