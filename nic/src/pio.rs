//! Code shared by drivers whose processor copies frames word by word through a register (programmed
//! I/O).

use crate::accounts::Offered;
use crate::device::RxToken;
use crate::ledger::Ledger;
use crate::mmio::Registers;
use crate::queue::Buffer;
use linerate_regs::RegisterRef;

/// Copies from a register whose octets are in wire order. The loop is unrolled: one load and one
/// store per word.
#[inline]
pub(crate) fn read_words(registers: &impl Registers, from: RegisterRef, words: &mut [u32]) {
    let (eights, rest) = words.as_chunks_mut::<8>();
    for eight in eights {
        for word in eight {
            *word = u32::from_le(registers.read(from));
        }
    }
    for word in rest {
        *word = u32::from_le(registers.read(from));
    }
}

/// Copies to such a register.
#[inline]
pub(crate) fn write_words(registers: &impl Registers, to: RegisterRef, words: &[u32]) {
    let (eights, rest) = words.as_chunks::<8>();
    for eight in eights {
        for &word in eight {
            registers.write(to, word.to_le());
        }
    }
    for &word in rest {
        registers.write(to, word.to_le());
    }
}

/// Buffers of `WORDS` words for the last received frame and the next frame to send.
#[derive(Default)]
pub struct FrameBuffers<const WORDS: usize> {
    pub(crate) rx: Buffer<WORDS>,
    pub(crate) tx: Buffer<WORDS>,
}

impl<const WORDS: usize> FrameBuffers<WORDS> {
    /// Empty buffers.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            rx: Buffer::new(),
            tx: Buffer::new(),
        }
    }
}

/// A received frame in the buffer of the driver.
pub struct Received<'a> {
    frame: &'a mut [u8],
    offered: Offered,
}

impl<'a> Received<'a> {
    #[inline]
    pub(crate) fn new(frame: &'a mut [u8], ledger: &'static Ledger) -> Self {
        Self {
            offered: Offered::new(frame, ledger),
            frame,
        }
    }
}

impl RxToken for Received<'_> {
    #[inline]
    fn peek(&mut self) -> &mut [u8] {
        self.frame
    }

    #[inline]
    fn consume<T>(mut self, f: impl FnOnce(&mut [u8]) -> T) -> T {
        self.offered.consume();
        f(self.frame)
    }
}
