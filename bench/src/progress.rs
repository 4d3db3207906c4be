//! Progress of a run on stderr: bars on a terminal, plain lines elsewhere.

use std::fmt;
use std::io::{self, IsTerminal, Write as _};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use linerate_results::format;
use linerate_results::record::Measurement;

/// Receives the progress of a run, from several threads.
pub trait Progress: Sync {
    /// `job` begins; it has `steps`.
    fn begin(&self, job: usize, name: &str, steps: u64);
    /// `job` has done `steps` at `virtual_ns` of its machine's time.
    fn step(&self, job: usize, steps: u64, virtual_ns: u64);
    /// A result is available.
    fn result(&self, result: &Measurement);
    /// `job` has ended at `virtual_ns` of its machine's time.
    fn end(&self, job: usize, name: &str, virtual_ns: u64);
    /// `done` of `jobs` machines have ended.
    fn total(&self, _done: usize, _jobs: usize) {}
    /// A note for the user.
    fn note(&self, text: &str);
    /// True if the user has cancelled the run.
    fn is_cancelled(&self) -> bool {
        false
    }
}

/// Reports nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Progress for Silent {
    fn begin(&self, _: usize, _: &str, _: u64) {}
    fn step(&self, _: usize, _: u64, _: u64) {}
    fn result(&self, _: &Measurement) {}
    fn end(&self, _: usize, _: &str, _: u64) {}
    fn note(&self, _: &str) {}
}

/// Bars when stderr is a terminal, else plain lines. Colours only where `NO_COLOR` allows them.
pub fn on_stderr() -> Box<dyn Progress> {
    if io::stderr().is_terminal() {
        Box::new(Bars::new())
    } else {
        Box::new(Lines)
    }
}

/// Progress of a run that the user can cancel.
pub struct Cancellable<'a> {
    /// Receives the progress.
    pub progress: &'a dyn Progress,
    /// Set to cancel.
    pub cancelled: &'a AtomicBool,
}

impl Progress for Cancellable<'_> {
    fn begin(&self, job: usize, name: &str, steps: u64) {
        self.progress.begin(job, name, steps);
    }
    fn step(&self, job: usize, steps: u64, virtual_ns: u64) {
        self.progress.step(job, steps, virtual_ns);
    }
    fn result(&self, result: &Measurement) {
        self.progress.result(result);
    }
    fn end(&self, job: usize, name: &str, virtual_ns: u64) {
        self.progress.end(job, name, virtual_ns);
    }
    fn total(&self, done: usize, jobs: usize) {
        self.progress.total(done, jobs);
    }
    fn note(&self, text: &str) {
        self.progress.note(text);
    }
    fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }
}

/// Prints a line on stderr. If that is closed, the measurement continues without.
pub fn message(text: fmt::Arguments<'_>) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// A result in one line.
pub fn line(result: &Measurement) -> String {
    let run = match result.setting().run.as_str() {
        "" => result.variant(),
        run => run,
    };
    let line = result.describe().one_line();
    match &result.setting().cell {
        Some(cell) => format!("{run:<12} {line} ({cell})"),
        None => format!("{run:<12} {line}"),
    }
}

/// One line for each start, end and result.
struct Lines;

impl Progress for Lines {
    fn begin(&self, _: usize, name: &str, _: u64) {
        message(format_args!("{name}: started"));
    }
    fn step(&self, _: usize, _: u64, _: u64) {}
    fn result(&self, result: &Measurement) {
        message(format_args!("{}", line(result)));
    }
    fn end(&self, _: usize, name: &str, virtual_ns: u64) {
        message(format_args!(
            "{name}: done after {} of virtual time",
            format::time(virtual_ns)
        ));
    }
    fn total(&self, done: usize, jobs: usize) {
        message(format_args!("{done} of {jobs} done"));
    }
    fn note(&self, text: &str) {
        message(format_args!("{text}"));
    }
}

/// One bar per job.
struct Bars {
    all: MultiProgress,
    jobs: Mutex<Vec<Option<ProgressBar>>>,
    total: std::sync::OnceLock<ProgressBar>,
}

impl Bars {
    fn new() -> Self {
        let all = MultiProgress::with_draw_target(ProgressDrawTarget::stderr_with_hz(10));
        Self {
            all,
            jobs: Mutex::new(Vec::new()),
            total: std::sync::OnceLock::new(),
        }
    }

    fn with(&self, job: usize, act: impl FnOnce(&ProgressBar)) {
        let jobs = self
            .jobs
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(Some(bar)) = jobs.get(job) {
            act(bar);
        }
    }
}

impl Progress for Bars {
    fn begin(&self, job: usize, name: &str, steps: u64) {
        let bar = self.all.add(ProgressBar::new(steps));
        let template = "{prefix:<20} {bar:24} {pos:>2}/{len} {msg}";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("█▌░"));
        }
        bar.set_prefix(name.to_owned());
        bar.enable_steady_tick(Duration::from_millis(200));
        let mut jobs = self
            .jobs
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        if jobs.len() <= job {
            jobs.resize(job + 1, None);
        }
        jobs[job] = Some(bar);
    }

    fn step(&self, job: usize, steps: u64, virtual_ns: u64) {
        self.with(job, |bar| {
            bar.set_position(steps);
            bar.set_message(format!("{} virtual", format::time(virtual_ns)));
        });
    }

    fn result(&self, result: &Measurement) {
        // An error here means that the terminal is gone; the measurement continues.
        let _ = self.all.println(line(result));
    }

    fn end(&self, job: usize, _: &str, _: u64) {
        self.with(job, ProgressBar::finish_and_clear);
    }

    fn total(&self, done: usize, jobs: usize) {
        let bar = self.total.get_or_init(|| {
            let bar = self.all.add(ProgressBar::new(jobs as u64));
            let template = "{prefix:<20} {bar:24} {pos}/{len}, {eta} left";
            if let Ok(style) = ProgressStyle::with_template(template) {
                bar.set_style(style.progress_chars("█▌░"));
            }
            bar.set_prefix("all cells");
            bar
        });
        bar.set_position(done as u64);
        if done == jobs {
            bar.finish_and_clear();
        }
    }

    fn note(&self, text: &str) {
        let _ = self.all.println(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_in_a_line() {
        let run = linerate_results::record::Run::from_json(include_str!(
            "../../results/tests/fixtures/run.json"
        ))
        .expect("the fixture is valid");
        let lines: Vec<String> = run.results[..2].iter().map(line).collect();
        assert_eq!(
            lines,
            [
                "isr-all      ping       10 of 10 answered, median 1.44 ms",
                "isr-all      get 10 kB   median 52 kbit/s (6.5 kB/s), 0.5% of line rate, 38% of the frames lost",
            ]
        );
    }
}
