//! Permission rules: of those that match, the last wins.
//!
//! A rule names a permission and a pattern, both with wildcards. [`judge`] looks at everything a
//! tool is about to do; one forbidden pattern forbids it all. What a person allowed "always" is
//! kept apart from the rules: it answers what a rule would ask, and never what a rule forbids.
//!
//! Not here: asking (the turn), and what a tool asks for (`sturdy-worktree`).

mod call;

pub use call::CallRules;

use crate::types::session::{Action, Rule, Session};
use serde_json::Value;

/// What the rules say about one ask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Allow,
    Ask,
    /// With the rules that speak of this permission, for the model to see.
    Deny(Vec<Rule>),
}

/// Why a `permission` setting is not a list of rules.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    #[error("{at} is {found}, not \"allow\", \"ask\" or \"deny\"")]
    NotAnAction { at: String, found: String },

    #[error("{at} is {found}, not an action or an object of patterns")]
    NotRules { at: String, found: String },
}

/// Stands in a form for a text that is not known beforehand.
pub const UNKNOWN: char = '\0';

/// What a call wants to do, as the rules judge it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    pub permission: String,
    pub patterns: Vec<String>,
    /// Other ways to say the patterns (a command without its quotes and wrappers), with [`UNKNOWN`]
    /// for what is not known. Only rules that ask or forbid are matched against them.
    pub forms: Vec<String>,
    /// The patterns are not surely all that will happen: a rule about them alone cannot allow it.
    pub unclear: bool,
}

/// Of two verdicts, the one that allows less.
#[must_use]
pub fn stricter(one: Verdict, other: Verdict) -> Verdict {
    match (one, other) {
        (Verdict::Deny(rules), _) | (_, Verdict::Deny(rules)) => Verdict::Deny(rules),
        (Verdict::Ask, _) | (_, Verdict::Ask) => Verdict::Ask,
        (Verdict::Allow, Verdict::Allow) => Verdict::Allow,
    }
}

/// Judges an ask. All its patterns must be allowed; one that is denied decides, wherever it stands.
#[must_use]
pub fn judge(permission: &str, patterns: &[String], rules: &[Rule], approvals: &[Rule]) -> Verdict {
    let wanted =
        Wanted { permission: permission.to_owned(), patterns: patterns.to_vec(), ..Wanted::default() };
    judge_wanted(&wanted, rules, approvals)
}

/// Judges what is wanted: by its patterns, by what else they could be called, and, if they do not
/// say everything, by what the rules say about things they do not name.
#[must_use]
pub fn judge_wanted(wanted: &Wanted, rules: &[Rule], approvals: &[Rule]) -> Verdict {
    let Wanted { permission, patterns, forms, unclear } = wanted;
    let by_pattern = patterns.iter().map(|pattern| action(permission, pattern, rules));
    let by_form = forms.iter().map(|form| objection(permission, form, rules));
    let by_doubt = unclear.then(|| action_for_unclear(permission, rules));
    let all: Vec<Action> = by_pattern.clone().chain(by_form.clone()).chain(by_doubt).collect();
    if all.contains(&Action::Deny) {
        return Verdict::Deny(speaking_of(permission, rules));
    }
    let is_approved = |pattern: &String| {
        let covers = |rule: &&Rule| matches(&rule.permission, permission) && approves(&rule.pattern, pattern);
        approvals.iter().rev().find(covers).is_some_and(|rule| rule.action == Action::Allow)
    };
    let is_doubted = by_form.chain(by_doubt).any(|action| action != Action::Allow);
    let is_allowed = match is_doubted {
        true => !patterns.is_empty() && patterns.iter().all(is_approved),
        false => {
            by_pattern.zip(patterns).all(|(action, pattern)| action == Action::Allow || is_approved(pattern))
        }
    };
    if is_allowed { Verdict::Allow } else { Verdict::Ask }
}

/// What the rules have against a form. A rule for everything is about the pattern itself; a rule
/// that might match, were the unknown known, asks.
fn objection(permission: &str, form: &str, rules: &[Rule]) -> Action {
    let mut found = Action::Allow;
    for rule in rules.iter().rev().filter(|rule| matches(&rule.permission, permission)) {
        if is_for_everything(rule) {
            return found;
        }
        if matches(&rule.pattern, form) {
            return if rule.action == Action::Allow { found } else { rule.action };
        }
        if rule.action != Action::Allow && may_match(&rule.pattern, form) {
            found = Action::Ask;
        }
    }
    found
}

