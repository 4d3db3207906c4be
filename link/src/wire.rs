//! The format on the wire: `docs/link-protocol.md`.

/// End of a frame, and the only place of this octet.
pub(crate) const DELIMITER: u8 = 0;
/// Octets of the header.
pub(crate) const HEADER: usize = 4;
/// Octets of the check behind the body.
pub(crate) const CHECK: usize = 5;
/// Last octet of a frame that its sender gave up: no octet of a check.
pub(crate) const ABORT: u8 = 1;
/// Version of the protocol in hello frames.
pub(crate) const VERSION: u8 = 1;
/// Octets of a hello's payload in front of the sizes of the FIFOs.
pub(crate) const HELLO: usize = 10;
/// Octets of a probe's payload: three stamps.
pub(crate) const PROBE: usize = 12;
/// Octets of memory that a message takes in addition to its own: its length.
pub(crate) const LENGTH: usize = 2;
/// Most frames of a channel on their way: half of the sequence numbers, less one.
pub(crate) const WINDOW: u8 = 127;

/// Most octets of an acknowledgment frame on the wire: a delimiter, code, header, check, delimiter.
pub const ACKNOWLEDGMENT: usize = 1 + frame_octets(0);

/// Most octets of a frame with a payload of `len` octets on the wire, including its delimiter.
#[must_use]
pub const fn frame_octets(len: usize) -> usize {
    let body = HEADER + len;
    body + 1 + body / 254 + CHECK + 1
}

/// Largest fragment in octets: the Hamming distance of the check is 6 up to 655 octets of body.
pub const MAX_FRAGMENT: u16 = 512;
/// Most octets of a FIFO, so that the sum of two offsets fits 16 bits.
pub const MAX_CAPACITY: u16 = 32_767;
/// Most channels of a link.
pub const MAX_CHANNELS: usize = 16;

/// Kind of a frame: bits 7 and 6 of its first octet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Data,
    Acknowledgment,
    Probe,
    Hello,
}

/// Bits 5 and 4 of the first octet; their meaning depends on the kind.
pub(crate) mod flag {
    /// Data: the fragment begins a message.
    pub(crate) const FIRST: u8 = 0x20;
    /// Data: the fragment ends a message.
    pub(crate) const LAST: u8 = 0x10;
    /// Acknowledgment: please answer.
    pub(crate) const POLL: u8 = 0x20;
    /// Acknowledgment: everything from the acknowledged number on was lost, send it again.
    pub(crate) const REJECT: u8 = 0x10;
    /// Probe: this is the answer.
    pub(crate) const REPLY: u8 = 0x20;
    /// Hello: please answer.
    pub(crate) const WANTED: u8 = 0x20;
}

/// The four octets in front of a payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct Header(pub(crate) [u8; HEADER]);

impl Header {
    pub(crate) const fn new(kind: Kind, flags: u8, channel: usize, fields: [u8; 3]) -> Self {
        let [sequence, acknowledged, credit] = fields;
        let first = ((kind as u8) << 6) | flags | channel as u8;
        Self([first, sequence, acknowledged, credit])
    }

    pub(crate) const fn kind(self) -> Kind {
        match self.0[0] >> 6 {
            0 => Kind::Data,
            1 => Kind::Acknowledgment,
            2 => Kind::Probe,
            _ => Kind::Hello,
        }
    }

    pub(crate) const fn has(self, flag: u8) -> bool {
        self.0[0] & flag != 0
    }

    /// The channel; in a hello the version.
    pub(crate) const fn channel(self) -> usize {
        (self.0[0] & 15) as usize
    }

    /// Number of this frame; in an acknowledgment, of the next one; in a hello, the number of channels.
    pub(crate) const fn sequence(self) -> u8 {
        self.0[1]
    }

    /// Number of the frame that is expected.
    pub(crate) const fn acknowledged(self) -> u8 {
        self.0[2]
    }

    /// Free memory behind the acknowledged frames, in units of the channel.
    pub(crate) const fn credit(self) -> u8 {
        self.0[3]
    }
}

/// Octet `index` of the check: seven bits, least significant first, and a one that keeps it from being a delimiter.
pub(crate) const fn check_octet(check: u32, index: usize) -> u8 {
    0x80 | ((check >> (7 * index)) & 0x7F) as u8
}

/// Binary logarithm of the unit in which the credit of a FIFO of `capacity` octets is counted.
pub(crate) const fn credit_shift(capacity: usize) -> u8 {
    let mut shift = 0;
    while capacity >> shift > 255 {
        shift += 1;
    }
    shift
}

/// Longest message that always fits a FIFO of `capacity` octets, whatever its fragments leave free.
pub(crate) const fn max_message(capacity: usize) -> usize {
    let shift = credit_shift(capacity);
    let counted = (capacity >> shift) << shift;
    counted.saturating_sub((1 << shift) - 1 + LENGTH)
}
