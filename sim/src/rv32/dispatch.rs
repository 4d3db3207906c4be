//! Work around the fast path: finding and linking blocks, slow operations, and stopping in the
//! middle of a block.
//!
//! While a block runs, [`Hart`]'s cycle and instruction count are those at its start, plus the
//! stalls since then.

use super::block::{Block, Context, UNCACHED};
use super::csr::MSTATUS_MIE;
use super::hart::{Exit, Hart};
use super::op::{Code, OpInfo};
use super::platform::{Platform, Width};
use super::slow_path::{Access, RareContext, Trap, load_slow, store_slow, time_store};
use super::trap::Cause;
use crate::mem::{Cache, Memory};

/// The operation to continue with, or the reason to leave the fast path.
type NextOp = Result<usize, Exit>;

/// Fetches the cache lines of a block's first instruction; returns the stall in cycles. `held` is
/// the line that the fetch unit holds.
#[inline]
pub(super) fn fetch([first, line]: [u32; 2], held: &mut u32, cache: &mut Cache) -> u32 {
    if line == UNCACHED || line == *held {
        return 0;
    }
    let mut stall = 0;
    if first != line && first != *held {
        stall = cache.access(first);
    }
    *held = line;
    stall + cache.access(line)
}

impl Hart {
    fn block(&self, id: u32) -> Block {
        self.code.blocks[id as usize]
    }

    fn op_info(&self, ip: usize) -> OpInfo {
        self.code.op_infos[ip]
    }

    /// The block at the program counter, translated if necessary.
    fn find(&mut self, single: bool, memory: &mut Memory) -> Option<u32> {
        let context = Context {
            memory,
            timing: &self.timing,
            predictor: &mut self.predictor,
        };
        if single {
            self.code.find_single(self.pc, context)
        } else {
            self.code.find(self.pc, context)
        }
    }

    /// The first operation at `pc`, after it is fetched.
    #[inline(never)]
    pub(super) fn enter<P: Platform>(
        &mut self,
        memory: &mut Memory,
        platform: &mut P,
        mut deadline: u64,
    ) -> NextOp {
        if self.rom.contains(&self.pc) {
            return Err(Exit::Recheck);
        }
        let unmapped = Exit::Fault(Cause::InstructionAccess, self.pc);
        let Some(mut id) = self.find(false, memory) else {
            return Err(unmapped);
        };
        loop {
            if self.cycle + u64::from(self.block(id).last_begins) >= deadline {
                if self.cycle >= deadline {
                    return Err(Exit::Recheck);
                }
                // As far as possible, instruction by instruction. A block of one instruction has a
                // `last_begins` of 0.
                let Some(single) = self.find(true, memory) else {
                    return Err(unmapped);
                };
                id = single;
            }
            let block = self.block(id);
            let stall = if P::TIMES_MEMORY {
                let stall = self.fetch_timed(block.lines, memory, platform);
                deadline = platform.deadline();
                stall
            } else {
                fetch(block.lines, &mut self.fetch_line, &mut memory.cache)
            };
            self.cycle += u64::from(stall);
            if stall == 0 {
                return Ok(block.first as usize);
            }
            // Fetched; check again that it begins before the deadline.
        }
    }

    /// As [`fetch`], of a platform that times its memory, for lines that may hit or miss.
    fn fetch_timed<P: Platform>(
        &mut self,
        [first, line]: [u32; 2],
        memory: &mut Memory,
        platform: &mut P,
    ) -> u32 {
        if line == UNCACHED || line == self.fetch_line {
            return 0;
        }
        let mut stall = 0;
        if first != line && first != self.fetch_line {
            stall = platform.fetch_stall(first, memory, self.cycle);
        }
        self.fetch_line = line;
        stall + platform.fetch_stall(line, memory, self.cycle + u64::from(stall))
    }

    /// The stall of the cache line that begins at operation `ip` of a platform that times its
    /// memory.
    pub(super) fn fetch_line_timed<P: Platform>(
        &mut self,
        ip: usize,
        memory: &mut Memory,
        platform: &mut P,
    ) -> u32 {
        let (line, info) = (self.code.ops[ip].imm, self.op_info(ip));
        self.fetch_line = line;
        platform.fetch_stall(line, memory, self.cycle + u64::from(info.cycles))
    }

    /// Links an edge and goes there.
    #[cold]
    pub(super) fn link_and_enter<P: Platform>(
        &mut self,
        edge: usize,
        memory: &mut Memory,
        platform: &mut P,
        deadline: u64,
    ) -> NextOp {
        self.pc = self.code.edges[edge].pc;
        if !self.rom.contains(&self.pc) {
            let context = Context {
                memory,
                timing: &self.timing,
                predictor: &mut self.predictor,
            };
            if self.code.link(edge, context).is_none() {
                return Err(Exit::Fault(Cause::InstructionAccess, self.pc));
            }
        }
        self.enter(memory, platform, deadline)
    }