/// Of something that is not understood: as the rule for everything says, and a person is asked if
/// any rule after it would ask or forbid.
fn action_for_unclear(permission: &str, rules: &[Rule]) -> Action {
    let mut found = Action::Allow;
    for rule in rules.iter().rev().filter(|rule| matches(&rule.permission, permission)) {
        if is_for_everything(rule) {
            return if rule.action == Action::Allow { found } else { rule.action };
        }
        if rule.action != Action::Allow {
            found = Action::Ask;
        }
    }
    Action::Ask
}

fn is_for_everything(rule: &Rule) -> bool {
    !rule.pattern.is_empty() && rule.pattern.chars().all(|letter| letter == '*')
}

/// Whether an approval covers a pattern: the same text, or a beginning and a star at the very end.
/// A star anywhere else is a letter of what was shown. Below a directory it covers what lies
/// directly in it.
#[must_use]
pub fn approves(approval: &str, pattern: &str) -> bool {
    if approval == pattern || approval == "*" {
        return true;
    }
    if let Some(head) = approval.strip_suffix(" *") {
        return pattern.strip_prefix(head).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '));
    }
    if let Some(directory) = approval.strip_suffix("/*") {
        let below = pattern.strip_prefix(directory).and_then(|rest| rest.strip_prefix('/'));
        return below.is_some_and(|name| !name.contains('/'));
    }
    false
}

/// The action for one pattern; without a matching rule, a person is asked.
#[must_use]
pub fn action(permission: &str, pattern: &str, rules: &[Rule]) -> Action {
    decided(permission, pattern, rules).unwrap_or(Action::Ask)
}

fn decided(permission: &str, pattern: &str, rules: &[Rule]) -> Option<Action> {
    let matching = |rule: &&Rule| matches(&rule.permission, permission) && matches(&rule.pattern, pattern);
    rules.iter().rev().find(matching).map(|rule| rule.action)
}

/// The rules about a permission, whatever their pattern.
#[must_use]
pub fn speaking_of(permission: &str, rules: &[Rule]) -> Vec<Rule> {
    rules.iter().filter(|rule| matches(&rule.permission, permission)).cloned().collect()
}

/// What the answer "always" adds to the approvals.
#[must_use]
pub fn approvals_of(permission: &str, always: &[String]) -> Vec<Rule> {
    let approve = |pattern: &String| Rule {
        permission: permission.to_owned(),
        pattern: pattern.clone(),
        action: Action::Allow,
    };
    always.iter().map(approve).collect()
}

/// The checkout a session works in: where its approvals count. By path, because the id of a project can be
/// copied with the repository it stands in.
#[must_use]
pub fn checkout_of(info: &Session) -> &str {
    let below = info.path.as_deref().filter(|path| !path.is_empty());
    let above =
        below.and_then(|path| info.directory.strip_suffix(path)).and_then(|top| top.strip_suffix('/'));
    above.filter(|top| !top.is_empty()).unwrap_or(&info.directory)
}

/// A tool is hidden when the last rule about its permission forbids everything. A later rule with
/// a pattern of its own shows it again, because some calls may then be allowed.
#[must_use]
pub fn is_hidden(tool: &str, rules: &[Rule]) -> bool {
    let permission = permission_of(tool);
    let last = rules.iter().rev().find(|rule| matches(&rule.permission, permission));
    last.is_some_and(|rule| rule.pattern == "*" && rule.action == Action::Deny)
}

/// The names among `tools` that are not offered to the model.
#[must_use]
pub fn disabled_tools<'a>(tools: impl IntoIterator<Item = &'a str>, rules: &[Rule]) -> Vec<&'a str> {
    tools.into_iter().filter(|tool| is_hidden(tool, rules)).collect()
}

/// The permission a tool asks for: its own name, but for those that do the same thing.
#[must_use]
pub fn permission_of(tool: &str) -> &str {
    match tool {
        "edit" | "write" | "patch" | "multiedit" | "apply_patch" => "edit",
        "list_mcp_resources" | "list_mcp_resource_templates" | "read_mcp_resource" => "read",
        other => other,
    }
}

/// The rules of a `permission` setting, in the order they are written.
pub fn from_config(permission: &Value, home: &str) -> Result<Vec<Rule>, RuleError> {
    let map = match permission {
        Value::Null => return Ok(Vec::new()),
        Value::String(_) => return Ok(vec![rule("*", "*", permission, "permission", home)?]),
        Value::Object(map) => map,
        other => return Err(not_rules("permission", other)),
    };
    let mut rules = Vec::new();
    for (name, value) in map {
        let at = format!("permission.{name}");
        match value {
            Value::String(_) => rules.push(rule(name, "*", value, &at, home)?),
            Value::Object(patterns) => {
                for (pattern, value) in patterns {
                    rules.push(rule(name, pattern, value, &format!("{at}.{pattern}"), home)?);
                }
            }
            // An entry that another layer has taken back.
            Value::Null => {}
            other => return Err(not_rules(&at, other)),
        }
    }
    Ok(rules)
}

