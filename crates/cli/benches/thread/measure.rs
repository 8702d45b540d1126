//! Numbers and their table.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};
use tokio::time::timeout;

/// Nothing that is waited for here takes this long.
const WAIT_MAX: Duration = Duration::from_secs(60);

/// Waits for something, and says what it was when it does not come.
pub(crate) async fn within<T>(what: &str, coming: impl Future<Output = T>) -> T {
    match timeout(WAIT_MAX, coming).await {
        Ok(came) => came,
        Err(_) => panic!("{what} did not come in {} seconds", WAIT_MAX.as_secs()),
    }
}

#[derive(Default)]
pub(crate) struct Table {
    rows: Vec<(String, f64, String, String)>,
}

impl Table {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn row(&mut self, what: &str, value: f64, unit: &str, goal: &str) {
        println!("{what}: {value:.2} {unit}");
        self.rows.push((what.to_owned(), value, unit.to_owned(), goal.to_owned()));
    }

    pub(crate) fn print(&self) {
        println!("\n{:44} {:>12} {:8} goal", "", "measured", "");
        for (what, value, unit, goal) in &self.rows {
            println!("{what:44} {value:>12.2} {unit:8} {goal}");
        }
    }
}

pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

/// The worst of them.
pub(crate) fn most(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::NAN, f64::max)
}

/// The best of them: what the machine can do when nobody else uses it.
pub(crate) fn least(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::INFINITY, f64::min)
}

/// What one small synced write costs on the disk of the store.
pub(crate) fn fsync_ms(directory: &Path) -> f64 {
    let path = directory.join("fsync-probe");
    let mut file = File::create(&path).unwrap();
    let mut took = Vec::new();
    for _ in 0..200 {
        file.write_all(&[7; 4096]).unwrap();
        let began = Instant::now();
        file.sync_data().unwrap();
        took.push(began.elapsed().as_secs_f64() * 1e3);
    }
    std::fs::remove_file(path).unwrap();
    median(&took)
}
