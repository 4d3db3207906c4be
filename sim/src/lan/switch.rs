//! The port of a switch that a board is connected to.

use std::collections::VecDeque;

use linerate_ether::fcs;
use linerate_ether::frame::{EtherType, MIN_LEN};
use linerate_ether::pause::Pause;

use crate::device::{LineFrame, LinkMode, Partner};
use crate::peer::Station;
use crate::time::Instant;

/// Properties of the port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwitchConfig {
    /// Its highest rate, and whether it advertises pause frames.
    pub partner: Partner,
    /// Octets that it queues for the board.
    pub queue_bytes: usize,
    /// True if it stops the station with pause frames when the queue is full, false if it drops the frames.
    pub pauses_station: bool,
}

impl Default for SwitchConfig {
    fn default() -> Self {
        Self {
            partner: Partner {
                mbit_per_s: 1000,
                pause: true,
            },
            queue_bytes: 64 << 10,
            pauses_station: true,
        }
    }
}

/// Counts of the port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SwitchStatistics {
    /// Frames sent to the board.
    pub sent: u64,
    /// Frames for the board that were dropped because the queue was full.
    pub dropped: u64,
    /// Pause frames received from the board: to stop, to go on.
    pub paused: u64,
    /// Those with 0 quanta.
    pub resumed: u64,
    /// Frames received from the board, without pause frames and damaged ones.
    pub received: u64,
    /// Damaged frames received from the board.
    pub damaged: u64,
}

/// The port, and the station behind it.
#[derive(Debug)]
pub struct SwitchPort<S> {
    config: SwitchConfig,
    /// The station; its frames reach the port without delay.
    pub station: S,
    queue: VecDeque<Vec<u8>>,
    queued_bytes: usize,
    mode: Option<LinkMode>,
    /// Pause frames were negotiated.
    obeys_pause: bool,
    line_free: Instant,
    paused_until: Instant,
    statistics: SwitchStatistics,
}

impl<S: Station> SwitchPort<S> {
    /// A port with nothing in its queue.
    pub fn new(config: SwitchConfig, station: S) -> Self {
        Self {
            config,
            station,
            queue: VecDeque::new(),
            queued_bytes: 0,
            mode: None,
            obeys_pause: false,
            line_free: Instant::ZERO,
            paused_until: Instant::ZERO,
            statistics: SwitchStatistics::default(),
        }
    }

    /// Its abilities.
    pub fn partner(&self) -> Partner {
        self.config.partner
    }

    /// Counts so far.
    pub fn statistics(&self) -> SwitchStatistics {
        self.statistics
    }

    /// The negotiated mode (`None`: no link), and true if the board may send pause frames.
    pub fn set_link(&mut self, mode: Option<LinkMode>, obeys_pause: bool) {
        self.mode = mode;
        self.obeys_pause = obeys_pause;
        if mode.is_none() {
            self.queue.clear();
            self.queued_bytes = 0;
        }
    }

    fn has_room(&self) -> bool {
        self.queued_bytes < self.config.queue_bytes
    }

    /// The next time that [`Self::poll`] does something.
    pub fn next_event(&self) -> Instant {
        let can_send = !self.queue.is_empty() && self.mode.is_some();
        let send = if can_send {
            self.line_free.max(self.paused_until)
        } else {
            Instant::NEVER
        };
        if self.has_room() || !self.config.pauses_station {
            send.min(self.station.poll_timeout())
        } else {
            send
        }
    }

    /// Takes frames of the station that are ready at `now`, and returns one that begins on the line.
    pub fn poll(&mut self, now: Instant) -> Option<LineFrame> {
        while self.station.poll_timeout() <= now && (self.has_room() || !self.config.pauses_station)
        {
            let Some(frame) = self.station.poll_transmit(now) else {
                break;
            };
            if self.mode.is_none() || !self.has_room() {
                self.statistics.dropped += 1;
                continue;
            }
            self.queued_bytes += frame.len();
            self.queue.push_back(frame);
        }
        let mode = self.mode?;
        if self.line_free.max(self.paused_until) > now {
            return None;
        }
        let mut octets = self.queue.pop_front()?;
        self.queued_bytes -= octets.len();
        octets.resize(octets.len().max(MIN_LEN - fcs::LEN), 0);
        octets.extend(fcs::crc32(&octets).to_le_bytes());
        let frame = LineFrame::new(octets, now, mode);
        self.line_free = frame.next_start();
        self.statistics.sent += 1;
        Some(frame)
    }

    /// A frame of the board has arrived.
    pub fn receive(&mut self, frame: &LineFrame) {
        let Some(mode) = self.mode.filter(|mode| mode.duration(1) == frame.octet()) else {
            return;
        };
        if frame.fault.is_some() || !fcs::is_good(&frame.octets) {
            self.statistics.damaged += 1;
            return;
        }
        let octets = &frame.octets[..frame.octets.len() - fcs::LEN];
        if octets.get(12..14) != Some(&EtherType::MAC_CONTROL.0.to_be_bytes()) {
            self.statistics.received += 1;
            self.station.receive(octets, frame.end);
            return;
        }
        let Ok(pause) = Pause::parse(octets) else {
            return;
        };
        if pause.quanta == 0 {
            self.statistics.resumed += 1;
        } else {
            self.statistics.paused += 1;
        }
        if self.obeys_pause {
            self.paused_until = frame.end + mode.quanta(pause.quanta.into());
        }
    }
}