    /// An indirect jump to `target`.
    pub(super) fn jump<P: Platform>(
        &mut self,
        target: u32,
        memory: &mut Memory,
        platform: &mut P,
        deadline: u64,
    ) -> NextOp {
        self.pc = target;
        if !self.rom.contains(&target)
            && let Some(id) = self.find(false, memory)
            && self.block(id).straddled
        {
            self.cycle += u64::from(self.timing.straddled_after_jump);
        }
        self.enter(memory, platform, deadline)
    }

    /// Leaves the block before the operation.
    fn stop_before(&mut self, ip: usize) {
        let info = self.op_info(ip);
        self.pc = info.pc;
        self.cycle += u64::from(info.cycles);
        self.instret += u64::from(info.index);
    }

    /// The operation raises an exception.
    #[cold]
    pub(super) fn trap_at(&mut self, ip: usize, cause: Cause, value: u32) -> Exit {
        self.stop_before(ip);
        Exit::Fault(cause, value)
    }

    /// Runs the operation in [`Hart::system`].
    pub(super) fn system_at(&mut self, ip: usize) -> Exit {
        self.stop_before(ip);
        let instr = self.code.rare_instrs[self.code.ops[ip].imm as usize];
        self.system(instr.kind, self.op_info(ip).next, instr.imm as u32)
    }

    /// The cache line after the operation took `stall` cycles.
    pub(super) fn finish_line_fetch(
        &mut self,
        ip: usize,
        stall: u32,
        memory: &Memory,
        deadline: u64,
    ) -> NextOp {
        self.cycle += u64::from(stall);
        let last_begins = self.block(self.op_info(ip).block).last_begins;
        // Only another master can have changed code.
        if self.cycle + u64::from(last_begins) >= deadline || self.code.is_stale(memory) {
            self.stop_before(ip);
            return Err(Exit::Recheck);
        }
        Ok(ip + 1)
    }

    /// After an operation that stalled or accessed the chip: leaves the block after it if the
    /// deadline, an interrupt or changed code requires it.
    pub(super) fn finish_op<P: Platform>(
        &mut self,
        ip: usize,
        stall: u32,
        memory: &Memory,
        platform: &P,
    ) -> NextOp {
        self.cycle += u64::from(stall);
        let info = self.op_info(ip);
        let interrupted =
            self.csrs.mstatus & MSTATUS_MIE != 0 && self.unmasked_interrupt(platform).is_some();
        let last = self.cycle + u64::from(self.block(info.block).last_begins);
        if interrupted || last >= platform.deadline() || self.code.is_stale(memory) {
            self.pc = info.next;
            self.cycle += u64::from(info.cycles + info.cost);
            self.instret += u64::from(info.index) + 1;
            return Err(Exit::Recheck);
        }
        Ok(ip + 1)
    }

    /// Executes an operation that the fast path did not finish: a load, a store or a rare one.
    /// Returns the extra cycles.
    #[inline(never)]
    pub(super) fn run_slow_op<P: Platform>(
        &mut self,
        ip: usize,
        memory: &mut Memory,
        platform: &mut P,
    ) -> Result<u32, Trap> {
        let (op, info) = (self.code.ops[ip], self.op_info(ip));
        let at = self.cycle + u64::from(info.cycles);
        let (base, value) = (self.x[op.rs1], self.x[op.rs2]);
        let code = op.code.first();
        let width = match code {
            Code::Lb | Code::Lbu | Code::Sb => Width::Byte,
            Code::Lh | Code::Lhu | Code::Sh => Width::Half,
            _ => Width::Word,
        };
        let addr = base.wrapping_add(op.imm).wrapping_add(memory.main_base());
        let access = Access { addr, width, at };
        match code {
            Code::Rare => {
                let mut rare = RareContext {
                    x: &mut self.x,
                    csrs: &mut self.csrs,
                    reservation: &mut self.reservation,
                    timing: &self.timing,
                    cycle: at,
                    instret: self.instret + u64::from(info.index),
                };
                rare.run(self.code.rare_instrs[op.imm as usize], memory, platform)
            }
            Code::Sb | Code::Sh | Code::Sw => {
                let stall = time_store(access, memory, platform)?;
                let access = Access {
                    at: at + u64::from(stall),
                    ..access
                };
                let stored = match width {
                    Width::Byte => memory.store_main(access.addr, (value as u8).to_le_bytes()),
                    Width::Half => memory.store_main(access.addr, (value as u16).to_le_bytes()),
                    Width::Word => memory.store_main(access.addr, value.to_le_bytes()),
                };
                store_slow(access, value, stored, memory, platform, &self.timing)
                    .map(|more| stall + more)
            }
            _ => {
                let (value, stall) = load_slow(access, memory, platform, &self.timing)?;
                self.x[op.rd] = match code {
                    Code::Lb => value as i8 as u32,
                    Code::Lbu => u32::from(value as u8),
                    Code::Lh => value as i16 as u32,
                    Code::Lhu => u32::from(value as u16),
                    _ => value,
                };
                Ok(stall)
            }
        }
    }
}
