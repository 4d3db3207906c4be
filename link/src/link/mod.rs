//! One end of a link.

mod receive;
mod session;
#[cfg(test)]
mod tests;
mod transmit;

use crate::counters::Counters;
use crate::decoder::Decoder;
use crate::encoder::Encoder;
use crate::probe::{Probe, Probes};
use crate::receiver::Receiver;
use crate::round_trip::RoundTrip;
use crate::sender::Sender;
use crate::time::{Deadline, Instant};
use crate::wire::{LENGTH, MAX_CAPACITY, MAX_CHANNELS, MAX_FRAGMENT, PROBE};

/// Settings of one end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Config {
    /// Number of this session, not 0: it must differ from that of the last session of this end, and from the peer's.
    /// A random number, or a counter of restarts and the serial number of the device, will do.
    pub session: u32,
    /// Largest fragment in octets, 1 to [`MAX_FRAGMENT`]; the smaller of both ends' counts. It sets how long an
    /// urgent message waits.
    pub max_fragment: u16,
    /// Time-out before the first measured round trip, microseconds.
    pub initial_timeout_us: u32,
    /// Shortest time-out, microseconds: at least the time in which the caller's loop comes round.
    pub min_timeout_us: u32,
}

impl Config {
    /// Fragments of 256 octets; 100 ms before the first measurement and 2 ms at least.
    #[must_use]
    pub const fn new(session: u32) -> Self {
        Self {
            session,
            max_fragment: 256,
            initial_timeout_us: 100_000,
            min_timeout_us: 2_000,
        }
    }
}

/// The memory of a channel at one end, and what is done about loss.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Channel<B> {
    sender: Sender<B>,
    receiver: Receiver<B>,
}

impl<B: AsRef<[u8]> + AsMut<[u8]>> Channel<B> {
    /// A channel on which every message arrives. `transmit` holds messages until they are acknowledged, `receive`
    /// until they are read; each message takes two octets more than its own.
    ///
    /// # Panics
    /// If a memory has more than [`MAX_CAPACITY`] octets.
    pub fn reliable(transmit: B, receive: B) -> Self {
        Self::new(true, transmit, receive)
    }

    /// A channel on which this end sends each message once. The peer counts what is lost ([`Link::lost`]).
    ///
    /// # Panics
    /// If a memory has more than [`MAX_CAPACITY`] octets.
    pub fn unreliable(transmit: B, receive: B) -> Self {
        Self::new(false, transmit, receive)
    }

    fn new(is_reliable: bool, transmit: B, receive: B) -> Self {
        let longest = transmit.as_ref().len().max(receive.as_ref().len());
        assert!(longest <= usize::from(MAX_CAPACITY));
        Self {
            sender: Sender::new(is_reliable, transmit),
            receiver: Receiver::new(receive),
        }
    }
}

/// The reason why a message was not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SendError {
    /// There is no session yet: wait for [`Event::Up`].
    NotUp,
    /// One of the two ends does not have this channel.
    NoChannel,
    /// The peer's FIFO takes messages of up to this length.
    TooLong(usize),
    /// The transmit memory is full: try again when the peer has acknowledged messages.
    Full,
}

/// Something that the user of a link may want to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Event {
    /// A session began: messages can be sent.
    Up,
    /// The peer has restarted: what it had received and not used is lost with it. Messages on reliable channels that
    /// it had not acknowledged are sent to it again. [`Up`](Self::Up) follows.
    PeerRestarted,
    /// The peer uses this version of the protocol, which this end does not know.
    Incompatible(u8),
    /// Answer to [`Link::probe`].
    Probe(Probe),
}

/// Where the payload goes that is being received.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Target {
    Nowhere,
    Fifo { channel: u8, is_first: bool },
    Hello,
    Probe,
}

/// A frame whose acknowledgment gives the next round-trip time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Timed {
    /// [`MAX_CHANNELS`] without such a frame.
    channel: u8,
    sequence: u8,
    sent: Instant,
}

