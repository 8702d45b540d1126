//! Sections become types once, and a mistake in any of them is told with its file and line.

use crate::desk::Desk;
use serde_json::json;
use sturdy_engine::directory::config::{ConfigError, Programs};

/// Where a mistake stands, by the keys that lead to it, and the section as it is written.
const MISTAKES: [(&str, &str); 30] = [
    ("model", "\"model\": 1"),
    ("username", "\"username\": []"),
    ("instructions", "\"instructions\": \"a.md\""),
    ("instructions.1", "\"instructions\": [\"a.md\", 2]"),
    ("skills.paths", "\"skills\": { \"paths\": \"x\" }"),
    ("enterprise.url", "\"enterprise\": { \"url\": 5 }"),
    ("compaction.reserved", "\"compaction\": { \"reserved\": \"many\" }"),
    ("attachment.image.max_width", "\"attachment\": { \"image\": { \"max_width\": 0 } }"),
    ("tool_output.max_bytes", "\"tool_output\": { \"max_bytes\": true }"),
    ("experimental.primary_tools", "\"experimental\": { \"primary_tools\": {} }"),
    ("experimental.hidden_variables", "\"experimental\": { \"hidden_variables\": \"KEY\" }"),
    ("experimental.visible_variables.0", "\"experimental\": { \"visible_variables\": [1] }"),
    (
        "experimental.sandbox.network",
        "\"experimental\": { \"sandbox\": { \"enabled\": true, \"network\": 0 } }",
    ),
    (
        "experimental.sandbox.writable",
        "\"experimental\": { \"sandbox\": { \"enabled\": true, \"writable\": \"/\" } }",
    ),
    ("tools.bash", "\"tools\": { \"bash\": \"no\" }"),
    ("agent.one.temperature", "\"agent\": { \"one\": { \"temperature\": \"hot\" } }"),
    ("agent.one.mode", "\"agent\": { \"one\": { \"mode\": \"boss\" } }"),
    ("agent.one.steps", "\"agent\": { \"one\": { \"steps\": 0 } }"),
    ("agent.one.options", "\"agent\": { \"one\": { \"options\": [] } }"),
    ("agent.one.tools.bash", "\"agent\": { \"one\": { \"tools\": { \"bash\": 1 } } }"),
    ("mode.one.disable", "\"mode\": { \"one\": { \"disable\": \"yes\" } }"),
    ("command.one.subtask", "\"command\": { \"one\": { \"template\": \"x\", \"subtask\": 1 } }"),
    ("command.one.template", "\"command\": { \"one\": { \"template\": 7 } }"),
    ("formatter.one.command", "\"formatter\": { \"one\": { \"command\": \"fmt\" } }"),
    ("formatter.one.environment.A", "\"formatter\": { \"one\": { \"environment\": { \"A\": 1 } } }"),
    ("lsp.one.extensions.0", "\"lsp\": { \"one\": { \"extensions\": [1] } }"),
    ("lsp.one.initialization", "\"lsp\": { \"one\": { \"initialization\": 5 } }"),
    (
        "mcp.one.environment",
        "\"mcp\": { \"one\": { \"type\": \"local\", \"command\": [\"x\"], \"environment\": [] } }",
    ),
    (
        "mcp.one.headers.A",
        "\"mcp\": { \"one\": { \"type\": \"remote\", \"url\": \"x\", \"headers\": { \"A\": 1 } } }",
    ),
    ("provider.one.options.timeout", "\"provider\": { \"one\": { \"options\": { \"timeout\": \"long\" } } }"),
];

#[test]
fn a_wrong_type_in_any_section_is_told_with_its_file_and_line() {
    for (place, section) in MISTAKES {
        let desk = Desk::new().in_project("opencode.json", &format!("{{\n\n  {section}\n}}"));

        let Err(ConfigError::Invalid { path, issues }) = desk.try_load() else {
            panic!("{place} is accepted")
        };

        let file = desk.worktree().join("opencode.json").display().to_string();
        let told: Vec<_> = issues.iter().map(|issue| (issue.path.join("."), issue.line)).collect();
        assert_eq!((path, told), (file, vec![(place.to_owned(), Some(3))]));
    }
}

