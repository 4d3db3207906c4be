//! The control and status registers that belong to the hart itself.

/// Hart-owned CSR numbers (volume II, chapter 2; `MPC*` from the ESP32-C6 technical reference
/// manual, chapter 1 "High-performance CPU").
#[allow(missing_docs, reason = "names of the manuals")]
pub mod number {
    pub const MSTATUS: u16 = 0x300;
    pub const MISA: u16 = 0x301;
    pub const MIE: u16 = 0x304;
    pub const MTVEC: u16 = 0x305;
    pub const MCOUNTEREN: u16 = 0x306;
    pub const MCOUNTINHIBIT: u16 = 0x320;
    pub const MSCRATCH: u16 = 0x340;
    pub const MEPC: u16 = 0x341;
    pub const MCAUSE: u16 = 0x342;
    pub const MTVAL: u16 = 0x343;
    pub const MIP: u16 = 0x344;
    pub const PMPCFG0: u16 = 0x3a0;
    pub const PMPADDR15: u16 = 0x3bf;
    pub const TSELECT: u16 = 0x7a0;
    pub const TCONTROL: u16 = 0x7a5;
    pub const MPCER: u16 = 0x7e0;
    pub const MPCMR: u16 = 0x7e1;
    pub const MPCCR: u16 = 0x7e2;
    pub const MCYCLE: u16 = 0xb00;
    pub const MINSTRET: u16 = 0xb02;
    pub const MCYCLEH: u16 = 0xb80;
    pub const MINSTRETH: u16 = 0xb82;
    pub const PMACFG0: u16 = 0xbc0;
    pub const PMAADDR15: u16 = 0xbdf;
    pub const MVENDORID: u16 = 0xf11;
    pub const MARCHID: u16 = 0xf12;
    pub const MIMPID: u16 = 0xf13;
    pub const MHARTID: u16 = 0xf14;
    pub const MCONFIGPTR: u16 = 0xf15;
}
use number::{
    MARCHID, MCAUSE, MCONFIGPTR, MCOUNTEREN, MCOUNTINHIBIT, MCYCLE, MCYCLEH, MEPC, MHARTID, MIE,
    MIMPID, MINSTRET, MINSTRETH, MIP, MISA, MPCCR, MPCER, MPCMR, MSCRATCH, MSTATUS, MTVAL, MTVEC,
    MVENDORID, PMAADDR15, PMACFG0, PMPADDR15, PMPCFG0, TCONTROL, TSELECT,
};

/// `mstatus.MIE`: interrupts are taken.
pub(crate) const MSTATUS_MIE: u32 = 1 << 3;
/// `mstatus.MPIE`: MIE before the trap.
pub(crate) const MSTATUS_MPIE: u32 = 1 << 7;
/// `mstatus.MPP`: the privilege before the trap.
pub(crate) const MSTATUS_MPP: u32 = 3 << 11;
/// `mstatus.MPRV` and `mstatus.TW`: stored, without effect, since all code runs in machine mode.
const MSTATUS_STORED: u32 = 1 << 17 | 1 << 21;

/// RV32IMAC with user mode.
const MISA_VALUE: u32 = 1 << 30 | 1 << 20 | 1 << 12 | 1 << 8 | 1 << 2 | 1;

/// Performance-counter events in `MPCER` that are counted: cycles and instructions.
const EVENT_CYCLES: u32 = 1 << 0;
const EVENT_INSTRUCTIONS: u32 = 1 << 1;

/// Identity of a hart, read by software.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Identity {
    /// `mvendorid`.
    pub vendor: u32,
    /// `marchid`.
    pub architecture: u32,
    /// `mimpid`.
    pub implementation: u32,
    /// `mhartid`.
    pub hart: u32,
}

/// The state behind the hart's CSRs.
#[derive(Debug)]
pub(crate) struct Csrs {
    pub(crate) mstatus: u32,
    mie: u32,
    /// Interrupt lines that `mie` does not mask.
    pub(crate) unmasked_lines: u32,
    masked_by_mie: bool,
    pub(crate) mtvec: u32,
    mcounteren: u32,
    mcountinhibit: u32,
    mscratch: u32,
    pub(crate) mepc: u32,
    pub(crate) mcause: u32,
    pub(crate) mtval: u32,
    identity: Identity,
    pmp: [u32; 32],
    trigger: [u32; 6],
    pma: [u32; 32],
    mpcer: u32,
    mpcmr: u32,
    /// `MPCCR` as it was at `mpc_since`.
    mpccr: u32,
    /// Cycle and instruction count when `mpccr` was brought up to date.
    mpc_since: (u64, u64),
    /// Subtracted (mod 2^64) from the true counts, as a result of software writes to the counters.
    mcycle_offset: u64,
    minstret_offset: u64,
}

impl Csrs {
    pub(crate) fn new(identity: Identity, interrupts_enabled: bool, masked_by_mie: bool) -> Self {
        Self {
            unmasked_lines: if masked_by_mie { 0 } else { u32::MAX },
            masked_by_mie,
            mstatus: MSTATUS_MPP | if interrupts_enabled { MSTATUS_MIE } else { 0 },
            mie: 0,
            mtvec: 0,
            mcounteren: 0,
            mcountinhibit: 0,
            mscratch: 0,
            mepc: 0,
            mcause: 0,
            mtval: 0,
            identity,
            pmp: [0; 32],
            trigger: [0; 6],
            pma: [0; 32],
            mpcer: EVENT_CYCLES,
            mpcmr: 1,
            mpccr: 0,
            mpc_since: (0, 0),
            mcycle_offset: 0,
            minstret_offset: 0,
        }
    }

