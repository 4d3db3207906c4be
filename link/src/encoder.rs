//! Encodes one frame octet by octet, straight from the memory of its payload.

use crate::crc;
use crate::wire::{ABORT, CHECK, DELIMITER, HEADER, Header, check_octet};

/// Longest block of COBS, without its code.
const MAX_BLOCK: usize = 254;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Stage {
    Idle,
    /// A delimiter in front of the frame, which ends what noise may have begun.
    Lead,
    /// The code of the next block.
    Code,
    /// Octets of a block.
    Block,
    Check(u8),
    Abort,
    End,
}

/// What follows a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Follows {
    Check,
    Block,
    /// A zero, which is in the block's code, and another block.
    ZeroAndBlock,
}

/// The frame that is being sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Encoder {
    stage: Stage,
    follows: Follows,
    /// Octets of the block that are left.
    block: u8,
    header: Header,
    /// Octets of header and payload, and those that are encoded.
    total: u16,
    at: u16,
    crc: u32,
}

impl Encoder {
    pub(crate) const fn new() -> Self {
        Self {
            stage: Stage::Idle,
            follows: Follows::Check,
            block: 0,
            header: Header([0; HEADER]),
            total: 0,
            at: 0,
            crc: 0,
        }
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.stage == Stage::Idle
    }

    /// Header of the frame that is or was sent last.
    pub(crate) const fn header(&self) -> Header {
        self.header
    }

    /// Begins a frame with a payload of `len` octets; with a delimiter in front of it if `lead`.
    pub(crate) fn begin(&mut self, header: Header, len: usize, lead: bool) {
        self.stage = if lead { Stage::Lead } else { Stage::Code };
        self.header = header;
        self.total = (len + HEADER) as u16;
        self.at = 0;
        self.crc = crc::INITIAL;
    }

    /// Gives up the frame: what is sent of it cannot be taken for a whole one.
    pub(crate) fn abort(&mut self) {
        if !matches!(self.stage, Stage::Idle | Stage::End) {
            self.stage = Stage::Abort;
        }
    }

    /// The next octet of the wire; `payload` gives the octet at an index, `key` is added to the check. `None` behind
    /// the delimiter.
    pub(crate) fn next(
        &mut self,
        key: impl Fn() -> u32,
        payload: impl Fn(usize) -> u8,
    ) -> Option<u8> {
        let octet = match self.stage {
            Stage::Idle => return None,
            Stage::Lead => {
                self.stage = Stage::Code;
                return Some(DELIMITER);
            }
            Stage::Code => self.code(&payload),
            Stage::Block => {
                let octet = self.octet(self.at.into(), &payload);
                self.at += 1;
                self.block -= 1;
                octet
            }
            Stage::Check(index) => {
                self.stage = if usize::from(index) + 1 == CHECK {
                    Stage::End
                } else {
                    Stage::Check(index + 1)
                };
                return Some(check_octet(!self.crc ^ key(), index.into()));
            }
            Stage::Abort => {
                self.stage = Stage::End;
                return Some(ABORT);
            }
            Stage::End => {
                self.stage = Stage::Idle;
                return Some(DELIMITER);
            }
        };
        self.crc = crc::update(self.crc, octet);
        if self.block == 0 {
            self.end_block();
        }
        Some(octet)
    }

    /// Finds the next zero, up to which the block goes.
    fn code(&mut self, payload: impl Fn(usize) -> u8) -> u8 {
        let (at, total) = (usize::from(self.at), usize::from(self.total));
        let limit = total.min(at + MAX_BLOCK);
        let mut end = at;
        while end < limit && self.octet(end, &payload) != 0 {
            end += 1;
        }
        self.block = (end - at) as u8;
        self.follows = if end == total {
            Follows::Check
        } else if end - at < MAX_BLOCK {
            Follows::ZeroAndBlock
        } else {
            Follows::Block
        };
        self.stage = Stage::Block;
        self.block + 1
    }

    fn end_block(&mut self) {
        self.at += u16::from(self.follows == Follows::ZeroAndBlock);
        self.stage = match self.follows {
            Follows::Check => Stage::Check(0),
            Follows::Block | Follows::ZeroAndBlock => Stage::Code,
        };
    }

    fn octet(&self, at: usize, payload: impl Fn(usize) -> u8) -> u8 {
        match self.header.0.get(at) {
            Some(octet) => *octet,
            None => payload(at - HEADER),
        }
    }
}
