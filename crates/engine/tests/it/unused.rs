//! Keys, variables and files that have no effect are said by name.

use crate::desk::Desk;
use sturdy_engine::directory::config::ShareMode;

#[test]
fn what_has_no_effect_is_said_by_name_and_line() {
    let desk = Desk::new()
        .with("OPENCODE_AUTO_SHARE", "1")
        .with("OPENCODE_DB", "/somewhere/opencode.db")
        .in_project(
            "opencode.json",
            "{\n \"plugin\": [\"opencode-thing\", [\"other\", {}]],\n \"references\": { \"a\": \"../a\" },\n \"share\": \"auto\",\n \"autoupdate\": false,\n \"experimental\": { \"batch_tool\": true, \"novelty\": 1 },\n \"skills\": { \"urls\": [\"https://x\"] }\n}",
        )
        .at_home(
            ".local/share/opencode/auth.json",
            r#"{"https://corp.example":{"type":"wellknown","key":"X","token":"SECRET"}}"#,
        )
        .in_project(".opencode/tool/deploy.ts", "export default {}")
        .in_project(".opencode/plugin/notify.js", "export default {}");
    let settings = desk.load();

    let said: Vec<String> = settings
        .warnings()
        .iter()
        .map(|warning| {
            let file =
                warning.file.as_ref().and_then(|file| file.file_name()).map(|name| name.to_string_lossy());
            format!("{}:{} {}", file.unwrap_or_default(), warning.line.unwrap_or_default(), warning.message)
        })
        .collect();

    for words in [
        "opencode.json:6 unknown key \"experimental.novelty\"",
        "opencode.json:3 \"references\" has no effect",
        "opencode.json:7 \"skills.urls\" has no effect",
        "opencode.json:6 \"experimental.batch_tool\" has no effect",
        "opencode.json:2 the plugin opencode-thing is not run",
        "opencode.json:2 the plugin other is not run",
        "deploy.ts:0 is not run: custom tools of OpenCode are not supported",
        "notify.js:0 is not run: plugins of OpenCode are not supported",
        ":0 the variable OPENCODE_AUTO_SHARE has no effect",
        ":0 the variable OPENCODE_DB has no effect",
        "auth.json:0 names https://corp.example, whose published settings are not fetched",
    ] {
        assert!(said.iter().any(|line| line.starts_with(words)), "{words} in {said:#?}");
    }
    assert!(
        !said.iter().any(|line| line.contains("autoupdate")),
        "what is so anyway needs no remark: {said:#?}"
    );
    assert!(!said.iter().any(|line| line.contains("SECRET")));
    assert_eq!(settings.wire()["warnings"].as_array().map(Vec::len), Some(said.len()));
}

// Was: ignored, and a session could be shared where nobody was to share.
#[test]
fn a_variable_switches_sharing_off_whatever_the_settings_say() {
    let desk = Desk::new().in_project("opencode.json", r#"{ "share": "auto" }"#);

    let desk = desk.with("OPENCODE_DISABLE_SHARE", "1");

    assert_eq!(desk.load().share(), ShareMode::Disabled);
}

#[test]
fn a_variable_that_switches_on_what_there_is_not_is_said() {
    let desk = Desk::new().with("OPENCODE_ENABLE_EXA", "1").with("OPENCODE_EXPERIMENTAL_PLAN_MODE", "1");

    let said: Vec<String> = desk.load().warnings().iter().map(|warning| warning.message.clone()).collect();

    assert_eq!(said.len(), 2, "{said:#?}");
    assert!(said[0].starts_with("the variable OPENCODE_ENABLE_EXA has no effect"), "{said:#?}");
    assert!(said[1].starts_with("the variable OPENCODE_EXPERIMENTAL_PLAN_MODE has no effect"), "{said:#?}");
}

// Was: accepted without a word, and never started.
#[test]
fn a_program_that_nobody_knows_how_to_start_is_said() {
    let desk = Desk::new().at_home(
        ".config/opencode/opencode.json",
        r#"{
            "lsp": { "eslint": { "initialization": {} }, "own": { "command": ["own"] }, "gone": { "disabled": true },
                     "gopls": { "env": { "A": "1" } } },
            "formatter": { "uv": { "environment": { "A": "1" } }, "whole": { "command": ["w"], "extensions": [".w"] } }
        }"#,
    );

    let said: Vec<String> = desk.load().warnings().iter().map(|warning| warning.message.clone()).collect();

    assert_eq!(
        said,
        [
            "\"lsp.eslint\" has no effect: eslint is not known here, so it needs \"command\" and \"extensions\"",
            "\"lsp.own\" has no effect: own is not known here, so it needs \"extensions\"",
            "\"formatter.uv\" has no effect: uv is not known here, so it needs \"command\" and \"extensions\"",
        ]
    );
}

