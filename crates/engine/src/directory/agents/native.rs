//! The built-in agents and their rules.

use super::{Agent, Mode};
use crate::directory::config::Settings;
use crate::directory::scratch::scratch_dir;
use std::path::{Path, PathBuf};
use sturdy_session::json::Map;
use sturdy_session::types::session::{Action, Rule};

const EXPLORE: &str = include_str!("explore.md");
const TITLE: &str = include_str!("title.md");
const SUMMARY: &str = include_str!("summary.md");
const COMPACTION: &str = include_str!("compaction.md");

const BUILD_DESCRIPTION: &str = "Does the work: reads, edits and runs what the permissions allow.";
const PLAN_DESCRIPTION: &str = "Looks and thinks, and writes a plan. Changes no other file.";
const GENERAL_DESCRIPTION: &str = "Takes on a task of several steps and reports the result. Good for research with many \
     turns, and for pieces of work that can run side by side.";
const EXPLORE_DESCRIPTION: &str = "Finds its way in a code base without changing it: files by name, code by content, \
     answers to how something works. Say how far it should look: \"quick\", \"medium\" or \"thorough\".";

/// What an agent may access outside the worktree, and where.
pub(super) struct OutsideAccess {
    /// Where long outputs of tools are kept.
    outputs: String,
    plans: PathBuf,
    /// `external_directory` of every agent.
    external: Vec<Rule>,
}

impl OutsideAccess {
    pub(super) fn of(settings: &Settings) -> Self {
        let environment = &settings.places().environment;
        let data = environment.data_dir();
        let outputs = below(&data.join("tool-output"));

        let mut external = vec![rule("external_directory", "*", Action::Ask)];
        let open = [outputs.clone(), below(&scratch_dir(environment))];
        let skills = settings.skills().iter().map(|skill| below(&skill.directory()));
        for pattern in open.into_iter().chain(skills) {
            external.push(rule("external_directory", &pattern, Action::Allow));
        }
        Self { outputs, plans: data.join("plans"), external }
    }
}

/// The built-in agents, in the order in which a default is looked for.
pub(super) fn agents(settings: &Settings, configured: &[Rule], grounds: &OutsideAccess) -> Vec<Agent> {
    use Action::{Allow, Deny};
    let with = |own: Vec<Rule>| {
        let mut rules = defaults(grounds);
        rules.extend(own);
        rules.extend(configured.iter().cloned());
        rules
    };
    let nothing = || with(vec![rule("*", "*", Deny)]);

    let build = Agent {
        description: Some(BUILD_DESCRIPTION.to_owned()),
        ..native(
            "build",
            Mode::Primary,
            with(vec![rule("question", "*", Allow), rule("plan_enter", "*", Allow)]),
        )
    };
    let plan = Agent {
        description: Some(PLAN_DESCRIPTION.to_owned()),
        ..native("plan", Mode::Primary, with(plan_rules(grounds, &settings.places().worktree)))
    };
    let general = Agent {
        description: Some(GENERAL_DESCRIPTION.to_owned()),
        ..native("general", Mode::Subagent, with(vec![rule("todowrite", "*", Deny)]))
    };
    let explore = Agent {
        description: Some(EXPLORE_DESCRIPTION.to_owned()),
        prompt: Some(EXPLORE.trim().to_owned()),
        ..native("explore", Mode::Subagent, with(explore_rules(grounds)))
    };
    let silent = |name, prompt: &str| Agent {
        hidden: Some(true),
        prompt: Some(prompt.trim().to_owned()),
        ..native(name, Mode::Primary, nothing())
    };
    let title = Agent { temperature: Some(0.5), ..silent("title", TITLE) };
    vec![build, plan, general, explore, silent("compaction", COMPACTION), title, silent("summary", SUMMARY)]
}

/// An agent of which the configuration says the rest.
pub(super) fn unknown(name: &str, configured: &[Rule], grounds: &OutsideAccess) -> Agent {
    let mut rules = defaults(grounds);
    rules.extend(configured.iter().cloned());
    Agent { native: None, ..native(name, Mode::All, rules) }
}

