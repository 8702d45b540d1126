//! The plain sections of the configuration, deserialised once.
//!
//! Read after the document was checked (`shape.rs`), so that a mistake was already told with its file and line;
//! where a value stands is asked of [`super::Settings::origin`]. A `null` is as good as nothing.
//!
//! Not here: sections whose keys are names (`entries.rs`, `servers.rs`), and providers, which the catalog of
//! `sturdy_llm` reads.

use super::entries::Mistake;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
pub(super) struct Sections {
    pub(super) model: Option<String>,
    pub(super) small_model: Option<String>,
    pub(super) default_agent: Option<String>,
    pub(super) shell: Option<String>,
    pub(super) username: Option<String>,
    /// `None` is all of them.
    pub(super) enabled_providers: Option<Vec<String>>,
    pub(super) disabled_providers: Vec<String>,
    pub(super) instructions: Vec<String>,
    pub(super) skills: SkillPlaces,
    pub(super) share: Option<ShareMode>,
    pub(super) autoshare: bool,
    pub(super) enterprise: Enterprise,
    pub(super) snapshot: bool,
    pub(super) compaction: Compaction,
    pub(super) attachment: Attachment,
    pub(super) tool_output: ToolOutput,
    #[serde(deserialize_with = "whole")]
    pub(super) subagent_depth: Option<u64>,
    pub(super) experimental: Experimental,
}

impl Default for Sections {
    fn default() -> Self {
        Self {
            model: None,
            small_model: None,
            default_agent: None,
            shell: None,
            username: None,
            enabled_providers: None,
            disabled_providers: Vec::new(),
            instructions: Vec::new(),
            skills: SkillPlaces::default(),
            share: None,
            autoshare: false,
            enterprise: Enterprise::default(),
            snapshot: true,
            compaction: Compaction::default(),
            attachment: Attachment::default(),
            tool_output: ToolOutput::default(),
            subagent_depth: None,
            experimental: Experimental::default(),
        }
    }
}

impl Sections {
    /// # Errors
    /// What a check let pass and still cannot be used, with its place.
    pub(super) fn read(document: &Map<String, Value>) -> Result<Self, Mistake> {
        let mut document = Value::Object(document.clone());
        drop_nulls(&mut document);
        Self::deserialize(&document).map_err(|cause| (culprit(&document), cause.to_string()))
    }
}

/// The section that cannot be read, alone either.
fn culprit(document: &Value) -> Vec<String> {
    let is_wrong = |(key, value): &(&String, &Value)| {
        let alone = Map::from_iter([((*key).clone(), (*value).clone())]);
        Sections::deserialize(&Value::Object(alone)).is_err()
    };
    let found = document.as_object().into_iter().flatten().find(is_wrong);
    found.map(|(key, _)| key.clone()).into_iter().collect()
}

/// Further directories with skills.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct SkillPlaces {
    pub(super) paths: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ShareMode {
    Manual,
    Auto,
    Disabled,
}

/// Where sessions are shared.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Enterprise {
    pub(super) url: Option<String>,
}

/// When and how a long conversation is shortened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Compaction {
    pub auto: bool,
    pub prune: bool,
    #[serde(deserialize_with = "whole")]
    pub reserved: Option<u64>,
    #[serde(deserialize_with = "whole")]
    pub tail_turns: Option<u64>,
    #[serde(deserialize_with = "whole")]
    pub preserve_recent_tokens: Option<u64>,
}

impl Default for Compaction {
    fn default() -> Self {
        Self { auto: true, prune: false, reserved: None, tail_turns: None, preserve_recent_tokens: None }
    }
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Attachment {
    pub(super) image: ImageLimits,
}

/// The `attachment.image` section.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ImageLimits {
    #[serde(deserialize_with = "count")]
    pub max_width: Option<u32>,
    #[serde(deserialize_with = "count")]
    pub max_height: Option<u32>,
    #[serde(deserialize_with = "image_bytes")]
    pub max_base64_bytes: u64,
    /// Whether one that is larger is made smaller; it is left out otherwise.
    pub auto_resize: bool,
}

const IMAGE_BYTES_MAX: u64 = 5 * 1024 * 1024;

impl Default for ImageLimits {
    fn default() -> Self {
        Self { max_width: None, max_height: None, max_base64_bytes: IMAGE_BYTES_MAX, auto_resize: true }
    }
}

/// How much of a tool's output the model sees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ToolOutput {
    #[serde(deserialize_with = "whole")]
    pub max_lines: Option<u64>,
    #[serde(deserialize_with = "whole")]
    pub max_bytes: Option<u64>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Experimental {
    pub(super) continue_loop_on_deny: bool,
    pub(super) primary_tools: Vec<String>,
    #[serde(deserialize_with = "whole")]
    pub(super) mcp_timeout: Option<u64>,
    /// `None` is yes.
    pub(super) read_before_write: Option<bool>,
    pub(super) hidden_variables: Vec<String>,
    pub(super) visible_variables: Vec<String>,
    pub(super) sandbox: SandboxSection,
}

/// The fence around the commands of a model.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct SandboxSection {
    pub enabled: bool,
    /// `None` is open.
    pub network: Option<bool>,
    /// Further places that commands may write to.
    pub writable: Vec<String>,
}

/// JSON writes 3 and 3.0 for the same number. What is no such number says nothing.
fn whole<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    let of_float = || value.as_f64().filter(|number| *number >= 0.0).map(|number| number as u64);
    Ok(value.as_u64().or_else(of_float))
}

pub(super) fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    Ok(whole(deserializer)?.map(|number| u32::try_from(number).unwrap_or(u32::MAX)))
}

fn image_bytes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    Ok(whole(deserializer)?.unwrap_or(IMAGE_BYTES_MAX))
}

fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.retain(|_, value| !value.is_null());
            map.values_mut().for_each(drop_nulls);
        }
        Value::Array(items) => items.retain(|item| !item.is_null()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
