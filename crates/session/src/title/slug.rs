//! The two-word name of a session: picked at random, not unique, never changed.

use crate::stamp::Stamp;

const ADJECTIVES: [&str; 29] = [
    "brave", "calm", "clever", "cosmic", "crisp", "curious", "eager", "gentle", "glowing", "happy", "hidden",
    "jolly", "kind", "lucky", "mighty", "misty", "neon", "nimble", "playful", "proud", "quick", "quiet",
    "shiny", "silent", "stellar", "sunny", "swift", "tidy", "witty",
];

const NOUNS: [&str; 31] = [
    "cabin", "cactus", "canyon", "circuit", "comet", "eagle", "engine", "falcon", "forest", "garden",
    "harbor", "island", "knight", "lagoon", "meadow", "moon", "mountain", "nebula", "orchid", "otter",
    "panda", "pixel", "planet", "river", "rocket", "sailor", "squid", "star", "tiger", "wizard", "wolf",
];

#[must_use]
pub fn slug(stamp: &mut Stamp) -> String {
    let adjective = ADJECTIVES[stamp.choice(ADJECTIVES.len())];
    let noun = NOUNS[stamp.choice(NOUNS.len())];
    format!("{adjective}-{noun}")
}
