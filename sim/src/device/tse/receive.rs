//! The receiver: checks, FIFO.

use std::collections::VecDeque;

use linerate_ether::fcs;
use linerate_ether::frame::{ADDRESSES_LEN, EtherType, HEADER_LEN, MIN_LEN, MacAddress};
use linerate_ether::pause::Pause;

use super::registers as tse;
use super::settings::Settings;
use super::statistics::Statistics;
use crate::device::port::{Fragment, LineFrame};
use crate::time::Instant;

/// Octets after which the level of the FIFO is looked at again while a frame arrives.
const STEP: usize = 64;

/// Error signals at the end of a packet.
const FRAME_ERROR: u8 = 1 << 0;
const LENGTH_ERROR: u8 = 1 << 1;
const CRC_ERROR: u8 = 1 << 2;
const TRUNCATED: u8 = 1 << 3;

/// A frame in the FIFO.
#[derive(Clone, Debug)]
struct Stored {
    octets: Vec<u8>,
    /// Octets already forwarded.
    taken: usize,
    /// It is complete, with these errors.
    end: Option<u8>,
}

/// A frame on the line.
#[derive(Clone, Debug)]
struct Arriving {
    frame: LineFrame,
    /// It goes to the FIFO.
    is_accepted: bool,
    /// Octets of it that were looked at.
    seen: usize,
    /// The FIFO was full.
    is_truncated: bool,
}

/// Consequence of a received frame for the transmitter.
pub(super) struct Request {
    /// Pause time of the partner in quanta.
    pub quanta: u16,
    pub at: Instant,
}

/// The receiver.
#[derive(Clone, Debug)]
pub(super) struct Receiver {
    capacity: usize,
    incoming: VecDeque<LineFrame>,
    arriving: Option<Arriving>,
    stored: VecDeque<Stored>,
    /// Octets in the FIFO.
    used: usize,
}

impl Receiver {
    pub fn new(capacity: usize) -> Self {
        Self {
            capacity,
            incoming: VecDeque::new(),
            arriving: None,
            stored: VecDeque::new(),
            used: 0,
        }
    }

    /// Empties the FIFO; a frame that arrives is not received.
    pub fn reset(&mut self) {
        self.arriving = None;
        self.stored.clear();
        self.used = 0;
    }

    /// Octets in the FIFO.
    pub fn level(&self) -> usize {
        self.used
    }

    /// `frame` begins to arrive at its start.
    pub fn receive(&mut self, frame: LineFrame) {
        self.incoming.push_back(frame);
    }

    pub fn next_event(&self, settings: &Settings) -> Instant {
        match (&self.arriving, self.incoming.front()) {
            (Some(arriving), _) => {
                let len = arriving.frame.octets.len();
                let left = len - arriving.seen;
                let whole = settings.value(tse::RX_SECTION_FULL) == 0;
                if !arriving.is_accepted || whole && left <= self.room(settings) {
                    arriving.frame.end
                } else {
                    arriving.frame.arrival((arriving.seen + STEP).min(len))
                }
            }
            (None, Some(frame)) => frame.start,
            (None, None) => Instant::NEVER,
        }
    }

    /// Octets that fit into the FIFO.
    fn room(&self, settings: &Settings) -> usize {
        let reserve = settings.octets(tse::RX_ALMOST_FULL);
        self.capacity.saturating_sub(self.used + reserve)
    }

    /// Receives what has arrived by `now`. Returns a request of the partner; call it until there is none.
    pub fn advance(
        &mut self,
        settings: &Settings,
        statistics: &mut Statistics,
        now: Instant,
    ) -> Option<Request> {
        while self.next_event(settings) <= now {
            if self.arriving.is_none() {
                let frame = self.incoming.pop_front()?;
                self.begin(frame, settings);
                continue;
            }
            let at = self.next_event(settings);
            self.progress(at, settings);
            let arriving = self.arriving.take_if(|it| it.frame.end <= at);
            if let Some(arriving) = arriving
                && let Some(request) = self.finish(&arriving, settings, statistics)
            {
                return Some(request);
            }
        }
        None
    }

