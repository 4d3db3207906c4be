//! Named, timed steps and their summary.

use crate::{concurrent, elapsed, sh};
use anyhow::{Result, bail};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Outcome of a step that did not fail.
pub enum Outcome {
    /// Everything was checked; a short note for the summary.
    Done(String),
    /// Not everything could be checked; the missing tool and the command that installs it.
    Skipped(String),
}

impl Outcome {
    /// Done, without a note.
    pub const fn done() -> Self {
        Self::Done(String::new())
    }

    /// Prints the outcome of a command that is a single step.
    pub fn print(self) {
        match self {
            Self::Done(note) => println!("{note}"),
            Self::Skipped(how) => println!("skipped: {how}"),
        }
    }
}

struct Row {
    name: String,
    mark: &'static str,
    took: Duration,
    /// CPU time of the processes that the step started; other work on the machine does not change it.
    cpu: Option<Duration>,
    note: String,
}

/// A sequence of steps: each is named before it starts, timed, and listed at the end.
pub struct Steps {
    wanted: Vec<String>,
    results: Mutex<Results>,
    started: Instant,
    /// Two sequences run at the same time.
    are_two: AtomicBool,
}

#[derive(Default)]
struct Results {
    rows: Vec<Row>,
    /// Tests passed, failed and ignored in all `cargo test` calls.
    tests: [u64; 3],
}

impl Steps {
    /// Runs only steps whose name contains one of `wanted`; all steps if it is empty.
    pub fn new(wanted: &[String]) -> Self {
        Self {
            wanted: wanted.to_vec(),
            results: Mutex::default(),
            started: Instant::now(),
            are_two: AtomicBool::new(false),
        }
    }

    /// True if the user named the steps to run.
    pub fn has_names(&self) -> bool {
        !self.wanted.is_empty()
    }

    /// Runs two sequences of steps at the same time, `beside` at the lowest priority until `here` has ended.
    pub fn both(&self, beside: impl FnOnce(&Self) + Send, here: impl FnOnce(&Self)) {
        self.are_two.store(true, Ordering::Relaxed);
        let beside = || {
            sh::set_low_priority(true);
            beside(self);
        };
        sh::set_foreground(true);
        concurrent::both(beside, || {
            here(self);
            sh::set_foreground(false);
        });
        self.are_two.store(false, Ordering::Relaxed);
    }

    /// Runs a step. A failure is recorded, and the following steps run all the same.
    pub fn step(&self, name: &str, body: impl FnOnce(&Self, &Path) -> Result<Outcome>) {
        if !self.wanted.is_empty() && !self.wanted.iter().any(|w| name.contains(w.as_str())) {
            return;
        }
        println!("==> {name}");
        let started = Instant::now();
        // Of two steps at the same time, nobody knows which one took it.
        let cpu_if_alone = || children_cpu().filter(|_| !self.are_two.load(Ordering::Relaxed));
        let cpu_before = cpu_if_alone();
        let result = fresh_log(name).and_then(|log| body(self, &log));
        let took = started.elapsed();
        let (mark, note) = match result {
            Ok(Outcome::Done(note)) => ("ok", note),
            Ok(Outcome::Skipped(how)) if must_have_tools() => {
                let text = format!("skipped although LINERATE_REQUIRE_TOOLS is set: {how}");
                println!("{text}");
                ("FAILED", text)
            }
            Ok(Outcome::Skipped(how)) => {
                println!("skipped: {how}");
                ("skipped", how)
            }
            Err(error) => {
                let text = format!("{error:#}");
                println!("{text}");
                let last = text.lines().last().unwrap_or_default().to_owned();
                ("FAILED", last)
            }
        };
        let cpu = cpu_if_alone()
            .zip(cpu_before)
            .map(|(after, before)| after.saturating_sub(before));
        let seconds = took.as_secs_f64();
        println!("    {name}: {mark} in {seconds:.1} s{}", of_cpu(cpu));
        self.results().rows.push(Row {
            name: name.to_owned(),
            mark,
            took,
            cpu,
            note,
        });
    }

    fn results(&self) -> MutexGuard<'_, Results> {
        self.results.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds the `test result:` lines of a `cargo test` to the totals; returns the sum of these lines.
    pub fn count_tests(&self, output: &str) -> [u64; 3] {
        let sum = sum_tests(output);
        for (total, part) in self.results().tests.iter_mut().zip(sum) {
            *total += part;
        }
        sum
    }

