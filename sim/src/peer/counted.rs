//! A peer whose frames are counted between it and its MAC.

use super::host::http_server::Upload;
use super::host::program::Programs;
use super::{Outgoing, Peer, Report, Station};
use crate::time::Instant;

/// Frames between a peer and its MAC.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FrameCounts {
    /// Frames handed to the MAC.
    pub sent: u64,
    /// Frames that the MAC handed to the peer.
    pub received: u64,
}

/// Counts the frames of the peer inside. Its report has the counts; otherwise it behaves like that peer.
#[derive(Debug)]
pub struct Counted {
    peer: Box<dyn Peer>,
    frames: FrameCounts,
}

impl Counted {
    /// Counts from zero.
    #[must_use]
    pub fn new(peer: Box<dyn Peer>) -> Self {
        Self {
            peer,
            frames: FrameCounts::default(),
        }
    }
}

impl Station for Counted {
    fn receive(&mut self, frame: &[u8], now: Instant) {
        self.frames.received += 1;
        self.peer.receive(frame, now);
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Vec<u8>> {
        let frame = self.peer.poll_transmit(now);
        self.frames.sent += u64::from(frame.is_some());
        frame
    }

    fn poll_outgoing(&mut self, now: Instant) -> Option<Outgoing> {
        let frame = self.peer.poll_outgoing(now);
        self.frames.sent += u64::from(frame.is_some());
        frame
    }

    fn poll_timeout(&self) -> Instant {
        self.peer.poll_timeout()
    }
}

impl Peer for Counted {
    fn report(&self) -> Report {
        Report {
            frames: Some(self.frames),
            ..self.peer.report()
        }
    }

    fn uploads(&self) -> &[Upload] {
        self.peer.uploads()
    }

    fn programs(&mut self) -> Option<&mut Programs> {
        self.peer.programs()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peer::{Generator, generator};

    #[test]
    fn both_directions_are_counted_and_the_peer_is_unchanged() {
        let config = generator::Config {
            frames: 3,
            ..generator::Config::default()
        };
        let mut alone = Generator::new(&config);
        let mut counted = Counted::new(Box::new(Generator::new(&config)));
        let now = Instant::from_ns(1_000_000_000);
        for _ in 0..5 {
            assert_eq!(counted.poll_outgoing(now), alone.poll_outgoing(now));
        }
        counted.receive(&[0; 60], now);
        let frames = counted.report().frames;
        assert_eq!(
            frames,
            Some(FrameCounts {
                sent: 3,
                received: 1
            })
        );
        assert_eq!(alone.report().frames, None);
    }
}
