//! Time since the command was entered, including cargo's compilation of this program.

use std::time::Duration;

/// Time since this process started; `None` on systems other than Linux. `cargo run` replaces itself by the program that
/// it has built (exec), so this includes the compilation.
pub fn since_command() -> Option<Duration> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    let uptime = std::fs::read_to_string("/proc/uptime").ok()?;
    since_start(&stat, &uptime)
}

/// Time from `starttime` of `/proc/[pid]/stat` (field 22, hundredths of a second since boot; Linux manual) to the
/// time in `/proc/uptime`.
fn since_start(stat: &str, uptime: &str) -> Option<Duration> {
    let (_, fields) = stat.rsplit_once(')')?;
    let started: u64 = fields.split_whitespace().nth(19)?.parse().ok()?;
    let now: f64 = uptime.split_whitespace().next()?.parse().ok()?;
    let started = Duration::from_millis(10 * started);
    Duration::try_from_secs_f64(now).ok()?.checked_sub(started)
}

#[cfg(test)]
mod tests {
    use super::since_start;
    use std::time::Duration;

    #[test]
    fn the_start_time_is_read_after_any_process_name() {
        let stat = "12 (a b) c) S 1 12 12 0 -1 4194304 90 80 0 0 7 5 250 30 20 0 1 0 4200 1 2";
        let passed = since_start(stat, "100.50 180.00\n");
        assert_eq!(passed, Some(Duration::from_millis(58_500)));
        assert_eq!(since_start("12 (a) S 1", "100.5"), None);
    }
}
