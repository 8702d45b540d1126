//! What the owner of a share asks of the service that keeps it, through this server: a page asks no other origin, and
//! does not need the owner's reference for it.
//!
//! Not here: shares that this store keeps itself, which the server's own routes answer.

use super::Shares;
use super::target::{SendError, Target};
use crate::error::EngineError;
use sturdy_llm::http::{ExchangeAnswer, ExchangeMethod};
use sturdy_session::id::SessionId;
use sturdy_store::outbox::Contract;

/// A request of an owner: what follows the address of the share at its service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnerRequest {
    method: ExchangeMethod,
    rest: String,
    body: Vec<u8>,
}

impl OwnerRequest {
    /// `None` if a share service has no such request for owners.
    #[must_use]
    pub fn parse(method: &str, rest: &str, body: Vec<u8>) -> Option<Self> {
        let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
        let one = path.strip_prefix("/capabilities/");
        let is_capability =
            one.is_some_and(|id| !id.is_empty() && id.chars().all(|c| c.is_ascii_alphanumeric()));
        let method = match (method, path) {
            ("POST", "/redeem" | "/capabilities" | "/rotate") => ExchangeMethod::Post,
            ("GET", "/capabilities" | "/audit" | "/readers") => ExchangeMethod::Get,
            ("PUT", "/visibility") => ExchangeMethod::Put,
            ("DELETE", _) if is_capability => ExchangeMethod::Delete,
            _ => return None,
        };
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "=&:._-%".contains(c);
        query.chars().all(is_plain).then(|| Self { method, rest: rest.to_owned(), body })
    }
}

/// What a service answered, whatever its status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceAnswer {
    pub status: u16,
    pub json: String,
}

impl Shares {
    /// Asks the service that has the share of a session, as its owner.
    pub(crate) async fn ask_service(
        &self,
        session: &SessionId,
        request: OwnerRequest,
    ) -> Result<ServiceAnswer, EngineError> {
        let link = self.share_link(session).await?.filter(|link| !link.share.is_empty());
        let link = link.ok_or_else(|| EngineError::NotShared(session.clone()))?;
        if link.target.is_empty() {
            return Err(EngineError::Bad(
                "This server keeps the share itself: use its /api/share routes".to_owned(),
            ));
        }
        if link.contract == Contract::Sync {
            let why = "The service that keeps this share does not support narrower links";
            return Err(EngineError::Bad(why.to_owned()));
        }
        let target = Target::of(&self.inner, &link);
        match target.ask_as_owner(request.method, &request.rest, request.body).await {
            Ok(answer) => understood(answer),
            Err(SendError::Later { why, .. }) => Err(EngineError::ShareUnavailable(why)),
            Err(SendError::Refused { message, .. }) => Err(EngineError::ShareUnavailable(message)),
        }
    }
}

/// What is not JSON came from something between the two.
fn understood(answer: ExchangeAnswer) -> Result<ServiceAnswer, EngineError> {
    let ExchangeAnswer { status, headers, body } = answer;
    let is_json = headers.get("content-type").is_some_and(|kind| kind.starts_with("application/json"));
    match String::from_utf8(body) {
        Ok(json) if is_json => Ok(ServiceAnswer { status, json }),
        _ => Err(EngineError::ShareUnavailable(format!("the service answered with status {status}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::OwnerRequest;

    #[test]
    fn only_what_an_owner_asks_of_a_share_is_passed_on() {
        let is_taken = |method: &str, rest: &str| OwnerRequest::parse(method, rest, Vec::new()).is_some();

        for (method, rest) in [
            ("GET", "/capabilities?actor=cap:0gXw"),
            ("GET", "/audit?after=500&actor=local"),
            ("GET", "/readers"),
            ("POST", "/capabilities"),
            ("POST", "/redeem"),
            ("POST", "/rotate"),
            ("PUT", "/visibility"),
            ("DELETE", "/capabilities/all"),
        ] {
            assert!(is_taken(method, rest), "{method} {rest}");
        }
        for (method, rest) in [
            ("GET", ""),
            ("GET", "/../other/capabilities"),
            ("GET", "/capabilities/../../secrets"),
            ("GET", "/data"),
            ("POST", "/ops"),
            ("DELETE", ""),
            ("DELETE", "/capabilities/"),
            ("DELETE", "/capabilities/a/b"),
            ("DELETE", "/capabilities/a%2Fb"),
            ("PUT", "/visibility#x"),
            ("GET", "/audit?after=1 HTTP/1.1"),
            ("PATCH", "/visibility"),
        ] {
            assert!(!is_taken(method, rest), "{method} {rest}");
        }
    }
}