    fn begin(&mut self, frame: LineFrame, settings: &Settings) {
        let is_readable = frame.fault.is_none() && !frame.octets.is_empty();
        if !settings.command(tse::COMMAND_CONFIG::RX_ENA) || !is_readable {
            return;
        }
        let destination = frame.octets.first_chunk().map(|it| MacAddress(*it));
        let is_accepted =
            destination.is_some_and(|it| settings.accepts(it)) && !is_control(&frame.octets);
        if is_accepted {
            self.stored.push_back(Stored {
                octets: Vec::new(),
                taken: 0,
                end: None,
            });
        }
        self.arriving = Some(Arriving {
            frame,
            is_accepted,
            seen: 0,
            is_truncated: false,
        });
    }

    /// Puts into the FIFO what has arrived at `at`.
    fn progress(&mut self, at: Instant, settings: &Settings) {
        let room = self.room(settings);
        let (Some(arriving), Some(stored)) = (&mut self.arriving, self.stored.back_mut()) else {
            return;
        };
        let len = arriving.frame.octets.len();
        let arrived = if arriving.frame.end <= at {
            len
        } else {
            (arriving.seen + STEP).min(len)
        };
        let from = arriving.seen;
        arriving.seen = arrived;
        if !arriving.is_accepted || arriving.is_truncated {
            return;
        }
        let new = &arriving.frame.octets[from..arrived];
        let kept = new.len().min(room);
        arriving.is_truncated = kept < new.len();
        stored.octets.extend(&new[..kept]);
        self.used += kept;
    }

    /// Checks a frame that has ended.
    fn finish(
        &mut self,
        arriving: &Arriving,
        settings: &Settings,
        statistics: &mut Statistics,
    ) -> Option<Request> {
        let octets = &arriving.frame.octets;
        let longest = settings.longest_frame();
        let is_intact = fcs::is_good(octets);
        let is_control = is_control(octets);
        if arriving.is_accepted || is_control {
            statistics.arrived(octets, is_intact, longest);
        }
        let has_length = (MIN_LEN..=longest).contains(&octets.len());
        if is_control {
            return (is_intact && has_length)
                .then(|| self.control(arriving, settings, statistics))
                .flatten();
        }
        if !arriving.is_accepted {
            return None;
        }
        let mut error = 0;
        if !is_intact {
            error |= CRC_ERROR;
        }
        if !has_length || lacks_payload(octets, settings) {
            error |= LENGTH_ERROR;
        }
        if arriving.is_truncated {
            error |= TRUNCATED;
        }
        if error == 0 {
            statistics.received(octets, false);
        } else {
            statistics.count(tse::IF_IN_ERRORS);
            error |= FRAME_ERROR;
        }
        self.store(error, settings, statistics);
        None
    }

    /// A MAC control frame: a request to pause is obeyed; none is forwarded unless that is enabled.
    fn control(
        &mut self,
        arriving: &Arriving,
        settings: &Settings,
        statistics: &mut Statistics,
    ) -> Option<Request> {
        let octets = &arriving.frame.octets;
        let pause = Pause::parse(&octets[..octets.len() - fcs::LEN]).ok();
        statistics.received(octets, pause.is_some());
        let forwarded = if pause.is_some() {
            tse::COMMAND_CONFIG::PAUSE_FWD
        } else {
            tse::COMMAND_CONFIG::CNTL_FRM_ENA
        };
        if settings.command(forwarded) {
            if octets.len() <= self.room(settings) {
                self.used += octets.len();
                self.stored.push_back(Stored {
                    octets: octets.clone(),
                    taken: 0,
                    end: None,
                });
                self.store(0, settings, statistics);
            } else {
                statistics.count(tse::DROP_EVENTS);
            }
        }
        let ignores = settings.command(tse::COMMAND_CONFIG::PAUSE_IGNORE);
        let pause = pause.filter(|_| !ignores)?;
        Some(Request {
            quanta: pause.quanta,
            at: arriving.frame.end,
        })
    }

