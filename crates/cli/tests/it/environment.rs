//! What commands of the running program find in their environment.

use crate::program::{Place, Server};
use serde_json::json;

/// What a person's command prints.
fn printed(server: &Server, directory: &str, command: &str) -> String {
    let session = server.json("POST", &format!("/session?directory={directory}"), "{}");
    let path = format!("/session/{}/shell?directory={directory}", session["id"].as_str().unwrap());
    let request = json!({ "agent": "build", "command": command }).to_string();
    let answer = server.json("POST", &path, &request);
    answer["parts"][0]["state"]["output"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
}

fn settings(place: &Place, text: &str) {
    let directory = place.home().join(".config/opencode");
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join("opencode.json"), text).unwrap();
}

/// OpenCode's list of providers names variables that are keys of other programs first.
fn list_of_providers(place: &Place) {
    let list = json!({
        "github-models": {
            "id": "github-models", "name": "GitHub Models", "env": ["GITHUB_TOKEN"],
            "npm": "@ai-sdk/openai-compatible", "api": "http://127.0.0.1:9",
            "models": { "small": { "id": "small", "name": "Small" } }
        }
    });
    let directory = place.home().join(".cache/opencode");
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join("models.json"), list.to_string()).unwrap();
}

// Was: every variable that ended like a key, and every one that a list of providers names, was kept from commands.
#[test]
fn commands_get_the_users_variables_without_the_keys_of_used_providers() {
    let place = Place::new()
        .with("STRIPE_API_KEY", "of-the-user")
        .with("GITHUB_TOKEN", "of-gh")
        .with("ANTHROPIC_API_KEY", "SECRET-used")
        .with("COMPANY_TOKEN", "SECRET-configured")
        .with("OF_NO_CONCERN", "SECRET-listed")
        .with("OPENAI_API_KEY", "given-back")
        .with("STURDY_DEMO_PACE_MS", "0");
    list_of_providers(&place);
    settings(
        &place,
        r#"{
            "provider": { "company": { "npm": "@ai-sdk/openai-compatible", "models": { "m": {} },
                "options": { "baseURL": "http://127.0.0.1:9", "apiKey": "{env:COMPANY_TOKEN}" } } },
            "experimental": { "hidden_variables": ["OF_NO_CONCERN"], "visible_variables": ["OPENAI_API_KEY"] }
        }"#,
    );
    let server = place.serve(&["--log-level", "info"]);
    let project = place.project().display().to_string();

    let environment = printed(&server, &project, "env");
    server.signal("TERM");
    let (_, log) = server.ended();

    for line in ["STRIPE_API_KEY=of-the-user", "GITHUB_TOKEN=of-gh", "OPENAI_API_KEY=given-back"] {
        assert!(environment.lines().any(|found| found == line), "{line}: {environment}");
    }
    assert!(!environment.contains("SECRET") && !environment.contains("GLIBC_TUNABLES"), "{environment}");
    assert!(!environment.contains("STURDY_DEMO") && !environment.contains("HANDED_OVER"), "{environment}");
    let told: Vec<&str> = log.lines().filter(|line| line.contains("visible_variables")).collect();
    assert_eq!(told.len(), 1, "{log}");
    for name in ["ANTHROPIC_API_KEY", "COMPANY_TOKEN", "OF_NO_CONCERN"] {
        assert!(told[0].contains(name), "{}", told[0]);
    }
    assert!(!log.contains("SECRET") && !told[0].contains("STRIPE"), "{log}");
}

// Was: what one project hid, no command of the process was given any more.
#[test]
fn a_project_hides_variables_from_itself_alone_and_gives_none_back() {
    let place = Place::new().with("OF_THE_USER", "mine").with("ANTHROPIC_API_KEY", "SECRET");
    let other = place.home().join("other");
    std::fs::create_dir_all(&other).unwrap();
    std::fs::write(
        place.project().join("opencode.json"),
        r#"{ "experimental": { "hidden_variables": ["OF_THE_USER"], "visible_variables": ["ANTHROPIC_API_KEY"] } }"#,
    )
    .unwrap();
    let server = place.serve(&[]);
    let look = "echo user:$OF_THE_USER key:$ANTHROPIC_API_KEY";

    let hidden = printed(&server, &place.project().display().to_string(), look);
    let elsewhere = printed(&server, &other.display().to_string(), look);

    assert_eq!((hidden.trim(), elsewhere.trim()), ("user: key:", "user:mine key:"));
    let config = server.json("GET", "/config", "").to_string();
    assert!(config.contains("of a project has no effect"), "{config}");
}

#[test]
fn a_persons_own_command_runs_in_a_login_shell() {
    let place = Place::new();
    std::fs::write(place.home().join(".bash_profile"), "export FROM_PROFILE=read\n").unwrap();
    settings(&place, r#"{ "shell": "/bin/bash" }"#);
    let server = place.serve(&[]);

    let printed = printed(&server, &place.project().display().to_string(), "echo profile:$FROM_PROFILE");

    assert_eq!(printed.trim(), "profile:read");
}
