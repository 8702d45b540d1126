//! Random names and secrets of shares.

use rand::RngExt as _;

/// 62 letters are drawn without bias.
const LETTERS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const SHARE_LETTERS: usize = 22;
const CAPABILITY_LETTERS: usize = 16;
const SECRET_LETTERS: usize = 43;

#[must_use]
pub fn new_share_id() -> String {
    letters(SHARE_LETTERS)
}

#[must_use]
pub fn new_capability_id() -> String {
    letters(CAPABILITY_LETTERS)
}

#[must_use]
pub fn new_secret() -> String {
    letters(SECRET_LETTERS)
}

pub(crate) fn new_writer_id() -> String {
    format!("wr_{}", letters(SHARE_LETTERS))
}

pub(crate) fn new_request_id() -> String {
    format!("rq_{}", letters(SHARE_LETTERS))
}

fn letters(count: usize) -> String {
    let mut random = rand::rng();
    (0..count).map(|_| char::from(LETTERS[random.random_range(0..LETTERS.len())])).collect()
}
