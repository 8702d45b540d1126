//! How parts leave the store: as they are, or with something else in the place of what is large in them.
//!
//! The shape is the caller's, because the store does not know what a part means. It is given where the part is read: of
//! a page only what is handed out is held, and not what was taken out of it.

use crate::growth::Part;

/// What becomes of the text of a part. One that is still open keeps its own: its growth has to fit it.
#[derive(Clone, Copy, Debug)]
pub struct PartShape(pub fn(String) -> String);

impl PartShape {
    /// As it is stored.
    pub const STORED: Self = Self(as_it_is);

    pub(crate) fn shape_closed(self, parts: &mut [Part]) {
        for part in parts.iter_mut().filter(|part| !part.is_open) {
            part.data = (self.0)(std::mem::take(&mut part.data));
        }
    }
}

fn as_it_is(text: String) -> String {
    text
}
