//! The pcapng format: draft-ietf-opsawg-pcapng.

use std::io::Read;

use super::source::Source;
use super::{ByteOrder, LinkType, MAX_RECORD_OCTETS, ReadError, Record};

/// Type of the block that begins a section; the same in either byte order.
pub(super) const SECTION_HEADER: [u8; 4] = [0x0A, 0x0D, 0x0D, 0x0A];
const INTERFACE: u32 = 1;
/// Obsolete, but still in old files.
const PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const STATISTICS: u32 = 5;
const ENHANCED_PACKET: u32 = 6;

/// Interface option: timestamp resolution.
const IF_TSRESOL: u16 = 9;
/// Interface option: seconds to add to timestamps.
const IF_TSOFFSET: u16 = 14;

/// Options of interface statistics: packets dropped by the interface and by the system.
const ISB_IFDROP: u16 = 5;
const ISB_OSDROP: u16 = 7;

/// More interfaces than this are treated as damage.
const MAX_INTERFACES: usize = 65_536;

/// Reader of pcapng sections.
pub(super) struct Pcapng {
    order: ByteOrder,
    interfaces: Vec<Interface>,
    /// Packets dropped in the previous sections.
    dropped: u64,
}

/// Interface properties needed for its packets.
#[derive(Clone, Copy)]
struct Interface {
    link: LinkType,
    /// Captured octets per packet; 0 for all.
    snap_len: u32,
    ticks_per_second: u64,
    offset_s: i64,
    /// Packets dropped according to its statistics.
    dropped: u64,
}

