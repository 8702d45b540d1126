//! What a query says: values by name, numbers, directories. What does not fit is refused with its place.

use crate::error::{ApiError, Kind};
use axum::extract::FromRequestParts;
use http::request::Parts;
use percent_encoding::percent_decode_str;
use serde::de::DeserializeOwned;
use serde::de::value::StrDeserializer;
use std::fmt::Display;
use std::str::FromStr;
use sturdy_engine::records::large::LargeValues;
use sturdy_session::id::IdError;

/// The query as pairs. Raw brackets and a trailing `&`, as clients send them, are fine.
#[derive(Clone, Debug, Default)]
pub(crate) struct Query(Vec<(String, String)>);

impl<S: Sync> FromRequestParts<S> for Query {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        Ok(Self::of(parts))
    }
}

impl Query {
    pub(crate) fn of(parts: &Parts) -> Self {
        let query = parts.uri.query().unwrap_or_default();
        Self(url::form_urlencoded::parse(query.as_bytes()).into_owned().collect())
    }

    /// The first value of this name.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// A directory named in the query.
    pub(crate) fn directory(&self, name: &str) -> Option<String> {
        self.get(name).filter(|value| !value.is_empty()).map(percent_decode)
    }

    /// Every value of this name.
    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// A value the route cannot do without.
    pub(crate) fn wanted(&self, name: &str) -> Result<&str, ApiError> {
        let missing = || ApiError::schema(Kind::Query, format!("Missing key\n  at [\"{name}\"]"));
        self.get(name).ok_or_else(missing)
    }

    pub(crate) fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// `true` or `false`, and nothing else.
    pub(crate) fn boolean(&self, name: &str) -> Result<Option<bool>, ApiError> {
        match self.get(name) {
            None => Ok(None),
            Some("true") => Ok(Some(true)),
            Some("false") => Ok(Some(false)),
            Some(other) => Err(wrong(name, "\"true\" | \"false\"", other)),
        }
    }

    /// One of a few words, which are the variants of the type.
    pub(crate) fn word<T: DeserializeOwned>(
        &self,
        name: &str,
        words: &[&str],
    ) -> Result<Option<T>, ApiError> {
        let Some(text) = self.get(name) else { return Ok(None) };
        let word = T::deserialize(StrDeserializer::<serde::de::value::Error>::new(text));
        let quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
        word.map(Some).map_err(|_| wrong(name, &quoted.join(" | "), text))
    }

    /// A whole number, not negative; `5.0` is one too.
    pub(crate) fn number(&self, name: &str) -> Result<Option<u64>, ApiError> {
        let Some(text) = self.get(name) else { return Ok(None) };
        match f64::from_str(text.trim()) {
            Ok(number) if number.is_finite() && number.fract() != 0.0 => {
                Err(unfit(name, "an integer", number))
            }
            Ok(number) if number.is_finite() && number >= 0.0 => Ok(Some(number as u64)),
            Ok(number) if number.is_finite() => {
                Err(unfit(name, "a value greater than or equal to 0", number))
            }
            _ => Err(unfit(name, "an integer", "NaN")),
        }
    }

    /// As `number`, between two bounds.
    pub(crate) fn within(&self, name: &str, least: u64, most: u64) -> Result<Option<u64>, ApiError> {
        match self.number(name)? {
            Some(number) if number < least => {
                Err(unfit(name, &format!("a value greater than or equal to {least}"), number))
            }
            Some(number) if number > most => {
                Err(unfit(name, &format!("a value less than or equal to {most}"), number))
            }
            other => Ok(other),
        }
    }

    /// An id the route cannot do without.
    pub(crate) fn id<T>(&self, name: &str, parse: fn(&str) -> Result<T, IdError>) -> Result<T, ApiError> {
        let id = parse(self.wanted(name)?);
        id.map_err(|cause| ApiError::schema(Kind::Query, format!("{cause}\n  at [\"{name}\"]")))
    }

    /// `large=link`: links in the place of large values.
    pub(crate) fn large(&self) -> Result<LargeValues, ApiError> {
        match self.get("large") {
            None => Ok(LargeValues::Whole),
            Some("link") => Ok(LargeValues::Linked),
            Some(other) => Err(wrong("large", "\"link\"", other)),
        }
    }

    /// As `number`; what is larger than anybody can want is cut.
    pub(crate) fn limit(&self) -> Result<Option<u32>, ApiError> {
        let limit = self.number("limit")?;
        Ok(limit.map(|limit| u32::try_from(limit).unwrap_or(u32::MAX)))
    }
}

fn wrong(name: &str, expected: &str, got: &str) -> ApiError {
    unfit(name, expected, serde_json::Value::from(got))
}

fn unfit(name: &str, expected: &str, got: impl Display) -> ApiError {
    ApiError::schema(Kind::Query, format!("Expected {expected}, got {got}\n  at [\"{name}\"]"))
}

/// Clients send paths plain or percent-encoded; what does not decode is meant as it is.
pub(crate) fn percent_decode(text: &str) -> String {
    let decoded = percent_decode_str(text).decode_utf8();
    decoded.map_or_else(|_| text.to_owned(), std::borrow::Cow::into_owned)
}
