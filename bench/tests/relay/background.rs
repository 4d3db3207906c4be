//! Stock servers in the background, and waiting for them.

use super::Record;
use linerate_bench::endpoint::TargetError;
use linerate_host::relay::{Namespace, Rig};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};
use tempfile::NamedTempFile;

/// For `nice`: highest priority, so that sockets are read before they are full.
pub const HASTE: [&str; 2] = ["-n", "-20"];
/// Longer than any step here takes.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Polling interval.
const LOOK: Duration = Duration::from_millis(5);

/// A stock server on the right; it is killed with the test.
pub struct Server {
    child: Child,
    text: NamedTempFile,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    /// Runs `line`, the last word of which is its port, and waits until the port is bound.
    pub fn start(rig: &Rig<Record>, line: &str) -> Self {
        let (program, words) = line.split_once(' ').expect("a program with words");
        let text = NamedTempFile::new().expect("a file");
        let mut command = rig.right().command("nice");
        command.args(HASTE).arg(program);
        command.args(words.split_whitespace());
        command.stdout(text.reopen().expect("the file"));
        let child = command.stderr(Stdio::null()).spawn();
        let child = child.expect("the server runs");
        let port = line.split_whitespace().last().expect("a port");
        let port = port.parse().expect("a port");
        until(
            || is_bound(rig.right(), port),
            || format!("nobody listens on {port}"),
        );
        Self { child, text }
    }

    /// The crash of the server that made a trial fail with `error`: the one of iperf 2.1.8 aborts now and then, with an
    /// assertion of glibc on a mutex that it has destroyed, or its threads wait for that mutex for ever, and read nothing.
    /// Panics if it has neither crashed nor hangs.
    pub fn crash_behind(&mut self, error: &TargetError) -> String {
        if self.hangs() {
            return format!("the stock server hangs in a lock: {error}");
        }
        let mut status = None;
        until(
            || {
                status = self.child.try_wait().expect("a child");
                status.is_some()
            },
            || error.to_string(),
        );
        let signal = status.and_then(|status| status.signal());
        let signal = signal.unwrap_or_else(|| panic!("{error}"));
        format!("the stock server crashed with signal {signal}: {error}")
    }

    /// True if none of its threads runs or waits for data: each waits for a lock, or accepts connections.
    fn hangs(&self) -> bool {
        let Ok(threads) = std::fs::read_dir(format!("/proc/{}/task", self.child.id())) else {
            return false;
        };
        let waits = threads.flatten().map(|thread| {
            let place = std::fs::read_to_string(thread.path().join("wchan"));
            place.unwrap_or_default()
        });
        let waits: Vec<String> = waits.collect();
        let is_lock = |place: &&String| place.contains("futex");
        let locked = waits.iter().filter(is_lock).count();
        let accepts = waits.iter().filter(|it| it.contains("accept")).count();
        locked > 0 && locked + accepts == waits.len()
    }

    /// Its output, once that is `enough`, or why the server prints no more.
    pub fn printed_text(&self, enough: impl Fn(&str) -> bool) -> Result<String, String> {
        let printed_text = || std::fs::read_to_string(self.text.path()).expect("its file");
        let end = Instant::now() + TIMEOUT;
        while !enough(&printed_text()) {
            if Instant::now() >= end && self.hangs() {
                return Err("the stock server hangs in a lock after the trial".to_owned());
            }
            assert!(Instant::now() < end, "timeout: {}", printed_text());
            std::thread::park_timeout(LOOK);
        }
        Ok(printed_text())
    }
}

/// Waits until `is_so`; panics with `what` on a timeout.
fn until(mut is_so: impl FnMut() -> bool, what: impl Fn() -> String) {
    let end = Instant::now() + TIMEOUT;
    while !is_so() {
        assert!(Instant::now() < end, "timeout: {}", what());
        // The other process needs the processor.
        std::thread::park_timeout(LOOK);
    }
}

/// True if the TCP or UDP port `port` is bound there.
fn is_bound(namespace: &Namespace, port: u16) -> bool {
    let wanted = format!(":{port:04X}");
    let is_there = || {
        let of = |file| std::fs::read_to_string(format!("/proc/thread-self/net/{file}"));
        let all = ["tcp", "tcp6", "udp", "udp6"].map(|file| of(file).unwrap_or_default());
        let mut lines = all.iter().flat_map(|text| text.lines());
        let own = |line: &str| line.split_whitespace().nth(1).map(str::to_owned);
        lines.any(|line| own(line).is_some_and(|it| it.ends_with(&wanted)))
    };
    namespace.enter(is_there).expect("entered")
}
