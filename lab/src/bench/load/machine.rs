//! Load of the machine by other processes.

use std::fmt;
use std::fs;
use std::thread;
use std::time::Duration;

/// Duration of a sample, taken while nothing of this benchmark runs.
const SAMPLE: Duration = Duration::from_millis(250);
/// Share of the cores' time above which figures are unreliable.
const BUSY: f64 = 0.05;

/// Shares of all cores' time that other processes used, one per sample.
#[derive(Default)]
pub struct Busy {
    shares: Vec<f64>,
}

impl Busy {
    /// Takes a sample; nothing of this benchmark may run.
    pub fn sample(&mut self) {
        let read = || times(&fs::read_to_string("/proc/stat").unwrap_or_default());
        let before = read();
        thread::sleep(SAMPLE);
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
            return f.write_str("the load by other processes is unknown");
        };
        let what = if *median > BUSY {
            "**The machine was busy with other work: these figures are unreliable.**"
        } else if *most > BUSY {
            "The machine was busy with other work at times."
        } else {
            "The machine was otherwise idle."
        };
        write!(
            f,
            "{what} Between the runs, other processes used {:.0}% of its cores (median of {}), at most {:.0}%.",
            median * 100.0,
            shares.len(),
            most * 100.0
        )
    }
}

/// From the line `cpu` in `/proc/stat` (proc(5)): busy time of all cores, and total time. Time stolen by the
/// hypervisor is busy time.
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
    fn a_busy_machine_is_reported() {
        for (shares, word) in [
            (&[0.0, 0.01, 0.02][..], "otherwise idle"),
            (&[0.0, 0.01, 0.5], "at times"),
            (&[0.3, 0.01, 0.5], "unreliable"),
        ] {
            let text = Busy::of(shares).to_string();
            assert!(text.contains(word), "{text}");
        }
        assert!(Busy::default().to_string().contains("unknown"));
    }
}