/// Every agent may read what its own tools were too long to say, unless that very thing is forbidden.
pub(super) fn open_saved_output(agent: &mut Agent, grounds: &OutsideAccess) {
    let outputs = &grounds.outputs;
    let forbids = |rule: &Rule| {
        rule.permission == "external_directory" && rule.pattern == *outputs && rule.action == Action::Deny
    };
    if !agent.permission.iter().any(forbids) {
        agent.permission.push(rule("external_directory", outputs, Action::Allow));
    }
}

fn native(name: &str, mode: Mode, permission: Vec<Rule>) -> Agent {
    Agent {
        name: name.to_owned(),
        description: None,
        mode,
        native: Some(true),
        hidden: None,
        top_p: None,
        temperature: None,
        color: None,
        permission,
        floor: Vec::new(),
        model: None,
        variant: None,
        prompt: None,
        options: Map::new(),
        steps: None,
    }
}

fn defaults(grounds: &OutsideAccess) -> Vec<Rule> {
    use Action::{Allow, Ask, Deny};
    // Files that say what runs are not changed like others.
    let mut rules = vec![
        allow_all(),
        rule("doom_loop", "*", Ask),
        rule("settings", "*", Ask),
        // What answers on this machine trusts whoever is on it.
        rule("private_network", "*", Ask),
    ];
    rules.extend(grounds.external.iter().cloned());
    rules.extend([
        rule("question", "*", Deny),
        rule("plan_enter", "*", Deny),
        rule("plan_exit", "*", Deny),
        // Files that usually hold keys.
        rule("read", "*", Allow),
        rule("read", "*.env", Ask),
        rule("read", "*.env.*", Ask),
        rule("read", "*.env.example", Allow),
    ]);
    rules
}

/// Before anybody has said anything.
pub(super) fn allow_all() -> Rule {
    rule("*", "*", Action::Allow)
}

/// Those of the defaults that ask. A project that allows the same waits for trust.
pub(super) fn asked_by_default() -> Vec<Rule> {
    ["doom_loop", "settings", "external_directory", "private_network"]
        .map(|permission| rule(permission, "*", Action::Ask))
        .into_iter()
        .chain(["*.env", "*.env.*"].map(|pattern| rule("read", pattern, Action::Ask)))
        .collect()
}

fn plan_rules(grounds: &OutsideAccess, worktree: &Path) -> Vec<Rule> {
    use Action::{Allow, Deny};
    vec![
        rule("question", "*", Allow),
        rule("plan_exit", "*", Allow),
        // An agent that may edit, called by one that may not, would be a way around.
        rule("task", "general", Deny),
        rule("external_directory", &below(&grounds.plans), Allow),
        rule("edit", "*", Deny),
        rule("edit", ".opencode/plans/*.md", Allow),
        rule("settings", ".opencode/plans/*.md", Allow),
        rule("edit", &format!("{}/*.md", relative(worktree, &grounds.plans)), Allow),
    ]
}

fn explore_rules(grounds: &OutsideAccess) -> Vec<Rule> {
    let mut rules = vec![rule("*", "*", Action::Deny)];
    for tool in ["grep", "glob", "list", "bash", "webfetch", "websearch", "read"] {
        rules.push(rule(tool, "*", Action::Allow));
    }
    rules.push(rule("private_network", "*", Action::Ask));
    rules.extend(grounds.external.iter().cloned());
    rules
}

fn rule(permission: &str, pattern: &str, action: Action) -> Rule {
    Rule { permission: permission.to_owned(), pattern: pattern.to_owned(), action }
}

fn below(dir: &Path) -> String {
    format!("{}/*", dir.display())
}

/// The way from one absolute directory to another, as `edit` names files: relative to the worktree.
fn relative(from: &Path, to: &Path) -> String {
    let shared = from.components().zip(to.components()).take_while(|(a, b)| a == b).count();
    let up = from.components().skip(shared).map(|_| "..".to_owned());
    let down = to.components().skip(shared).map(|part| part.as_os_str().to_string_lossy().into_owned());
    up.chain(down).collect::<Vec<_>>().join("/")
}
