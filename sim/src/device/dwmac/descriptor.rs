//! Descriptors as the DMA reads them (RM0090 section 33.6.7 and 33.6.8): four words, or eight with DMABMR.EDFE.

/// Bits of the first word, in both directions.
pub(super) const OWN: u32 = 1 << 31;

/// A descriptor that was read.
#[derive(Clone, Debug, Default)]
pub(super) struct Descriptor {
    pub addr: u32,
    pub words: [u32; 4],
    /// Direction: the place of the bits that lead to the next one depends on it.
    is_transmit: bool,
}

impl Descriptor {
    /// The descriptor at `addr`, from its first 16 bytes; `None` if there are fewer.
    pub fn parse(addr: u32, data: &[u8], is_transmit: bool) -> Option<Self> {
        let bytes: &[u8; 16] = data.first_chunk()?;
        let mut words = [0; 4];
        for (word, chunk) in words.iter_mut().zip(bytes.as_chunks::<4>().0) {
            *word = u32::from_le_bytes(*chunk);
        }
        Some(Self {
            addr,
            words,
            is_transmit,
        })
    }

    pub const fn is_owned(&self) -> bool {
        self.words[0] & OWN != 0
    }

    const fn is_chained(&self) -> bool {
        if self.is_transmit {
            self.words[0] & 1 << 20 != 0
        } else {
            self.words[1] & 1 << 14 != 0
        }
    }

    const fn ends_ring(&self) -> bool {
        if self.is_transmit {
            self.words[0] & 1 << 21 != 0
        } else {
            self.words[1] & 1 << 15 != 0
        }
    }

    /// Address of the next one, in a list that begins at `base` with descriptors `stride` apart.
    pub const fn next(&self, base: u32, stride: u32) -> u32 {
        if self.ends_ring() {
            base
        } else if self.is_chained() {
            self.words[3] & !3
        } else {
            self.addr.wrapping_add(stride)
        }
    }

    /// Sizes of its two buffers.
    const fn sizes(&self) -> (u32, u32) {
        let second = if self.is_chained() {
            0
        } else {
            self.words[1] >> 16 & 0x1fff
        };
        (self.words[1] & 0x1fff, second)
    }

    /// Octets of its buffers together.
    pub const fn capacity(&self) -> u32 {
        let (first, second) = self.sizes();
        first + second
    }

    /// Address of octet `at` of its buffers, and the octets from there to the end of that buffer.
    pub const fn place(&self, at: u32) -> (u32, u32) {
        let (first, second) = self.sizes();
        if at < first {
            (self.words[2].wrapping_add(at), first - at)
        } else {
            let at = at - first;
            (self.words[3].wrapping_add(at), second.saturating_sub(at))
        }
    }
}