impl Interface {
    /// Converts `ticks` since the epoch to nanoseconds.
    #[inline]
    fn ns(&self, ticks: u64) -> u64 {
        let ns = match self.ticks_per_second {
            1_000_000 => ticks.saturating_mul(1000),
            1_000_000_000 => ticks,
            ticks_per_second => {
                let (whole, rest) = (ticks / ticks_per_second, ticks % ticks_per_second);
                let rest = u128::from(rest) * 1_000_000_000 / u128::from(ticks_per_second);
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
    /// Starts before the first section.
    pub(super) fn new() -> Self {
        Self {
            order: ByteOrder::Little,
            interfaces: Vec::new(),
            dropped: 0,
        }
    }

    /// Packets dropped by the capturing system, according to the statistics read so far.
    pub(super) fn dropped(&self) -> u64 {
        let dropped = self.interfaces.iter().map(|interface| interface.dropped);
        dropped.fold(self.dropped, u64::saturating_add)
    }

    /// The next packet; its octets are those that the source consumed last.
    pub(super) fn next<R: Read>(
        &mut self,
        source: &mut Source<R>,
        number: u64,
    ) -> Result<Option<Record>, ReadError> {
        loop {
            let there = source.fill_to(8);
            if there < 8 {
                return if there == 0 && source.io_error().is_none() {
                    Ok(None)
                } else {
                    Err(ReadError::at(
                        source,
                        number,
                        "ends within a block's header",
                    ))
                };
            }
            let head: [u8; 8] = source
                .peek(8)
                .try_into()
                .expect("as many as were asked for");
            if head[..4] == SECTION_HEADER {
                self.section(source, number)?;
                continue;
            }
            let kind = self.order.u32_at(&head, 0);
            let len = self.order.u32_at(&head, 4) as usize;
            if len < 12 || !len.is_multiple_of(4) {
                let what = format!("is damaged: a block cannot have {len} octets");
                return Err(ReadError::at(source, number, &what));
            }
            match kind {
                ENHANCED_PACKET | PACKET | SIMPLE_PACKET => {
                    fill_block(source, number, len)?;
                    return self.packet(source, number, kind, len).map(Some);
                }
                INTERFACE => {
                    fill_block(source, number, len)?;
                    self.interface(source, number, len)?;
                }
                STATISTICS => {
                    fill_block(source, number, len)?;
                    self.statistics(source, len);
                }
                // Name resolution, decryption secrets, custom blocks.
                _ => {
                    if source.skip(len as u64) < len as u64 {
                        return Err(ReadError::at(source, number, "ends within a block"));
                    }
                }
            }
        }
    }

    fn section<R: Read>(&mut self, source: &mut Source<R>, number: u64) -> Result<(), ReadError> {
        let Some(head) = source.peek_array::<12>() else {
            return Err(ReadError::at(
                source,
                number,
                "ends within a section's header",
            ));
        };
        let magic: [u8; 4] = head[8..12].try_into().expect("four octets");
        let orders = [ByteOrder::Big, ByteOrder::Little];
        let found = orders
            .into_iter()
            .find(|order| order.u32(magic) == 0x1A2B_3C4D);
        let len = found.map_or(0, |order| order.u32_at(&head, 4));
        let Some(order) = found.filter(|_| len >= 28 && len.is_multiple_of(4)) else {
            return Err(ReadError::at(
                source,
                number,
                "is damaged: invalid section header",
            ));
        };
        if source.skip(len.into()) < len.into() {
            return Err(ReadError::at(
                source,
                number,
                "ends within a section's header",
            ));
        }
        self.order = order;
        self.dropped = self.dropped();
        self.interfaces.clear();
        Ok(())
    }

    fn interface<R: Read>(
        &mut self,
        source: &mut Source<R>,
        number: u64,
        len: usize,
    ) -> Result<(), ReadError> {
        let body = &source.peek(len)[8..len - 4];
        if body.len() < 8 || self.interfaces.len() == MAX_INTERFACES {
            return Err(ReadError::at(
                source,
                number,
                "is damaged: invalid interface",
            ));
        }
        let mut interface = Interface {
            link: LinkType(self.order.u16_at(body, 0)),
            snap_len: self.order.u32_at(body, 4),
            ticks_per_second: 1_000_000,
            offset_s: 0,
            dropped: 0,
        };
        for (code, value) in options(self.order, &body[8..]) {
            match (code, value) {
                (IF_TSRESOL, [resolution]) => {
                    let exponent = u32::from(resolution & 0x7F);
                    let base = if resolution & 0x80 == 0 { 10 } else { 2_u64 };
                    let Some(ticks_per_second) = base.checked_pow(exponent) else {
                        let what = "is damaged: invalid timestamp resolution";
                        return Err(ReadError::at(source, number, what));
                    };
                    interface.ticks_per_second = ticks_per_second;
                }
                (IF_TSOFFSET, value) if value.len() == 8 => {
                    interface.offset_s = u64_of(self.order, value) as i64;
                }
                _ => {}
            }
        }
        self.interfaces.push(interface);
        source.consume(len);
        Ok(())
    }

    /// An interface's latest statistics count: they are cumulative.
    fn statistics<R: Read>(&mut self, source: &mut Source<R>, len: usize) {
        let order = self.order;
        let body = &source.peek(len)[8..len - 4];
        let id = body.first_chunk().map(|id: &[u8; 4]| order.u32(*id));
        if let Some(interface) = id.and_then(|id| self.interfaces.get_mut(id as usize)) {
            interface.dropped = options(order, body.get(12..).unwrap_or(&[]))
                .filter(|(code, value)| {
                    matches!(*code, ISB_IFDROP | ISB_OSDROP) && value.len() == 8
                })
                .map(|(_, value)| u64_of(order, value))
                .fold(0, u64::saturating_add);
        }
        source.consume(len);
    }

    #[inline]
    fn packet<R: Read>(
        &mut self,
        source: &mut Source<R>,
        number: u64,
        kind: u32,
        len: usize,
    ) -> Result<Record, ReadError> {
        let block = source.peek(len);
        let order = self.order;
        let head = if kind == SIMPLE_PACKET { 12 } else { 28 };
        if len < head + 4 {
            return Err(ReadError::at(
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
            let what =
                format!("is damaged: a packet refers to interface {id}, which is not defined");
            return Err(ReadError::at(source, number, &what));
        };
        let (captured, length) = if kind == SIMPLE_PACKET {
            let length = order.u32_at(block, 8);
            let snap_len = if interface.snap_len == 0 {
                length
            } else {
                interface.snap_len
            };
            (length.min(snap_len) as usize, length)
        } else {
            (order.u32_at(block, 20) as usize, order.u32_at(block, 24))
        };
        if captured > len - head - 4 {
            let what =
                format!("is damaged: a block of {len} octets cannot hold a packet of {captured}");
            return Err(ReadError::at(source, number, &what));
        }
        let ticks = if time {
            u64::from(order.u32_at(block, 12)) << 32 | u64::from(order.u32_at(block, 16))
        } else {
            0
        };
        let record = Record {
            offset: source.offset(),
            time_ns: interface.ns(ticks),
            captured,
            padding: len - head - captured,
            length: length.max(captured as u32),
            link: interface.link,
            interface: id,
        };
        source.consume(len);
        Ok(record)
    }
}

/// The codes and values of a block's options.
fn options(order: ByteOrder, mut octets: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        if octets.len() < 4 {
            return None;
        }
        let (code, len) = (
            order.u16_at(octets, 0),
            usize::from(order.u16_at(octets, 2)),
        );
        let value = octets.get(4..4 + len).filter(|_| code != 0)?;
        octets = octets.get(4 + len.next_multiple_of(4)..).unwrap_or(&[]);
        Some((code, value))
    })
}

fn u64_of(order: ByteOrder, value: &[u8]) -> u64 {
    let low = order.u32_at(value, order.low_word());
    let high = order.u32_at(value, 4 - order.low_word());
    u64::from(high) << 32 | u64::from(low)
}

/// Buffers a block of `len` octets.
#[inline]
fn fill_block<R: Read>(source: &mut Source<R>, number: u64, len: usize) -> Result<(), ReadError> {
    if len > MAX_RECORD_OCTETS {
        let what = format!("is damaged: a block cannot have {len} octets");
        return Err(ReadError::at(source, number, &what));
    }
    let there = source.fill_to(len);
    if there < len {
        let what = format!("ends within a block: {there} of {len} octets are present");
        return Err(ReadError::at(source, number, &what));
    }
    Ok(())
}
