//! Merges the layers of the configuration.
//!
//! Objects merge key by key, everything else is replaced by what comes later. Two lists are different:
//! `instructions` are united and `plugin` entries are collected. `null` at the top takes a key back.
//! Every leaf remembers where it stands, so that a message can say which file to open.

use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// Where a layer comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    File(PathBuf),
    /// An environment variable.
    Variable(&'static str),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Variable(name) => f.write_str(name),
        }
    }
}

/// Whose word a layer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// The person who runs the server: their files and their environment.
    User,
    /// Whoever wrote the checkout.
    Project,
}

/// Where a value stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    pub source: Arc<Source>,
    pub level: Level,
    pub line: Option<usize>,
    /// The text came from the environment or another file: it may be a secret.
    pub replaced: bool,
}

/// Keys from the root to a value.
pub(super) type Keys = Vec<String>;

/// What one file says.
#[derive(Clone)]
pub(super) struct Layer {
    pub(super) level: Level,
    pub(super) value: Map<String, Value>,
    /// Of every leaf; an array is a leaf, marked if anything inside it was replaced.
    pub(super) origins: BTreeMap<Keys, Origin>,
    /// Leaves with a `{env:…}` or `{file:…}` that was left as it is written.
    pub(super) unreplaced: Vec<Keys>,
    /// Named by `{env:…}`.
    pub(super) variables: BTreeSet<String>,
}

impl Layer {
    /// Takes a value out.
    pub(super) fn remove(&mut self, path: &[&str]) -> Option<Value> {
        let (last, above) = path.split_last()?;
        let mut map = &mut self.value;
        for key in above {
            map = map.get_mut(*key)?.as_object_mut()?;
        }
        let removed = map.shift_remove(*last)?;
        let path: Keys = path.iter().map(|key| (*key).to_owned()).collect();
        forget(&mut self.origins, &path);
        Some(removed)
    }

    /// A value, wherever it stands.
    pub(super) fn get_mut(&mut self, path: &[String]) -> Option<&mut Value> {
        let (first, below) = path.split_first()?;
        below.iter().try_fold(self.value.get_mut(first)?, |value, key| value.get_mut(key))
    }

    /// Where a value, or the first thing in it, stands.
    pub(super) fn line(&self, path: &[&str]) -> Option<usize> {
        let path: Keys = path.iter().map(|key| (*key).to_owned()).collect();
        let (keys, origin) = self.origins.range(path.clone()..).next()?;
        keys.starts_with(&path).then_some(origin.line)?
    }
}

/// What all files say together.
#[derive(Clone, Default)]
pub(super) struct Merged {
    pub(super) value: Map<String, Value>,
    origins: BTreeMap<Keys, Origin>,
    /// Named by a `{env:…}` that was replaced.
    pub(super) variables: BTreeSet<String>,
}

impl Merged {
    pub(super) fn add(&mut self, mut layer: Layer) {
        layer.value.retain(|key, value| {
            let takes_back = value.is_null();
            if takes_back {
                self.value.shift_remove(key);
                forget(&mut self.origins, std::slice::from_ref(key));
            }
            !takes_back
        });
        for key in ["instructions", "plugin"] {
            if let (Some(Value::Array(earlier)), Some(Value::Array(later))) =
                (self.value.get(key), layer.value.get_mut(key))
            {
                let mut all = earlier.clone();
                later.retain(|entry| !earlier.contains(entry));
                all.append(later);
                *later = all;
            }
        }
        overlay(&mut self.value, layer.value, &mut Vec::new(), &mut self.origins);
        self.origins.extend(layer.origins);
        self.variables.append(&mut layer.variables);
    }

    /// The place of a value: its own, that of what contains it, or that of what it contains.
    pub(super) fn origin(&self, path: &[String]) -> Option<&Origin> {
        let above = (0..=path.len()).rev().find_map(|length| self.origins.get(&path[..length]));
        above.or_else(|| {
            let below = self.origins.range(path.to_vec()..).next();
            below.filter(|(keys, _)| keys.starts_with(path)).map(|(_, origin)| origin)
        })
    }

    pub(super) fn is_replaced(&self, path: &[String]) -> bool {
        self.origins.get(path).is_some_and(|origin| origin.replaced)
    }
}

fn overlay(
    into: &mut Map<String, Value>,
    from: Map<String, Value>,
    path: &mut Keys,
    origins: &mut BTreeMap<Keys, Origin>,
) {
    for (key, value) in from {
        path.push(key.clone());
        match (into.get_mut(&key), value) {
            (Some(Value::Object(earlier)), Value::Object(later)) => overlay(earlier, later, path, origins),
            (_, value) => {
                forget(origins, path);
                into.insert(key, value);
            }
        }
        path.pop();
    }
}

fn forget(origins: &mut BTreeMap<Keys, Origin>, path: &[String]) {
    let below: Vec<Keys> = origins
        .range(path.to_vec()..)
        .map(|(keys, _)| keys)
        .take_while(|keys| keys.starts_with(path))
        .cloned()
        .collect();
    for keys in below {
        origins.remove(&keys);
    }
}
