//! Member names that never cross the wire as data.
//!
//! A JavaScript peer would find these on its base object, so it drops them when it
//! decodes and answers "undefined" when a path asks for them. We do the same on the
//! way in, and refuse them on the way out rather than lose them silently.

/// True for a name every JavaScript object answers to. A path never reaches one.
pub(crate) fn is_inherited(name: &str) -> bool {
    matches!(
        name,
        "__proto__"
            | "__defineGetter__"
            | "__defineSetter__"
            | "__lookupGetter__"
            | "__lookupSetter__"
            | "constructor"
            | "hasOwnProperty"
            | "isPrototypeOf"
            | "propertyIsEnumerable"
            | "toLocaleString"
            | "toString"
            | "valueOf"
    )
}

/// True for a member an npm peer would drop: the inherited names and `toJSON`.
pub(crate) fn is_dropped(name: &str) -> bool {
    // Nearly every name fails here; the long list is for the few that do not.
    matches!(name.as_bytes().first(), Some(b'_' | b'c' | b'h' | b'i' | b'p' | b't' | b'v'))
        && (name == "toJSON" || is_inherited(name))
}

/// Members of an error's properties that travel in their own slots.
pub(crate) fn is_error_slot(name: &str) -> bool {
    matches!(name, "name" | "message" | "stack") || is_dropped(name)
}
