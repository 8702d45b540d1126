//! Members in the order they were given.

use std::collections::HashMap;

use super::{Value, name::Name};

/// A plain object. Small ones are searched, large ones indexed, so that a peer's object
/// with a million members costs no more than it should.
#[derive(Clone, Debug, Default)]
pub struct Object {
    members: Vec<(Name, Value)>,
    // Boxed, because nearly no object has one and every value pays for its size.
    #[allow(clippy::box_collection, reason = "a value stays small")]
    index: Option<Box<HashMap<String, usize>>>,
}

/// Below this a walk is as fast as a hash.
const INDEX_FROM: usize = 24;

impl Object {
    pub fn new() -> Object {
        Object::default()
    }

    pub(crate) fn with_capacity(capacity: usize) -> Object {
        Object { members: Vec::with_capacity(capacity), index: None }
    }

    pub fn len(&self) -> usize {
        self.members.len()
    }

    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    pub fn get(&self, name: &str) -> Option<&Value> {
        self.place(name).map(|at| &self.members[at].1)
    }

    pub fn get_mut(&mut self, name: &str) -> Option<&mut Value> {
        self.place(name).map(|at| &mut self.members[at].1)
    }

    /// Sets a member; the last value wins, at the place of the first.
    pub fn insert(&mut self, name: impl AsRef<str>, value: impl Into<Value>) {
        let name = name.as_ref();
        if let Some(at) = self.place(name) {
            self.members[at].1 = value.into();
            return;
        }
        if let Some(index) = &mut self.index {
            index.insert(name.to_owned(), self.members.len());
        } else if self.members.len() == INDEX_FROM {
            let known = self.members.iter().enumerate();
            let mut index: HashMap<String, usize> =
                known.map(|(at, (name, _))| (name.as_str().to_owned(), at)).collect();
            index.insert(name.to_owned(), self.members.len());
            self.index = Some(Box::new(index));
        }
        self.members.push((Name::new(name), value.into()));
    }

    /// Takes a member out, keeping the order of the rest.
    pub fn remove(&mut self, name: &str) -> Option<Value> {
        let at = self.place(name)?;
        let (_, value) = self.members.remove(at);
        let rest = std::mem::take(self);
        *self = rest.into_iter().collect();
        Some(value)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.members.iter().map(|(name, value)| (name.as_str(), value))
    }

    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut Value> {
        self.members.iter_mut().map(|(_, value)| value)
    }

    fn place(&self, name: &str) -> Option<usize> {
        match &self.index {
            Some(index) => index.get(name).copied(),
            None => self.members.iter().position(|(known, _)| known.as_bytes() == name.as_bytes()),
        }
    }
}

impl PartialEq for Object {
    fn eq(&self, other: &Object) -> bool {
        self.members == other.members
    }
}

impl FromIterator<(String, Value)> for Object {
    fn from_iter<I: IntoIterator<Item = (String, Value)>>(members: I) -> Object {
        let mut object = Object::new();
        for (name, value) in members {
            object.insert(name, value);
        }
        object
    }
}

impl IntoIterator for Object {
    type Item = (String, Value);
    type IntoIter = IntoMembers;

    fn into_iter(self) -> IntoMembers {
        IntoMembers(self.members.into_iter())
    }
}

/// The members of an object, one after the other.
#[derive(Debug)]
pub struct IntoMembers(std::vec::IntoIter<(Name, Value)>);

impl Iterator for IntoMembers {
    type Item = (String, Value);

    fn next(&mut self) -> Option<(String, Value)> {
        self.0.next().map(|(name, value)| (name.as_str().to_owned(), value))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}
