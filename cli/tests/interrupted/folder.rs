//! What a folder must have, and `linerate report` say, after a fault.

use std::path::{Path, PathBuf};
use std::process::Output;

use linerate_bench::store::{RUN, StoredRun, TRIALS, earlier, read};

use super::command::{Measuring, linerate};
use super::fault::{Fault, Finished};

/// Starts of the earlier run and of the interrupted one: an hour later.
pub const EARLIER: u64 = 978_307_200;
pub const LATER: u64 = EARLIER + 3_600;
/// The same in reports, without the seconds that the commands take to start.
const STARTED_EARLIER: &str = "2001-01-01T00:0";
const STARTED_LATER: &str = "2001-01-01T01:0";

/// Files that are made of `run.json`.
const DERIVED: [&str; 6] = [
    "report.html",
    "report.md",
    "results.csv",
    "junit.xml",
    "results.prom",
    "results.hdr",
];

/// A folder in which a complete run was interrupted by another.
pub struct Folder<'a> {
    pub path: &'a Path,
    pub measuring: Measuring,
    /// Number of results of a run.
    pub results: usize,
}

impl Folder<'_> {
    /// Checks the folder after `finished`, which `fault` struck.
    pub fn check(&self, finished: &Finished, fault: Fault) -> Result<(), String> {
        self.check_end(finished, fault)?;
        // The file is in its place when it is opened to append.
        let has_begun = match fault {
            Fault::KillAfter(_) => stored(self.path).is_some_and(|it| is_later(&it)),
            _ => finished.has_reached("open /trials.ndjson"),
        };
        self.check_left(has_begun)?;
        let report = report(&[], self.path);
        let markdown = report_markdown(self.path);
        if has_begun {
            self.check_shown(finished, fault, &markdown)?;
        } else {
            self.check_not_begun(finished, fault, &markdown)?;
        }
        self.check_page(&report)?;
        let (kept, all) = (self.kept(), self.results + appended(finished, fault));
        ensure(kept >= all, || format!("{kept} of {all} results are kept"))
    }

    /// Exit code and message of the command itself.
    fn check_end(&self, finished: &Finished, fault: Fault) -> Result<(), String> {
        let code = finished.output.status.code();
        if fault.is_kill() {
            // A time may be after the end.
            let has_ended = matches!(fault, Fault::KillAfter(_)) && code.is_some();
            return ensure(code.is_none() || has_ended, || {
                format!("ended with {code:?}")
            });
        }
        if !finished.had_no_space {
            return ensure(code == Some(self.measuring.code()), || {
                format!("ended with {code:?} without a fault")
            });
        }
        let message = finished.stderr();
        ensure(code == Some(2), || {
            format!("ended with {code:?}, not with 2")
        })?;
        ensure(
            message.contains("cannot write ") && message.contains("No space left on device"),
            || format!("it does not name the full disk: {message}"),
        )
    }

    /// The files that the command left: none of an earlier run beside those of this one, and the page is whole.
    fn check_left(&self, has_begun: bool) -> Result<(), String> {
        let derived = DERIVED.iter().find(|name| self.path.join(name).exists());
        ensure(
            !has_begun || self.path.join(RUN).exists() || derived.is_none(),
            || format!("{derived:?} is there without {RUN}"),
        )?;
        let Ok(page) = std::fs::read_to_string(self.path.join("report.html")) else {
            return Ok(());
        };
        let started = if has_begun {
            STARTED_LATER
        } else {
            STARTED_EARLIER
        };
        ensure(
            page.trim_end().ends_with("</html>") && page.contains(started),
            || "the page that was left is not whole, or of another run".to_owned(),
        )
    }

    /// The interrupted run has begun: the report is of it.
    fn check_shown(
        &self,
        finished: &Finished,
        fault: Fault,
        report: &Output,
    ) -> Result<(), String> {
        let (printed, complained) = texts(report);
        ensure(report.status.success(), || {
            format!("report failed: {complained}")
        })?;
        ensure(
            printed.starts_with(self.measuring.title())
                && printed.contains(&format!("started {STARTED_LATER}")),
            || format!("the report is not of this run: {printed}"),
        )?;
        let shown = stored(self.path).ok_or("there are no results")?;
        let appended = appended(finished, fault);
        let found = shown.run.results.len();
        ensure((appended..=self.results).contains(&found), || {
            format!("{found} results in the report, {appended} were written")
        })?;
        if !self.path.join(RUN).exists() {
            return ensure(
                printed.contains("the run did not finish")
                    && complained.contains("the run did not finish"),
                || format!("it does not say that results are missing: {printed}{complained}"),
            );
        }
        let is_stated = printed.contains("Not measured: ") && printed.contains("**Failed:**");
        ensure(found == self.results || is_stated, || {
            format!("it does not say that results are missing: {printed}")
        })?;
        let has_failed = self.measuring != Measuring::Run || printed.contains("**Failed:**");
        ensure(has_failed, || {
            format!("the failed limit is missing: {printed}")
        })
    }

    /// The interrupted run has not begun: the report is that of the earlier one and states it.
    fn check_not_begun(
        &self,
        finished: &Finished,
        fault: Fault,
        report: &Output,
    ) -> Result<(), String> {
        let (printed, complained) = texts(report);
        // The start is written before the file gets its length.
        let is_announced = match fault {
            Fault::KillAfter(_) => std::fs::read_to_string(self.path.join(".linerate-lock"))
                .is_ok_and(|started| started.starts_with(STARTED_LATER)),
            _ => finished.has_reached("truncate /.linerate-lock"),
        };
        let stated = format!("run started at {STARTED_LATER}");
        let states = |text: &str| {
            text.lines().any(|line| {
                line.contains(&stated) && line.contains("was ended before its first result")
            })
        };
        ensure(is_announced == states(&complained), || {
            format!("the run that was ended is not announced as expected: {complained}")
        })?;
        if !report.status.success() {
            return ensure(
                report.status.code() == Some(2) && complained.contains(" has no results"),
                || complained.clone(),
            );
        }
        ensure(is_announced == states(&printed), || {
            format!("the run that was ended is not announced as expected: {printed}")
        })?;
        ensure(
            printed.contains(&format!("started {STARTED_EARLIER}")),
            || format!("an earlier run is shown as this one: {printed}"),
        )
    }

    /// The page is whole, and of the run that is shown.
    fn check_page(&self, report: &Output) -> Result<(), String> {
        let (printed, complained) = texts(report);
        if !report.status.success() {
            return ensure(complained.contains(" has no results"), || {
                complained.clone()
            });
        }
        let page = std::fs::read_to_string(self.path.join("report.html"));
        let page = page.map_err(|error| format!("no page: {error}"))?;
        let shown = stored(self.path).ok_or("there are no results")?;
        let started = shown.run.provenance.started;
        ensure(printed.contains(&format!("Started {started}")), || {
            printed.clone()
        })?;
        ensure(
            page.trim_end().ends_with("</html>") && page.contains(&started),
            || "the page is not whole, or of another run".to_owned(),
        )
    }

    /// Checks a run without a fault in the folder.
    pub fn check_next(&self, finished: &Finished) -> Result<(), String> {
        let code = finished.output.status.code();
        ensure(code == Some(self.measuring.code()), || {
            format!("the next run ended with {code:?}: {}", finished.stderr())
        })?;
        let (printed, complained) = texts(&report_markdown(self.path));
        let found = stored(self.path).map_or(0, |it| it.run.results.len());
        ensure(
            found == self.results && complained.is_empty() && !printed.contains("Not measured"),
            || format!("the next run is not complete: {complained}{printed}"),
        )?;
        let entries = std::fs::read_dir(self.path).map_err(|error| error.to_string())?;
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let parts: Vec<String> = names
            .filter(|name| Path::new(name).extension().is_some_and(|it| it == "tmp"))
            .collect();
        ensure(parts.is_empty(), || {
            format!("parts of files are left: {parts:?}")
        })
    }

    /// Number of results of all runs, wherever they are.
    fn kept(&self) -> usize {
        let aside = std::fs::read_dir(self.path.join(earlier::EARLIER));
        let aside = aside
            .into_iter()
            .flatten()
            .filter_map(|it| Some(it.ok()?.path()));
        let folders = aside.chain([self.path.to_owned()]);
        let results = folders.filter_map(|folder: PathBuf| stored(&folder));
        results.map(|stored| stored.run.results.len()).sum()
    }
}

