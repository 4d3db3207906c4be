//! Counters of a device, read by a command of the user.

use std::io::Read as _;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use linerate_regs_decode::counters::{Counter, InterfaceCounters};
use linerate_results::record::DeviceCounters;

/// A command that takes longer is ended.
const LONGEST: Duration = Duration::from_secs(10);
/// Octets of its output that are read.
const MOST: u64 = 1 << 20;

/// A command for the shell that prints the device's counters, such as `ssh board ethtool -S eth0`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountersCommand(pub String);

impl CountersCommand {
    /// Runs the command and reads the counters that it prints.
    ///
    /// # Errors
    /// A sentence: the command failed or took too long, or printed no known counter.
    pub fn read(&self) -> Result<DeviceCounters, String> {
        let Self(command) = self;
        let failed = |why: String| format!("no counters of the device: `{command}` {why}");
        let mut child = Command::new("sh")
            .args(["-c", command])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| failed(format!("did not start: {error}")))?;
        let text = output(&mut child);
        if text.is_none() {
            // It may have ended meanwhile.
            let _ = child.kill();
        }
        let status = child.wait().map_err(|error| failed(error.to_string()))?;
        let text = text.ok_or_else(|| failed(format!("took longer than {LONGEST:?}")))?;
        let counters = InterfaceCounters::parse(&text);
        if !status.success() {
            return Err(failed(format!("ended with {status}")));
        }
        if counters.is_empty() {
            return Err(failed("printed no known counter".to_owned()));
        }
        Ok(of(&counters))
    }
}

/// What the command prints, unless it takes too long.
fn output(child: &mut Child) -> Option<String> {
    let pipe = child.stdout.take()?;
    let (done, output) = mpsc::channel();
    std::thread::spawn(move || {
        let mut octets = Vec::new();
        let read = pipe.take(MOST).read_to_end(&mut octets);
        // Nobody waits any more if it took too long.
        let _ = done.send(read.map(|_| String::from_utf8_lossy(&octets).into_owned()));
    });
    output.recv_timeout(LONGEST).ok()?.ok()
}

fn of(counters: &InterfaceCounters) -> DeviceCounters {
    DeviceCounters {
        rx_frames: counters.get(Counter::RxFrames),
        rx_fifo_overruns: counters.get(Counter::RxFifoOverruns),
        rx_dropped: counters.get(Counter::RxDropped),
        rx_fcs_errors: counters.get(Counter::RxFcsErrors),
        tx_pause_frames: counters.get(Counter::TxPauseFrames),
        rx_pause_frames: counters.get(Counter::RxPauseFrames),
        tx_frames: counters.get(Counter::TxFrames),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::CountersCommand;

    #[test]
    fn a_command_prints_counters_or_the_reason_is_given() {
        let read = |command: &str| CountersCommand(command.to_owned()).read();
        let counters = read("echo ' IEEE_rx_macerr: 7'").unwrap();
        assert_eq!(counters.rx_fifo_overruns, Some(7));
        assert_eq!(counters.tx_pause_frames, None);
        let silent = read("echo nothing").unwrap_err();
        assert!(silent.ends_with("printed no known counter"), "{silent}");
        let failed = read("echo 'rx_packets: 1'; exit 3").unwrap_err();
        assert!(failed.contains("ended with exit status: 3"), "{failed}");
    }
}