// Was: what stood deep in a section was accepted without a word.
#[test]
fn a_key_that_nobody_knows_is_said_however_deep_it_stands() {
    let desk = Desk::new().at_home(
        ".config/opencode/opencode.json",
        r#"{
            "mcp": { "far": { "type": "remote", "url": "https://far.example", "oauth": { "clientID": "x" } } },
            "provider": { "acme": { "models": { "m": {
                "limit": { "contxt": 1 }, "cost": { "inpt": 1 }, "provider": { "npn": "x" }
            } } } },
            "enterprise": { "uri": "https://share.example" },
            "experimental": { "policies": [{ "action": "provider.use", "effect": "deny", "resource": "openai" }] }
        }"#,
    );

    let said: Vec<String> = desk.load().warnings().iter().map(|warning| warning.message.clone()).collect();

    for words in [
        "unknown key \"mcp.far.oauth.clientID\"; did you mean \"clientId\"?",
        "unknown key \"provider.acme.models.m.limit.contxt\"; did you mean \"context\"?",
        "unknown key \"provider.acme.models.m.cost.inpt\"; did you mean \"input\"?",
        "unknown key \"provider.acme.models.m.provider.npn\"",
        "unknown key \"enterprise.uri\"",
        "\"experimental.policies\" has no effect",
    ] {
        assert!(said.iter().any(|line| line.starts_with(words)), "{words} in {said:#?}");
    }
}

#[test]
fn what_is_obeyed_is_not_said_to_have_no_effect() {
    let desk = Desk::new().in_project(
        "opencode.json",
        r#"{ "autoshare": true, "attachment": { "image": { "auto_resize": true } },
            "provider": { "github": { "options": { "enterpriseUrl": "https://git.example" } } } }"#,
    );

    let settings = desk.load();

    let said: Vec<&str> = settings.warnings().iter().map(|warning| warning.message.as_str()).collect();
    // Was: the older word for sharing was obeyed and said to have no effect, and the address was not and said nothing.
    assert_eq!(settings.share(), ShareMode::Auto);
    assert!(settings.images().auto_resize);
    for key in ["autoshare", "auto_resize"] {
        assert!(!said.iter().any(|words| words.contains(key)), "{key}: {said:?}");
    }
    let unused = "\"provider.github.options.enterpriseUrl\" has no effect";
    assert!(said.iter().any(|words| words.starts_with(unused)), "{said:?}");
}

#[test]
fn the_managed_configuration_of_the_machine_overrides_all_others() {
    let machine = tempfile::tempdir().unwrap();
    let managed = r#"{ "username": "machine", "permission": { "bash": { "rm *": "deny" } } }"#;
    std::fs::write(machine.path().join("opencode.json"), managed).unwrap();
    let desk = Desk::new()
        .with("OPENCODE_TEST_MANAGED_CONFIG_DIR", &machine.path().display().to_string())
        .with("OPENCODE_CONFIG_CONTENT", r#"{ "username": "variable" }"#)
        .at_home(
            ".config/opencode/opencode.json",
            r#"{ "username": "home", "permission": { "bash": "allow" } }"#,
        )
        .in_project("opencode.json", r#"{ "username": "project", "permission": { "bash": "allow" } }"#);

    let settings = desk.load();

    assert_eq!(settings.username(), "machine");
    let rules: Vec<_> =
        settings.rules().iter().map(|rule| format!("{} {}", rule.permission, rule.pattern)).collect();
    assert_eq!(rules.last().map(String::as_str), Some("bash rm *"));
    assert_eq!(settings.user_rules().last(), settings.rules().last(), "no project loosens it");
}
