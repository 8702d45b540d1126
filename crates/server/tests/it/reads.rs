//! What clients read when they start.

use crate::world::World;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

/// Everything a terminal client reads at its start, in its order.
const TERMINAL: [&str; 26] = [
    "/path",
    "/project/current",
    "/project/global/directories",
    "/config/providers",
    "/provider",
    "/agent",
    "/config",
    "/experimental/capabilities",
    "/experimental/console",
    "/session?start=1&path=",
    "/command",
    "/lsp",
    "/mcp",
    "/experimental/resource",
    "/formatter",
    "/session/status",
    "/provider/auth",
    "/vcs",
    "/experimental/workspace",
    "/experimental/workspace/status",
    "/api/location",
    "/api/agent",
    "/api/integration",
    "/api/model?location[directory]=%2Fsrv%2Fproject&",
    "/api/provider",
    "/api/reference",
];
/// And what the other clients read besides.
const OTHERS: [&str; 12] = [
    "/global/health",
    "/api/health",
    "/api/session?limit=5000&order=desc",
    "/global/config",
    "/project",
    "/permission",
    "/question",
    "/skill",
    "/api/command",
    "/api/skill",
    "/experimental/session",
    "/pty",
];

fn git(directory: &Path, arguments: &[&str]) {
    let identity =
        ["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "init.defaultBranch=main"];
    let status =
        Command::new("git").current_dir(directory).args(identity).args(arguments).output().unwrap().status;
    assert!(status.success(), "git {arguments:?}");
}

#[tokio::test]
async fn every_read_of_a_starting_client_succeeds() {
    let world = World::new().await;
    for path in TERMINAL.into_iter().chain(OTHERS) {
        let answer = world.get(path).await;
        assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/json")), "{path}");
        answer.json();
    }
}

#[tokio::test]
async fn short_answers_are_exactly_what_clients_know() {
    let world = World::new().await;
    let cases: [(&str, Value); 15] = [
        ("/global/health", json!({ "healthy": true, "version": "1.18.33" })),
        ("/api/health", json!({ "healthy": true })),
        ("/experimental/capabilities", json!({ "backgroundSubagents": false })),
        ("/experimental/console", json!({ "consoleManagedProviders": [], "switchableOrgCount": 0 })),
        ("/experimental/console/orgs", json!({ "orgs": [] })),
        ("/experimental/resource", json!({})),
        ("/experimental/workspace", json!([])),
        ("/mcp", json!({})),
        ("/lsp", json!([])),
        ("/formatter", json!([])),
        ("/permission", json!([])),
        ("/question", json!([])),
        ("/session/status", json!({})),
        ("/provider/auth", json!({})),
        ("/api/permission/saved", json!({ "data": [] })),
    ];
    for (path, body) in cases {
        assert_eq!(world.get(path).await.both(), (200, body), "{path}");
    }
}

#[tokio::test]
async fn paths_are_those_of_the_servers_machine() {
    let world = World::new().await;
    let home = world.root.path().join("home");

    let path = world.get("/path").await.json();

    assert_eq!(
        path,
        json!({
            "home": home, "state": home.join(".local/state/opencode"), "config": home.join(".config/opencode"),
            "worktree": "/", "directory": world.project(),
        })
    );
}

#[tokio::test]
async fn a_directory_is_chosen_by_query_or_header_plain_or_encoded() {
    let world = World::new().await;
    let spaced = world.root.path().join("with space");
    let plain = spaced.display().to_string();
    let encoded = plain.replace('/', "%2F").replace(' ', "%20");
    let twice = encoded.replace('%', "%25");
    let directory = |answer: Value| answer["directory"].as_str().unwrap().to_owned();

    for query in [plain.replace(' ', "%20"), encoded.clone(), twice, plain.replace(' ', "+")] {
        assert_eq!(directory(world.get(&format!("/path?directory={query}")).await.json()), plain);
    }
    for header in [plain.clone(), encoded.clone()] {
        let request = world.request("GET", "/path").header("x-opencode-directory", header);
        assert_eq!(directory(request.send().await.unwrap().json().await.unwrap()), plain);
    }
    // The query wins over the header, the server's own directory comes last.
    let request =
        world.request("GET", &format!("/path?directory={encoded}")).header("x-opencode-directory", "/srv");
    assert_eq!(directory(request.send().await.unwrap().json().await.unwrap()), plain);
    assert_eq!(directory(world.get("/path?directory=").await.json()), world.project().display().to_string());
    // Location routes read their own name, and only that.
    let location =
        world.get(&format!("/api/location?location[directory]={encoded}&directory=/srv&")).await.json();
    assert_eq!(directory(location), plain);
    let plainly = world.get("/api/location?directory=/srv").await.json();
    assert_eq!(directory(plainly), world.project().display().to_string());
}

#[tokio::test]
async fn a_repository_is_a_project_with_a_branch() {
    let world = World::new().await;
    let project = world.project();
    git(&project, &["init", "-q"]);
    git(&project, &["commit", "-q", "--allow-empty", "-m", "first"]);
    git(&project, &["checkout", "-q", "-b", "topic"]);

    let current = world.get("/project/current").await.json();
    let id = current["id"].as_str().unwrap();

    assert_eq!((&current["vcs"], &current["worktree"]), (&json!("git"), &json!(project)));
    assert_eq!(id.len(), 40);
    assert_eq!(world.get("/vcs").await.json(), json!({ "branch": "topic", "default_branch": "main" }));
    assert_eq!(
        world.get(&format!("/project/{id}/directories")).await.json(),
        json!([{ "directory": project }])
    );
    assert_eq!(world.get("/project").await.json(), json!([current]));
    let location = world.get("/api/location").await.json();
    assert_eq!(location, json!({ "directory": project, "project": { "id": id, "directory": project } }));
}

#[tokio::test]
async fn outside_a_repository_everything_is_one_project() {
    let world = World::new().await;
    let current = world.get("/project/current").await.json();
    assert_eq!((&current["id"], &current["worktree"]), (&json!("global"), &json!("/")));
    assert_eq!(world.get("/vcs").await.json(), json!({ "branch": null, "default_branch": null }));
    assert_eq!(world.get("/project/global/directories").await.json(), json!([]));
    assert_eq!(world.get("/project/nosuch/directories").await.json(), json!([]));
}

#[tokio::test]
async fn providers_say_which_can_be_used_and_never_their_keys() {
    let world = World::new().await;
    let config = json!({ "provider": { "acme": {
        "name": "Acme", "npm": "@ai-sdk/openai-compatible",
        "options": { "apiKey": "sk-very-secret", "baseURL": "http://127.0.0.1:9/v1" },
        "models": { "main": { "name": "Main" } },
    } } });
    std::fs::write(world.project().join("opencode.json"), config.to_string()).unwrap();

    let usable = world.get("/config/providers").await.json();
    let all = world.get("/provider").await.json();

    let names: Vec<_> =
        usable["providers"].as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap()).collect();
    assert!(names.contains(&"acme") && names.contains(&"demo"), "{names:?}");
    assert_eq!(usable["default"]["acme"], "main");
    assert_eq!(usable["default"].as_object().unwrap().len(), names.len());
    assert_eq!(all["connected"].as_array().unwrap().len(), names.len());
    assert!(all["all"].as_array().unwrap().len() >= names.len());
    for path in ["/config", "/config/providers", "/provider", "/api/model", "/api/provider", "/global/config"]
    {
        assert!(!world.get(path).await.text.contains("sk-very-secret"), "{path}");
    }
}

