//! What the rules of a directory say where nobody is there to be asked.
//!
//! Searches and templates are not calls of a model, but what they show and run goes to one. They pass
//! the same rules; where a rule would ask, they do without.

use super::Instance;
use super::agents::Agent;
use super::config::Settings;
use std::path::Path;
use sturdy_session::rules::{Verdict, Wanted, checkout_of, judge_wanted};
use sturdy_session::types::session::{Rule, Session};

impl Instance {
    /// Whether a file, named from the worktree's top, may be read without asking, by the rules of the
    /// agent that answers when none is named.
    #[must_use]
    pub fn may_read(&self, path: &str) -> bool {
        let wanted =
            Wanted { permission: "read".to_owned(), patterns: vec![path.to_owned()], ..Wanted::default() };
        let agent = self.agents.default_agent().ok().or_else(|| self.agents.all().first());
        agent.is_some_and(|agent| verdict(agent, &[], &wanted, &[]) == Verdict::Allow)
    }
}

/// What an agent's rules, those of a session after them, and what people approved say.
pub(crate) fn verdict(agent: &Agent, of_session: &[Rule], wanted: &Wanted, approvals: &[Rule]) -> Verdict {
    let by = |rules: &[Rule]| {
        let rules: Vec<Rule> = rules.iter().chain(of_session).cloned().collect();
        judge_wanted(wanted, &rules, approvals)
    };
    stricter(by(&agent.permission), by(&agent.floor))
}

/// The checkout a session works in, after all links: where what people approved counts. One that is gone is named as
/// it was.
pub(crate) fn real_checkout(info: &Session) -> String {
    let named = checkout_of(info);
    let real = Path::new(named).canonicalize().ok();
    real.and_then(|real| real.to_str().map(str::to_owned)).unwrap_or_else(|| named.to_owned())
}

/// Of two verdicts, the one that allows less.
pub(crate) fn stricter(one: Verdict, other: Verdict) -> Verdict {
    match (one, other) {
        (Verdict::Deny(rules), _) | (_, Verdict::Deny(rules)) => Verdict::Deny(rules),
        (Verdict::Ask, _) | (_, Verdict::Ask) => Verdict::Ask,
        (Verdict::Allow, Verdict::Allow) => Verdict::Allow,
    }
}

/// Variables that commands, formatters, MCP servers and language servers are not given.
pub(crate) fn hidden_variables(settings: &Settings) -> Vec<String> {
    let wire = settings.wire();
    let listed = wire["experimental"]["hidden_variables"].as_array();
    listed.into_iter().flatten().filter_map(|name| name.as_str().map(str::to_owned)).collect()
}
