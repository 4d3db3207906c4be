//! A peer that forwards frames to a TAP interface of this host.

use std::fmt;

use linerate_sim::peer::{Peer, Report, Station};
use linerate_sim::time::{Instant, Span};
use tun_rs::{DeviceBuilder, Layer, SyncDevice};

use linerate_host::tap::TapError;

/// Interval, in virtual time, at which the interface is polled for a frame.
const POLL_INTERVAL: Span = Span::from_us(50);
/// Longer than any frame of an interface with a usual MTU.
const BUFFER: usize = 2048;

/// An opened TAP interface.
pub struct Tap {
    device: SyncDevice,
    poll_at: Instant,
    buffer: [u8; BUFFER],
}

impl Tap {
    /// Opens interface `name`, which must exist.
    ///
    /// # Errors
    /// [`TapError`] names the missing prerequisite and the command that provides it.
    pub fn open(name: &str) -> Result<Self, TapError> {
        // Of the network namespace that this thread is in; /sys may show another.
        let interfaces = std::fs::read_to_string("/proc/thread-self/net/dev").unwrap_or_default();
        let of = |line: &str| line.split_once(':').map(|(name, _)| name.trim().to_owned());
        if !interfaces.lines().filter_map(of).any(|known| known == name) {
            return Err(TapError::Missing {
                name: name.to_owned(),
            });
        }
        let failed = |error: std::io::Error| TapError::from_open_error(name, error);
        // The configuration is left unchanged: only the owner of the interface may change it.
        let builder = DeviceBuilder::new()
            .name(name)
            .layer(Layer::L2)
            .inherit_enable_state();
        let device = builder.build_sync().map_err(failed)?;
        device.set_nonblocking(true).map_err(failed)?;
        Ok(Self {
            device,
            poll_at: Instant::ZERO,
            buffer: [0; BUFFER],
        })
    }
}

impl fmt::Debug for Tap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tap")
            .field("poll_at", &self.poll_at)
            .finish_non_exhaustive()
    }
}

impl Station for Tap {
    fn receive(&mut self, frame: &[u8], _: Instant) {
        // An interface that is down or full loses frames, as a network card does.
        let _ = self.device.send(frame);
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Vec<u8>> {
        match self.device.recv(&mut self.buffer) {
            Ok(len) if len > 0 => {
                self.poll_at = now;
                Some(self.buffer[..len].to_vec())
            }
            _ => {
                self.poll_at = now + POLL_INTERVAL;
                None
            }
        }
    }

    fn poll_timeout(&self) -> Instant {
        self.poll_at
    }
}

impl Peer for Tap {
    fn report(&self) -> Report {
        Report::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_interface_comes_with_the_commands_that_make_it() {
        let error = Tap::open("linerate-none")
            .expect_err("no such interface")
            .to_string();
        assert!(
            error.starts_with(
                "there is no interface linerate-none; create it with: sudo ip tuntap add"
            ),
            "{error}"
        );
    }
}
