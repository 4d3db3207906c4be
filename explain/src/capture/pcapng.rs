//! The next generation's format: draft-ietf-opsawg-pcapng.

use std::io::Read;

use super::source::Source;
use super::{Fault, LinkType, MOST_OCTETS, Order, Record};

/// Type of the block that begins a section; the same in either byte order.
pub(super) const SECTION: [u8; 4] = [0x0A, 0x0D, 0x0D, 0x0A];
const INTERFACE: u32 = 1;
/// Obsolete, but still in old files.
const PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;

/// Option of an interface: units of its timestamps.
const IF_TSRESOL: u16 = 9;
/// Option of an interface: seconds to add to its timestamps.
const IF_TSOFFSET: u16 = 14;

/// More interfaces than this are damage.
const MOST_INTERFACES: usize = 65_536;

/// A section that is being read.
pub(super) struct Pcapng {
    order: Order,
    interfaces: Vec<Interface>,
}

/// What of an interface its packets need.
#[derive(Clone, Copy)]
struct Interface {
    link: LinkType,
    /// Octets kept of each packet; 0 for all.
    snap: u32,
    per_second: u64,
    offset_s: i64,
}

impl Interface {
    /// `units` since the epoch in nanoseconds.
    #[inline]
    fn ns(&self, units: u64) -> u64 {
        let ns = match self.per_second {
            1_000_000 => units.saturating_mul(1000),
            1_000_000_000 => units,
            per_second => {
                let (whole, rest) = (units / per_second, units % per_second);
                let rest = u128::from(rest) * 1_000_000_000 / u128::from(per_second);
                whole
                    .saturating_mul(1_000_000_000)
                    .saturating_add(rest as u64)
            }
        };
        ns.saturating_add_signed(self.offset_s.saturating_mul(1_000_000_000))
            .min(i64::MAX as u64)
    }
}

impl Pcapng {
    /// Begins before the first section, whose first octets were seen.
    pub(super) fn new() -> Self {
        Self {
            order: Order::Little,
            interfaces: Vec::new(),
        }
    }

    /// The next packet, whose octets are those that the source took last.
    pub(super) fn next<R: Read>(
        &mut self,
        source: &mut Source<R>,
        number: u64,
    ) -> Result<Option<Record>, Fault> {
        loop {
            let there = source.ready(8);
            if there < 8 {
                return if there == 0 && source.failure().is_none() {
                    Ok(None)
                } else {
                    Err(Fault::at(source, number, "ends within a block's header"))
                };
            }
            let head: [u8; 8] = source
                .peek(8)
                .try_into()
                .expect("as many as were asked for");
            if head[..4] == SECTION {
                self.section(source, number)?;
                continue;
            }
            let kind = self.order.u32_at(&head, 0);
            let len = self.order.u32_at(&head, 4) as usize;
            if len < 12 || !len.is_multiple_of(4) {
                let what = format!("is damaged: a block of {len} octets cannot be");
                return Err(Fault::at(source, number, &what));
            }
            match kind {
                ENHANCED_PACKET | PACKET | SIMPLE_PACKET => {
                    whole(source, number, len)?;
                    return self.packet(source, number, kind, len).map(Some);
                }
                INTERFACE => {
                    whole(source, number, len)?;
                    self.interface(source, number, len)?;
                }
                // Names, statistics, secrets, and what others have thought of.
                _ => {
                    if source.skip(len as u64) < len as u64 {
                        return Err(Fault::at(source, number, "ends within a block"));
                    }
                }
            }
        }
    }

    fn section<R: Read>(&mut self, source: &mut Source<R>, number: u64) -> Result<(), Fault> {
        let Some(head) = source.header::<12>() else {
            return Err(Fault::at(source, number, "ends within a section's header"));
        };
        let magic: [u8; 4] = head[8..12].try_into().expect("four octets");
        let orders = [Order::Big, Order::Little];
        let found = orders
            .into_iter()
            .find(|order| order.u32(magic) == 0x1A2B_3C4D);
        let len = found.map_or(0, |order| order.u32_at(&head, 4));
        let Some(order) = found.filter(|_| len >= 28 && len.is_multiple_of(4)) else {
            return Err(Fault::at(
                source,
                number,
                "is damaged: no section begins like this",
            ));
        };
        if source.skip(len.into()) < len.into() {
            return Err(Fault::at(source, number, "ends within a section's header"));
        }
        self.order = order;
        self.interfaces.clear();
        Ok(())
    }

