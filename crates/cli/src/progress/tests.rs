//! What a person sees of the line.

use super::{Stage, drawn};
use std::time::Duration;

#[test]
fn a_stage_is_drawn_with_its_share_and_one_of_unknown_length_with_dots() {
    let at = |done, total| drawn(Stage { name: "Checking log", done, total }, Duration::from_millis(900));

    assert_eq!(at(0, 4), format!("Checking log      {} 0/4", " ".repeat(38)));
    assert_eq!(at(2, 4), format!("Checking log      {}{} 2/4", "━".repeat(19), " ".repeat(19)));
    // A total is a guess made at the start; there may be more.
    assert_eq!(at(5, 4), format!("Checking log      {} 5/4", "━".repeat(38)));
    assert_eq!(at(0, 0), "Checking log..");
}