    /// Completes the last frame in the FIFO, or discards it.
    fn store(&mut self, error: u8, settings: &Settings, statistics: &mut Statistics) {
        let Some(stored) = self.stored.back_mut() else {
            return;
        };
        let discards = settings.command(tse::COMMAND_CONFIG::RX_ERR_DISC) && error != 0;
        if stored.taken == 0 && (discards || stored.octets.is_empty()) {
            if error & TRUNCATED != 0 {
                statistics.count(tse::DROP_EVENTS);
            }
            self.used -= stored.octets.len();
            self.stored.pop_back();
            return;
        }
        let mut keep = stored.octets.len().min(settings.longest_frame());
        let is_whole = error & TRUNCATED == 0 && keep == stored.octets.len();
        if is_whole && !settings.command(tse::COMMAND_CONFIG::CRC_FWD) {
            keep -= fcs::LEN.min(keep);
        }
        if settings.command(tse::COMMAND_CONFIG::PAD_EN)
            && let Some(payload) = length_field(&stored.octets)
        {
            keep = keep.min(HEADER_LEN + payload);
        }
        let keep = keep.max(stored.taken);
        self.used -= stored.octets.len() - keep;
        stored.octets.truncate(keep);
        stored.end = Some(error);
    }

    /// Octets to forward.
    pub fn output(&mut self, room: usize, settings: &Settings) -> Option<Fragment> {
        let threshold = settings.octets(tse::RX_SECTION_FULL);
        let stored = self.stored.front_mut()?;
        let is_begun = threshold > 0 && stored.octets.len() >= threshold || stored.taken > 0;
        if stored.end.is_none() && !is_begun || room == 0 {
            return None;
        }
        let mut octets = Vec::with_capacity(room.min(stored.octets.len() + 2));
        if stored.taken == 0 && settings.shifts_received() {
            if room < 2 {
                return None;
            }
            octets.extend([0; 2]);
        }
        // The FCS may have to be removed.
        let ready = match stored.end {
            Some(_) => stored.octets.len(),
            None => stored.octets.len().saturating_sub(fcs::LEN),
        };
        let available = ready.saturating_sub(stored.taken);
        let more = available.min(room - octets.len());
        let from = stored.taken;
        octets.extend(&stored.octets[from..from + more]);
        stored.taken += more;
        self.used -= more;
        let end = stored.end.filter(|_| stored.taken == stored.octets.len());
        if end.is_some() {
            self.stored.pop_front();
        } else if more == 0 {
            return None;
        }
        Some(Fragment { octets, end })
    }
}

fn type_or_length(octets: &[u8]) -> Option<u16> {
    let field = octets.get(ADDRESSES_LEN..)?.first_chunk()?;
    Some(u16::from_be_bytes(*field))
}

/// True for a MAC control frame to all stations.
fn is_control(octets: &[u8]) -> bool {
    octets.starts_with(&MacAddress::MAC_CONTROL.0)
        && type_or_length(octets) == Some(EtherType::MAC_CONTROL.0)
}

/// The length of the payload, if the frame has that field.
fn length_field(octets: &[u8]) -> Option<usize> {
    let field = usize::from(type_or_length(octets)?);
    (field <= 1500).then_some(field)
}

/// True if the length field exceeds the payload.
fn lacks_payload(octets: &[u8], settings: &Settings) -> bool {
    let payload = octets.len().saturating_sub(HEADER_LEN + fcs::LEN);
    !settings.command(tse::COMMAND_CONFIG::NO_LGTH_CHECK)
        && length_field(octets).is_some_and(|field| field > payload)
}
