//! Frames between the packets in memory and the line.

use linerate_ether::fcs;
use linerate_ether::frame::{MAX_LEN, MIN_LEN};

use super::packets::BYTES;
use super::{Lan91c111, bank0, bank1, bank2};
use crate::device::port::{Line, LineFrame, LinkMode, Partner};
use crate::time::Instant;

/// Octets around a frame in a packet: status, byte count, control.
const FRAME: usize = 4;
const HEADER_AND_CONTROL: usize = 6;
/// In the status of a received packet, and in the control byte: the last octet is in the control word.
const STATUS_ODD: u16 = 1 << 12;
const STATUS_BROADCAST: u16 = 1 << 14;
const STATUS_TOO_LONG: u16 = 1 << 11;
const STATUS_MULTICAST: u16 = 1 << 0;
const CONTROL_ODD: u8 = 1 << 5;
/// Set in the control byte of each received packet (section 8.1).
const CONTROL_RECEIVED: u8 = 1 << 6;

/// A transmission on the line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sending {
    packet: u8,
    start: Instant,
    pub(super) end: Instant,
}

impl Lan91c111 {
    pub(super) const MODE: LinkMode = LinkMode { mbit_per_s: 100 };

    /// Begins to send the next packet, if the line and the settings allow it.
    pub(super) fn start(&mut self, now: Instant) {
        let enabled = bank0::TCR::TXENA.is_set(self.register(0, bank0::TCR));
        if self.sending.is_some() || !enabled {
            return;
        }
        let Some(&packet) = self.to_send.front() else {
            return;
        };
        let octets = self.frame_to_send(packet).len();
        let start = now.max(self.line_free);
        let end = Self::MODE.arrival(start, octets);
        self.line_free = end + Self::MODE.duration(LinkMode::GAP);
        self.sending = Some(Sending { packet, start, end });
    }

    /// The frame in a packet, with padding and FCS as `TCR` demands.
    fn frame_to_send(&self, packet: u8) -> Vec<u8> {
        let control = self.register(0, bank0::TCR);
        let count = usize::from(self.packets.word(packet, 2)) & 0x7fe;
        let len = count.saturating_sub(HEADER_AND_CONTROL);
        let mut octets: Vec<u8> = (0..len)
            .map(|at| self.packets.read(packet, FRAME + at))
            .collect();
        if self.packets.read(packet, FRAME + len + 1) & CONTROL_ODD != 0 {
            octets.push(self.packets.read(packet, FRAME + len));
        }
        if bank0::TCR::PAD_EN.is_set(control) && octets.len() < MIN_LEN - fcs::LEN {
            octets.resize(MIN_LEN - fcs::LEN, 0);
        }
        if !bank0::TCR::NOCRC.is_set(control) {
            let len = octets.len();
            octets.resize(len + fcs::LEN, 0);
            // There is room for it.
            let _ = fcs::append(&mut octets, len);
        }
        octets
    }

    pub(super) fn finish_sending(&mut self, Sending { packet, start, end }: Sending) {
        self.to_send.pop_front();
        if self.is_connected {
            self.sent.push_back(LineFrame {
                octets: self.frame_to_send(packet),
                start,
                end,
                fault: None,
            });
        }
        // The status in the packet is that of the register (section 8.6).
        self.stored[0][bank0::EPHSR.offset as usize / 2] |= bank0::EPHSR::TX_SUC.mask() as u16;
        for (at, octet) in self.frame_status().to_le_bytes().into_iter().enumerate() {
            self.packets.write(packet, at, octet);
        }
        if bank1::CTR::AUTO_RELEASE.is_set(self.register(1, bank1::CTR)) {
            self.release(packet);
        } else {
            self.sent_packets.push_back(packet);
        }
        self.latch_empty();
    }

    fn accepts(&self, frame: &LineFrame) -> bool {
        let control = self.register(0, bank0::RCR);
        let Some(to) = frame.octets.first_chunk::<6>() else {
            return false;
        };
        let is_group = to[0] & 1 != 0;
        let is_ours = *to == self.address() || *to == [0xff; 6];
        // Fragments are not kept without RCV_BAD (section 8.14), and no packet is longer than its memory.
        let has_length = (MIN_LEN..=BYTES - HEADER_AND_CONTROL).contains(&frame.octets.len());
        bank0::RCR::RXEN.is_set(control)
            && frame.fault.is_none()
            && has_length
            && (is_ours
                || bank0::RCR::PRMS.is_set(control)
                || is_group && bank0::RCR::ALMUL.is_set(control))
    }

    pub(super) fn take_in(&mut self, frame: &LineFrame) {
        if !self.accepts(frame) {
            return;
        }
        let Some(packet) = self.packets.allocate() else {
            self.events |= bank2::IST::RX_OVRN.mask() as u8;
            return;
        };
        let strips = bank0::RCR::STRIP_CRC.is_set(self.register(0, bank0::RCR));
        let len = frame.octets.len()
            - if strips {
                fcs::LEN.min(frame.octets.len())
            } else {
                0
            };
        let octets = &frame.octets[..len];
        let odd = !len.is_multiple_of(2);
        let is_broadcast = octets.starts_with(&[0xff; 6]);
        let is_group = octets.first().is_some_and(|it| it & 1 != 0);
        let bits = [
            (STATUS_ODD, odd),
            (STATUS_BROADCAST, is_broadcast),
            (STATUS_MULTICAST, is_group && !is_broadcast),
            (STATUS_TOO_LONG, frame.octets.len() > MAX_LEN),
        ];
        let status = bits
            .iter()
            .filter(|(_, set)| *set)
            .map(|(bit, _)| bit)
            .sum::<u16>();
        let count = (len & !1) + HEADER_AND_CONTROL;
        let mut contents = Vec::with_capacity(len + HEADER_AND_CONTROL);
        contents.extend(status.to_le_bytes());
        contents.extend((count as u16).to_le_bytes());
        contents.extend(octets);
        if odd {
            contents.push(CONTROL_RECEIVED | CONTROL_ODD);
        } else {
            contents.extend([0, CONTROL_RECEIVED]);
        }
        for (at, octet) in contents.into_iter().enumerate() {
            self.packets.write(packet, at, octet);
        }
        self.received.push_back(packet);
    }
}

impl Line for Lan91c111 {
    fn connect(&mut self, partner: Option<Partner>, _: Instant) {
        self.is_connected = partner.is_some();
    }

    fn mode(&self) -> Option<LinkMode> {
        self.is_connected.then_some(Self::MODE)
    }

    fn take_frame(&mut self) -> Option<LineFrame> {
        self.sent.pop_front()
    }

    fn receive_frame(&mut self, frame: LineFrame) {
        self.arriving.push_back(frame);
    }
}
