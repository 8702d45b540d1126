//! Instructions in their order, and the text a model begins with.

use crate::desk::Desk;
use sturdy_engine::directory::context::{AnsweringModel, Inputs, Reference, Workplace, system};
use sturdy_engine::directory::instructions::{self, Instruction};
use sturdy_engine::directory::skills::Skill;
use sturdy_llm::catalog::PromptStyle;
use sturdy_worktree::tools::NamedBy;

/// Sources relative to the desk, with the first line of each text.
fn sources(desk: &Desk) -> Vec<(String, String)> {
    let root = desk.worktree().parent().unwrap().display().to_string();
    let short = |found: Instruction| {
        let source = found.source.replace(&root, "").trim_start_matches('/').to_owned();
        (source, found.text.lines().next().unwrap_or_default().to_owned())
    };
    instructions::read(&desk.load()).into_iter().map(short).collect()
}

fn paths(desk: &Desk) -> Vec<String> {
    sources(desk).into_iter().map(|(source, _)| source).collect()
}

#[test]
fn the_first_name_found_decides_and_all_of_that_name_count() {
    let desk = Desk::new()
        .in_directory("a/b")
        .at_home(".config/opencode/AGENTS.md", "mine")
        .at_home(".claude/CLAUDE.md", "not read beside the other")
        .in_project("AGENTS.md", "top")
        .in_project("a/b/AGENTS.md", "near")
        .in_project("a/CLAUDE.md", "another name");

    let expected = [
        ("home/.config/opencode/AGENTS.md", "mine"),
        ("project/a/b/AGENTS.md", "near"),
        ("project/AGENTS.md", "top"),
    ];
    assert_eq!(sources(&desk), expected.map(|(path, text)| (path.to_owned(), text.to_owned())));
}

#[test]
fn files_of_other_programs_are_read_where_ours_are_missing() {
    let desk = Desk::new()
        .at_home(".claude/CLAUDE.md", "home")
        .in_project("CLAUDE.md", "project")
        .in_project("CONTEXT.md", "x");
    assert_eq!(paths(&desk), ["home/.claude/CLAUDE.md", "project/CLAUDE.md"]);

    let desk = desk.with("OPENCODE_DISABLE_CLAUDE_CODE", "1");
    assert_eq!(paths(&desk), ["project/CONTEXT.md"]);
}

#[test]
fn files_above_the_worktree_are_not_read() {
    let desk = Desk::new();
    std::fs::write(desk.worktree().parent().unwrap().join("AGENTS.md"), "outside").unwrap();

    assert!(paths(&desk).is_empty());
}

#[test]
fn configured_instructions_are_paths_patterns_and_addresses() {
    let desk = Desk::new()
        .in_directory("inner")
        .at_home("notes/one.md", "1")
        .at_home("notes/two.txt", "no")
        .in_project("AGENTS.md", "top")
        .in_project("docs/rules/a.md", "a")
        .in_project("docs/rules/deep/b.md", "b")
        .in_project("node_modules/x/docs/rules/c.md", "no")
        .in_project("STYLE.md", "style")
        .in_project(
            "opencode.json",
            r#"{"instructions": ["~/notes/*.md", "docs/rules/*.md", "docs/**/*.md", "STYLE.md", "AGENTS.md", "gone.md", "https://example.test/rules.md"]}"#,
        );

    assert_eq!(
        paths(&desk),
        [
            "project/AGENTS.md",
            "home/notes/one.md",
            "project/docs/rules/a.md",
            "project/docs/rules/deep/b.md",
            "project/STYLE.md"
        ]
    );
    let address = "https://example.test/rules.md".to_owned();
    assert_eq!(instructions::addresses(&desk.load()), [(address, NamedBy::Project)]);
}

