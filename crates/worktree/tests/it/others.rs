//! `todowrite`, `task`, `question`, `skill`, `invalid`, and what all tools share.

use crate::bench::{Bench, ask};
use serde_json::json;
use sturdy_worktree::tool::{Attached, Done, FailureKind, Skill, ToolFailure};
use sturdy_worktree::tools::{builtin, is_offered};

#[tokio::test]
async fn the_list_of_todos_is_replaced() {
    let bench = Bench::new();
    let todos = json!([
        { "content": "a", "status": "completed", "priority": "high" },
        { "content": "b", "status": "pending", "priority": "low" },
    ]);

    let done = bench.ok("todowrite", json!({ "todos": todos })).await;

    assert_eq!(done.title, "1 todos");
    assert_eq!(done.metadata["todos"], todos);
    assert_eq!(serde_json::from_str::<serde_json::Value>(&done.output).unwrap(), todos);
    assert_eq!(bench.todos().len(), 2);
    assert_eq!(bench.asked()[0], ask("todowrite", "*", "*"));
    assert!(bench.fails("todowrite", json!({ "todos": [{ "content": "x" }] })).await.contains("todos[0]"));
}

#[tokio::test]
async fn a_task_is_framed_for_clients() {
    let bench = Bench::new();
    let input = json!({ "description": "look", "prompt": "find it", "subagent_type": "explore" });

    let done = bench.ok("task", input).await;

    let expected = "<task id=\"ses_child\" state=\"completed\">\n<task_result>\nexplore did: find it\n</task_result>\n</task>";
    assert_eq!((done.title.as_str(), done.output.as_str()), ("look", expected));
    assert_eq!(done.metadata["sessionId"], "ses_child");
    assert_eq!(bench.asked(), [ask("task", "explore", "*")]);
}

#[tokio::test]
async fn a_question_gives_its_answers() {
    let mut bench = Bench::new();
    let input = json!({ "questions": [{
        "question": "Which?", "header": "Pick", "options": [{ "label": "A", "description": "first" }],
    }] });

    let done = bench.ok("question", input.clone()).await;

    assert_eq!(done.title, "Asked 1 question");
    assert!(done.output.contains("\"Which?\"=\"A\""));
    assert_eq!(done.metadata["answers"], json!([["A"]]));
    assert_eq!(bench.asked(), []);

    bench.world.handles.question = std::sync::Arc::new(|_| Box::pin(async { Err(ToolFailure::dismissed()) }));
    let failure = bench.run("question", input).await.unwrap_err();
    assert!(failure.text.contains("user dismissed"));
    assert_eq!(failure.kind, FailureKind::Dismissed);
}

#[tokio::test]
async fn a_skill_is_loaded_with_the_names_of_its_files() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("scripts")).unwrap();
    for name in ["SKILL.md", "b.py", "a.sh", "scripts/go.sh"] {
        std::fs::write(dir.path().join(name), "").unwrap();
    }
    let skill = Skill {
        name: "paint".to_owned(),
        description: "Paints".to_owned(),
        directory: dir.path().to_owned(),
        content: "Use a brush.".to_owned(),
    };
    let bench = Bench::with(|settings| settings.skills = vec![skill]);

    let done = bench.ok("skill", json!({ "name": "paint" })).await;

    assert!(done.output.contains("Use a brush.") && done.output.contains("a.sh</file>"), "{}", done.output);
    assert!(done.output.contains("scripts/go.sh</file>"), "{}", done.output);
    assert!(!done.output.contains("SKILL.md"));
    assert_eq!((&done.metadata["name"], &done.metadata["dir"]), (&json!("paint"), &json!(dir.path())));
    assert_eq!(bench.asked(), [ask("skill", "paint", "paint")]);
    assert!(bench.fails("skill", json!({ "name": "x" })).await.contains("Known skills: paint"));
}

#[tokio::test]
async fn a_malformed_call_is_answered() {
    let bench = Bench::new();

    let done = bench.ok("invalid", json!({ "tool": "read", "error": "not JSON" })).await;

    assert_eq!(done.output, "The call of read could not be understood: not JSON");
}

#[test]
fn every_tool_has_words_and_a_schema() {
    for tool in builtin(&[("general".to_owned(), "does anything".to_owned())]) {
        let spec = tool.spec();
        assert!(spec.description.len() > 40, "{}", spec.name);
        assert_eq!(spec.parameters["type"], "object", "{}", spec.name);
        assert_eq!(spec.parameters["$schema"], "https://json-schema.org/draft/2020-12/schema");
        assert_eq!(spec.parameters.get("additionalProperties"), None);
        for name in spec.parameters["required"].as_array().unwrap() {
            assert!(spec.parameters["properties"].get(name.as_str().unwrap()).is_some(), "{}", spec.name);
        }
    }
}

#[test]
fn models_trained_on_patches_get_patches() {
    let offered =
        |takes_patches| ["apply_patch", "edit", "write"].map(|tool| is_offered(tool, takes_patches));

    assert_eq!(offered(true), [true, false, false]);
    assert_eq!(offered(false), [false, true, true]);
}

#[test]
fn every_tool_that_can_be_called_is_offered_to_some_model() {
    let tools = builtin(&[]);
    let names = tools.iter().map(|tool| tool.spec().name.as_str());

    let never: Vec<&str> = names.filter(|name| !is_offered(name, true) && !is_offered(name, false)).collect();

    // Was: `list` and `todoread` could be called, and no model was told so.
    assert_eq!(never, ["invalid"]);
}

#[tokio::test]
async fn long_output_of_any_tool_is_cut_and_saved() {
    let bench = Bench::new();
    let prompt = "x\n".repeat(5000);

    let done = bench.ok("task", json!({ "description": "d", "prompt": prompt, "subagent_type": "a" })).await;

    assert_eq!(done.metadata["truncated"], true);
    assert!(done.output.contains("lines left out]"));
    let saved = std::fs::read_to_string(done.metadata["outputPath"].as_str().unwrap()).unwrap();
    assert!(saved.ends_with("</task>") && saved.lines().count() > 5000);
}

#[test]
fn refusals_hold_the_words_that_clients_look_for() {
    assert!(ToolFailure::rejected(None).text.contains("rejected permission"));
    let corrected = ToolFailure::rejected(Some("use tabs".to_owned())).text;
    assert!(corrected.contains("rejected permission") && corrected.contains("use tabs"));
    assert!(ToolFailure::denied(Vec::new()).text.contains("specified a rule"));
    assert_eq!(ToolFailure::aborted().text, "Tool execution aborted");
    let plain = Done::new("t", "o", json!({}));
    assert_eq!(plain.attachments, Vec::<Attached>::new());
}