impl Timed {
    const NONE: Self = Self {
        channel: MAX_CHANNELS as u8,
        sequence: 0,
        sent: Instant::from_us(0),
    };
}

/// One end of a link with `N` channels, 1 to 16. Channel 0 is the most urgent.
///
/// The caller passes received octets to [`receive`](Self::receive), sends the octets that
/// [`transmit`](Self::transmit) returns, and calls `transmit` again after each call that may cause a frame: `receive`,
/// [`send`](Self::send), [`read`](Self::read), [`probe`](Self::probe), and at [`next_timeout`](Self::next_timeout).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Link<B, const N: usize> {
    config: Config,
    channels: [Channel<B>; N],
    /// Channels that both ends have.
    open: u8,
    /// Channels below this one send nothing.
    held: u8,
    /// Session of the peer, 0 before its hello.
    peer: u32,
    is_up: bool,
    hello_due: bool,
    hello_deadline: Deadline,
    decoder: Decoder,
    target: Target,
    /// Fields of a hello or a probe that is being received.
    scratch: [u8; PROBE],
    encoder: Encoder,
    /// Payload of the data frame that is being sent: index in the memory of its channel.
    payload_at: u16,
    /// The frame that is being sent is sent for the first time.
    is_new: bool,
    timed: Timed,
    round_trip: RoundTrip,
    probes: Probes,
    up_due: bool,
    restart_due: bool,
    incompatible: Option<u8>,
    /// The last answer to a probe, if it was not reported.
    answer: Probe,
    is_answered: bool,
    /// A damaged frame may restart the timers: once until a good one comes, so that noise holds no poll up.
    may_restart_timers: bool,
    counters: Counters,
}

impl<B: AsRef<[u8]> + AsMut<[u8]>, const N: usize> Link<B, N> {
    /// An end that begins a session as soon as its peer answers.
    pub fn new(config: Config, channels: [Channel<B>; N]) -> Self {
        const { assert!(N > 0 && N <= MAX_CHANNELS) };
        Self {
            config: Config {
                max_fragment: config.max_fragment.clamp(1, MAX_FRAGMENT),
                ..config
            },
            channels,
            open: 0,
            held: 0,
            peer: 0,
            is_up: false,
            hello_due: true,
            hello_deadline: Deadline::NONE,
            decoder: Decoder::new(),
            target: Target::Nowhere,
            scratch: [0; PROBE],
            encoder: Encoder::new(),
            payload_at: 0,
            is_new: false,
            timed: Timed::NONE,
            round_trip: RoundTrip::default(),
            probes: Probes::default(),
            up_due: false,
            restart_due: false,
            incompatible: None,
            answer: Probe::default(),
            is_answered: false,
            may_restart_timers: true,
            counters: Counters::default(),
        }
    }

    /// True if messages can be sent.
    pub const fn is_up(&self) -> bool {
        self.is_up
    }

    /// Queues a message on a channel.
    ///
    /// # Errors
    /// It cannot be sent, or not now.
    pub fn send(&mut self, channel: usize, message: &[u8]) -> Result<(), SendError> {
        let octet = |at: usize| message.get(at).copied().unwrap_or_default();
        self.send_with(channel, message.len(), octet)
    }

    /// Queues a message of `len` octets, each of which `octet` returns: for messages that are not in memory.
    ///
    /// # Errors
    /// It cannot be sent, or not now.
    pub fn send_with(
        &mut self,
        channel: usize,
        len: usize,
        octet: impl Fn(usize) -> u8,
    ) -> Result<(), SendError> {
        if !self.is_up {
            return Err(SendError::NotUp);
        }
        let sender = &mut self
            .open_channel(channel)
            .ok_or(SendError::NoChannel)?
            .sender;
        let longest = sender.max_message();
        if longest == 0 {
            return Err(SendError::NoChannel);
        }
        if len > usize::from(longest) {
            return Err(SendError::TooLong(longest.into()));
        }
        if sender.queue.room().is_none_or(|room| len > room) {
            return Err(SendError::Full);
        }
        sender.queue.push(len, octet);
        Ok(())
    }

