//! Numbered frames of known content, and a look at each that comes back.

use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;

use linerate_agent::frame::{Fill, Head, Kind, Mac, Receiver};
use linerate_agent::{Ask, Instant, Service};
use linerate_ether::frame::{TAG_LEN, Tag, insert_tag};
use linerate_sim::peer::generator::DEVICE;
use linerate_sim::peer::host;
use linerate_sim::peer::host::program::Program;

/// Which stream the frames are of.
pub const STREAM: u8 = 1;
/// The shortest frame that a device sends, without FCS.
const SHORTEST: usize = linerate_agent::frame::SHORTEST;
/// Nothing came for so long: another frame shows whether something is lost.
const PROBE_AFTER: Duration = Duration::from_millis(20);
const PROBE_OCTETS: usize = 100;
/// Faults that are told one by one.
const MAX_DESCRIBED: usize = 3;

/// The host's address.
pub fn own() -> Mac {
    host::Config::default().mac.0
}

/// A frame to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TestFrame {
    /// Octets without FCS, a tag included.
    pub octets: usize,
    /// To whom.
    pub to: Mac,
    /// It is to come back, without its tag.
    pub is_answered: bool,
    pub is_tagged: bool,
    /// What is behind its head.
    pub fill: Fill,
}

impl TestFrame {
    /// A frame that is to come back.
    pub const fn of(octets: usize) -> Self {
        Self {
            octets,
            to: DEVICE,
            is_answered: true,
            is_tagged: false,
            fill: Fill::Pattern,
        }
    }

    /// A frame that the device only counts, if it takes it.
    pub const fn one_way(octets: usize, to: Mac) -> Self {
        Self {
            to,
            is_answered: false,
            ..Self::of(octets)
        }
    }

    /// Octets that come back.
    fn answer(&self) -> usize {
        let tag = usize::from(self.is_tagged) * TAG_LEN;
        (self.octets - tag).max(SHORTEST)
    }

    fn write(&self, number: u64, room: &mut [u8], now: Instant) {
        let head = Head {
            kind: if self.is_answered {
                Kind::Outward
            } else {
                Kind::OneWay
            },
            fill: self.fill,
            stream: STREAM,
            number,
            sent_ns: now.ns(),
        };
        let tag = usize::from(self.is_tagged) * TAG_LEN;
        head.emit(self.to, own(), &mut room[..self.octets - tag]);
        if self.is_tagged {
            // There is room: it was made for this many octets.
            let _ = insert_tag(room, self.octets - tag, Tag::default());
        }
    }
}

/// What is wrong, the first of it in words.
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

    /// All of it in a sentence; `None`: nothing is wrong.
    pub fn summary(&self) -> Option<String> {
        let more = self.count - self.described.len() as u64;
        let described = self.described.join("; ");
        match (self.count, more) {
            (0, _) => None,
            (_, 0) => Some(described),
            _ => Some(format!("{described}; and {more} more of the kind")),
        }
    }
}

/// Sends frames in their order, as many at a time as may be under way, and looks at each that comes back.
pub struct Exchange {
    frames: Box<dyn Iterator<Item = TestFrame> + Send>,
    /// How many frames may be under way.
    pub window: usize,
    /// Frames may be lost. What is behind them then tells, as frames do not overtake each other.
    pub may_lose: bool,
    /// Number and octets of each that is under way.
    under_way: VecDeque<(u64, usize)>,
    is_done: bool,
    last: Instant,
    /// Frames sent.
    pub sent: u64,
    /// Frames that came back as they should.
    pub answered: u64,
    /// Frames that did not.
    pub lost: u64,
    /// What came back otherwise.
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
    /// Of these frames, as many at a time.
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

    /// Sends no more than what is under way.
    pub fn end(&mut self) {
        self.is_done = true;
    }

    /// Whether all was sent, and all is known of it.
    pub fn is_complete(&self) -> bool {
        self.is_done && self.under_way.is_empty()
    }

    /// What changes while something goes on.
    pub const fn progress(&self) -> u64 {
        self.sent + self.answered + self.lost
    }

    fn next_frame(&mut self, now: Instant) -> Option<TestFrame> {
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

    fn take(&mut self, head: &Head, frame: &[u8]) -> Result<(), String> {
        let number = head.number;
        let place = self.under_way.iter().position(|(it, _)| *it == number);
        let Some(place) = place else {
            return Err(format!("frame {number} came again, or was never sent"));
        };
        let missing: Vec<u64> = self.under_way.drain(..place).map(|(it, _)| it).collect();
        let octets = self.under_way.pop_front().map_or(0, |(_, octets)| octets);
        self.lost += missing.len() as u64;
        if let Some(first) = missing.first().filter(|_| !self.may_lose) {
            self.faults.push(format!(
                "{} frames from {first} on did not come before {number}",
                missing.len()
            ));
        }
        if frame.len() != octets {
            return Err(format!(
                "frame {number} came with {} octets in place of {octets}",
                frame.len()
            ));
        }
        if !head.is_intact(frame) || head.kind != Kind::Reflected {
            return Err(format!("frame {number} of {octets} octets came altered"));
        }
        self.answered += 1;
        Ok(())
    }
}

impl Service for Exchange {
    fn ask(&mut self) -> Option<Ask> {
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
        let Some(head) = Head::parse(frame).filter(|it| it.stream == STREAM) else {
            return;
        };
        self.last = now;
        if let Err(what) = self.take(&head, frame) {
            self.faults.push(what);
        }
    }

    fn next_frame(&mut self, room: &mut [u8], now: Instant) -> Option<usize> {
        let frame = self.next_frame(now)?;
        frame.write(self.sent, room, now);
        if frame.is_answered {
            self.under_way.push_back((self.sent, frame.answer()));
        }
        self.last = now;
        self.sent += 1;
        Some(frame.octets)
    }
}

/// Takes in what the device sends by itself.
#[derive(Debug)]
pub struct Listener(pub Receiver);

impl Service for Listener {
    fn ask(&mut self) -> Option<Ask> {
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
