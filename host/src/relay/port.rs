//! One end of the relay: a TAP interface in any network namespace.

use super::error::RelayError;
use super::namespace::Namespace;
use crate::tap::TapError;
use std::fmt;
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use tun_rs::{DeviceBuilder, Layer, SyncDevice};

/// Longer than any frame: the largest interface MTU plus an Ethernet header with tags.
pub(super) const BUFFER: usize = 65_536 + 64;

/// Open TAP interface without offloads: every frame is complete, with its checksums.
pub struct Port {
    name: String,
    device: SyncDevice,
    namespace: Arc<Namespace>,
    /// Frames that the system had discarded before the port was opened.
    discarded_before: u64,
}

impl Port {
    /// Opens interface `name` of a namespace. If it does not exist, it is created, up and without an
    /// address, and removed with the port. It remains usable if moved to another namespace.
    ///
    /// # Errors
    /// [`TapError`] names what is missing and how to create it.
    pub fn open(name: &str, namespace: &Arc<Namespace>) -> Result<Self, RelayError> {
        let device = namespace.enter(|| open(name))??;
        let mut port = Self {
            name: name.to_owned(),
            device,
            namespace: Arc::clone(namespace),
            discarded_before: 0,
        };
        port.discarded_before = port.total_discarded().unwrap_or(0);
        Ok(port)
    }

    /// Interface name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Frames that the system has discarded since the port was opened because the relay did not read
    /// them in time; the relay never saw them. `None` if the interface was moved to another namespace.
    #[must_use]
    pub fn discarded_frames(&self) -> Option<u64> {
        let total = self.total_discarded()?;
        Some(total.saturating_sub(self.discarded_before))
    }

    fn total_discarded(&self) -> Option<u64> {
        let read = || std::fs::read_to_string("/proc/thread-self/net/dev");
        let interfaces = self.namespace.enter(read).ok()?.ok()?;
        discarded(&interfaces, &self.name)
    }

    /// Returns the next frame; `None` if none is available.
    pub(super) fn receive<'a>(&self, buffer: &'a mut [u8]) -> Result<Option<&'a [u8]>, RelayError> {
        match self.device.recv(buffer) {
            Ok(len) => Ok(Some(&buffer[..len])),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(None),
            Err(error) => Err(self.lost(error)),
        }
    }

    /// Sends a frame; `false` if the interface did not accept it because it is down.
    pub(super) fn send(&self, frame: &[u8]) -> bool {
        self.device.send(frame).is_ok()
    }

    pub(super) fn lost(&self, error: io::Error) -> RelayError {
        RelayError::InterfaceLost {
            name: self.name.clone(),
            error,
        }
    }
}

impl AsFd for Port {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.device.as_fd()
    }
}

impl fmt::Debug for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut port = f.debug_struct("Port");
        port.field("name", &self.name).finish_non_exhaustive()
    }
}

/// Opens or creates interface `name` in the namespace of the calling thread.
fn open(name: &str) -> Result<SyncDevice, TapError> {
    let failed = |error: io::Error| TapError::from_open_error(name, error);
    let interfaces = std::fs::read_to_string("/proc/thread-self/net/dev").unwrap_or_default();
    let mut builder = DeviceBuilder::new().name(name).layer(Layer::L2);
    if discarded(&interfaces, name).is_some() {
        // An unprivileged user may not change its state and need not.
        builder = builder.inherit_enable_state();
    }
    let device = builder.build_sync().map_err(failed)?;
    device.set_nonblocking(true).map_err(failed)?;
    Ok(device)
}

/// Frames that the transmit side of interface `name` discarded: its fourth counter in
/// `/proc/net/dev`, after eight for receiving.
fn discarded(interfaces: &str, name: &str) -> Option<u64> {
    let parse = |line: &str| {
        let (found, counters) = line.split_once(':')?;
        let counter = counters.split_whitespace().nth(8 + 3)?;
        (found.trim() == name).then(|| counter.parse().ok())?
    };
    interfaces.lines().find_map(parse)
}

#[cfg(test)]
mod tests {
    use super::discarded;

    #[test]
    fn discarded_frames_are_read_from_the_interface_s_line() {
        let text = "\
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:     100       1    0    0    0     0          0         0      100       1    0    0    0     0       0          0
  eth0:     200       2    0    7    0     0          0         0     9000      90    0   13    0     0       0          0
";
        assert_eq!(discarded(text, "eth0"), Some(13));
        assert_eq!(discarded(text, "lo"), Some(0));
        assert_eq!(discarded(text, "eth"), None);
    }
}