    fn interface<R: Read>(
        &mut self,
        source: &mut Source<R>,
        number: u64,
        len: usize,
    ) -> Result<(), Fault> {
        let body = &source.peek(len)[8..len - 4];
        if body.len() < 8 || self.interfaces.len() == MOST_INTERFACES {
            return Err(Fault::at(
                source,
                number,
                "is damaged: no interface is like this",
            ));
        }
        let mut interface = Interface {
            link: LinkType(self.order.u16_at(body, 0)),
            snap: self.order.u32_at(body, 4),
            per_second: 1_000_000,
            offset_s: 0,
        };
        let mut options = &body[8..];
        while options.len() >= 4 {
            let code = self.order.u16_at(options, 0);
            let len = usize::from(self.order.u16_at(options, 2));
            let Some(value) = options.get(4..4 + len).filter(|_| code != 0) else {
                break;
            };
            match (code, value) {
                (IF_TSRESOL, [resolution]) => {
                    let exponent = u32::from(resolution & 0x7F);
                    let base = if resolution & 0x80 == 0 { 10 } else { 2_u64 };
                    let Some(per_second) = base.checked_pow(exponent) else {
                        let what = "is damaged: no clock has such a resolution";
                        return Err(Fault::at(source, number, what));
                    };
                    interface.per_second = per_second;
                }
                (IF_TSOFFSET, value) if value.len() == 8 => {
                    let low = self.order.u32_at(value, self.order.low_word());
                    let high = self.order.u32_at(value, 4 - self.order.low_word());
                    interface.offset_s = (u64::from(high) << 32 | u64::from(low)) as i64;
                }
                _ => {}
            }
            options = options.get(4 + len.next_multiple_of(4)..).unwrap_or(&[]);
        }
        self.interfaces.push(interface);
        source.take(len);
        Ok(())
    }

    #[inline]
    fn packet<R: Read>(
        &mut self,
        source: &mut Source<R>,
        number: u64,
        kind: u32,
        len: usize,
    ) -> Result<Record, Fault> {
        let block = source.peek(len);
        let order = self.order;
        let head = if kind == SIMPLE_PACKET { 12 } else { 28 };
        if len < head + 4 {
            return Err(Fault::at(
                source,
                number,
                "is damaged: a packet's block is too short",
            ));
        }
        let (id, time) = match kind {
            ENHANCED_PACKET => (order.u32_at(block, 8) as usize, true),
            PACKET => (usize::from(order.u16_at(block, 8)), true),
            _ => (0, false),
        };
        let Some(interface) = self.interfaces.get(id) else {
            let what = format!("is damaged: a packet came from interface {id}, which there is not");
            return Err(Fault::at(source, number, &what));
        };
        let (captured, length) = if kind == SIMPLE_PACKET {
            let length = order.u32_at(block, 8);
            let snap = if interface.snap == 0 {
                length
            } else {
                interface.snap
            };
            (length.min(snap) as usize, length)
        } else {
            (order.u32_at(block, 20) as usize, order.u32_at(block, 24))
        };
        if captured > len - head - 4 {
            let what =
                format!("is damaged: a block of {len} octets cannot hold a packet of {captured}");
            return Err(Fault::at(source, number, &what));
        }
        let units = if time {
            u64::from(order.u32_at(block, 12)) << 32 | u64::from(order.u32_at(block, 16))
        } else {
            0
        };
        let record = Record {
            offset: source.offset(),
            time_ns: interface.ns(units),
            captured,
            padding: len - head - captured,
            length: length.max(captured as u32),
            link: interface.link,
        };
        source.take(len);
        Ok(record)
    }
}

/// Makes a block of `len` octets ready.
#[inline]
fn whole<R: Read>(source: &mut Source<R>, number: u64, len: usize) -> Result<(), Fault> {
    if len > MOST_OCTETS {
        let what = format!("is damaged: a block of {len} octets cannot be");
        return Err(Fault::at(source, number, &what));
    }
    let there = source.ready(len);
    if there < len {
        let what = format!("ends within a block: {there} of {len} octets are there");
        return Err(Fault::at(source, number, &what));
    }
    Ok(())
}
