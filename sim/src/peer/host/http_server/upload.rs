//! What a client uploads, and how it is checked.

use linerate_ether as ether;
use linerate_ether::fcs::Crc32;

use crate::time::Instant;

/// A file that was uploaded, or is being uploaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upload {
    /// The client's port.
    pub port: u16,
    /// The path it was put at.
    pub path: String,
    /// Octets that the client announced.
    pub expected: u64,
    /// Octets of the body that have come.
    pub octets: u64,
    /// CRC-32 (IEEE 802.3) of those octets.
    pub crc32: u32,
    /// Place of the first octet that is not the pattern's.
    pub first_difference: Option<u64>,
    /// When the connection's SYN was processed.
    pub opened_at: Instant,
    /// When the last octet of the body was read; `None` while it has not come.
    pub finished_at: Option<Instant>,
}

impl Upload {
    /// Every octet came, and each is the pattern's.
    #[must_use]
    pub const fn is_good(&self) -> bool {
        self.finished_at.is_some() && self.first_difference.is_none()
    }
}

/// A body as it comes in.
#[derive(Debug)]
pub(super) struct Receiving {
    /// Which record is kept up to date.
    pub record: usize,
    crc: Crc32<'static>,
}

impl Receiving {
    pub fn new(record: usize) -> Self {
        Self {
            record,
            crc: Crc32::new(),
        }
    }

    /// Takes the body's next octets from the front of `input`; true once all have come.
    pub fn take(&mut self, input: &mut Vec<u8>, upload: &mut Upload, now: Instant) -> bool {
        let wanted = usize::try_from(upload.expected - upload.octets).unwrap_or(usize::MAX);
        let taken = wanted.min(input.len());
        let octets = &input[..taken];
        if upload.first_difference.is_none() {
            upload.first_difference = ether::pattern::first_difference(upload.octets, octets)
                .map(|index| upload.octets + index as u64);
        }
        self.crc.update(octets);
        upload.octets += taken as u64;
        upload.crc32 = self.crc.finish();
        input.drain(..taken);
        let complete = upload.octets == upload.expected;
        if complete {
            upload.finished_at.get_or_insert(now);
        }
        complete
    }
}
