//! Generations of Claude, told by the name of a model.

use super::TakesSampling;

/// The last generation that is told how to sample.
const LAST_SAMPLED: Generation = (4, 6);

/// Number and the number behind it.
pub(super) type Generation = (u32, u32);

/// `claude-sonnet-4-5-20250929` is (4, 5), `claude-3-opus` is (3, 0). A name without a number is one of the newest.
/// None: it is no Claude.
pub(super) fn generation(id: &str) -> Option<Generation> {
    let (_, name) = id.split_once("claude")?;
    let words = name.split(|letter: char| !letter.is_ascii_alphanumeric());
    // Dates have more digits.
    let number = |word: &str| word.parse::<u32>().ok().filter(|_| word.len() <= 2);
    let mut words = words.skip_while(|word| number(word).is_none());
    let first = words.next().and_then(number);
    let second = words.next().and_then(number);
    Some(first.map_or((u32::MAX, 0), |first| (first, second.unwrap_or(0))))
}

pub(super) fn takes_sampling(id: &str) -> TakesSampling {
    match generation(id) {
        None | Some((..=3, _)) => TakesSampling::All,
        Some(generation) if generation <= LAST_SAMPLED => TakesSampling::NotBoth,
        Some(_) => TakesSampling::Nothing,
    }
}