#[test]
fn outside_a_repository_a_pattern_is_looked_for_in_the_directory_only() {
    let desk = Desk::new()
        .without_git()
        .in_directory("inner")
        .in_project("x/a.md", "not here")
        .in_project("inner/x/b.md", "here")
        .in_project("inner/opencode.json", r#"{"instructions": ["x/*.md"]}"#);

    assert_eq!(paths(&desk), ["project/inner/x/b.md"]);
}

#[test]
fn a_book_is_cut_and_says_so() {
    let desk = Desk::new().in_project("AGENTS.md", &"ä".repeat(400_000));

    let found = instructions::read(&desk.load());

    assert!(found[0].text.len() < 300_000 && found[0].text.ends_with("it is too long.]"));
}

fn inputs<'a>() -> Inputs<'a> {
    Inputs {
        agent_prompt: Some("You test."),
        model: AnsweringModel {
            name: "Main",
            provider_id: "acme",
            model_id: "main",
            voice: PromptStyle::Plain,
        },
        place: Workplace {
            directory: "/w/d",
            worktree: "/w",
            is_git: true,
            platform: "linux",
            scratch: "/tmp/sturdy-1",
            temporary: "/tmp",
            date: "Sunday, 2026-11-15",
        },
        ..Inputs::default()
    }
}

#[test]
fn the_text_has_its_parts_in_order_and_nothing_empty() {
    let skill = |name: &str, description: Option<&str>| Skill {
        name: name.to_owned(),
        description: description.map(str::to_owned),
        location: "/s/SKILL.md".to_owned(),
        content: "the content is not part of it".to_owned(),
    };
    let references =
        [Reference { name: "lib".to_owned(), path: "/lib".to_owned(), description: "a\nb".to_owned() }];
    let instructions = [Instruction { source: "/w/AGENTS.md".to_owned(), text: "Be kind.\n".to_owned() }];
    let servers = [("db".to_owned(), "Ask first.".to_owned()), ("silent".to_owned(), " ".to_owned())];
    let skills = [skill("pdf", Some("Reads\n  pages")), skill("bare", None)];

    let text = system(&Inputs {
        references: &references,
        instructions: &instructions,
        servers: &servers,
        skills: Some(&skills),
        user_system: Some("Only today."),
        ..inputs()
    });

    let expected = "\
You test.
You are the model Main, id acme/main. This is where you work:
<env>
  directory: /w/d
  worktree: /w
  git repository: yes
  platform: linux
  scratch directory: /tmp/sturdy-1
  temporary directory: /tmp
  date: Sunday, 2026-11-15
</env>
Beside the worktree you may read these directories:
<references>
- lib (/lib): a b
</references>
Instructions from: /w/AGENTS.md
Be kind.
<mcp_instructions>
What the connected MCP servers say about their use:
## db
Ask first.
</mcp_instructions>
These skills hold directions for particular kinds of work. When one fits what you are about to do, load it with the skill \
tool first:
<skills>
- pdf: Reads pages
- bare: no description
</skills>
Only today.";
    assert_eq!(text, expected);
}

#[test]
fn empty_sections_are_left_out_of_the_system_text() {
    let text = system(&Inputs { skills: Some(&[]), user_system: Some(""), ..inputs() });

    assert!(text.ends_with("</env>") && !text.contains("skills"), "{text}");
}

#[test]
fn an_object_is_asked_for_before_the_words_of_the_prompt() {
    let text = system(&Inputs { structured: true, user_system: Some("Last."), ..inputs() });

    assert!(text.ends_with("is read.\nLast.") && text.contains("StructuredOutput"));
}

#[test]
fn each_family_gets_its_own_words_behind_the_common_ones() {
    let text = |voice: PromptStyle| {
        let model = AnsweringModel { name: "M", provider_id: "acme", model_id: "m", voice };
        let text = system(&Inputs { agent_prompt: None, model, ..inputs() });
        text.split("\nYou are the model").next().unwrap().to_owned()
    };
    let base = text(PromptStyle::Plain);
    let families = [
        PromptStyle::Muse,
        PromptStyle::Persist,
        PromptStyle::Codex,
        PromptStyle::Gpt,
        PromptStyle::Gemini,
        PromptStyle::Claude,
        PromptStyle::Trinity,
        PromptStyle::Kimi,
    ];

    let mut texts: Vec<String> = families.into_iter().map(text).collect();

    assert!(texts.iter().all(|text| text.starts_with(&base) && text.len() > base.len()));
    texts.sort();
    texts.dedup();
    assert_eq!(texts.len(), families.len());
}