#[test]
fn null_keys_are_ignored_and_free_form_options_stay_unchanged() {
    let desk = Desk::new().in_project(
        "opencode.json",
        r#"{
            "agent": {
                "gone": null,
                "one": { "model": null, "steps": 3.0, "tools": { "bash": false, "edit": null }, "name": "x",
                         "options": { "seed": null, "deep": { "a": [null, 1] } }, "reasoningEffort": "high" }
            },
            "command": { "say": { "template": "hello", "agent": null } },
            "formatter": { "fmt": { "command": ["fmt", null], "environment": { "A": "1", "B": null } } },
            "lsp": { "own": { "command": ["own"], "initialization": { "a": null } }, "rust": null }
        }"#,
    );

    let settings = desk.load();

    let agents = settings.agents();
    let [(section, name, one)] = agents[..] else { panic!("{agents:?}") };
    assert_eq!((section, name, one.model.as_deref(), one.steps), ("agent", "one", None, Some(3)));
    assert_eq!(one.tools, [("bash".to_owned(), false)]);
    assert_eq!(json!(one.options), json!({ "seed": null, "deep": { "a": [null, 1] } }));
    assert_eq!(json!(one.others), json!({ "reasoningEffort": "high" }));
    let [(name, say)] = settings.commands() else { panic!("{:?}", settings.commands()) };
    assert_eq!((name.as_str(), say.template.as_deref(), say.agent.as_deref()), ("say", Some("hello"), None));
    let Programs::Changed(formatters) = settings.formatters() else { panic!("formatters are off") };
    assert_eq!(formatters[0].1.command.as_deref(), Some(["fmt".to_owned()].as_slice()));
    assert_eq!(formatters[0].1.environment, [("A".to_owned(), "1".to_owned())]);
    let Programs::Changed(languages) = settings.languages() else { panic!("language servers are off") };
    let [(name, own)] = &languages[..] else { panic!("{languages:?}") };
    assert_eq!((name.as_str(), json!(own.initialization)), ("own", json!({ "a": null })));
}

#[test]
fn a_mistake_of_the_user_that_a_project_replaces_says_nothing() {
    let desk = Desk::new()
        .at_home(
            ".config/opencode/opencode.json",
            r#"{"agent": {"build": {"temperature": "hot", "color": "info"}}, "experimental": {"hidden_variables": "A"},
                "command": {"say": {"agent": "plan"}}, "formatter": "on"}"#,
        )
        .in_project(
            "opencode.json",
            r#"{"agent": {"build": {"temperature": 0.5}}, "experimental": {"hidden_variables": ["B"]},
                "command": {"say": {"template": "hello"}}, "formatter": false}"#,
        );

    let settings = desk.load();

    let (_, _, merged) = settings.agents()[0];
    let (_, _, own) = settings.user_agents()[0];
    assert_eq!((merged.temperature, merged.color.as_deref()), (Some(0.5), Some("info")));
    assert_eq!((own.temperature, own.color.as_deref()), (None, Some("info")));
}

#[test]
fn a_rule_of_the_user_that_is_none_is_told_with_the_file_of_the_user() {
    let desk = Desk::new()
        .at_home(".config/opencode/opencode.json", "{\n \"permission\": { \"bash\": 5 } }")
        .in_project("opencode.json", r#"{"permission": {"bash": "allow"}}"#);

    let ConfigError::Invalid { path, issues } = desk.try_load().unwrap_err() else { panic!() };

    let file = desk.home().join(".config/opencode/opencode.json").display().to_string();
    assert_eq!((path, issues[0].path.join("."), issues[0].line), (file, "permission".to_owned(), Some(2)));
}

#[test]
fn an_mcp_server_that_cannot_be_used_is_left_out_and_told_with_its_file_and_line() {
    let desk = Desk::new().in_project(
        "opencode.json",
        r#"{ "mcp": {
            "web": { "type": "remote", "url": "https://mcp.example",
                     "oauth": { "callbackPort": 70000 } },
            "empty": {
                "type": "local", "command": [] },
            "good": { "type": "local", "command": ["serve"] } } }"#,
    );

    let settings = desk.load();

    let names: Vec<&str> = settings.mcp().iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["good"]);
    let file = desk.worktree().join("opencode.json");
    let told: Vec<_> = settings
        .warnings()
        .iter()
        .filter(|warning| warning.file.as_ref() == Some(&file))
        .map(|warning| (warning.message.as_str(), warning.line))
        .collect();
    assert_eq!(
        told,
        [
            ("The MCP server \"web\" cannot be used: its \"callbackPort\" is no port", Some(3)),
            ("The MCP server \"empty\" cannot be used: its \"command\" names no program", Some(5)),
        ]
    );
}
