//! The interface between the hart and the chip around it.

use crate::mem::Memory;

/// The width of a memory access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// 8 bits.
    Byte,
    /// 16 bits.
    Half,
    /// 32 bits.
    Word,
}

impl Width {
    /// Bytes of the access.
    pub const fn bytes(self) -> u32 {
        match self {
            Width::Byte => 1,
            Width::Half => 2,
            Width::Word => 4,
        }
    }
}

/// An access to an unmapped address; the hart takes the access-fault trap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessFault;

/// A CSR that the chip does not have; the hart takes the illegal-instruction trap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IllegalCsr;

/// Result of a call into the chip's ROM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RomCall {
    /// The function ran and took `cycles`; the hart returns to `ra`.
    Done {
        /// CPU cycles, to be added before the hart returns to `ra`.
        cycles: u64,
    },
    /// The function waits: nothing to do before `until_cycle`. The hart stays at the entry and
    /// calls again then, so that interrupts are taken while it waits.
    Wait {
        /// Absolute CPU cycle.
        until_cycle: u64,
    },
    /// No such function: reported by address, then an instruction-access fault.
    Unknown,
}

/// The chip around a hart, as the hart sees it. Each access carries the cycle of its own
/// instruction (not of its basic block): bit-banging depends on it.
pub trait Platform {
    /// True if accesses to memory take time that only the platform knows: caches, buses, memory
    /// controllers. The hart then asks before each fetch of a line, load and store. If false,
    /// memory answers at once, except for the flash cache of [`Memory`].
    const TIMES_MEMORY: bool = false;

    /// True if the instruction line with this number (address divided by the line's length) is
    /// fetched without delay and without any other effect.
    fn hits_fetch(&self, line: u32) -> bool {
        let _ = line;
        true
    }

    /// True if a load from `addr` takes no extra time and has no effect on the memory system.
    fn hits_load(&self, addr: u32) -> bool {
        let _ = addr;
        true
    }

    /// True if a store to `addr` takes no extra time and has no effect on the memory system.
    fn hits_store(&self, addr: u32) -> bool {
        let _ = addr;
        true
    }

    /// Extra cycles to fetch the instruction line with this number from `cycle` on. Other masters
    /// may access `memory` until then.
    fn fetch_stall(&mut self, line: u32, memory: &mut Memory, cycle: u64) -> u32 {
        let _ = (line, memory, cycle);
        0
    }

    /// Extra cycles of a load that begins at `cycle`, of memory or of a device.
    fn load_stall(&mut self, addr: u32, width: Width, memory: &mut Memory, cycle: u64) -> u32 {
        let _ = (addr, width, memory, cycle);
        0
    }

    /// Extra cycles of a store that begins at `cycle`, to memory or to a device.
    fn store_stall(&mut self, addr: u32, width: Width, memory: &mut Memory, cycle: u64) -> u32 {
        let _ = (addr, width, memory, cycle);
        0
    }

    /// A load outside of [`Memory`].
    ///
    /// # Errors
    /// [`AccessFault`] if the address is unmapped.
    fn load(&mut self, addr: u32, width: Width, cycle: u64) -> Result<u32, AccessFault>;

    /// A store outside of [`Memory`].
    ///
    /// # Errors
    /// [`AccessFault`] if the address is unmapped.
    fn store(&mut self, addr: u32, width: Width, value: u32, cycle: u64)
    -> Result<(), AccessFault>;

    /// Read of a CSR that the hart itself does not implement.
    ///
    /// # Errors
    /// [`IllegalCsr`] if the chip does not have it either.
    fn csr_read(&mut self, csr: u16, cycle: u64) -> Result<u32, IllegalCsr>;

    /// Write of a CSR that the hart itself does not implement. Set and clear instructions arrive
    /// as a read followed by a write.
    ///
    /// # Errors
    /// [`IllegalCsr`] if the chip does not have it.
    fn csr_write(&mut self, csr: u16, value: u32, cycle: u64) -> Result<(), IllegalCsr>;

    /// A store hit a range that was marked by [`Memory::watch`]; called after the value is written.
    fn watched_store(&mut self, addr: u32, width: Width, value: u32, cycle: u64);

    /// A fetch from the ROM range: the ABI's argument registers are in `regs` (`x[10]` is `a0`).
    fn rom_call(
        &mut self,
        pc: u32,
        regs: &mut [u32; 32],
        memory: &mut Memory,
        cycle: u64,
    ) -> RomCall;

    /// The first cycle that the hart must not begin an instruction at: it returns to its caller
    /// there. Re-read after every call above, any of which may have made it earlier.
    fn deadline(&self) -> u64;

    /// The enabled pending interrupt line of the highest priority, already masked by the chip's
    /// interrupt controller (not by `mstatus.MIE`). Re-read after every call above.
    fn interrupt(&self) -> Option<u8>;
}
