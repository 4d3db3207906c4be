//! How far a session is, on stderr: a bar on a terminal, plain lines elsewhere.

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

/// Tells of a session.
pub struct Terminal {
    bar: Option<ProgressBar>,
    stopped: Arc<AtomicBool>,
    began: Instant,
    interval: Option<Duration>,
}

/// What trials tell.
pub struct Watching<'a> {
    terminal: &'a Terminal,
    /// What there was at the end of the last interval: the time, and octets.
    told: (Duration, u64),
}

/// What is said in lines.
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

    /// Its two halves.
    pub fn split(&mut self) -> (Watching<'_>, Lines<'_>) {
        let this = &*self;
        let watching = Watching {
            terminal: this,
            told: (Duration::ZERO, 0),
        };
        (watching, Lines(this))
    }

    /// Removes the bar.
    pub fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    fn say(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.println(text),
            None => eprintln!("{text}"),
        }
    }
}

impl Watching<'_> {
    /// A line for each interval that is over.
    fn tell(&mut self, interval: Duration, since_begin: Duration, octets: u64) {
        let (from, before) = self.told;
        let Some(span) = since_begin.checked_sub(from) else {
            // Another trial.
            self.told = (Duration::ZERO, 0);
            return;
        };
        if span < interval {
            return;
        }
        let new = octets.saturating_sub(before);
        self.terminal.say(&format!(
            "{:>6.1}-{:<6.1} s  {}",
            from.as_secs_f64(),
            since_begin.as_secs_f64(),
            format::rate(new as f64 / span.as_secs_f64())
        ));
        self.told = (since_begin, octets);
    }
}

impl TrialMonitor for Watching<'_> {
    fn update(&mut self, since_begin: Duration, octets: u64) {
        if let Some(interval) = self.terminal.interval {
            self.tell(interval, since_begin, octets);
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
        self.terminal.stopped.load(Ordering::Relaxed)
    }
}

impl Lines<'_> {
    /// Something to know.
    pub fn note(&self, text: &str) {
        self.0.say(text);
    }

    /// A result.
    pub fn result(&self, result: &Measurement) {
        self.0.say(progress::line(result).trim_start());
    }
}
