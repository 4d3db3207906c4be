//! Lines of a program that must not wait for whoever reads them.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use anyhow::Context as _;

/// Maximum lines that wait to be written.
const MAX_LINES: usize = 1_000;
/// Maximum wait at the end for lines to be written.
const FINISH_TIMEOUT: Duration = Duration::from_secs(1);

/// A line, and the number of lines dropped before it.
struct Line {
    dropped_before: u64,
    text: String,
}

/// Queue of lines, written by a thread. A line that finds it full is dropped, and the next one that is written is
/// preceded by a line with the number of those dropped. A closed output is no error.
pub struct Lines {
    queue: SyncSender<Line>,
    /// Dropped since the last line in the queue.
    dropped: AtomicU64,
    /// In the queue, being written, or dropped before one of these.
    unwritten: Arc<AtomicU64>,
    /// Disconnected when all lines are written.
    is_written: Receiver<()>,
}

impl Lines {
    /// A queue of lines for `output`; `dropped` makes the line with the number of lines dropped.
    pub fn new(
        output: impl Write + Send + 'static,
        dropped: fn(u64) -> String,
    ) -> anyhow::Result<Self> {
        let (queue, waiting) = sync_channel(MAX_LINES);
        let (done, is_written) = sync_channel(0);
        let unwritten = Arc::new(AtomicU64::new(0));
        let left = Arc::clone(&unwritten);
        let write = move || {
            // Dropped at the end.
            let _done = done;
            write_all(&waiting, output, dropped, &left);
        };
        thread::Builder::new()
            .spawn(write)
            .context("cannot create a thread for the output")?;
        Ok(Self {
            queue,
            dropped: AtomicU64::new(0),
            unwritten,
            is_written,
        })
    }

    /// Queues a line, with its line feed.
    pub fn push(&self, text: String) {
        let dropped_before = self.dropped.swap(0, Ordering::Relaxed);
        let line = Line {
            dropped_before,
            text,
        };
        let count = dropped_before.saturating_add(1);
        self.unwritten.fetch_add(count, Ordering::Relaxed);
        if self.queue.try_send(line).is_err() {
            self.unwritten.fetch_sub(count, Ordering::Relaxed);
            self.dropped.fetch_add(count, Ordering::Relaxed);
        }
    }

    /// Waits until all lines are written, but not long; returns the number of those that were not, if any.
    pub fn finish(self) -> Option<u64> {
        drop(self.queue);
        let _ = self.is_written.recv_timeout(FINISH_TIMEOUT);
        let unwritten = self.unwritten.load(Ordering::Relaxed) + self.dropped.into_inner();
        (unwritten > 0).then_some(unwritten)
    }
}

fn write_all(
    queue: &Receiver<Line>,
    mut output: impl Write,
    dropped: fn(u64) -> String,
    unwritten: &AtomicU64,
) {
    for line in queue {
        let mut text = line.text;
        if line.dropped_before > 0 {
            text.insert_str(0, &dropped(line.dropped_before));
        }
        // Whoever reads may have gone.
        let _ = output
            .write_all(text.as_bytes())
            .and_then(|()| output.flush());
        unwritten.fetch_sub(line.dropped_before + 1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::{Lines, MAX_LINES};
    use std::io::{self, Write};
    use std::sync::mpsc::{Receiver, Sender, channel};

    /// Each write waits for the permission of the test.
    struct Reluctant {
        may_go: Receiver<()>,
        began: Sender<()>,
        written: Sender<String>,
    }

    impl Write for Reluctant {
        fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
            let _ = self.began.send(());
            // Without a sender, everything may go.
            let _ = self.may_go.recv();
            let text = String::from_utf8_lossy(octets).into_owned();
            let _ = self.written.send(text);
            Ok(octets.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn lines() -> (Lines, Sender<()>, Receiver<()>, Receiver<String>) {
        let (go, may_go) = channel();
        let (began, begins) = channel();
        let (written, read) = channel();
        let output = Reluctant {
            may_go,
            began,
            written,
        };
        let lines = Lines::new(output, |count| format!("{count} dropped\n"));
        (lines.expect("a thread"), go, begins, read)
    }

    #[test]
    fn what_is_not_read_is_dropped_and_counted_where_it_is_missing() {
        let (lines, go, begins, read) = lines();
        lines.push("first\n".to_owned());
        begins.recv().expect("the line is being written");
        for number in 0..MAX_LINES + 500 {
            lines.push(format!("{number}\n"));
        }
        // One is taken from the queue: there is a place for the next.
        go.send(()).expect("a writer");
        assert_eq!(read.recv().expect("a line"), "first\n");
        begins.recv().expect("the next line is being written");
        lines.push("last\n".to_owned());
        drop(go);
        assert_eq!(lines.finish(), None);
        let text: String = read.iter().collect();
        let numbers: Vec<String> = (0..MAX_LINES).map(|number| number.to_string()).collect();
        assert_eq!(text, numbers.join("\n") + "\n500 dropped\nlast\n");
    }

    #[test]
    fn an_output_that_is_never_read_does_not_hold_the_program() {
        let (lines, go, begins, _read) = lines();
        lines.push("first\n".to_owned());
        begins.recv().expect("the line is being written");
        for number in 0..MAX_LINES * 2 {
            lines.push(format!("{number}\n"));
        }
        // One is written: the next push has a place, behind those that were dropped.
        go.send(()).expect("a writer");
        begins.recv().expect("the next line is being written");
        lines.push("last\n".to_owned());
        assert_eq!(lines.finish(), Some(MAX_LINES as u64 * 2 + 1));
    }
}
