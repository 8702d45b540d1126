//! The agents clients know, and what the configuration makes of them.

use crate::desk::Desk;
use serde_json::{Value, json};
use sturdy_engine::directory::agents::{Agent, Agents, Mode};
use sturdy_engine::directory::config::ConfigError;

fn agents(desk: &Desk) -> Agents {
    Agents::build(&desk.load()).unwrap()
}

/// Rules in one line each, with the places of this desk by name.
fn rules(agent: &Agent, desk: &Desk) -> String {
    let data = desk.home().join(".local/share/sturdy").display().to_string();
    let home = "../home/.local/share/sturdy".to_owned();
    let scratch = format!("/tmp/sturdy-{}", rustix::process::getuid().as_raw());
    let line = |rule: &sturdy_session::types::session::Rule| {
        let pattern = rule.pattern.replace(&data, "DATA").replace(&home, "WAY").replace(&scratch, "TEMP");
        format!("{} {} {}", rule.permission, pattern, json!(rule.action).as_str().unwrap())
    };
    agent.permission.iter().map(line).collect::<Vec<_>>().join("\n")
}

const DEFAULTS: &str = "\
* * allow
doom_loop * ask
settings * ask
private_network * ask
external_directory * ask
external_directory DATA/tool-output/* allow
external_directory TEMP/* allow
question * deny
plan_enter * deny
plan_exit * deny
read * allow
read *.env ask
read *.env.* ask
read *.env.example allow";

const LAST: &str = "external_directory DATA/tool-output/* allow";

#[test]
fn the_built_in_agents_are_those_clients_know() {
    let desk = Desk::new();

    let agents = agents(&desk);

    let known: Vec<_> = agents
        .all()
        .iter()
        .map(|agent| {
            (agent.name.as_str(), agent.mode, agent.hidden, agent.temperature, agent.prompt.is_some())
        })
        .collect();
    assert_eq!(
        known,
        [
            ("build", Mode::Primary, None, None, false),
            ("compaction", Mode::Primary, Some(true), None, true),
            ("explore", Mode::Subagent, None, None, true),
            ("general", Mode::Subagent, None, None, false),
            ("plan", Mode::Primary, None, None, false),
            ("summary", Mode::Primary, Some(true), None, true),
            ("title", Mode::Primary, Some(true), Some(0.5), true),
        ]
    );
    assert!(agents.all().iter().all(|agent| agent.native == Some(true)));
    assert_eq!(agents.default_agent().unwrap().name, "build");
    assert_eq!(
        agents.delegates().map(|agent| agent.name.as_str()).collect::<Vec<_>>(),
        ["explore", "general"]
    );
}

#[test]
fn the_built_in_agents_have_the_rules_clients_know() {
    let desk = Desk::new();
    let own = [
        ("build", "question * allow\nplan_enter * allow"),
        (
            "plan",
            "question * allow\nplan_exit * allow\ntask general deny\nexternal_directory DATA/plans/* allow\nedit * \
             deny\nedit .opencode/plans/*.md allow\nsettings .opencode/plans/*.md allow\nedit WAY/plans/*.md allow",
        ),
        ("general", "todowrite * deny"),
        (
            "explore",
            "* * deny\ngrep * allow\nglob * allow\nlist * allow\nbash * allow\nwebfetch * allow\nwebsearch * \
             allow\nread * allow\nprivate_network * ask\nexternal_directory * ask\nexternal_directory \
             DATA/tool-output/* allow\nexternal_directory TEMP/* allow",
        ),
        ("title", "* * deny"),
        ("summary", "* * deny"),
        ("compaction", "* * deny"),
    ];

    let agents = agents(&desk);

    for (name, own) in own {
        assert_eq!(rules(agents.get(name).unwrap(), &desk), format!("{DEFAULTS}\n{own}\n{LAST}"), "{name}");
    }
}

#[test]
fn an_agent_looks_on_the_wire_as_clients_read_it() {
    let desk = Desk::new().in_project(
        "opencode.json",
        r#"{"agent": {"title": {"top_p": 1, "model": "a/b/c", "variant": "high", "color": "info", "steps": 4, "description": "D"}}}"#,
    );

    let wire = serde_json::to_value(agents(&desk).get("title").unwrap()).unwrap();

    let keys: Vec<_> = wire.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(
        keys,
        [
            "name",
            "description",
            "mode",
            "native",
            "hidden",
            "topP",
            "temperature",
            "color",
            "permission",
            "model",
            "variant",
            "prompt",
            "options",
            "steps"
        ]
    );
    assert_eq!(wire["model"], json!({ "providerID": "a", "modelID": "b/c" }));
    assert_eq!((wire["topP"].to_string(), &wire["temperature"]), ("1".to_owned(), &json!(0.5)));
    let plain = serde_json::to_value(agents(&Desk::new()).get("general").unwrap()).unwrap();
    let keys: Vec<_> = plain.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys, ["name", "description", "mode", "native", "permission", "options"]);
}

#[test]
fn the_configuration_changes_adds_and_removes_agents() {
    let desk = Desk::new().in_project(
        "opencode.json",
        r#"{
        "permission": { "bash": "ask" },
        "tools": { "write": false },
        "agent": {
            "general": { "disable": true },
            "build": { "temperature": 0.7, "options": { "a": { "b": 1 } }, "reasoningEffort": "high" },
            "reviewer": { "description": "Reads", "prompt": "Read.", "maxSteps": 9, "tools": { "bash": false }, "permission": { "read": { "~/x": "deny" } } } } }"#,
    );

    let agents = agents(&desk);

    assert!(agents.get("general").is_none());
    let build = agents.get("build").unwrap();
    assert_eq!(build.temperature, Some(0.7));
    assert_eq!(Value::Object(build.options.clone()), json!({ "a": { "b": 1 }, "reasoningEffort": "high" }));
    let reviewer = agents.get("reviewer").unwrap();
    assert_eq!((reviewer.mode, reviewer.native, reviewer.steps), (Mode::All, None, Some(9)));
    let home = desk.home().display().to_string();
    let expected = format!("{DEFAULTS}\nedit * deny\nbash * ask\nbash * deny\nread {home}/x deny\n{LAST}");
    assert_eq!(rules(reviewer, &desk), expected);
}

#[test]
fn markdown_files_are_agents() {
    let desk = Desk::new()
        .at_home(".config/opencode/agent/mine.md", "---\ndescription: of the user\nmode: subagent\n---\nFrom home.\n")
        .in_project(
            ".opencode/agents/team/reader.md",
            "---\ndescription: Use when: something breaks\nmodel: a/b\ntemperature: 0.1\npermission:\n  edit: deny\n  bash:\n    \"git *\": allow\ntools:\n  webfetch: false\n---\n\nYou read.\n\n---\nStill the prompt.\n",
        )
        .in_project(".opencode/agent/mine.md", "---\ncolor: accent\n---\n")
        .in_project(".opencode/mode/calm.md", "Be calm.");

    let agents = agents(&desk);

    let reader = agents.get("team/reader").unwrap();
    assert_eq!(reader.description.as_deref(), Some("Use when: something breaks"));
    assert_eq!(reader.prompt.as_deref(), Some("You read.\n\n---\nStill the prompt."));
    assert_eq!((reader.temperature, reader.mode), (Some(0.1), Mode::All));
    assert!(rules(reader, &desk).contains("webfetch * deny\nedit * deny\nbash git * allow"));
    let mine = agents.get("mine").unwrap();
    assert_eq!((mine.color.as_deref(), mine.prompt.as_deref()), (Some("accent"), Some("From home.")));
    assert_eq!(mine.mode, Mode::Subagent);
    assert_eq!(agents.get("calm").unwrap().mode, Mode::Primary);
}

#[test]
fn a_broken_head_names_its_file() {
    let desk = Desk::new().in_project(".opencode/agent/bad.md", "---\nmodel: [a\n---\nText");

    let error = desk.try_load().unwrap_err();

    let path = desk.worktree().join(".opencode/agent/bad.md").display().to_string();
    assert_eq!((&error.body()["name"], error.path()), (&json!("ConfigFrontmatterError"), path.as_str()));
}

#[test]
fn a_wrong_value_in_a_head_names_its_file() {
    let desk = Desk::new().in_project(".opencode/agent/bad.md", "---\nmode: boss\n---\nText");

    let error = desk.try_load().unwrap_err();

    let ConfigError::Invalid { path, issues } = error else { panic!("{error}") };
    assert!(path.ends_with("bad.md"));
    assert_eq!(issues[0].path, ["agent", "bad", "mode"]);
}

#[test]
fn the_default_agent_comes_first() {
    let desk = Desk::new().in_project("opencode.json", r#"{"default_agent": "plan"}"#);

    let agents = agents(&desk);

    assert_eq!(agents.default_agent().unwrap().name, "plan");
    let order: Vec<_> = agents.visible().map(|agent| agent.name.as_str()).collect();
    assert_eq!(order, ["plan", "build", "explore", "general"]);
}

#[test]
fn a_default_that_cannot_lead_is_an_error_for_those_who_need_it() {
    for (name, word) in [("nobody", "no agent"), ("general", "subagent"), ("title", "hidden")] {
        let desk = Desk::new().in_project("opencode.json", &format!("{{\n\"default_agent\": \"{name}\"}}"));

        let agents = agents(&desk);

        assert_eq!(agents.all().len(), 7, "the others go on working");
        let ConfigError::Invalid { path, issues } = agents.default_agent().unwrap_err() else { panic!() };
        assert!(path.ends_with("opencode.json") && issues[0].message.contains(word), "{issues:?}");
        assert_eq!((issues[0].path.join("."), issues[0].line), ("default_agent".to_owned(), Some(2)));
    }
}

#[test]
fn without_build_the_next_agent_leads() {
    let desk = Desk::new().in_project("opencode.json", r#"{"agent": {"build": {"disable": true}}}"#);

    assert_eq!(agents(&desk).default_agent().unwrap().name, "plan");
}

#[test]
fn a_model_without_a_provider_is_refused() {
    let desk = Desk::new().in_project("opencode.json", r#"{"agent": {"build": {"model": "gpt"}}}"#);

    let error = Agents::build(&desk.load()).unwrap_err();

    assert!(error.to_string().contains("agent.build.model"), "{error}");
}

#[test]
fn an_explicit_no_to_saved_output_is_kept() {
    let desk = Desk::new();
    let outputs = desk.home().join(".local/share/sturdy/tool-output/*").display().to_string();
    let config = json!({ "permission": { "external_directory": { outputs.clone(): "deny" } } });
    let desk = desk.in_project("opencode.json", &config.to_string());

    let agents = agents(&desk);

    let last = agents.get("build").unwrap().permission.last().unwrap().clone();
    assert_eq!((last.pattern, json!(last.action)), (outputs, json!("deny")));
}

#[test]
fn skills_may_be_read_where_they_stand() {
    let desk =
        Desk::new().at_home(".claude/skills/pdf/SKILL.md", "---\nname: pdf\ndescription: d\n---\nText");

    let agents = agents(&desk);

    let pattern = desk.home().join(".claude/skills/pdf/*").display().to_string();
    assert!(agents.get("build").unwrap().permission.iter().any(|rule| rule.pattern == pattern));
}
