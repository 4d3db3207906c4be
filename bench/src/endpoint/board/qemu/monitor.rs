//! QEMU's monitor: one command a connection, in QMP.

use std::io::{BufRead as _, BufReader, ErrorKind, Write as _};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

/// Timeout for an answer of QEMU.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// The socket of a machine's monitor.
#[derive(Clone)]
pub(super) struct Monitor {
    pub(super) socket: PathBuf,
}

impl Monitor {
    /// Takes the link down, or up again: the device sees it if its model supports it.
    pub(super) fn set_link(&self, is_up: bool) -> Result<(), String> {
        self.execute(&format!(
            r#"{{"execute":"set_link","arguments":{{"name":"n0","up":{is_up}}}}}"#
        ))
    }

    /// Calls `inspect` while the processor is stopped.
    pub(super) fn with_stopped<T>(&self, inspect: impl FnOnce() -> T) -> Result<T, String> {
        self.execute(r#"{"execute":"stop"}"#)?;
        let inspected = inspect();
        self.execute(r#"{"execute":"cont"}"#)?;
        Ok(inspected)
    }

    fn execute(&self, command: &str) -> Result<(), String> {
        let failed = |error: std::io::Error| format!("QEMU does not execute {command}: {error}");
        let mut monitor = UnixStream::connect(&self.socket).map_err(failed)?;
        monitor
            .set_read_timeout(Some(ANSWER_TIMEOUT))
            .map_err(failed)?;
        let mut replies = BufReader::new(monitor.try_clone().map_err(failed)?).lines();
        for command in [r#"{"execute":"qmp_capabilities"}"#, command] {
            writeln!(monitor, "{command}").map_err(failed)?;
            // QEMU sends a greeting and events, too.
            loop {
                let line = replies
                    .next()
                    .unwrap_or(Err(ErrorKind::UnexpectedEof.into()));
                let line = line.map_err(failed)?;
                if line.starts_with(r#"{"error""#) {
                    return Err(format!("QEMU rejects {command}: {line}"));
                }
                if line.starts_with(r#"{"return""#) {
                    break;
                }
            }
        }
        Ok(())
    }
}
