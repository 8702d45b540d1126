//! Which file wins, what a mistake is told, and what never leaves.

use crate::desk::Desk;
use serde_json::{Value, json};
use sturdy_engine::directory::config::{ConfigError, ShareMode, Source, UpdateError, update_file};

/// The file and the line a value is said to stand in.
fn place(settings: &sturdy_engine::directory::config::Settings, path: &[&str]) -> (String, Option<usize>) {
    let origin = settings.origin(path).unwrap();
    let name = match origin.source.as_ref() {
        Source::File(path) => path.file_name().unwrap().to_string_lossy().into_owned(),
        Source::Variable(name) => (*name).to_owned(),
    };
    (name, origin.line)
}

#[test]
fn settings_nearer_to_the_directory_win() {
    let said = |word: &str| format!("{{\"model\": \"p/{word}\"}}");
    let at_home = [
        ("user-old", ".config/opencode/config.json"),
        ("user", ".config/opencode/opencode.json"),
        ("user-c", ".config/opencode/opencode.jsonc"),
        ("named", "named.json"),
    ];
    let in_project = [
        ("top", "opencode.json"),
        ("near", "crates/one/opencode.json"),
        ("ours", "crates/one/sturdy.jsonc"),
        ("dot", ".opencode/opencode.json"),
        ("dot-near", "crates/one/.opencode/opencode.json"),
    ];
    let mut desk = Desk::new().in_directory("crates/one");
    let named = desk.home().join("named.json").display().to_string();
    desk = desk.with("OPENCODE_CONFIG", &named);

    for (word, path) in at_home {
        desk = desk.at_home(path, &said(word));
        assert_eq!(desk.load().model(), Some(format!("p/{word}").as_str()));
    }
    for (word, path) in in_project {
        desk = desk.in_project(path, &said(word));
        assert_eq!(desk.load().model(), Some(format!("p/{word}").as_str()));
    }
    desk = desk.with("OPENCODE_CONFIG_CONTENT", &said("variable"));
    assert_eq!(desk.load().model(), Some("p/variable"));
}

#[test]
fn objects_merge_lists_are_replaced_and_two_lists_grow() {
    let desk = Desk::new()
        .at_home(
            ".config/opencode/opencode.json",
            r#"{"instructions": ["a.md"], "plugin": ["one"], "disabled_providers": ["x"],
                "agent": {"build": {"temperature": 0.2, "color": "accent"}}, "username": "grace"}"#,
        )
        .in_project(
            "opencode.json",
            r#"{"instructions": ["a.md", "b.md"], "plugin": ["two"], "disabled_providers": ["y"],
                "agent": {"build": {"temperature": 0.9}}, "username": null}"#,
        );

    let settings = desk.load();

    let wire = settings.wire();
    assert_eq!(wire["instructions"], json!(["a.md", "b.md"]));
    assert_eq!(wire["plugin"], json!(["one", "two"]));
    assert_eq!(settings.disabled_providers(), ["y"]);
    let build = json!({ "temperature": 0.9, "color": "accent", "options": {}, "permission": {} });
    assert_eq!(wire["agent"]["build"], build);
    assert_eq!(settings.username(), "ada", "null takes back what an earlier file said");
}

#[test]
fn every_value_remembers_where_it_stands() {
    let desk = Desk::new()
        .at_home(
            ".config/opencode/opencode.jsonc",
            "{\n  // mine\n  \"agent\": { \"build\": {\n    \"steps\": 3,\n \"color\": \"info\" } } }",
        )
        .in_project("sturdy.json", "{\n\"agent\": {\n\"build\": { \"steps\": 5 } } }")
        .with("OPENCODE_DISABLE_AUTOCOMPACT", "1");

    let settings = desk.load();

    assert_eq!(place(&settings, &["agent", "build", "steps"]), ("sturdy.json".to_owned(), Some(3)));
    assert_eq!(place(&settings, &["agent", "build", "color"]), ("opencode.jsonc".to_owned(), Some(5)));
    assert_eq!(place(&settings, &["compaction", "auto"]), ("OPENCODE_DISABLE_AUTOCOMPACT".to_owned(), None));
    assert!(!settings.compaction().auto);
}

