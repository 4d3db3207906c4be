//! Reception of the device's transmissions by the peer.

use linerate_ether::frame;
use linerate_ether::ledger::DropCause;
use linerate_ether::phy10::{HALF_BIT_NS, decode, frame_time_ns};

use super::Link;
use super::burst::{Burst, BurstKind};
use super::record::{Content, Event, ReceivedFrame};
use crate::peer::Station;
use crate::time::Span;

/// Widths of a lone pulse that a receiver accepts as a link pulse.
const PULSE_WIDTHS: core::ops::RangeInclusive<Span> = Span::from_ticks(750)..=Span::from_ns(150);
/// Receive buffer in octets: more than the longest frame, so that oversize frames are detected.
const BUFFER: usize = 2048;

impl<S: Station> Link<S> {
    /// Processes a complete burst of the device.
    pub(super) fn receive(&mut self, burst: &Burst) {
        if let BurstKind::Pulse(width) = burst.kind {
            let statistics = &mut self.statistics;
            let known = PULSE_WIDTHS.contains(&width);
            statistics.link_pulses_received += u64::from(known);
            statistics.odd_pulses += u64::from(!known);
            let (least, most) = statistics.pulse_widths.unwrap_or((width, width));
            statistics.pulse_widths = Some((least.min(width), most.max(width)));
            if known {
                self.partner.pulse_received(burst.start + self.config.delay);
            }
            return;
        }
        let mut buffer = [0; BUFFER];
        let half_bits = burst.half_bits();
        let decoded = decode(half_bits, &mut buffer);
        let (len, end, fault) = match decoded {
            Ok(decoded) => {
                let octets = &buffer[..decoded.len];
                let fault = frame::check_received(octets)
                    .err()
                    .map(|error| match error.cause() {
                        DropCause::BadFcs if decoded.dribble_bits > 0 => DropCause::Alignment,
                        cause => cause,
                    });
                let last = Span::from_ns(decoded.end as u64 * HALF_BIT_NS);
                (decoded.len, burst.start + last, fault)
            }
            Err(error) => (error.len, burst.end, Some(error.cause())),
        };
        let device_collided = core::mem::take(&mut self.device_collided);
        let fault = match fault {
            _ if device_collided => Some(DropCause::Collision),
            _ if burst.jabber => Some(DropCause::Oversize),
            None if !self.partner.report().up => Some(DropCause::LinkDown),
            fault => fault,
        };
        let start = burst.start + self.config.delay;
        let end = end + self.config.delay;
        for transmitter in self.transmitters_mut() {
            transmitter.carrier_ended(end);
        }
        self.partner.frame_received(end);
        let octets = buffer[..len].to_vec();
        let gap = self.last_received_end.map(|last| start.since(last));
        let received = ReceivedFrame {
            id: self.next_received_id,
            start,
            end,
            octets: len,
            content: Content::of(&octets),
            fault,
            gap: gap.unwrap_or_default(),
            edge_error: burst.edge_error,
        };
        self.next_received_id += 1;
        self.last_received_end = Some(end);
        let statistics = &mut self.statistics;
        statistics.frames_received += 1;
        statistics.frames_bad += u64::from(fault.is_some());
        statistics.frames_collided += u64::from(fault == Some(DropCause::Collision));
        statistics.edge_error = statistics.edge_error.max(burst.edge_error);
        if let Some(gap) = gap {
            statistics.min_gap = Some(statistics.min_gap.map_or(gap, |least| least.min(gap)));
        }
        if fault.is_none() {
            statistics.octets_received += len as u64;
            statistics.airtime_received =
                statistics.airtime_received + Span::from_ns(frame_time_ns(len));
            self.station.receive(&octets[..len - 4], end);
        }
        self.events.push_back(Event::Received(received, octets));
    }
}
