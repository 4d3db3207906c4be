//! Sends numbered frames of known content, and checks each reflected frame.

use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;

use linerate_agent::frame::{Fill, FrameKind, Mac, Receiver, TestHeader};
use linerate_agent::{Instant, Service, SocketRequest};
use linerate_ether::frame::{TAG_LEN, Tag, insert_tag};
use linerate_sim::peer::generator::DEVICE;
use linerate_sim::peer::host;
use linerate_sim::peer::host::program::Program;

/// The stream of the frames.
pub const STREAM: u8 = 1;
/// The shortest frame that a device sends, without FCS.
const MIN_LEN: usize = linerate_agent::frame::MIN_LEN;
/// After this time without an answer, a probe frame shows if one is lost.
const PROBE_AFTER: Duration = Duration::from_millis(20);
const PROBE_OCTETS: usize = 100;
/// Maximum number of faults described individually.
const MAX_DESCRIBED: usize = 3;

/// The host's address.
pub fn own() -> Mac {
    host::Config::default().mac.0
}

/// A frame to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TestFrame {
    /// Octets without FCS, a tag included.
    pub octets: usize,
    /// The destination.
    pub to: Mac,
    /// The device sends it back, without its tag.
    pub is_answered: bool,
    pub is_tagged: bool,
    /// The content after its header.
    pub fill: Fill,
}

impl TestFrame {
    /// A frame that the device sends back.
    pub const fn of(octets: usize) -> Self {
        Self {
            octets,
            to: DEVICE,
            is_answered: true,
            is_tagged: false,
            fill: Fill::Pattern,
        }
    }

    /// A frame that the device only counts, if it accepts it.
    pub const fn one_way(octets: usize, to: Mac) -> Self {
        Self {
            to,
            is_answered: false,
            ..Self::of(octets)
        }
    }

    /// Length of the reflected frame.
    fn answer(&self) -> usize {
        let tag = usize::from(self.is_tagged) * TAG_LEN;
        (self.octets - tag).max(MIN_LEN)
    }

    fn write(&self, number: u64, room: &mut [u8], now: Instant) {
        let head = TestHeader {
            kind: if self.is_answered {
                FrameKind::Outward
            } else {
                FrameKind::OneWay
            },
            fill: self.fill,
            stream: STREAM,
            number,
            sent_ns: now.ns(),
        };
        let tag = usize::from(self.is_tagged) * TAG_LEN;
        head.emit(self.to, own(), &mut room[..self.octets - tag]);
        if self.is_tagged {
            // This cannot fail: the buffer has this size.
            let _ = insert_tag(room, self.octets - tag, Tag::default());
        }
    }
}

/// Faults found: their number, and descriptions of the first ones.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Faults {
    count: u64,
    described: Vec<String>,
}

impl Faults {
    fn push(&mut self, what: String) {
        self.count += 1;
        if self.described.len() < MAX_DESCRIBED {
            self.described.push(what);
        }
    }

    /// A summary in one sentence; `None`: no faults.
    pub fn summary(&self) -> Option<String> {
        let more = self.count - self.described.len() as u64;
        let described = self.described.join("; ");
        match (self.count, more) {
            (0, _) => None,
            (_, 0) => Some(described),
            _ => Some(format!("{described}; and {more} more faults")),
        }
    }
}

/// Sends frames in order, limited by the window, and checks each reflected frame.
pub struct Exchange {
    frames: Box<dyn Iterator<Item = TestFrame> + Send>,
    /// Maximum number of frames in transit.
    pub window: usize,
    /// Frames may be lost. A loss is detected by a later frame, as frames do not overtake each
    /// other.
    pub may_lose: bool,
    /// Number and length of each frame in transit.
    under_way: VecDeque<(u64, usize)>,
    is_done: bool,
    last: Instant,
    /// Frames sent.
    pub sent: u64,
    /// Frames reflected correctly.
    pub answered: u64,
    /// Frames lost.
    pub lost: u64,
    /// Faults of the reflected frames.
    pub faults: Faults,
}

impl fmt::Debug for Exchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exchange")
            .field("sent", &self.sent)
            .field("under_way", &self.under_way)
            .finish_non_exhaustive()
    }
}