#[tokio::test]
async fn agents_and_commands_come_from_the_directorys_configuration() {
    let world = World::new().await;
    let config = json!({
        "command": { "hello": { "template": "Say hello to $ARGUMENTS", "description": "Greets" } },
        "agent": { "careful": { "description": "Looks twice", "mode": "primary" } },
    });
    std::fs::write(world.other().join("opencode.json"), config.to_string()).unwrap();
    let other = world.other().display().to_string();

    let agents = world.get(&format!("/agent?directory={other}")).await.json();
    let commands = world.get(&format!("/command?directory={other}")).await.json();

    assert_eq!(agents[0]["name"], "build");
    assert!(agents.as_array().unwrap().iter().any(|agent| agent["name"] == "careful"));
    let hello = commands.as_array().unwrap().iter().find(|command| command["name"] == "hello").unwrap();
    assert_eq!((&hello["hints"], &hello["description"]), (&json!(["$ARGUMENTS"]), &json!("Greets")));
    let here = world.get("/command").await.json();
    assert!(!here.as_array().unwrap().iter().any(|command| command["name"] == "hello"));
}

#[tokio::test]
async fn a_broken_configuration_is_told_and_spoils_no_other_directory() {
    let world = World::new().await;
    std::fs::write(world.other().join("opencode.json"), "{ nonsense").unwrap();
    std::fs::write(world.root.path().join("home").join("x"), "").unwrap();
    let other = world.other().display().to_string();

    let (status, body) = world.get(&format!("/config?directory={other}")).await.both();

    assert_eq!((status, &body["name"]), (400, &json!("ConfigJsonError")));
    assert!(body["data"]["path"].as_str().unwrap().ends_with("other/opencode.json"), "{body}");
    assert_eq!(world.get(&format!("/agent?directory={other}")).await.status, 400);
    assert_eq!(world.get("/config").await.status, 200);
}

#[tokio::test]
async fn sessions_of_all_projects_are_listed_with_their_project_and_a_cursor() {
    let world = World::new().await;
    let other = world.other();
    git(&other, &["init", "-q"]);
    git(&other, &["commit", "-q", "--allow-empty", "-m", "first"]);
    let here = world.session().await;
    let there =
        world.send("POST", &format!("/session?directory={}", other.display()), &json!({})).await.json();
    let archived = world.session().await;
    world.send("PATCH", &format!("/session/{archived}"), &json!({ "time": { "archived": 1 } })).await;

    let list = world.get("/experimental/session").await.json();
    let first = world.get("/experimental/session?limit=1").await;

    let found: Vec<_> = list
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["id"].clone(), one["project"]["worktree"].clone()))
        .collect();
    assert_eq!(found.len(), 2);
    assert!(found.contains(&(json!(here), json!("/"))));
    assert!(found.contains(&(there["id"].clone(), json!(other))));
    let cursor = first.header("x-next-cursor").unwrap();
    assert_eq!(first.json()[0]["time"]["updated"].to_string(), cursor);
    assert_eq!(world.get("/experimental/session?archived=true").await.json().as_array().unwrap().len(), 3);
    assert_eq!(world.get("/experimental/session").await.header("x-next-cursor"), None);
}
