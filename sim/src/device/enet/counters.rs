//! The MIB counters (IMX6DQRM section 23.5, from `RMON_T_DROP` on).

/// Offsets of the first counter and of those that the model counts.
const FIRST: u32 = 0x200;
const COUNT: usize = 0x40;

pub(super) mod offsets {
    linerate_regs::constants!(linerate_regs::IMX6, "ENET":
        RMON_T_PACKETS RMON_T_BC_PKT RMON_T_MC_PKT RMON_T_P64 RMON_T_OCTETS
        IEEE_T_FRAME_OK IEEE_T_FDXFC IEEE_T_OCTETS_OK IEEE_T_MACERR
        RMON_R_PACKETS RMON_R_BC_PKT RMON_R_MC_PKT RMON_R_CRC_ALIGN RMON_R_UNDERSIZE RMON_R_OVERSIZE
        RMON_R_FRAG RMON_R_JAB RMON_R_P64 RMON_R_OCTETS
        IEEE_R_FRAME_OK IEEE_R_CRC IEEE_R_MACERR IEEE_R_FDXFC IEEE_R_OCTETS_OK
    );
}

/// Upper limits of the size classes that follow `RMON_T_P64` and `RMON_R_P64`.
const CLASSES: [usize; 7] = [64, 127, 255, 511, 1023, 2047, usize::MAX];

/// All counters.
#[derive(Debug)]
pub(super) struct Counters {
    values: [u64; COUNT],
    /// What a program reads of a counter.
    mask: u32,
}

impl Counters {
    /// Counters of this many bits, at 0. Octets are counted with 32.
    pub fn new(bits: u32) -> Self {
        Self {
            values: [0; COUNT],
            mask: if bits >= 32 {
                u32::MAX
            } else {
                (1 << bits) - 1
            },
        }
    }

    pub fn clear(&mut self) {
        self.values = [0; COUNT];
    }

    pub fn add(&mut self, offset: u32, by: u32) {
        self.values[(offset - FIRST) as usize / 4] += u64::from(by);
    }

    /// What a program reads.
    pub fn read(&self, offset: u32) -> u32 {
        let octets = [
            offsets::RMON_T_OCTETS,
            offsets::IEEE_T_OCTETS_OK,
            offsets::RMON_R_OCTETS,
            offsets::IEEE_R_OCTETS_OK,
        ];
        let is_wide = octets.iter().any(|it| it.offset == offset);
        let mask = if is_wide { u32::MAX } else { self.mask };
        self.total(offset) as u32 & mask
    }

    /// The count since the last clear.
    pub fn total(&self, offset: u32) -> u64 {
        let index = offset.checked_sub(FIRST).map(|it| it as usize / 4);
        index
            .and_then(|it| self.values.get(it))
            .copied()
            .unwrap_or_default()
    }
}

/// Offset from the counter of 64 octets to that of the size class of `len` octets.
pub(super) fn size_class(len: usize) -> u32 {
    let index = CLASSES.iter().position(|limit| len <= *limit).unwrap_or(6);
    4 * index as u32
}
