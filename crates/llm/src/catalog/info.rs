//! Providers and models as clients see them.
//!
//! These types are both what the engine works with and what the API sends. Whatever could hold
//! a credential sits in a type that masks it when printed or serialised.

use super::Traits;
use crate::secret::{Secret, is_sensitive};
use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use sturdy_session::json::{Map, Num};
use sturdy_session::types::usage::Prices;

const MASK: &str = "***";

/// Where a provider's availability comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    Env,
    Config,
    Custom,
    Api,
}

#[derive(Clone, Debug, Serialize)]
pub struct Provider {
    pub id: String,
    pub name: String,
    pub source: Source,
    pub env: Vec<String>,
    /// Never sent; the reference sends it.
    #[serde(skip)]
    pub key: Option<Secret>,
    /// A token in place of a key, and until when it is good.
    #[serde(skip)]
    pub login: Option<(Secret, i64)>,
    /// There is a key, and it belongs to another address than the one a project chose.
    #[serde(skip)]
    pub is_key_withheld: bool,
    pub options: Options,
    /// One of the providers that are known without any list or configuration.
    #[serde(skip)]
    pub(crate) is_built_in: bool,
    /// Models that are not in its list are asked for by the name they are given.
    #[serde(skip)]
    pub passes_on: bool,
    /// What a model of it is spoken to with, unless the model says otherwise.
    #[serde(skip)]
    pub(crate) api: Api,
    #[serde(serialize_with = "by_id")]
    pub models: Vec<Arc<ModelInfo>>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ModelInfo {
    pub id: String,
    pub name: String,
    #[serde(rename = "providerID")]
    pub provider_id: String,
    pub status: Status,
    pub cost: Prices,
    pub api: Api,
    pub capabilities: Capabilities,
    pub family: String,
    pub headers: Headers,
    pub limit: Limit,
    pub options: Map,
    pub release_date: String,
    /// What follows from its family.
    #[serde(skip)]
    pub traits: Traits,
    /// Name → options; order is the order of effort.
    pub variants: Map,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    Alpha,
    Beta,
    Deprecated,
    #[default]
    Active,
}

/// How the provider calls the model, and in which language it is spoken to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Api {
    pub id: String,
    pub npm: String,
    pub url: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Capabilities {
    pub input: Modalities,
    pub output: Modalities,
    pub reasoning: bool,
    pub attachment: bool,
    pub interleaved: Interleaved,
    pub temperature: bool,
    pub toolcall: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Modalities {
    pub text: bool,
    pub audio: bool,
    pub image: bool,
    pub pdf: bool,
    pub video: bool,
}

/// Whether reasoning goes back to the model, and in which field of a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Interleaved {
    Plain(bool),
    Field { field: String },
}

/// Tokens; 0 is unknown, and an unknown context never overflows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Limit {
    pub context: Num,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Num>,
    pub output: Num,
}

impl Modalities {
    pub(crate) const TEXT: Self = Self { text: true, audio: false, image: false, pdf: false, video: false };
}

impl Capabilities {
    /// What is assumed of a model nobody has described.
    pub(crate) fn unknown() -> Self {
        Self {
            input: Modalities::TEXT,
            output: Modalities::TEXT,
            reasoning: false,
            attachment: false,
            interleaved: Interleaved::Plain(false),
            temperature: false,
            toolcall: true,
        }
    }
}

/// Headers a user configured. All values print as stars: any of them may be a credential.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Headers(pub(crate) BTreeMap<String, String>);

/// Options a user configured for a provider. Credentials in them print as stars.
#[derive(Clone, Default, PartialEq)]
pub struct Options(pub(crate) Map);

impl Headers {
    fn masked(&self) -> BTreeMap<&str, &str> {
        self.0.keys().map(|name| (name.as_str(), MASK)).collect()
    }
}

impl Options {
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    /// The key is left out; other credentials keep their place.
    fn masked(&self) -> Map {
        let kept = self.0.iter().filter(|(name, _)| *name != "apiKey");
        kept.map(|(name, value)| (name.clone(), mask(name, value))).collect()
    }
}

fn mask(name: &str, value: &Value) -> Value {
    match value {
        Value::Object(map) => map.iter().map(|(name, value)| (name.clone(), mask(name, value))).collect(),
        Value::String(_) if is_sensitive(name) => Value::from(MASK),
        other => other.clone(),
    }
}

impl Serialize for Headers {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.masked().serialize(serializer)
    }
}

impl fmt::Debug for Headers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.masked().fmt(f)
    }
}

impl Serialize for Options {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.masked().serialize(serializer)
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.masked().fmt(f)
    }
}

fn by_id<S: Serializer>(models: &[Arc<ModelInfo>], serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(models.len()))?;
    for model in models {
        map.serialize_entry(&model.id, model.as_ref())?;
    }
    map.end()
}