fn ensure(is_true: bool, otherwise: impl FnOnce() -> String) -> Result<(), String> {
    if is_true { Ok(()) } else { Err(otherwise()) }
}

/// Number of results that the interrupted run had written.
fn appended(finished: &Finished, fault: Fault) -> usize {
    let since_begin = finished
        .completed(fault)
        .skip_while(|operation| *operation != "open /trials.ndjson");
    // Before other files, to which the last line belongs.
    let results = since_begin.take_while(|operation| !operation.starts_with("open /.linerate-"));
    results
        .filter(|operation| *operation == "write /trials.ndjson")
        .count()
}

fn is_later(stored: &StoredRun) -> bool {
    stored.run.provenance.started.starts_with(STARTED_LATER)
}

fn stored(folder: &Path) -> Option<StoredRun> {
    let texts = [RUN, TRIALS].map(|name| std::fs::read_to_string(folder.join(name)));
    let text = texts.into_iter().find_map(Result::ok)?;
    read(&text).ok()
}

fn report(flags: &[&str], folder: &Path) -> Output {
    let mut command = linerate();
    command.arg("report").args(flags).arg(folder);
    command.output().expect("it runs")
}

/// The report as text.
pub fn report_markdown(folder: &Path) -> Output {
    report(&["--markdown"], folder)
}

/// Results of the run in `folder`.
pub fn count_results(folder: &Path) -> usize {
    stored(folder).map_or(0, |stored| stored.run.results.len())
}

fn texts(output: &Output) -> (String, String) {
    let [printed, complained] =
        [&output.stdout, &output.stderr].map(|it| String::from_utf8_lossy(it).into_owned());
    (printed, complained)
}
