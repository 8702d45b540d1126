//! Everything that one call is judged by, as a value.

use super::{Verdict, Wanted, judge_wanted, stricter};
use crate::types::session::Rule;

/// The rules of a call, as they are when it asks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallRules {
    /// Of its agent and its session.
    pub rules: Vec<Rule>,
    /// No call is judged more loosely than by these: what a project allows counts only as far as the person's own
    /// rules do.
    pub floor: Vec<Rule>,
    /// What people allowed with "always".
    pub approvals: Vec<Rule>,
    /// Agents that the user named in the prompt: giving them work is not asked about.
    pub named_agents: Vec<String>,
}

impl CallRules {
    #[must_use]
    pub fn judge(&self, wanted: &Wanted) -> Verdict {
        let is_named = |name: &String| self.named_agents.contains(name);
        if wanted.permission == "task" && wanted.patterns.iter().all(is_named) {
            return Verdict::Allow;
        }
        let by = |rules: &[Rule]| judge_wanted(wanted, rules, &self.approvals);
        stricter(by(&self.rules), by(&self.floor))
    }
}
