//! Which directory a request is about.
//!
//! Query, then header, then the server's own. Routes of one session do not ask: the session knows.

use crate::app::App;
use crate::error::ApiError;
use crate::wire::query::{Query, percent_decode};
use axum::extract::FromRequestParts;
use http::request::Parts;
use std::sync::Arc;
use sturdy_engine::Instance;

const HEADER: &str = "x-opencode-directory";

/// The instance a request of the v1 API chose.
#[derive(Clone, Debug)]
pub(crate) struct Here(pub(crate) Arc<Instance>);

/// The same for location routes below `/api`, which read another name from the query.
#[derive(Clone, Debug)]
pub(crate) struct Location(pub(crate) Arc<Instance>);

/// The directory alone, as it was named; its settings may be broken.
#[derive(Clone, Debug)]
pub(crate) struct Chosen(pub(crate) String);

impl FromRequestParts<App> for Here {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        Ok(Self(instance(parts, app, "directory").await?))
    }
}

impl FromRequestParts<App> for Location {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        Ok(Self(instance(parts, app, "location[directory]").await?))
    }
}

impl<S: Sync> FromRequestParts<S> for Chosen {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        Ok(Self(directory(parts, "directory")))
    }
}

async fn instance(parts: &Parts, app: &App, name: &str) -> Result<Arc<Instance>, ApiError> {
    Ok(app.engine().instance(&directory(parts, name)).await?)
}

fn directory(parts: &Parts, name: &str) -> String {
    Query::of(parts).directory(name).or_else(|| header(parts)).unwrap_or_default()
}

fn header(parts: &Parts) -> Option<String> {
    let value = parts.headers.get(HEADER)?;
    let bytes = value.as_bytes();
    // A client in JavaScript sends each letter up to U+00FF as one byte.
    let one_by_one = || bytes.iter().map(|byte| char::from(*byte)).collect();
    let text = std::str::from_utf8(bytes).map_or_else(|_| one_by_one(), str::to_owned);
    (!text.is_empty()).then(|| percent_decode(&text))
}

#[cfg(test)]
mod tests;
