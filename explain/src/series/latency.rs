//! Round trips under load beside those without.

use linerate_results::record::{Latency, Load};
use linerate_results::stats;

/// Under load a median of so many times the idle one is a queue that is too long.
pub(crate) const BLOAT: f64 = 5.0;

/// The median without load, if it was measured.
pub(crate) fn idle_p50(all: &[&Latency]) -> Option<u64> {
    let idle = all.iter().find(|it| it.params.load.is_none())?;
    Some(idle.metrics.rtt.as_ref()?.p50_ns)
}

/// The median under this load, how many times the idle one it is, and whether that is a queue and not
/// this machine.
pub(crate) struct Loaded {
    pub(crate) load: Load,
    pub(crate) p50_ns: u64,
    pub(crate) times: f64,
    pub(crate) is_bloat: bool,
}

pub(crate) fn loaded(result: &Latency, idle_ns: u64) -> Option<Loaded> {
    let p50_ns = result.metrics.rtt.as_ref()?.p50_ns;
    let times = stats::ratio(p50_ns as f64, idle_ns as f64);
    let floor = result.limits.noise_floor.as_ref().map_or(0, |it| it.p99_ns);
    Some(Loaded {
        load: result.params.load?,
        p50_ns,
        times,
        is_bloat: times >= BLOAT && p50_ns.saturating_sub(idle_ns) > floor,
    })
}
