//! The classic format: draft-ietf-opsawg-pcap.

use std::io::Read;

use super::source::Source;
use super::{ByteOrder, LinkType, MAX_RECORD_OCTETS, ReadError, Record};

/// Octets of a record's header.
const RECORD_HEADER: usize = 16;

/// Contents of the file header.
pub(super) struct Pcap {
    order: ByteOrder,
    link: LinkType,
    /// Nanoseconds per unit of a timestamp's fraction.
    fraction_ns: u32,
    /// Additional octets in each record header.
    extra: usize,
}

impl Pcap {
    /// Detects the format by its first four octets.
    pub(super) fn recognize(magic: [u8; 4]) -> Option<(ByteOrder, u32, usize)> {
        let both = [
            (0xA1B2_C3D4, 1000, 0),
            (0xA1B2_3C4D, 1, 0),
            // Alexey Kuznetsov's variant for Linux 2.2 has an interface and a protocol in each record.
            (0xA1B2_CD34, 1000, 8),
        ];
        both.into_iter().find_map(|(number, fraction_ns, extra)| {
            let order = [ByteOrder::Big, ByteOrder::Little]
                .into_iter()
                .find(|order| order.u32(magic) == number)?;
            Some((order, fraction_ns, extra))
        })
    }

    /// Reads the file header, whose magic number was [recognized](Self::recognize).
    pub(super) fn open<R: Read>(
        source: &mut Source<R>,
        (order, fraction_ns, extra): (ByteOrder, u32, usize),
    ) -> Result<Self, ReadError> {
        let Some(header) = source.peek_array::<24>() else {
            return Err(ReadError::at(
                source,
                0,
                "ends within the header of the file",
            ));
        };
        source.consume(24);
        // The upper bits describe an FCS, which no length here includes.
        let link = order.u32_at(&header, 20) & 0x03FF_FFFF;
        Ok(Self {
            order,
            link: LinkType(link as u16),
            fraction_ns,
            extra,
        })
    }

    /// The next record, if it is completely buffered. Its octets are those that the source consumed last.
    #[inline]
    pub(super) fn record<R: Read>(&self, source: &mut Source<R>) -> Option<Record> {
        let there = source.buffered();
        let header: &[u8; RECORD_HEADER] = there.first_chunk()?;
        let [seconds, fraction, captured, length] = self.order.words(header);
        let left = there.len() - RECORD_HEADER;
        if captured as usize + self.extra > left || captured as usize > MAX_RECORD_OCTETS {
            return None;
        }
        let record = Record {
            offset: source.offset(),
            time_ns: u64::from(seconds) * 1_000_000_000
                + u64::from(fraction) * u64::from(self.fraction_ns),
            captured: captured as usize,
            padding: 0,
            length: length.max(captured),
            link: self.link,
            interface: 0,
        };
        source.consume(RECORD_HEADER + self.extra + record.captured);
        Some(record)
    }

    /// The same, after reading it from the stream.
    pub(super) fn read<R: Read>(
        &self,
        source: &mut Source<R>,
        number: u64,
    ) -> Result<Option<Record>, ReadError> {
        let header_len = RECORD_HEADER + self.extra;
        let there = source.fill_to(header_len);
        if there < header_len {
            return if there == 0 && source.io_error().is_none() {
                Ok(None)
            } else {
                Err(ReadError::at(
                    source,
                    number,
                    "ends within a packet's header",
                ))
            };
        }
        let captured = self.order.u32_at(source.peek(header_len), 8) as usize;
        if captured > MAX_RECORD_OCTETS {
            let what = format!("is damaged: a packet cannot have {captured} octets");
            return Err(ReadError::at(source, number, &what));
        }
        let there = source.fill_to(header_len + captured) - header_len;
        if there < captured {
            let what = format!("ends within a packet: {there} of {captured} octets are present");
            return Err(ReadError::at(source, number, &what));
        }
        Ok(self.record(source))
    }
}
