//! The hart's view of a soft SoC.

use super::soc::{HartAccess, Soc};
use crate::mem::Memory;
use crate::rv32::{AccessFault, IllegalCsr, Platform, RomCall, Width};

/// A write of an address removes its line from the data cache: the first CSR for custom use in machine mode (RISC-V
/// privileged architecture, table 2.1).
const FLUSH: u16 = 0x7c0;
/// A write of an address empties its place in the data cache, whatever line is there, as `flushd` of a Nios II does
/// (NII5V1).
const FLUSH_SET: u16 = 0x7c1;

/// Byte enables of an access within a word.
fn enables(addr: u32, width: Width) -> u8 {
    (((1_u32 << width.bytes()) - 1) << (addr & 3)) as u8
}

/// The SoC during one run.
pub(super) struct Bus<'a> {
    pub soc: &'a mut Soc,
}

impl Platform for Bus<'_> {
    const TIMES_MEMORY: bool = true;

    #[inline]
    fn hits_fetch(&self, line: u32) -> bool {
        self.soc.hart_ports().hits_fetch(line)
    }

    #[inline]
    fn hits_load(&self, addr: u32) -> bool {
        self.soc.hart_ports().hits_load(addr)
    }

    #[inline]
    fn hits_store(&self, addr: u32) -> bool {
        self.soc.hart_ports().hits_store(addr)
    }

    fn fetch_stall(&mut self, line: u32, memory: &mut Memory, cycle: u64) -> u32 {
        self.soc.stall(cycle, memory, HartAccess::Fetch { line })
    }

    fn load_stall(&mut self, addr: u32, width: Width, memory: &mut Memory, cycle: u64) -> u32 {
        let bytes = width.bytes();
        self.soc
            .stall(cycle, memory, HartAccess::Load { addr, bytes })
    }

    fn store_stall(&mut self, addr: u32, width: Width, memory: &mut Memory, cycle: u64) -> u32 {
        let bytes = width.bytes();
        self.soc
            .stall(cycle, memory, HartAccess::Store { addr, bytes })
    }

    fn load(&mut self, addr: u32, width: Width, cycle: u64) -> Result<u32, AccessFault> {
        let word = self
            .soc
            .read(addr & !3, enables(addr, width), cycle)
            .ok_or(AccessFault)?;
        let mask = u32::MAX >> (32 - 8 * width.bytes());
        Ok(word >> (8 * (addr & 3)) & mask)
    }

    fn store(
        &mut self,
        addr: u32,
        width: Width,
        value: u32,
        cycle: u64,
    ) -> Result<(), AccessFault> {
        let mask = u32::MAX >> (32 - 8 * width.bytes());
        let value = (value & mask) << (8 * (addr & 3));
        self.soc
            .write(addr & !3, value, enables(addr, width), cycle)
            .ok_or(AccessFault)
    }

    fn csr_read(&mut self, _: u16, _: u64) -> Result<u32, IllegalCsr> {
        Err(IllegalCsr)
    }

    fn csr_write(&mut self, csr: u16, value: u32, cycle: u64) -> Result<(), IllegalCsr> {
        match csr {
            FLUSH => self.soc.flush(value, cycle),
            FLUSH_SET => self.soc.flush_set(value, cycle),
            _ => return Err(IllegalCsr),
        }
        Ok(())
    }

    fn watched_store(&mut self, _: u32, _: Width, _: u32, _: u64) {}

    fn rom_call(&mut self, _: u32, _: &mut [u32; 32], _: &mut Memory, _: u64) -> RomCall {
        RomCall::Unknown
    }

    #[inline]
    fn deadline(&self) -> u64 {
        self.soc.deadline()
    }

    #[inline]
    fn interrupt(&self) -> Option<u8> {
        self.soc.interrupt()
    }
}