/// The rules of the older `tools` setting (`{name: true | false}`).
pub fn from_tools<'a>(tools: impl IntoIterator<Item = (&'a str, bool)>) -> Vec<Rule> {
    let switch = |(name, on): (&str, bool)| Rule {
        permission: permission_of(name).to_owned(),
        pattern: "*".to_owned(),
        action: if on { Action::Allow } else { Action::Deny },
    };
    tools.into_iter().map(switch).collect()
}

fn rule(permission: &str, pattern: &str, action: &Value, at: &str, home: &str) -> Result<Rule, RuleError> {
    let action = match action.as_str() {
        Some("allow") => Action::Allow,
        Some("ask") => Action::Ask,
        Some("deny") => Action::Deny,
        _ => return Err(RuleError::NotAnAction { at: at.to_owned(), found: action.to_string() }),
    };
    Ok(Rule { permission: permission.to_owned(), pattern: expand(pattern, home), action })
}

fn not_rules(at: &str, found: &Value) -> RuleError {
    RuleError::NotRules { at: at.to_owned(), found: found.to_string() }
}

/// `~`, `~/x` and `$HOME/x` name the home directory.
fn expand(pattern: &str, home: &str) -> String {
    let rest = match pattern.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => Some(rest),
        _ => pattern.strip_prefix("$HOME"),
    };
    rest.map_or_else(|| pattern.to_owned(), |rest| format!("{home}{rest}"))
}

/// Wildcards: `*` is any run of characters, line ends included; `?` is one. A pattern that ends
/// in space and `*` also matches without them: `git *` allows `git` itself.
#[must_use]
pub fn matches(pattern: &str, text: &str) -> bool {
    let letters = |text: &str| text.chars().map(same_letter).collect::<Vec<_>>();
    let pattern = letters(pattern);
    let text = letters(text);
    if let Some(head) = pattern.strip_suffix(&[' ', '*'])
        && glob(head, &text)
    {
        return true;
    }
    glob(&pattern, &text)
}

/// Whether a form with unknown parts could be a text that the pattern matches.
fn may_match(pattern: &str, form: &str) -> bool {
    let letters = |text: &str| text.chars().map(same_letter).collect::<Vec<_>>();
    let pattern = letters(pattern);
    let form = letters(form);
    let head = pattern.strip_suffix(&[' ', '*']);
    head.is_some_and(|head| could_be(head, &form)) || could_be(&pattern, &form)
}

/// Walks the form with all places of the pattern that may have been reached.
fn could_be(pattern: &[char], form: &[char]) -> bool {
    let through_stars = |reached: &mut Vec<bool>| {
        for at in 0..pattern.len() {
            if reached[at] && pattern[at] == '*' {
                reached[at + 1] = true;
            }
        }
    };
    let mut reached = vec![false; pattern.len() + 1];
    reached[0] = true;
    through_stars(&mut reached);
    for letter in form {
        let mut next = vec![false; pattern.len() + 1];
        if *letter == UNKNOWN {
            // Any text, so any later place.
            let first = reached.iter().position(|here| *here).unwrap_or(reached.len());
            next[first..].fill(true);
        } else {
            for at in 0..pattern.len() {
                match pattern[at] {
                    _ if !reached[at] => {}
                    '*' => next[at] = true,
                    wanted if wanted == '?' || wanted == *letter => next[at + 1] = true,
                    _ => {}
                }
            }
        }
        through_stars(&mut next);
        reached = next;
    }
    reached[pattern.len()]
}

fn same_letter(letter: char) -> char {
    match letter {
        '\\' => '/',
        other if cfg!(windows) => other.to_lowercase().next().unwrap_or(other),
        other => other,
    }
}

/// Greedy with one step back: on a mismatch, the latest `*` takes one letter more. So the time
/// is at most pattern times text, whatever the pattern.
fn glob(pattern: &[char], text: &[char]) -> bool {
    let mut at = 0;
    let mut here = 0;
    let mut star: Option<(usize, usize)> = None;
    while here < text.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, here));
                at += 1;
            }
            Some(letter) if *letter == '?' || *letter == text[here] => {
                at += 1;
                here += 1;
            }
            _ => {
                let Some((star_at, taken)) = star else { return false };
                star = Some((star_at, taken + 1));
                at = star_at + 1;
                here = taken + 1;
            }
        }
    }
    pattern[at..].iter().all(|letter| *letter == '*')
}
