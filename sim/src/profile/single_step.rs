//! A platform that lets the hart run one instruction at a time.

use crate::mem::Memory;
use crate::rv32::{AccessFault, IllegalCsr, Platform, RomCall, Width};

/// A wrapped platform with an earlier deadline.
pub(super) struct SingleStep<'a, P> {
    inner: &'a mut P,
    limit: u64,
}

impl<'a, P: Platform> SingleStep<'a, P> {
    pub fn new(inner: &'a mut P) -> Self {
        Self { inner, limit: 0 }
    }

    /// Allows one instruction: the one that begins at `cycle`.
    pub fn allow_one(&mut self, cycle: u64) {
        self.limit = cycle.saturating_add(1);
    }

    /// The deadline of the wrapped platform.
    pub fn platform_deadline(&self) -> u64 {
        self.inner.deadline()
    }
}

impl<P: Platform> Platform for SingleStep<'_, P> {
    const TIMES_MEMORY: bool = P::TIMES_MEMORY;

    fn hits_fetch(&self, line: u32) -> bool {
        self.inner.hits_fetch(line)
    }

    fn hits_load(&self, addr: u32) -> bool {
        self.inner.hits_load(addr)
    }

    fn hits_store(&self, addr: u32) -> bool {
        self.inner.hits_store(addr)
    }

    fn fetch_stall(&mut self, line: u32, memory: &mut Memory, cycle: u64) -> u32 {
        self.inner.fetch_stall(line, memory, cycle)
    }

    fn load_stall(&mut self, addr: u32, width: Width, memory: &mut Memory, cycle: u64) -> u32 {
        self.inner.load_stall(addr, width, memory, cycle)
    }

    fn store_stall(&mut self, addr: u32, width: Width, memory: &mut Memory, cycle: u64) -> u32 {
        self.inner.store_stall(addr, width, memory, cycle)
    }

    fn load(&mut self, addr: u32, width: Width, cycle: u64) -> Result<u32, AccessFault> {
        self.inner.load(addr, width, cycle)
    }

    fn store(
        &mut self,
        addr: u32,
        width: Width,
        value: u32,
        cycle: u64,
    ) -> Result<(), AccessFault> {
        self.inner.store(addr, width, value, cycle)
    }

    fn csr_read(&mut self, csr: u16, cycle: u64) -> Result<u32, IllegalCsr> {
        self.inner.csr_read(csr, cycle)
    }

    fn csr_write(&mut self, csr: u16, value: u32, cycle: u64) -> Result<(), IllegalCsr> {
        self.inner.csr_write(csr, value, cycle)
    }

    fn watched_store(&mut self, addr: u32, width: Width, value: u32, cycle: u64) {
        self.inner.watched_store(addr, width, value, cycle);
    }

    fn rom_call(
        &mut self,
        pc: u32,
        regs: &mut [u32; 32],
        memory: &mut Memory,
        cycle: u64,
    ) -> RomCall {
        let call = self.inner.rom_call(pc, regs, memory, cycle);
        if let RomCall::Wait { until_cycle } = call {
            // A function that waits does so in one step.
            self.limit = self.limit.max(until_cycle);
        }
        call
    }

    fn deadline(&self) -> u64 {
        self.limit.min(self.inner.deadline())
    }

    fn interrupt(&self) -> Option<u8> {
        self.inner.interrupt()
    }
}
