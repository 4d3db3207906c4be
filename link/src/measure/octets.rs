//! The numbers of test messages as octets, little-endian.

use super::arrivals::Pace;
use super::message::{Identity, MAX_NAME, Report};

/// Octets that are not read yet.
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (octets, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*octets)
    }

    pub(super) fn u8(&mut self) -> Option<u8> {
        self.take().map(u8::from_le_bytes)
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        self.take().map(u16::from_le_bytes)
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }

    pub(super) fn report(&mut self) -> Option<Report> {
        let mut report = Report {
            train: self.u8()?,
            received: self.u32()?,
            octets: self.u32()?,
            missing: self.u32()?,
            wrong: self.u32()?,
            span_us: self.u32()?,
            pace: Pace {
                fastest_ns: self.u32()?,
                us: self.u32()?,
                octets: self.u32()?,
                count: self.u16()?,
            },
            shortest_us: self.u32()?,
            ..Report::default()
        };
        for bin in &mut report.bins {
            *bin = self.u16()?;
        }
        report.frames = self.u32()?;
        report.damaged = self.u32()?;
        report.fullest = self.u16()?;
        report.high_water = self.u16()?;
        Some(report)
    }

    pub(super) fn identity(&mut self) -> Option<Identity> {
        let mut identity = Identity {
            version: self.u8()?,
            octets_per_s: self.u32()?,
            hardware_fifo: self.u16()?,
            ..Identity::default()
        };
        // What is behind the first zero is no part of the name.
        let name = self.0.iter().take_while(|octet| **octet != 0);
        for (to, from) in identity.name.iter_mut().zip(name) {
            *to = *from;
        }
        Some(identity)
    }
}

/// Octets that are written, up to `at`.
pub(super) struct Writer<'a> {
    pub(super) out: &'a mut [u8],
    pub(super) at: usize,
}

impl Writer<'_> {
    fn put(&mut self, octets: &[u8]) -> &mut Self {
        for octet in octets {
            if let Some(place) = self.out.get_mut(self.at) {
                *place = *octet;
                self.at += 1;
            }
        }
        self
    }

    pub(super) fn u8(&mut self, value: u8) -> &mut Self {
        self.put(&[value])
    }

    pub(super) fn u16(&mut self, value: u16) -> &mut Self {
        self.put(&value.to_le_bytes())
    }

    pub(super) fn u32(&mut self, value: u32) -> &mut Self {
        self.put(&value.to_le_bytes())
    }

    pub(super) fn report(&mut self, report: &Report) -> &mut Self {
        self.u8(report.train)
            .u32(report.received)
            .u32(report.octets)
            .u32(report.missing)
            .u32(report.wrong)
            .u32(report.span_us)
            .u32(report.pace.fastest_ns)
            .u32(report.pace.us)
            .u32(report.pace.octets)
            .u16(report.pace.count)
            .u32(report.shortest_us);
        for bin in report.bins {
            self.u16(bin);
        }
        self.u32(report.frames)
            .u32(report.damaged)
            .u16(report.fullest)
            .u16(report.high_water)
    }

    pub(super) fn identity(&mut self, identity: &Identity) -> &mut Self {
        let len = identity.name.iter().position(|octet| *octet == 0);
        let name = identity.name.get(..len.unwrap_or(MAX_NAME));
        self.u8(identity.version)
            .u32(identity.octets_per_s)
            .u16(identity.hardware_fifo)
            .put(name.unwrap_or_default())
    }
}
