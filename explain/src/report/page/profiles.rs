//! Processor cycles by function.

use serde::Serialize;

use crate::profile;
use crate::svg::flame;
use linerate_results::format;
use linerate_results::record::Run;
use linerate_results::stats;

/// The profile of one firmware.
#[derive(Serialize)]
pub(super) struct ProfileView<'a> {
    name: &'a str,
    text: String,
    chart: String,
    threads: Vec<ThreadView>,
}

#[derive(Serialize)]
struct ThreadView {
    name: &'static str,
    per_frame: String,
    share: String,
    rows: Vec<FunctionView>,
    others: usize,
}

#[derive(Serialize)]
struct FunctionView {
    function: String,
    own: String,
    total: String,
    share: String,
    calls: String,
}

/// Functions listed per thread.
const MAX_FUNCTIONS: usize = 15;

/// Every profile of the run.
pub(super) fn profiles(run: &Run) -> Vec<ProfileView<'_>> {
    let views = run.profiles.iter().map(|(name, profile)| {
        let all = profile::cycles(profile);
        let per_frame = |cycles: u64| per_frame(cycles, profile.frames);
        let seconds = stats::ratio(all as f64, profile.cycles_per_s as f64);
        let threads = [true, false].into_iter().map(|interrupt| {
            let rows = profile::rows(profile, interrupt);
            let cycles = profile::cycles_of(profile, interrupt);
            ThreadView {
                name: profile::thread(interrupt),
                per_frame: per_frame(cycles),
                share: format::percent(stats::ratio(cycles as f64, all as f64)),
                others: rows.len().saturating_sub(MAX_FUNCTIONS),
                rows: rows
                    .into_iter()
                    .take(MAX_FUNCTIONS)
                    .map(|row| FunctionView {
                        own: per_frame(row.own),
                        total: per_frame(row.total),
                        share: format::percent(row.share),
                        calls: format!(
                            "{:.2}",
                            stats::ratio(row.calls as f64, profile.frames as f64)
                        ),
                        function: row.function,
                    })
                    .collect(),
            }
        });
        ProfileView {
            name,
            text: format!(
                "{} cycles in {}, {} frames received",
                format::count(all),
                format::time((seconds * 1e9) as u64),
                format::count(profile.frames)
            ),
            chart: flame::flame(profile),
            threads: threads.collect(),
        }
    });
    views.collect()
}

/// Cycles per frame, formatted.
fn per_frame(cycles: u64, frames: u64) -> String {
    let cycles = stats::ratio(cycles as f64, frames as f64);
    if cycles >= 100.0 {
        format::count(cycles.round() as u64)
    } else {
        format!("{cycles:.1}")
    }
}
