//! Who asks: found out once per request, at the edge.

use crate::access::grants::{Granted, need};
use crate::access::tokens::{Scope, Token};
use http::request::Parts;
use std::fmt;
use std::net::IpAddr;

/// Prints as it is written beside what the caller changed: a kind and a name, never a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Caller {
    /// The server has no password: whoever reaches it may use it.
    Anyone,
    /// Somebody who knows the password.
    User(String),
    /// A browser that is logged in.
    Device(String),
    /// A program with a token.
    Token { id: String, scopes: Vec<Scope> },
    /// Somebody with a narrow right to one session.
    Grant(Granted),
    /// A ticket for one terminal.
    Ticket,
}

impl Caller {
    pub(crate) fn token(token: Token) -> Self {
        Self::Token { id: token.id, scopes: token.scopes }
    }

    /// Who asks, as the edge found out.
    pub(crate) fn of(request: &Parts) -> Self {
        request.extensions.get::<Self>().cloned().unwrap_or(Self::Anyone)
    }

    /// Whether the caller may decide who else may use the server: grants, tokens, devices.
    pub(crate) fn is_admin(&self) -> bool {
        match self {
            Self::Anyone | Self::User(_) | Self::Device(_) => true,
            Self::Token { scopes, .. } => scopes.contains(&Scope::Admin),
            Self::Grant(_) | Self::Ticket => false,
        }
    }

    /// Whether the caller may ask this at all.
    pub(crate) fn may(&self, request: &Parts) -> bool {
        match self {
            Self::Token { scopes, .. } => scopes.iter().any(|scope| scope.allows(request)),
            Self::Grant(granted) => need(request, granted.session.as_str())
                .is_some_and(|need| need.right.is_none_or(|right| granted.rights.contains(right))),
            Self::Anyone | Self::User(_) | Self::Device(_) | Self::Ticket => true,
        }
    }
}

impl fmt::Display for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Anyone => f.write_str("local"),
            Self::User(name) => write!(f, "user:{name}"),
            Self::Device(id) => write!(f, "device:{id}"),
            Self::Token { id, .. } => write!(f, "token:{id}"),
            Self::Grant(granted) => write!(f, "grant:{}", granted.id),
            Self::Ticket => f.write_str("ticket"),
        }
    }
}

/// Enough to tell networks apart, too little to tell people apart.
pub(crate) fn first_half(address: IpAddr) -> String {
    match address.to_canonical() {
        IpAddr::V4(address) => {
            let [a, b, ..] = address.octets();
            format!("{a}.{b}")
        }
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            format!("{a:x}:{b:x}:{c:x}:{d:x}")
        }
    }
}