#[test]
fn comments_trailing_commas_and_a_byte_order_mark_are_read() {
    let desk = Desk::new()
        .in_project("opencode.json", "\u{feff}// top\n{ \"model\": \"a/b\", /* in */ \"share\": \"auto\", }");

    let settings = desk.load();

    assert_eq!((settings.model(), settings.share()), (Some("a/b"), ShareMode::Auto));
}

#[test]
fn an_empty_file_says_nothing() {
    let settings = Desk::new().in_project("opencode.json", "\n").load();

    let wire = json!({
        "$schema": "https://opencode.ai/config.json",
        "agent": {}, "mode": {}, "plugin": [], "command": {}, "username": "ada",
    });
    assert_eq!(settings.wire(), wire);
    assert_eq!(settings.global_wire(), json!({ "$schema": "https://opencode.ai/config.json" }));
}

#[test]
fn placeholders_are_replaced_inside_strings() {
    let desk = Desk::new()
        .with("MODEL", "say \"b\"\\")
        .at_home("secret.txt", "  from home\n")
        .in_project("prompts/one.md", "line 1\nline 2\n")
        .in_project(
            "opencode.json",
            r#"{ // {file:no/such/file}
                "model": "a/{env:MODEL}", "small_model": "{env:NOT_SET}x", "username": "{file:~/secret.txt}",
                "agent": { "one": { "prompt": "{file:./prompts/one.md}" } } }"#,
        );

    let settings = desk.load();

    assert_eq!(settings.model(), Some("a/say \"b\"\\"), "a quote in a value does not break the document");
    assert_eq!(settings.small_model(), Some("x"));
    assert_eq!(settings.username(), "from home");
    let (_, _, one) = settings.agents()[0];
    assert_eq!(one.prompt.as_deref(), Some("line 1\nline 2"));
    assert_eq!(settings.wire()["agent"]["one"].get("prompt"), None, "it may be anything");
}

#[test]
fn a_missing_file_of_a_placeholder_names_file_key_and_line() {
    let desk = Desk::new()
        .in_project("opencode.json", "{\n\n\"agent\": { \"one\": {\n \"prompt\": \"{file:gone.md}\" } } }");

    let error = desk.try_load().unwrap_err();

    let ConfigError::Invalid { path, issues } = error else { panic!("{error}") };
    assert_eq!(path, desk.worktree().join("opencode.json").display().to_string());
    assert_eq!((issues[0].path.join("."), issues[0].line), ("agent.one.prompt".to_owned(), Some(4)));
}

#[test]
fn broken_json_is_told_with_its_line_and_without_its_text() {
    let desk = Desk::new()
        .in_project("opencode.json", "{\n  \"model\": \"a/b\",\n  \"apiKey\" \"sk-very-secret\"\n}");

    let error = desk.try_load().unwrap_err();

    let path = desk.worktree().join("opencode.json").display().to_string();
    let body = error.body();
    assert_eq!((&body["name"], &body["data"]["path"]), (&json!("ConfigJsonError"), &json!(path)));
    assert!(body["data"]["message"].as_str().unwrap().contains("line 3"), "{body}");
    assert!(!body.to_string().contains("sk-very-secret") && !error.to_string().contains("sk-very-secret"));
}

#[test]
fn a_wrong_type_names_the_file_and_the_key() {
    let desk = Desk::new()
        .at_home(".config/opencode/opencode.json", "{\n\"snapshot\": \"yes\" }")
        .in_project("opencode.json", "{ \"compaction\": { \"auto\": 1 },\n \"share\": \"maybe\", \"tool_output\": {\"max_lines\": 0} }");

    let error = desk.try_load().unwrap_err();

    let global = desk.home().join(".config/opencode/opencode.json").display().to_string();
    let project = desk.worktree().join("opencode.json").display().to_string();
    let body = error.body();
    assert_eq!(
        body,
        json!({ "name": "ConfigInvalidError", "data": { "path": global, "issues": [
            { "message": "Expected true or false, found a string (line 2)", "path": ["snapshot"] },
            { "message": format!("Expected true or false, found a number (in {project}) (line 1)"), "path": ["compaction", "auto"] },
            { "message": format!("Expected \"manual\" or \"auto\" or \"disabled\", found \"maybe\" (in {project}) (line 2)"), "path": ["share"] },
            { "message": format!("Expected a whole number of at least 1, found a number (in {project}) (line 2)"), "path": ["tool_output", "max_lines"] },
        ]}})
    );
}

