//! Which right a request needs: the list of what a grant can be used for over HTTP. What is not listed is refused.

use crate::wire::query::Query;
use http::Method;
use http::request::Parts;
use sturdy_store::grants::Rights;

/// What a request needs, and how the audit calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Need {
    /// None: any grant will do.
    pub(crate) right: Option<Rights>,
    pub(crate) method: &'static str,
    /// Whether it is one of the uses that are counted.
    pub(crate) is_counted: bool,
}

impl Need {
    pub(crate) const READ: Self = Self::free(Rights::READ, "read");
    pub(crate) const PROMPT: Self = Self { right: Some(Rights::PROMPT), method: "prompt", is_counted: true };
    pub(crate) const STOP: Self = Self::free(Rights::PROMPT, "stop");
    pub(crate) const ASKS: Self = Self::free(Rights::ANSWER, "asks");
    pub(crate) const ANSWER: Self = Self { right: Some(Rights::ANSWER), method: "answer", is_counted: true };
    const ANY: Self = Self { right: None, method: "use", is_counted: false };

    const fn free(right: Rights, method: &'static str) -> Self {
        Self { right: Some(right), method, is_counted: false }
    }
}

/// What a request of the holder of a grant to this session needs; none: no grant allows it.
pub(crate) fn need(request: &Parts, session: &str) -> Option<Need> {
    let path: Vec<&str> = request.uri.path().split('/').skip(1).collect();
    let is_read = matches!(request.method, Method::GET | Method::HEAD);
    let is_post = request.method == Method::POST;
    match path.as_slice() {
        ["rpc"] | ["global", "health"] | ["api", "health"] => Some(Need::ANY),
        // Its own, and those made of it: the store looks.
        ["sturdy", "grant"] if is_read => Some(Need::ANY),
        ["sturdy", "grant", _] if request.method == Method::DELETE => Some(Need::ANY),
        ["sturdy", "grant", _, "narrow"] if is_post => Some(Need::ANY),
        ["sturdy", "grant", _, "audit"] if is_read => Some(Need::ANY),

        // Which session is in the body: the handler looks.
        ["sturdy", "ticket"] if is_post => Some(Need::READ),
        // A session is named by all of them, here in the query.
        ["sturdy", "blob", _] if is_read && Query::of(request).get("session") == Some(session) => {
            Some(Need::READ)
        }
        ["session", id, rest @ ..] if *id == session => of_v1(rest, is_read, is_post),
        ["api", "session", id, rest @ ..] if *id == session => of_v2(rest, is_read, is_post),
        ["sturdy", "session", id, rest @ ..] if *id == session && is_read => matches!(
            rest,
            [] | ["message", _, "diff"] | ["entries" | "outline" | "queue" | "export.html" | "export.json"]
        )
        .then_some(Need::READ),
        _ => None,
    }
}

fn of_v1(rest: &[&str], is_read: bool, is_post: bool) -> Option<Need> {
    match rest {
        [] | ["message" | "todo" | "diff"] | ["message", _] if is_read => Some(Need::READ),
        ["message" | "prompt_async"] if is_post => Some(Need::PROMPT),
        ["abort"] if is_post => Some(Need::STOP),
        _ => None,
    }
}

fn of_v2(rest: &[&str], is_read: bool, is_post: bool) -> Option<Need> {
    match rest {
        [] | ["message" | "context" | "event" | "history"] | ["message", _] if is_read => Some(Need::READ),
        ["wait"] if is_post => Some(Need::READ),
        ["prompt"] if is_post => Some(Need::PROMPT),
        ["interrupt"] if is_post => Some(Need::STOP),
        ["permission" | "question"] | ["permission", _] if is_read => Some(Need::ASKS),
        ["permission", _, "reply"] | ["question", _, "reply" | "reject"] if is_post => Some(Need::ANSWER),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
