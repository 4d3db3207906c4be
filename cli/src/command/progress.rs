//! Progress of a session on stderr: a bar on a terminal, plain lines otherwise.

use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use linerate_bench::endpoint::TrialMonitor;
use linerate_bench::progress;
use linerate_results::format;
use linerate_results::record::Measurement;

use super::stop_on_ctrl_c;

/// Progress output of a session.
pub struct Terminal {
    bar: Option<ProgressBar>,
    stopped: Arc<AtomicBool>,
    began: Instant,
    interval: Option<Duration>,
}

/// Progress of a trial.
pub struct Watching<'a> {
    terminal: &'a Terminal,
    /// Time and octets at the end of the last interval.
    last: (Duration, u64),
}

/// Notes and results, printed as lines.
pub struct Lines<'a>(&'a Terminal);

impl Terminal {
    /// For a session of this length, with a line every `interval` of a transfer.
    pub fn new(at_least: Duration, interval: Option<Duration>) -> anyhow::Result<Self> {
        let stopped = stop_on_ctrl_c()?;
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::with_draw_target(
                Some(at_least.as_millis() as u64),
                ProgressDrawTarget::stderr_with_hz(10),
            );
            if let Ok(style) = ProgressStyle::with_template("{bar:24} {elapsed} {msg}") {
                bar.set_style(style.progress_chars("█▌░"));
            }
            bar
        });
        Ok(Self {
            bar,
            stopped,
            began: Instant::now(),
            interval,
        })
    }

    /// Splits into progress and lines.
    pub fn split(&mut self) -> (Watching<'_>, Lines<'_>) {
        let this = &*self;
        let watching = Watching {
            terminal: this,
            last: (Duration::ZERO, 0),
        };
        (watching, Lines(this))
    }

    /// True if the user pressed Ctrl-C.
    pub fn is_cancelled(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// Removes the bar.
    pub fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    fn print_line(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.println(text),
            None => message!("{text}"),
        }
    }
}

impl Watching<'_> {
    /// Prints a line for each completed interval.
    fn print_interval(&mut self, interval: Duration, since_begin: Duration, octets: u64) {
        let (from, before) = self.last;
        let Some(span) = since_begin.checked_sub(from) else {
            // Another trial.
            self.last = (Duration::ZERO, 0);
            return;
        };
        if span < interval {
            return;
        }
        let new = octets.saturating_sub(before);
        self.terminal.print_line(&format!(
            "{:>6.1}-{:<6.1} s  {}",
            from.as_secs_f64(),
            since_begin.as_secs_f64(),
            format::rate(new as f64 / span.as_secs_f64())
        ));
        self.last = (since_begin, octets);
    }
}

impl TrialMonitor for Watching<'_> {
    fn update(&mut self, since_begin: Duration, octets: u64) {
        if let Some(interval) = self.terminal.interval {
            self.print_interval(interval, since_begin, octets);
        }
        let Some(bar) = &self.terminal.bar else {
            return;
        };
        bar.set_position(self.terminal.began.elapsed().as_millis() as u64);
        let seconds = since_begin.as_secs_f64();
        if seconds > 0.0 {
            bar.set_message(format::rate(octets as f64 / seconds));
        }
    }

    fn is_cancelled(&self) -> bool {
        self.terminal.is_cancelled()
    }
}

impl Lines<'_> {
    /// Prints a note.
    pub fn note(&self, text: &str) {
        self.0.print_line(text);
    }

    /// Prints a result.
    pub fn result(&self, result: &Measurement) {
        self.0.print_line(progress::line(result).trim_start());
    }
}