#[test]
fn a_bad_value_that_a_nearer_file_replaces_does_no_harm() {
    let desk = Desk::new()
        .at_home(".config/opencode/opencode.json", r#"{"snapshot": "yes"}"#)
        .in_project("opencode.json", r#"{"snapshot": false}"#);

    assert!(!desk.load().snapshot());
}

#[test]
fn a_key_in_the_wrong_place_is_not_repeated_in_the_error() {
    let desk = Desk::new().in_project(
        "opencode.json",
        r#"{"provider": "sk-very-secret", "permission": {"bash": "sk-very-secret-and-long"}}"#,
    );

    let error = desk.try_load().unwrap_err();

    assert!(!format!("{error} {error:?} {}", error.body()).contains("sk-very-secret"));
}

#[test]
fn permissions_that_are_no_actions_are_refused() {
    let desk =
        Desk::new().in_project("opencode.json", "{ \"permission\": { \"bash\": { \"git *\": \"yes\" } } }");

    let ConfigError::Invalid { issues, .. } = desk.try_load().unwrap_err() else { panic!() };

    assert_eq!(issues[0].path, ["permission", "bash", "git *"]);
}

#[test]
fn a_tool_server_needs_what_its_type_needs() {
    let desk = Desk::new()
        .in_project("opencode.json", r#"{"mcp": {"one": {"type": "local"}, "two": {"enabled": false}}}"#);

    let ConfigError::Invalid { issues, .. } = desk.try_load().unwrap_err() else { panic!() };

    assert_eq!(issues.len(), 1);
    assert_eq!(
        (issues[0].path.join("."), issues[0].message.as_str()),
        ("mcp.one".to_owned(), "The key \"command\" is missing")
    );
}

#[test]
fn keys_that_are_unknown_or_the_terminals_do_no_harm_and_are_not_answered() {
    let desk = Desk::new().in_project("opencode.json", r#"{"permision": {"a": 1}, "theme": "dark"}"#);

    let wire = desk.load().wire();

    assert_eq!((wire.get("permision"), wire.get("theme")), (None, None));
}

#[test]
fn older_words_are_answered_in_the_newer_ones_too() {
    let text = r#"{"tools": {"webfetch": false, "patch": true}, "permission": {"bash": "ask"},
        "agent": {"x": {"maxSteps": 3, "tools": {"bash": false}, "reasoningEffort": "high"}},
        "mode": {"m": {"prompt": "Be brief", "permission": "deny"}}}"#;

    let wire = Desk::new().in_project("opencode.json", text).load().wire();

    assert_eq!(wire["permission"], json!({ "webfetch": "deny", "edit": "allow", "bash": "ask" }));
    let x = &wire["agent"]["x"];
    assert_eq!((&x["steps"], &x["permission"]), (&json!(3), &json!({ "bash": "deny" })));
    assert_eq!(x["options"], json!({ "reasoningEffort": "high" }));
    let mode =
        json!({ "prompt": "Be brief", "permission": { "*": "deny" }, "options": {}, "mode": "primary" });
    assert_eq!(wire["agent"]["m"], mode);
}

#[test]
fn no_secret_leaves() {
    let desk = Desk::new()
        .with("KEY", "SECRET-env")
        .with("BASE", "https://user:SECRET-pass@example.test/v1?key=SECRET-query")
        .at_home("key", "SECRET-file")
        .at_home(".config/opencode/opencode.json", r#"{"provider": {"g": {"options": {"apiKey": "SECRET-global"}}}}"#)
        .in_project(
            "opencode.json",
            r#"{
            "provider": { "acme": {
                "name": "Acme", "env": ["ACME_KEY"],
                "options": { "apiKey": "SECRET-plain", "baseURL": "{env:BASE}", "timeout": 5, "region": "{env:KEY}",
                    "secretAccessKey": "SECRET-aws", "headers": { "X-Gate": "SECRET-header" }, "nested": { "authToken": "SECRET-nested" } },
                "models": { "token": { "name": "Kept", "headers": { "authorization": "SECRET-model" }, "options": { "api_key": "SECRET-option" } } } } },
            "mcp": {
                "local": { "type": "local", "command": ["run", "--api-key", "SECRET-argument", "--token=SECRET-equals", "--verbose"], "environment": { "A": "SECRET-variable" } },
                "remote": { "type": "remote", "url": "https://example.test/mcp?token=SECRET-url", "headers": { "X": "SECRET-mcp" }, "oauth": { "clientSecret": "SECRET-oauth" } } },
            "lsp": { "x": { "command": ["x"], "env": { "T": "SECRET-lsp" } } },
            "formatter": { "y": { "environment": { "T": "SECRET-formatter" } } },
            "plugin": [["p", { "apiKey": "SECRET-plugin" }]],
            "agent": { "token": { "prompt": "kept", "options": { "apiKey": "SECRET-agent", "plain": "{env:KEY}" } }, "b": { "password": "SECRET-b" } },
            "permission": { "bash": { "cat token": "deny" } },
            "compaction": { "preserve_recent_tokens": 7 },
            "other": { "deep": [{ "secret": "SECRET-unknown" }], "password": "SECRET-other", "plain": "{file:~/key}" } }"#,
        );

    let settings = desk.load();

    for said in [settings.wire().to_string(), settings.global_wire().to_string(), format!("{settings:?}")] {
        assert!(!said.contains("SECRET"), "{said}");
    }
    let wire = settings.wire();
    assert_eq!(
        wire["provider"]["acme"],
        json!({
            "name": "Acme", "env": ["ACME_KEY"],
            "options": { "baseURL": "https://example.test/", "timeout": 5, "nested": {} },
            "models": { "token": { "name": "Kept", "options": {} } },
        })
    );
    assert_eq!(wire["mcp"]["local"]["command"], json!(["run", "***", "***", "***", "***"]));
    assert_eq!(wire["mcp"]["remote"], json!({ "type": "remote", "url": "https://example.test/mcp" }));
    assert_eq!(wire["agent"]["token"]["prompt"], json!("kept"));
    assert_eq!(wire["permission"], json!({ "bash": { "cat token": "deny" } }));
    assert_eq!(wire["compaction"]["preserve_recent_tokens"], json!(7));
    assert_eq!(
        settings.providers().0["acme"]["options"]["region"],
        json!("SECRET-env"),
        "the catalog gets it"
    );
}

#[test]
fn a_change_keeps_comments_and_other_keys() {
    let desk = Desk::new().in_project("opencode.jsonc", "{\n  // the one we use\n  \"model\": \"a/b\",\n  \"agent\": { \"x\": { \"steps\": 3 } }, // end\n  \"share\": \"auto\"\n}\n");
    let path = desk.load().places().project_file();

    let patch =
        json!({ "model": "c/d", "agent": { "x": { "color": "info" } }, "share": null, "snapshot": false });
    update_file(&path, patch.as_object().unwrap()).unwrap();

    let text = std::fs::read_to_string(&path).unwrap();
    assert!(
        path.ends_with("opencode.jsonc") && text.contains("// the one we use") && text.contains("// end"),
        "{text}"
    );
    let wire = desk.load().wire();
    assert_eq!(
        (&wire["model"], &wire["agent"]["x"]),
        (&json!("c/d"), &json!({ "steps": 3, "color": "info", "options": {}, "permission": {} }))
    );
    assert_eq!((&wire["snapshot"], wire.get("share")), (&json!(false), None));
    let left: Vec<_> = std::fs::read_dir(desk.worktree()).unwrap().collect();
    assert_eq!(left.len(), 1, "no half-written file is left");
}

#[test]
fn a_change_makes_the_file_that_is_not_there() {
    let desk = Desk::new();
    let path = desk.load().places().global_file();

    update_file(&path, json!({ "model": "a/b" }).as_object().unwrap()).unwrap();

    assert_eq!(desk.load().global_wire()["model"], json!("a/b"));
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), json!({ "model": "a/b" }));
}

#[test]
fn a_wrong_change_is_refused_and_nothing_is_written() {
    let desk = Desk::new().in_project("opencode.json", r#"{"model": "a/b"}"#);
    let path = desk.worktree().join("opencode.json");

    let refused = update_file(&path, json!({ "model": 3 }).as_object().unwrap());

    assert!(matches!(refused, Err(UpdateError::Config(ConfigError::Invalid { .. }))));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), r#"{"model": "a/b"}"#);
}

#[test]
fn a_pipe_in_the_place_of_a_file_is_not_waited_for() {
    let desk = Desk::new();
    let pipe = desk.worktree().join("opencode.json");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());

    assert_eq!(desk.load().model(), None);
}
