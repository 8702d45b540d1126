//! `--share-limit NAME=VALUE`: bounds of sharing, each with a default, a least and a most.

use std::time::Duration;
use sturdy_engine::share::SharePace;
use sturdy_server::ServiceLimits;

const KIB: usize = 1024;
const MIB: u64 = 1024 * 1024;
const HOUR_MS: u64 = 60 * 60 * 1000;

/// Everything that can be set.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sharing {
    pub(crate) service: ServiceLimits,
    pub(crate) pace: SharePace,
}

struct Known {
    name: &'static str,
    least: u64,
    most: u64,
    set: fn(&mut Sharing, u64),
}

/// A limit that was given on the command line or in the environment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ShareLimit {
    place: usize,
    value: u64,
}

const fn known(name: &'static str, least: u64, most: u64, set: fn(&mut Sharing, u64)) -> Known {
    Known { name, least, most, set }
}

/// The least of the first two is what every sender may count on.
const KNOWN: [Known; 25] = [
    known("batch-ops", 256, 4096, |all, value| all.service.share.batch_ops = value as usize),
    known("batch-kib", 512, 8192, |all, value| all.service.share.batch_bytes = value as usize * KIB),
    known("op-kib", 64, 4096, |all, value| all.service.share.op_bytes = value as usize * KIB),
    known("writers", 1, 1024, |all, value| all.service.share.writers = value),
    known("capabilities", 1, 4096, |all, value| all.service.share.capabilities = value),
    known("depth", 1, 8, |all, value| all.service.share.depth = value),
    known("log-rows", 1000, 10_000_000, |all, value| all.service.share.log_rows = value),
    known("log-days", 1, 3650, |all, value| all.service.share.log_kept_ms = value * 24 * HOUR_MS),
    known("empty-hours", 1, 8760, |all, value| all.service.share.empty_kept_ms = value * HOUR_MS),
    known("share-mib", 1, 4096, |all, value| all.service.share.share_bytes = value * MIB),
    known("audit-rows", 100, 10_000_000, |all, value| all.service.share.audit_rows = value),
    known("audit-days", 1, 3650, |all, value| all.service.share.audit_kept_ms = value * 24 * HOUR_MS),
    known("shares", 1, 100_000_000, |all, value| all.service.budget.shares = value),
    known("total-mib", 1, 100_000_000, |all, value| all.service.budget.bytes = value * MIB),
    known("viewers", 1, 65_536, |all, value| all.service.viewers = value as usize),
    known("heartbeat-seconds", 1, 300, |all, value| all.service.heartbeat = Duration::from_secs(value)),
    known("batches-per-second", 0, 10_000, |all, value| all.service.batches_per_second = value as u32),
    known("creates-per-hour", 0, 1_000_000, |all, value| all.service.creates_per_hour = value as u32),
    known("gather-ms", 10, 60_000, |all, value| all.pace.gather = Duration::from_millis(value)),
    known("gather-watched-ms", 10, 60_000, |all, value| {
        all.pace.gather_watched = Duration::from_millis(value);
    }),
    known("request-seconds", 1, 600, |all, value| all.pace.request = Duration::from_secs(value)),
    known("retry-first-ms", 10, 60_000, |all, value| all.pace.retry_first = Duration::from_millis(value)),
    known("retry-last-seconds", 1, 86_400, |all, value| all.pace.retry_last = Duration::from_secs(value)),
    known("rpc-again-minutes", 1, 1_440, |all, value| all.pace.way_pause = Duration::from_secs(value * 60)),
    known("reconcile-minutes", 1, 10_080, |all, value| all.pace.reconcile = Duration::from_secs(value * 60)),
];

/// Reads `NAME=VALUE`.
pub(crate) fn parse(text: &str) -> Result<ShareLimit, String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE, as in writers=16")?;
    let place = KNOWN.iter().position(|known| known.name == name.trim());
    let names = || KNOWN.iter().map(|known| known.name).collect::<Vec<_>>().join(", ");
    let place = place.ok_or_else(|| format!("there is no limit {name:?}; there are: {}", names()))?;
    let Known { least, most, .. } = KNOWN[place];
    let value = value.trim().parse().ok().filter(|value| (least..=most).contains(value));
    let value = value.ok_or_else(|| format!("{name} is a whole number from {least} to {most}"))?;
    Ok(ShareLimit { place, value })
}

/// The defaults with what was given; the last of one name counts.
pub(crate) fn sharing(given: &[ShareLimit]) -> Sharing {
    let mut all = Sharing::default();
    for limit in given {
        (KNOWN[limit.place].set)(&mut all, limit.value);
    }
    all
}

#[cfg(test)]
mod tests;
