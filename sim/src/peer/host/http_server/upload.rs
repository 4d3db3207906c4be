//! Uploads from a client and their check against the pattern.

use linerate_ether as ether;
use linerate_ether::fcs::Crc32;

use crate::time::Instant;

/// A complete or partial upload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upload {
    /// The client's port.
    pub port: u16,
    /// Request path.
    pub path: String,
    /// Octets announced by the client.
    pub expected: u64,
    /// Octets of the body received.
    pub octets: u64,
    /// CRC-32 (IEEE 802.3) of those octets.
    pub crc32: u32,
    /// Offset of the first octet that differs from the pattern.
    pub first_difference: Option<u64>,
    /// Time at which the connection's SYN was processed.
    pub opened_at: Instant,
    /// Time at which the last octet of the body was read; `None` until then.
    pub finished_at: Option<Instant>,
}

impl Upload {
    /// True if every octet arrived and equals the pattern.
    #[must_use]
    pub const fn is_good(&self) -> bool {
        self.finished_at.is_some() && self.first_difference.is_none()
    }
}

/// Receiver of an upload's body.
#[derive(Debug)]
pub(super) struct UploadBody {
    /// Index of the record to update.
    pub record: usize,
    crc: Crc32<'static>,
}

impl UploadBody {
    pub fn new(record: usize) -> Self {
        Self {
            record,
            crc: Crc32::new(),
        }
    }

    /// Consumes the body's next octets from the front of `input`; true once all have arrived.
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
