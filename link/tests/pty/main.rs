//! Two processes with a pseudo-terminal each, and between them a line that damages, loses, inserts and duplicates octets
//! and stalls. Now and then one of the processes is killed and started again. 20,000 messages, or 10,000,000 with
//! `LINERATE_LONG`.
//!
//! Real processes and a real terminal driver, so the time is the clock's: the faults are the same in each run, what they
//! hit is not. No result depends on how long anything takes.

#![cfg(target_os = "linux")]
#![forbid(unsafe_code)]

mod end;
mod line;

use end::{Assignment, CHANNELS, total};
use line::{Fault, Line, Terminal};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// Longest silence of both ends: far longer than it takes, so a failure shows what was printed.
const SILENCE: Duration = Duration::from_mins(2);

/// Processes that are killed in a run.
const RESTARTS: u32 = 6;

/// A process at one end.
struct Process {
    child: Child,
    /// Number of the next message that its program expects on each channel, as it last reported.
    expects: [u32; CHANNELS],
    is_done: bool,
    /// Damaged and repeated frames, and frames without room, as it last reported.
    counts: [u64; 3],
}

/// A line of a process: direction, start of the process, text; no text if the process has ended.
type Report = (usize, u32, Option<String>);

struct Bench {
    terminals: [Terminal; 2],
    processes: Vec<Process>,
    reports: mpsc::Receiver<Report>,
    reporter: mpsc::Sender<Report>,
    messages: u32,
    starts: u32,
    /// Start number of the process at each end.
    current: [u32; 2],
    /// Sums of [`Process::counts`] of processes that have ended.
    counts: [u64; 3],
}

impl Bench {
    fn new(messages: u32) -> Self {
        let (reporter, reports) = mpsc::channel();
        let mut bench = Self {
            terminals: [Terminal::new(), Terminal::new()],
            processes: Vec::new(),
            reports,
            reporter,
            messages,
            starts: 0,
            current: [0; 2],
            counts: [0; 3],
        };
        for direction in 0..2 {
            let process = bench.start(direction, [0; CHANNELS], [0; CHANNELS]);
            bench.processes.push(process);
        }
        bench
    }

    fn start(
        &mut self,
        direction: usize,
        sends: [u32; CHANNELS],
        expects: [u32; CHANNELS],
    ) -> Process {
        self.starts += 1;
        self.current[direction] = self.starts;
        let assignment = Assignment {
            session: self.starts << 8 | 0xA5,
            direction,
            messages: self.messages,
            sends,
            expects,
        };
        let mut child = Command::new(std::env::current_exe().expect("this program"))
            .args(["--exact", "end_of_the_line", "--nocapture"])
            .env(end::ASSIGNMENT, assignment.to_text())
            .stdin(self.terminals[direction].user())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the end starts");
        let output = BufReader::new(child.stdout.take().expect("piped"));
        let (reporter, start) = (self.reporter.clone(), self.starts);
        thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                let _ = reporter.send((direction, start, Some(line)));
            }
            let _ = reporter.send((direction, start, None));
        });
        Process {
            child,
            expects,
            is_done: false,
            counts: [0; 3],
        }
    }

    /// Handles the next report; returns false if it was the end of a process.
    fn report(&mut self) -> bool {
        let report = self.reports.recv_timeout(SILENCE);
        let (direction, start, line) = report.expect("an end makes progress");
        let process = &mut self.processes[direction];
        let Some(line) = line else {
            return start != self.current[direction];
        };
        let mut words = line.split(' ');
        match words.next() {
            Some("read") => process.expects = end::numbers(words),
            Some("done") => process.is_done = true,
            Some("counts") => {
                process.counts = end::numbers::<3>(words).map(u64::from);
            }
            // Of the test harness.
            _ => {}
        }
        true
    }

    fn read(&self) -> u32 {
        self.processes.iter().flat_map(|p| p.expects).sum()
    }

    /// Kills the process at one end and starts another: it goes on behind what its predecessor has read, and sends what
    /// its peer has not read.
    fn restart(&mut self, direction: usize) {
        let process = &mut self.processes[direction];
        process.child.kill().expect("it runs");
        process.child.wait().expect("it ends");
        while self.report() {}
        let sends = self.processes[1 - direction].expects;
        let expects = self.processes[direction].expects;
        self.keep_counts(direction);
        self.processes[direction] = self.start(direction, sends, expects);
    }

    fn keep_counts(&mut self, direction: usize) {
        let counts = self.processes[direction].counts;
        for (sum, count) in self.counts.iter_mut().zip(counts) {
            *sum += count;
        }
    }
}

/// One end, in a process of its own; otherwise nothing.
#[test]
fn end_of_the_line() {
    if let Some(assignment) = Assignment::from_environment() {
        end::run(&assignment);
    }
}

#[test]
fn no_message_between_two_processes_is_wrong_or_lost() {
    let messages = if std::env::var_os("LINERATE_LONG").is_some() {
        10_000_000
    } else {
        20_000
    };
    // Half of them in each direction.
    let mut bench = Bench::new(messages / 2);
    let line = Line::connect(&bench.terminals, 7);
    let all = 2 * (0..CHANNELS).map(|c| total(messages / 2, c)).sum::<u32>();
    for number in 1..=RESTARTS {
        while bench.read() < all / (RESTARTS + 1) * number {
            assert!(bench.report(), "an end has stopped: its output is above");
        }
        bench.restart(number as usize % 2);
    }
    while !bench.processes.iter().all(|p| p.is_done) {
        assert!(bench.report(), "an end has stopped: its output is above");
    }
    assert_eq!(bench.read(), all);
    for direction in 0..2 {
        let child = &mut bench.processes[direction].child;
        child.kill().expect("it runs");
        child.wait().expect("it ends");
        bench.keep_counts(direction);
    }
    let faults = line.disconnect();
    let [damaged, repeated, overruns] = bench.counts;
    println!(
        "{all} messages, none wrong or lost, {RESTARTS} restarts; line: {faults:?}; frames damaged: {damaged}, sent again: \
         {repeated}"
    );
    // `cargo xtask links` reads this. A message that is wrong or lost has ended the test.
    println!(
        "counts: {{\"pty_messages\": {all}, \"pty_messages_wrong\": 0, \"pty_messages_lost\": 0, \
         \"pty_restarts\": {RESTARTS}}}"
    );
    assert_eq!(overruns, 0, "the credit was kept");
    assert!(damaged > 0 && faults.iter().all(|(_, count)| *count > 0));
    assert_eq!(faults.len(), Fault::ALL.len());
}
