//! Commands and skills, from every place they may stand in.

use crate::desk::Desk;
use serde_json::{Value, json};
use sturdy_engine::directory::commands::{Command, Source, commands};

fn wire(desk: &Desk) -> Vec<Value> {
    commands(&desk.load(), Vec::new()).iter().map(|command| serde_json::to_value(command).unwrap()).collect()
}

fn names(commands: &[Value]) -> Vec<&str> {
    commands.iter().map(|command| command["name"].as_str().unwrap()).collect()
}

#[test]
fn the_built_in_commands_say_what_they_take() {
    let all = wire(&Desk::new());

    assert_eq!(names(&all), ["init", "review"]);
    let keys = |index: usize| all[index].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(0), ["name", "description", "source", "template", "hints"]);
    assert_eq!(keys(1), ["name", "description", "source", "template", "subtask", "hints"]);
    assert_eq!((&all[0]["hints"], &all[1]["subtask"]), (&json!(["$ARGUMENTS"]), &json!(true)));
    assert!(!all[0]["template"].as_str().unwrap().contains("{{"));
}

#[test]
fn a_configured_command_says_null_for_what_it_leaves_open() {
    let desk = Desk::new().in_project(
        "opencode.json",
        r#"{"command": {"hello": {"template": "To $2 from $1: $ARGUMENTS", "description": "Greets"}}}"#,
    );

    let all = wire(&desk);

    let text = serde_json::to_string(&all[2]).unwrap();
    let expected = r#"{"name":"hello","description":"Greets","agent":null,"model":null,"source":"command","template":"To $2 from $1: $ARGUMENTS","subtask":null,"hints":["$1","$2","$ARGUMENTS"]}"#;
    assert_eq!(text, expected);
}

#[test]
fn markdown_files_are_commands_and_may_replace_built_in_ones() {
    let desk = Desk::new()
        .in_project(
            ".opencode/command/ship/it.md",
            "---\ndescription: Ships\nagent: build\nsubtask: true\n---\nShip $1 now.\n",
        )
        .in_project(".opencode/commands/init.md", "My own.");

    let all = wire(&desk);

    assert_eq!(names(&all), ["init", "review", "ship/it"]);
    assert_eq!(all[0]["template"], json!("My own."));
    assert_eq!(
        (&all[2]["template"], &all[2]["agent"], &all[2]["hints"], &all[2]["subtask"]),
        (&json!("Ship $1 now."), &json!("build"), &json!(["$1"]), &json!(true))
    );
}

#[test]
fn prompts_of_servers_come_before_skills_and_a_skill_takes_only_a_free_name() {
    let skill = |text: &str| format!("---\ndescription: {text}\n---\nCosts $5.");
    let desk = Desk::new()
        .in_project(".opencode/skill/asked/SKILL.md", &skill("hidden by the prompt"))
        .in_project(".opencode/skill/free/SKILL.md", &skill("shown"));
    let prompt = Command::new("asked", Source::Mcp, "Of a server: $1");

    let all: Vec<Value> = commands(&desk.load(), vec![prompt])
        .iter()
        .map(|command| serde_json::to_value(command).unwrap())
        .collect();

    assert_eq!(names(&all), ["init", "review", "asked", "free"]);
    assert_eq!((&all[2]["source"], &all[2]["hints"]), (&json!("mcp"), &json!(["$1"])));
    assert_eq!((&all[3]["source"], &all[3]["hints"]), (&json!("skill"), &json!([])));
}

#[test]
fn skills_are_found_in_all_their_places_and_the_nearest_wins() {
    let skill = |name: &str, text: &str| format!("---\nname: {name}\ndescription: {text}\n---\n# {text}\n");
    let desk = Desk::new()
        .in_directory("inner")
        .at_home(".claude/skills/a/SKILL.md", &skill("a", "claude home"))
        .at_home(".agents/skills/b/SKILL.md", &skill("b", "agents home"))
        .at_home(".config/opencode/skills/c/SKILL.md", &skill("c", "config"))
        .in_project(".claude/skills/d/SKILL.md", &skill("d", "claude project"))
        .in_project(".opencode/skill/deep/down/SKILL.md", &skill("a", "project"))
        .in_project("inner/.opencode/skills/e/SKILL.md", "No head at all.")
        .in_project("inner/more/f/SKILL.md", &skill("f", "configured"))
        .in_project(".opencode/skill/bad/SKILL.md", "---\nname: [\n---\nLeft out.")
        .in_project("opencode.json", r#"{"skills": {"paths": ["./more"]}}"#);

    let settings = desk.load();

    let found: Vec<_> = settings
        .skills()
        .iter()
        .map(|skill| (skill.name.as_str(), skill.description.as_deref().unwrap_or("-")))
        .collect();
    assert_eq!(
        found,
        [
            ("a", "project"),
            ("b", "agents home"),
            ("c", "config"),
            ("d", "claude project"),
            ("e", "-"),
            ("f", "configured")
        ]
    );
    let location = desk.home().join(".config/opencode/skills/c/SKILL.md").display().to_string();
    let expected =
        json!({ "name": "c", "description": "config", "location": location, "content": "# config\n" });
    assert_eq!(serde_json::to_value(&settings.skills()[2]).unwrap(), expected);
}

#[test]
fn shared_skills_can_be_switched_off() {
    let desk = Desk::new()
        .at_home(".claude/skills/a/SKILL.md", "A")
        .at_home(".agents/skills/b/SKILL.md", "B")
        .with("OPENCODE_DISABLE_CLAUDE_CODE", "1");
    let names = |desk: &Desk| desk.load().skills().iter().map(|skill| skill.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&desk), ["b"]);

    let desk = desk.with("OPENCODE_DISABLE_EXTERNAL_SKILLS", "true");
    assert!(names(&desk).is_empty());
}