impl Exchange {
    /// An exchange of these frames, with at most `window` in transit.
    pub fn new(frames: impl Iterator<Item = TestFrame> + Send + 'static, window: usize) -> Self {
        Self {
            frames: Box::new(frames),
            window,
            may_lose: false,
            under_way: VecDeque::new(),
            is_done: false,
            last: Instant::from_ns(0),
            sent: 0,
            answered: 0,
            lost: 0,
            faults: Faults::default(),
        }
    }

    /// Stops sending; frames in transit are still awaited.
    pub fn end(&mut self) {
        self.is_done = true;
    }

    /// True if all frames are sent, and the fate of each is known.
    pub fn is_complete(&self) -> bool {
        self.is_done && self.under_way.is_empty()
    }

    /// A counter that changes with any progress.
    pub const fn progress(&self) -> u64 {
        self.sent + self.answered + self.lost
    }

    fn pick_frame(&mut self, now: Instant) -> Option<TestFrame> {
        if !self.is_done && self.under_way.len() < self.window {
            let frame = self.frames.next();
            self.is_done = frame.is_none();
            if frame.is_some() {
                return frame;
            }
        }
        let is_still = now >= self.last.after(PROBE_AFTER);
        let is_in_doubt = self.may_lose && !self.under_way.is_empty() && is_still;
        is_in_doubt.then_some(TestFrame::of(PROBE_OCTETS))
    }

    fn take(&mut self, head: &TestHeader, frame: &[u8]) -> Result<(), String> {
        let number = head.number;
        let place = self.under_way.iter().position(|(it, _)| *it == number);
        let Some(place) = place else {
            return Err(format!("frame {number} is a duplicate, or was never sent"));
        };
        let missing: Vec<u64> = self.under_way.drain(..place).map(|(it, _)| it).collect();
        let octets = self.under_way.pop_front().map_or(0, |(_, octets)| octets);
        self.lost += missing.len() as u64;
        if let Some(first) = missing.first().filter(|_| !self.may_lose) {
            self.faults.push(format!(
                "{} frames from {first} on did not come back before {number}",
                missing.len()
            ));
        }
        if frame.len() != octets {
            return Err(format!(
                "frame {number} came back with {} octets instead of {octets}",
                frame.len()
            ));
        }
        if !head.is_intact(frame) || head.kind != FrameKind::Reflected {
            return Err(format!(
                "frame {number} of {octets} octets came back altered"
            ));
        }
        self.answered += 1;
        Ok(())
    }
}

impl Service for Exchange {
    fn next_request(&mut self) -> Option<SocketRequest> {
        None
    }

    fn wake_at(&self) -> Option<Instant> {
        if !self.is_done && self.under_way.len() < self.window {
            return Some(self.last);
        }
        let is_in_doubt = self.may_lose && !self.under_way.is_empty();
        is_in_doubt.then(|| self.last.after(PROBE_AFTER))
    }
}

impl Program for Exchange {
    fn poll_finished(&mut self, _: Instant) -> bool {
        self.is_complete()
    }

    fn frame(&mut self, frame: &[u8], now: Instant) {
        let Some(head) = TestHeader::parse(frame).filter(|it| it.stream == STREAM) else {
            return;
        };
        self.last = now;
        if let Err(what) = self.take(&head, frame) {
            self.faults.push(what);
        }
    }

    fn next_frame(&mut self, room: &mut [u8], now: Instant) -> Option<usize> {
        let frame = self.pick_frame(now)?;
        frame.write(self.sent, room, now);
        if frame.is_answered {
            self.under_way.push_back((self.sent, frame.answer()));
        }
        self.last = now;
        self.sent += 1;
        Some(frame.octets)
    }
}

/// Receives frames that the device sends unprompted.
#[derive(Debug)]
pub struct Listener(pub Receiver);

impl Service for Listener {
    fn next_request(&mut self) -> Option<SocketRequest> {
        None
    }

    fn wake_at(&self) -> Option<Instant> {
        None
    }
}

impl Program for Listener {
    fn poll_finished(&mut self, _: Instant) -> bool {
        false
    }

    fn frame(&mut self, frame: &[u8], now: Instant) {
        self.0.received(frame, now);
    }
}
