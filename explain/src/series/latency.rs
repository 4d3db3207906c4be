//! Round trips under load, compared with idle ones.

use linerate_results::record::{Latency, Load};
use linerate_results::stats;

/// From this multiple of the idle median on, a round trip under load indicates bufferbloat.
const BUFFERBLOAT_FACTOR: f64 = 5.0;

/// The median without load, if it was measured.
pub(crate) fn idle_p50(all: &[&Latency]) -> Option<u64> {
    let idle = all.iter().find(|it| it.params.load.is_none())?;
    Some(idle.metrics.rtt.as_ref()?.p50_ns)
}

/// The median under a load, as a multiple of the idle one; `is_bloat` if a queue causes it, not this machine.
pub(crate) struct LoadedRtt {
    pub(crate) load: Load,
    pub(crate) p50_ns: u64,
    pub(crate) times: f64,
    pub(crate) is_bloat: bool,
}

pub(crate) fn loaded_rtt(result: &Latency, idle_ns: u64) -> Option<LoadedRtt> {
    let p50_ns = result.metrics.rtt.as_ref()?.p50_ns;
    let times = stats::ratio(p50_ns as f64, idle_ns as f64);
    let floor = result.limits.noise_floor.as_ref().map_or(0, |it| it.p99_ns);
    Some(LoadedRtt {
        load: result.params.load?,
        p50_ns,
        times,
        is_bloat: times >= BUFFERBLOAT_FACTOR && p50_ns.saturating_sub(idle_ns) > floor,
    })
}
