//! Many files.

use super::Place;
use std::time::Instant;
use sturdy_worktree::snapshot::{Changed, Step};

/// How many files the test below works with. The usual number is small enough for every run.
const FILES: &str = "STURDY_TEST_FILES";

/// `STURDY_TEST_FILES=200000 cargo test --release -p sturdy-worktree --test it many_files_is_captured -- --nocapture` is the
/// large run; it says how long each part took.
#[test]
fn a_worktree_of_many_files_is_captured_compared_undone_and_redone() {
    let files: usize = std::env::var(FILES).map_or(2_000, |text| text.parse().unwrap());
    let name = |number: usize| format!("d{:03}/e{:02}/f{number}", number % 400, number % 13);
    let place = Place::new();
    (0..files).for_each(|number| place.write(&name(number), &format!("text {number}\n")));
    let timed = |what: &str, begun: Instant| println!("{what}: {:.1?}", begun.elapsed());

    let begun = Instant::now();
    let before = place.tree();
    timed("first capture", begun);
    let begun = Instant::now();
    assert_eq!(place.tree(), before);
    timed("capture without a change", begun);

    // Every tenth file is changed, every hundredth removed.
    let touched: Vec<usize> = (0..files).step_by(10).collect();
    for number in &touched {
        match number % 100 {
            0 => place.remove(&name(*number)),
            _ => place.write(&name(*number), &format!("changed {number}\n")),
        }
    }
    let begun = Instant::now();
    let after = place.tree();
    timed("capture of the changes", begun);
    let begun = Instant::now();
    let changed = place.run(|store| store.changed(&before, &after).unwrap());
    timed("comparison", begun);
    // Directories that have become empty are changes too.
    let is_file = |one: &&Changed| !one.before.is_no_file() || !one.after.is_no_file();
    assert_eq!(changed.iter().filter(is_file).count(), touched.len());

    let files = changed.into_iter().map(|one| one.path).collect();
    let targets = place.targets(&[Step { before, after, files }]);
    let begun = Instant::now();
    let (snapshot, done) = place.undo(&targets);
    timed("undo", begun);
    assert_eq!(done.conflicts().count(), 0);
    assert_eq!(place.tree(), before);
    let begun = Instant::now();
    place.redo(snapshot, &targets);
    timed("redo", begun);
    assert_eq!(place.tree(), after);
}
