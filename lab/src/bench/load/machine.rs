//! What else the machine does.

use std::fmt;
use std::fs;
use std::thread;
use std::time::Duration;

/// How long is looked, while nothing of this benchmark runs.
const LOOK: Duration = Duration::from_millis(250);
/// A share of the cores' time from which figures are not to be trusted.
const BUSY: f64 = 0.05;

/// The share of all cores' time that others took, each time it was looked at.
#[derive(Default)]
pub struct Busy {
    shares: Vec<f64>,
}

impl Busy {
    /// Looks now, when nothing of this benchmark runs.
    pub fn look(&mut self) {
        let read = || times(&fs::read_to_string("/proc/stat").unwrap_or_default());
        let before = read();
        thread::sleep(LOOK);
        if let (Some(before), Some(after)) = (before, read()) {
            self.shares.push(share(before, after));
        }
    }

    pub(super) fn shares(&self) -> &[f64] {
        &self.shares
    }

    #[cfg(test)]
    pub(super) fn of(shares: &[f64]) -> Self {
        Self {
            shares: shares.to_vec(),
        }
    }
}

impl fmt::Display for Busy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shares = self.shares().to_vec();
        shares.sort_by(f64::total_cmp);
        let (Some(most), Some(median)) = (shares.last(), shares.get(shares.len() / 2)) else {
            return f.write_str("what else the machine did is not known");
        };
        let what = if *median > BUSY {
            "**The machine was busy with other work: these figures are not to be trusted.**"
        } else if *most > BUSY {
            "The machine was busy with other work at times."
        } else {
            "The machine was idle but for this."
        };
        write!(
            f,
            "{what} Between the runs, other processes took {:.0}% of its cores (median of {}), {:.0}% at most.",
            median * 100.0,
            shares.len(),
            most * 100.0
        )
    }
}

/// Of the line `cpu` in `/proc/stat` (proc(5)): time that all cores were not idle, and all of it. Time that
/// the host below took for others is not idle.
fn times(stat: &str) -> Option<[u64; 2]> {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let times: Vec<u64> = line
        .split_whitespace()
        .map_while(|it| it.parse().ok())
        .collect();
    // user nice system idle iowait irq softirq steal; guests are counted in user and nice.
    let all: u64 = times.iter().take(8).sum();
    let idle = times.get(3)? + times.get(4)?;
    Some([all - idle, all])
}

fn share(before: [u64; 2], after: [u64; 2]) -> f64 {
    let [taken, all] = [0, 1].map(|at| after[at].saturating_sub(before[at]) as f64);
    taken / all.max(1.0)
}

#[cfg(test)]
mod tests {
    use super::{Busy, share, times};

    #[test]
    fn idle_time_and_waiting_are_no_work() {
        let stat = |user, idle| format!("cpu  {user} 0 10 {idle} 5 0 5 0 0 0\ncpu0 1 1 1 1\n");
        let before = times(&stat(100, 1000)).expect("times");
        assert_eq!(before, [115, 1120]);
        let after = times(&stat(130, 1070)).expect("times");
        assert!((share(before, after) - 0.3).abs() < 1e-9);
        assert_eq!(times("intr 5\n"), None);
    }

    #[test]
    fn a_busy_machine_is_said_to_be_one() {
        for (shares, word) in [
            (&[0.0, 0.01, 0.02][..], "was idle"),
            (&[0.0, 0.01, 0.5], "at times"),
            (&[0.3, 0.01, 0.5], "not to be trusted"),
        ] {
            let text = Busy::of(shares).to_string();
            assert!(text.contains(word), "{text}");
        }
        assert!(Busy::default().to_string().contains("not known"));
    }
}
