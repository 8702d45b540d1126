//! Applies the permission rules of a directory where no person can be asked.
//!
//! Searches and templates are not calls of a model, but what they show and run goes to one. They pass
//! the same rules; where a rule would ask, they do without.

use super::Instance;
use super::agents::Agent;
use std::path::Path;
use sturdy_session::rules::{Verdict, Wanted, checkout_of, judge_wanted, stricter};
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
/// it was. Looks at the disk, which may hang: see `files.rs`.
pub(crate) fn real_checkout(info: &Session) -> String {
    let named = checkout_of(info);
    let real = Path::new(named).canonicalize().ok();
    real.and_then(|real| real.to_str().map(str::to_owned)).unwrap_or_else(|| named.to_owned())
}
