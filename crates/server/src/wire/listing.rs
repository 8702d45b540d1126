//! Which sessions a client wants to see: the filters of `GET /session`, whoever asks.

use crate::error::ApiError;
use crate::wire::query::Query;
use serde::Deserialize;
use sturdy_engine::Instance;
use sturdy_engine::reads::SessionQuery;
use utoipa::ToSchema;

/// Sessions listed when the client does not say how many.
const LIMIT_DEFAULT: u32 = 100;

/// Which sessions a list covers.
#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Scope {
    Project,
}

/// Everything may be left out.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Listing {
    /// Chooses the project, and only sessions of exactly this directory.
    pub(crate) directory: Option<String>,
    /// `project`: the whole project in spite of `directory`.
    scope: Option<Scope>,
    /// Only at or below this path; empty is no filter.
    path: Option<String>,
    /// Only sessions without a parent.
    roots: Option<bool>,
    /// Only sessions changed at or after this time.
    start: Option<u64>,
    /// Contained in the title.
    search: Option<String>,
    limit: Option<u64>,
    /// Who created them: `local`, `user:…`, `token:…`.
    actor: Option<String>,
}

impl Listing {
    pub(crate) fn of(query: &Query) -> Result<Self, ApiError> {
        let text = |name: &str| query.get(name).map(str::to_owned);
        Ok(Self {
            directory: query.directory("directory"),
            scope: query.word("scope", &["project"])?,
            path: text("path"),
            roots: query.boolean("roots")?,
            start: query.number("start")?,
            search: text("search"),
            limit: query.number("limit")?,
            actor: text("actor"),
        })
    }

    /// What to ask the store. `here` is the instance that `directory` names.
    pub(crate) fn within(self, here: &Instance) -> SessionQuery {
        let directory = match (&self.path, self.scope) {
            (Some(path), _) if path.is_empty() => None,
            (None, Some(Scope::Project)) => None,
            _ => self.directory.filter(|named| !named.is_empty()).map(|_| here.directory.clone()),
        };
        // What is larger than anybody can want is cut.
        let limit = self.limit.map(|limit| u32::try_from(limit).unwrap_or(u32::MAX));
        SessionQuery {
            project: Some(here.project.id.clone()),
            directory,
            path: self.path.filter(|path| !path.is_empty()),
            roots: self.roots.filter(|roots| *roots),
            start: self.start.filter(|start| *start > 0),
            search: self.search.filter(|search| !search.is_empty()),
            limit: Some(limit.unwrap_or(LIMIT_DEFAULT)),
            actor: self.actor.filter(|actor| !actor.is_empty()),
            ..SessionQuery::default()
        }
    }
}
