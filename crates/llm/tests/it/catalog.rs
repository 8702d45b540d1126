//! What a catalog is made of.