    /// Prints every step with its time, then the totals of the tests.
    ///
    /// # Errors
    /// A step failed, or no step was selected.
    pub fn finish(self) -> Result<()> {
        let results = self.results();
        let mut text = String::from("\nsummary\n");
        for row in &results.rows {
            writeln!(
                text,
                "  {:8} {:14} {:6.1} s{:>16}  {}",
                row.mark,
                row.name,
                row.took.as_secs_f64(),
                of_cpu(row.cpu),
                row.note.replace('\n', "; ")
            )?;
        }
        writeln!(
            text,
            "  {} steps in {:.0} s{}",
            results.rows.len(),
            self.started.elapsed().as_secs_f64(),
            of_cpu(children_cpu())
        )?;
        print!("{text}");
        if let Some(all) = elapsed::since_command() {
            println!("  {:.0} s since the command was entered", all.as_secs_f64());
        }
        let [passed, failed, ignored] = results.tests;
        println!("{passed} passed, {failed} failed, {ignored} skipped");
        let failed: Vec<&str> = results
            .rows
            .iter()
            .filter(|r| r.mark == "FAILED")
            .map(|r| r.name.as_str())
            .collect();
        if results.rows.is_empty() {
            bail!("no step name contains any of {:?}", self.wanted);
        }
        if !failed.is_empty() {
            bail!("failed: {}", failed.join(", "));
        }
        Ok(())
    }
}

/// True if a skipped check counts as a failure (CI, where everything is installed).
pub fn must_have_tools() -> bool {
    std::env::var_os("LINERATE_REQUIRE_TOOLS").is_some_and(|v| v != "0" && !v.is_empty())
}

/// ", 12 s of CPU"; empty if unknown.
fn of_cpu(cpu: Option<Duration>) -> String {
    cpu.map_or_else(String::new, |cpu| {
        format!(", {:.0} s of CPU", cpu.as_secs_f64())
    })
}

/// CPU time of all terminated child processes; `None` on systems other than Linux.
fn children_cpu() -> Option<Duration> {
    cpu_of_stat(&std::fs::read_to_string("/proc/self/stat").ok()?)
}

/// `cutime` and `cstime` of `/proc/[pid]/stat`, fields 16 and 17 (Linux manual), in hundredths
/// of a second. The second field, a name in parentheses, may hold anything.
fn cpu_of_stat(stat: &str) -> Option<Duration> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut times = fields.split_whitespace().skip(13);
    let mut next = || times.next()?.parse::<u64>().ok();
    Some(Duration::from_millis(10 * (next()? + next()?)))
}

fn fresh_log(name: &str) -> Result<PathBuf> {
    let folder = sh::out("xtask");
    std::fs::create_dir_all(&folder)?;
    let log = folder.join(format!("{}.log", name.replace(' ', "-")));
    std::fs::write(&log, "")?;
    Ok(log)
}

/// Sums `test result: ok. 3 passed; 0 failed; 1 ignored; ...` lines.
fn sum_tests(output: &str) -> [u64; 3] {
    let mut sum = [0; 3];
    for line in output.lines().filter(|l| l.starts_with("test result:")) {
        let words: Vec<&str> = line.split_whitespace().collect();
        for pair in words.windows(2) {
            let slot = match pair[1].trim_end_matches(';') {
                "passed" => 0,
                "failed" => 1,
                "ignored" => 2,
                _ => continue,
            };
            sum[slot] += pair[0].parse::<u64>().unwrap_or(0);
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::{cpu_of_stat, sum_tests};
    use std::time::Duration;

    #[test]
    fn the_time_of_children_is_read_after_any_process_name() {
        let stat = "12 (a b) c) S 1 12 12 0 -1 4194304 90 80 0 0 7 5 250 30 20 0 1 0 100";
        assert_eq!(cpu_of_stat(stat), Some(Duration::from_millis(2800)));
        assert_eq!(cpu_of_stat("12 (a) S 1"), None);
    }

    #[test]
    fn sums_the_result_lines_of_cargo_test() {
        let output = "\
running 2 tests
test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s
test result: FAILED. 40 passed; 3 failed; 0 ignored; 0 measured; 7 filtered out; finished in 1s
";
        assert_eq!(sum_tests(output), [42, 3, 1]);
    }
}
