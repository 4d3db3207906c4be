//! The management counters (RM0090 section 33.8.3, and those that chips of ST lack).

pub(super) mod offsets {
    linerate_regs::constants!(linerate_regs::DWMAC, "ETH":
        TX_OCTETCOUNT_GB TX_FRAMECOUNT_GB TX_BROADCASTFRAME_G TX_MULTICASTFRAME_G TX_64_OCTETS_GB
        TX_UNICAST_GB TX_MULTICAST_GB TX_BROADCAST_GB TX_UNDERFLOW_ERROR TX_OCTETCOUNT_G MMCTGFCR TX_PAUSE_FRAME
        RX_FRAMECOUNT_GB RX_OCTETCOUNT_GB RX_OCTETCOUNT_G RX_BROADCASTFRAME_G RX_MULTICASTFRAME_G MMCRFCECR
        RX_RUN_ERROR RX_JABBER_ERROR RX_UNDERSIZE_G RX_OVERSIZE_G RX_64_OCTETS_GB MMCRGUFCR RX_PAUSE_FRAMES
        RX_FIFO_OVERFLOW RX_WATCHDOG_ERROR
    );
}

/// Offsets of the first counter, and after the last.
pub(super) const RANGE: std::ops::Range<u32> = 0x114..0x200;
const COUNT: usize = (RANGE.end - RANGE.start) as usize / 4;
/// Upper limits of the size classes that follow `TX_64_OCTETS_GB` and `RX_64_OCTETS_GB`.
const CLASSES: [usize; 5] = [64, 127, 255, 511, 1023];

/// All counters, of 32 bits.
#[derive(Debug)]
pub(super) struct Counters([u32; COUNT]);

impl Counters {
    pub const fn new() -> Self {
        Self([0; COUNT])
    }

    fn place(&mut self, offset: u32) -> Option<&mut u32> {
        let index = offset.checked_sub(RANGE.start)? as usize / 4;
        self.0.get_mut(index)
    }

    /// Adds to a counter, which wraps or, with `stops`, stays at its maximum.
    pub fn add(&mut self, offset: u32, by: u32, stops: bool) {
        if let Some(count) = self.place(offset) {
            *count = if stops {
                count.saturating_add(by)
            } else {
                count.wrapping_add(by)
            };
        }
    }

    pub fn read(&mut self, offset: u32, clears: bool) -> u32 {
        let Some(count) = self.place(offset) else {
            return 0;
        };
        let value = *count;
        if clears {
            *count = 0;
        }
        value
    }
}

/// Offset from the counter of 64 octets to that of the size class of `len` octets.
pub(super) fn size_class(len: usize) -> u32 {
    let index = CLASSES.iter().position(|limit| len <= *limit);
    4 * index.unwrap_or(CLASSES.len()) as u32
}
