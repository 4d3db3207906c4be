//! An end of the relay: a TAP interface, wherever it is.

use super::error::RelayError;
use super::namespace::Namespace;
use crate::tap::TapError;
use std::fmt;
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use tun_rs::{DeviceBuilder, Layer, SyncDevice};

/// Longer than any frame: the largest MTU of an interface and an Ethernet header with tags.
pub(super) const BUFFER: usize = 65_536 + 64;

/// An opened TAP interface without offloads: every frame is whole, with its checksums.
pub struct Port {
    name: String,
    device: SyncDevice,
    namespace: Arc<Namespace>,
    /// What the system had discarded before.
    discarded_before: u64,
}

impl Port {
    /// Opens interface `name` of a namespace. If there is none, it is made, and goes with the port; it
    /// is up, without an address. It stays with the port if it is moved to another namespace.
    ///
    /// # Errors
    /// [`TapError`] says what is missing and how to get it.
    pub fn open(name: &str, namespace: &Arc<Namespace>) -> Result<Self, RelayError> {
        let device = namespace.enter(|| open(name))??;
        let mut port = Self {
            name: name.to_owned(),
            device,
            namespace: Arc::clone(namespace),
            discarded_before: 0,
        };
        port.discarded_before = port.discarded_in_all().unwrap_or(0);
        Ok(port)
    }

    /// The interface's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Frames for the relay that the system has discarded since the port was opened, because the
    /// relay did not fetch them in time: it does not know of them. `None` if the interface is not
    /// where it was opened.
    #[must_use]
    pub fn discarded_frames(&self) -> Option<u64> {
        let in_all = self.discarded_in_all()?;
        Some(in_all.saturating_sub(self.discarded_before))
    }

    fn discarded_in_all(&self) -> Option<u64> {
        let read = || std::fs::read_to_string("/proc/thread-self/net/dev");
        let interfaces = self.namespace.enter(read).ok()?.ok()?;
        discarded(&interfaces, &self.name)
    }

    /// The next frame; `None` if there is none now.
    pub(super) fn receive<'a>(&self, buffer: &'a mut [u8]) -> Result<Option<&'a [u8]>, RelayError> {
        match self.device.recv(buffer) {
            Ok(len) => Ok(Some(&buffer[..len])),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(None),
            Err(error) => Err(self.gone(error)),
        }
    }

    /// Whether the interface took the frame: it does not if it is down.
    pub(super) fn send(&self, frame: &[u8]) -> bool {
        self.device.send(frame).is_ok()
    }

    pub(super) fn gone(&self, error: io::Error) -> RelayError {
        RelayError::Gone {
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

/// Opens or makes interface `name` where the calling thread is.
fn open(name: &str) -> Result<SyncDevice, TapError> {
    let failed = |error: io::Error| TapError::of(name, error);
    let interfaces = std::fs::read_to_string("/proc/thread-self/net/dev").unwrap_or_default();
    let mut builder = DeviceBuilder::new().name(name).layer(Layer::L2);
    if discarded(&interfaces, name).is_some() {
        // Its user may not change it, and need not.
        builder = builder.inherit_enable_state();
    }
    let device = builder.build_sync().map_err(failed)?;
    device.set_nonblocking(true).map_err(failed)?;
    Ok(device)
}

/// Frames that the transmit side of interface `name` discarded: the fourth of its counters in
/// `/proc/net/dev`, behind eight for receiving.
fn discarded(interfaces: &str, name: &str) -> Option<u64> {
    let of = |line: &str| {
        let (found, counters) = line.split_once(':')?;
        let counter = counters.split_whitespace().nth(8 + 3)?;
        (found.trim() == name).then(|| counter.parse().ok())?
    };
    interfaces.lines().find_map(of)
}

#[cfg(test)]
mod tests {
    use super::discarded;

    #[test]
    fn what_an_interface_discarded_is_found_behind_its_name() {
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