    /// True if CSR `number` belongs to the hart; all others belong to the chip.
    pub(crate) const fn owns(number: u16) -> bool {
        matches!(
            number,
            MSTATUS
                | MISA
                | MIE..=MCOUNTEREN
                | MCOUNTINHIBIT
                | MSCRATCH..=MIP
                | PMPCFG0..=PMPADDR15
                | TSELECT..=TCONTROL
                | MPCER..=MPCCR
                | MCYCLE
                | MINSTRET
                | MCYCLEH
                | MINSTRETH
                | PMACFG0..=PMAADDR15
                | MVENDORID..=MCONFIGPTR
        )
    }

    /// The counter value at this cycle and instruction count.
    fn mpccr_now(&self, cycle: u64, instret: u64) -> u32 {
        if self.mpcmr & 1 == 0 {
            return self.mpccr;
        }
        let mut count = 0;
        if self.mpcer & EVENT_CYCLES != 0 {
            count += cycle - self.mpc_since.0;
        }
        if self.mpcer & EVENT_INSTRUCTIONS != 0 {
            count += instret - self.mpc_since.1;
        }
        self.mpccr.wrapping_add(count as u32)
    }

    /// The value of an owned CSR for an instruction that begins at `cycle` after `instret` others.
    pub(crate) fn read(&self, number: u16, cycle: u64, instret: u64) -> u32 {
        let mcycle = cycle.wrapping_sub(self.mcycle_offset);
        let minstret = instret.wrapping_sub(self.minstret_offset);
        match number {
            MSTATUS => self.mstatus,
            MISA => MISA_VALUE,
            MIE => self.mie,
            MTVEC => self.mtvec,
            MCOUNTEREN => self.mcounteren,
            MCOUNTINHIBIT => self.mcountinhibit,
            MSCRATCH => self.mscratch,
            MEPC => self.mepc,
            MCAUSE => self.mcause,
            MTVAL => self.mtval,
            PMPCFG0..=PMPADDR15 => self.pmp[usize::from(number - PMPCFG0)],
            TSELECT..=TCONTROL => self.trigger[usize::from(number - TSELECT)],
            PMACFG0..=PMAADDR15 => self.pma[usize::from(number - PMACFG0)],
            MPCER => self.mpcer,
            MPCMR => self.mpcmr,
            MPCCR => self.mpccr_now(cycle, instret),
            MCYCLE => mcycle as u32,
            MCYCLEH => (mcycle >> 32) as u32,
            MINSTRET => minstret as u32,
            MINSTRETH => (minstret >> 32) as u32,
            MVENDORID => self.identity.vendor,
            MARCHID => self.identity.architecture,
            MIMPID => self.identity.implementation,
            MHARTID => self.identity.hart,
            // mip: interrupts are pending in the chip's controller, not here.
            _ => 0,
        }
    }

    /// Writes an owned CSR, as an instruction that begins at `cycle` after `instret` others.
    pub(crate) fn write(&mut self, number: u16, value: u32, cycle: u64, instret: u64) {
        match number {
            MSTATUS => {
                // MPP holds only the modes that exist: machine or user.
                let mpp = if value & MSTATUS_MPP == MSTATUS_MPP {
                    MSTATUS_MPP
                } else {
                    0
                };
                let kept = MSTATUS_MIE | MSTATUS_MPIE | MSTATUS_STORED;
                self.mstatus = value & kept | mpp;
            }
            MIE => {
                self.mie = value;
                if self.masked_by_mie {
                    self.unmasked_lines = value;
                }
            }
            // Modes 2 and 3 are reserved.
            MTVEC => self.mtvec = value & !2,
            MCOUNTEREN => self.mcounteren = value,
            MCOUNTINHIBIT => self.mcountinhibit = value,
            MSCRATCH => self.mscratch = value,
            MEPC => self.mepc = value & !1,
            MCAUSE => self.mcause = value,
            MTVAL => self.mtval = value,
            PMPCFG0..=PMPADDR15 => self.pmp[usize::from(number - PMPCFG0)] = value,
            TSELECT..=TCONTROL => self.trigger[usize::from(number - TSELECT)] = value,
            PMACFG0..=PMAADDR15 => self.pma[usize::from(number - PMACFG0)] = value,
            MPCER | MPCMR | MPCCR => {
                self.mpccr = self.mpccr_now(cycle, instret);
                self.mpc_since = (cycle, instret);
                match number {
                    MPCER => self.mpcer = value,
                    MPCMR => self.mpcmr = value,
                    _ => self.mpccr = value,
                }
            }
            MCYCLE => {
                let old = cycle.wrapping_sub(self.mcycle_offset);
                self.mcycle_offset = cycle.wrapping_sub(old >> 32 << 32 | u64::from(value));
            }
            MCYCLEH => {
                let old = cycle.wrapping_sub(self.mcycle_offset);
                self.mcycle_offset =
                    cycle.wrapping_sub(u64::from(value) << 32 | u64::from(old as u32));
            }
            // The writing instruction itself is not counted on top of the written value (volume
            // II, 3.1.11).
            MINSTRET => {
                let old = instret.wrapping_sub(self.minstret_offset);
                let new = old >> 32 << 32 | u64::from(value);
                self.minstret_offset = (instret + 1).wrapping_sub(new);
            }
            MINSTRETH => {
                let old = instret.wrapping_sub(self.minstret_offset);
                let new = u64::from(value) << 32 | u64::from(old as u32);
                self.minstret_offset = (instret + 1).wrapping_sub(new);
            }
            // Read-only or hard-wired; writes to the former trap earlier.
            _ => {}
        }
    }
}