    /// Longest message that the peer takes on a channel; `None` before the session and on a channel that an end does
    /// not have.
    pub fn max_message(&self, channel: usize) -> Option<usize> {
        let sender = &self.channels.get(channel)?.sender;
        (channel < usize::from(self.open)).then(|| sender.max_message().into())
    }

    /// Octets of transmit memory that messages of a channel take, two more each than their own: 0 if the peer has
    /// acknowledged all of them.
    pub fn pending(&self, channel: usize) -> usize {
        let channel = self.channels.get(channel);
        channel.map_or(0, |c| c.sender.queue.used().into())
    }

    /// Octets of receive memory that unread messages of a channel take, two more each than their own.
    pub fn unread(&self, channel: usize) -> usize {
        let channel = self.channels.get(channel);
        channel.map_or(0, |c| c.receiver.fifo.used().into())
    }

    /// The oldest received message of a channel in two parts, the second of which is empty unless the message wraps
    /// in its memory.
    pub fn message(&self, channel: usize) -> Option<(&[u8], &[u8])> {
        self.channels.get(channel)?.receiver.fifo.message()
    }

    /// Removes the oldest received message of a channel, whose memory becomes credit of the peer.
    pub fn remove(&mut self, channel: usize) {
        if let Some(channel) = self.channels.get_mut(channel) {
            channel.receiver.fifo.remove();
            channel.receiver.on_read();
        }
    }

    /// Copies the oldest received message of a channel and removes it; returns its length. What does not fit `into` is
    /// cut off.
    pub fn read(&mut self, channel: usize, into: &mut [u8]) -> Option<usize> {
        let (one, two) = self.message(channel)?;
        let len = one.len() + two.len();
        for (to, from) in into.iter_mut().zip(one.iter().chain(two)) {
            *to = *from;
        }
        self.remove(channel);
        Some(len)
    }

    /// Frames of the peer that were lost on a channel which it sends unreliably.
    pub fn lost(&self, channel: usize) -> u32 {
        self.channels.get(channel).map_or(0, |c| c.receiver.lost)
    }

    /// Sends nothing on channels below `channel`, and no probes, from the end of the current frame until this is called
    /// with 0: their messages wait.
    pub fn hold_below(&mut self, channel: usize) {
        self.held = channel.min(MAX_CHANNELS) as u8;
    }

    /// Requests a probe; [`Event::Probe`] has the result, unless it is lost. It goes out behind the frame that is
    /// being sent and behind channel 0. Returns its number.
    pub fn probe(&mut self) -> u8 {
        self.probes.request_due = true;
        self.probes.number = self.probes.number.wrapping_add(1);
        self.probes.number
    }

    /// The next event, if there is one.
    pub fn event(&mut self) -> Option<Event> {
        if core::mem::take(&mut self.restart_due) {
            return Some(Event::PeerRestarted);
        }
        if core::mem::take(&mut self.up_due) {
            return Some(Event::Up);
        }
        if let Some(version) = self.incompatible.take() {
            return Some(Event::Incompatible(version));
        }
        let is_answered = core::mem::take(&mut self.is_answered);
        is_answered.then_some(Event::Probe(self.answer))
    }

    /// Events that were counted.
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Smoothed round trip from the end of a data frame to its acknowledgment, microseconds; 0 before the first.
    pub const fn round_trip_us(&self) -> u32 {
        self.round_trip.smoothed_us()
    }

    fn timeout_us(&self) -> u32 {
        let config = &self.config;
        self.round_trip
            .timeout_us(config.initial_timeout_us, config.min_timeout_us)
    }

    #[inline(never)] // Several calls for each frame, none for each octet.
    fn open_channel(&mut self, channel: usize) -> Option<&mut Channel<B>> {
        if channel >= usize::from(self.open) {
            return None;
        }
        self.channels.get_mut(channel)
    }
}

/// Octets of memory that a message of `len` octets takes in a queue or a FIFO.
#[must_use]
pub const fn memory_octets(len: usize) -> usize {
    len + LENGTH
}
