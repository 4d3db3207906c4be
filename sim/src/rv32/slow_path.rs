//! Operations outside of the fast path: accesses outside of the main RAM, atomics, CSRs.

use super::csr::Csrs;
use super::hart::Registers;
use super::instr::{Instr, Kind};
use super::platform::{Platform, Width};
use super::timing::Timing;
use super::trap::Cause;
use crate::mem::{Memory, StoreOutcome};

/// An exception and its value.
pub(super) type Trap = (Cause, u32);

/// An access to memory or to the chip.
#[derive(Clone, Copy)]
pub(super) struct Access {
    pub(super) addr: u32,
    pub(super) width: Width,
    /// The cycle at which its instruction begins.
    pub(super) at: u64,
}

/// A load outside of the main RAM: the value and the extra cycles.
#[cold]
#[inline(never)]
pub(super) fn load_slow<P: Platform>(
    access: Access,
    memory: &mut Memory,
    platform: &mut P,
    timing: &Timing,
) -> Result<(u32, u32), Trap> {
    let Access { addr, width, at } = access;
    let len = width.bytes();
    let aligned = addr.is_multiple_of(len);
    if P::TIMES_MEMORY {
        return load_timed(access, memory, platform);
    }
    if let Some((value, stall)) = memory.load_any(addr, len as usize) {
        return Ok((value, stall + if aligned { 0 } else { timing.misaligned }));
    }
    if !aligned {
        return Err((Cause::LoadMisaligned, addr));
    }
    match platform.load(addr, width, at) {
        Ok(value) => Ok((value, timing.mmio_load)),
        Err(_) => Err((Cause::LoadAccess, addr)),
    }
}

/// A load of a platform that times its memory: first its time, during which other masters may
/// write there, then its value.
fn load_timed<P: Platform>(
    Access { addr, width, at }: Access,
    memory: &mut Memory,
    platform: &mut P,
) -> Result<(u32, u32), Trap> {
    let len = width.bytes();
    if !addr.is_multiple_of(len) {
        return Err((Cause::LoadMisaligned, addr));
    }
    let stall = platform.load_stall(addr, width, memory, at);
    if let Some((value, _)) = memory.load_any(addr, len as usize) {
        return Ok((value, stall));
    }
    match platform.load(addr, width, at + u64::from(stall)) {
        Ok(value) => Ok((value, stall)),
        Err(_) => Err((Cause::LoadAccess, addr)),
    }
}

/// Extra cycles of a store in a platform that times its memory, before the value is stored; 0 in
/// any other.
#[inline]
pub(super) fn time_store<P: Platform>(
    Access { addr, width, at }: Access,
    memory: &mut Memory,
    platform: &mut P,
) -> Result<u32, Trap> {
    if !P::TIMES_MEMORY {
        return Ok(0);
    }
    if !addr.is_multiple_of(width.bytes()) {
        return Err((Cause::StoreMisaligned, addr));
    }
    Ok(platform.store_stall(addr, width, memory, at))
}

/// A store that is outside of the main RAM, watched or into translated code; returns the extra
/// cycles. The time in memory ([`time_store`]) has passed already.
#[cold]
#[inline(never)]
pub(super) fn store_slow<P: Platform>(
    access: Access,
    value: u32,
    mut stored: StoreOutcome,
    memory: &mut Memory,
    platform: &mut P,
    timing: &Timing,
) -> Result<u32, Trap> {
    let Access { addr, width, at } = access;
    let len = width.bytes();
    let aligned = addr.is_multiple_of(len);
    if stored == StoreOutcome::NotStored {
        stored = memory.store_any(addr, &value.to_le_bytes()[..len as usize]);
    }
    if stored == StoreOutcome::Marked && memory.note_marked_store(addr, len as usize) {
        platform.watched_store(memory.resolve(addr), width, value, at);
    }
    if stored != StoreOutcome::NotStored {
        return Ok(if aligned { 0 } else { timing.misaligned });
    }
    if memory.kind(addr).is_some() {
        return Err((Cause::StoreAccess, addr));
    }
    if !aligned {
        return Err((Cause::StoreMisaligned, addr));
    }
    match platform.store(addr, width, value, at) {
        Ok(()) => Ok(timing.mmio_store),
        Err(_) => Err((Cause::StoreAccess, addr)),
    }
}

/// State that a rare instruction may access.
pub(super) struct RareContext<'a> {
    pub(super) x: &'a mut Registers,
    pub(super) csrs: &'a mut Csrs,
    pub(super) reservation: &'a mut Option<u32>,
    pub(super) timing: &'a Timing,
    /// When the instruction begins.
    pub(super) cycle: u64,
    /// Instructions before it.
    pub(super) instret: u64,
}

impl RareContext<'_> {
    /// Executes `instr`; returns the extra cycles.
    #[inline(never)]
    pub(super) fn run<P: Platform>(
        &mut self,
        instr: Instr,
        memory: &mut Memory,
        platform: &mut P,
    ) -> Result<u32, Trap> {
        let Instr {
            kind, rd, rs1, rs2, ..
        } = instr;
        let (addr, operand) = (self.x[rs1], self.x[rs2]);
        let (value, stall) = match kind {
            Kind::Csrrwi | Kind::Csrrsi | Kind::Csrrci => {
                (self.csr(instr, u32::from(rs1), platform)?, 0)
            }
            _ if kind.is_csr() => (self.csr(instr, addr, platform)?, 0),
            Kind::LrW => {
                if !addr.is_multiple_of(4) {
                    return Err((Cause::LoadMisaligned, addr));
                }
                let loaded = self.load(addr, memory, platform)?;
                *self.reservation = Some(addr);
                loaded
            }
            _ if !addr.is_multiple_of(4) => return Err((Cause::StoreMisaligned, addr)),
            Kind::ScW => {
                if self.reservation.take() == Some(addr) {
                    (0, self.store(addr, operand, memory, platform)?)
                } else {
                    (1, 0)
                }
            }
            _ => {
                let loaded = self.load(addr, memory, platform);
                let (old, stall) = loaded.map_err(|(_, value)| (Cause::StoreAccess, value))?;
                let new = match kind {
                    Kind::AmoswapW => operand,
                    Kind::AmoaddW => old.wrapping_add(operand),
                    Kind::AmoxorW => old ^ operand,
                    Kind::AmoandW => old & operand,
                    Kind::AmoorW => old | operand,
                    Kind::AmominW => (old as i32).min(operand as i32) as u32,
                    Kind::AmomaxW => (old as i32).max(operand as i32) as u32,
                    Kind::AmominuW => old.min(operand),
                    _ => old.max(operand),
                };
                (old, stall + self.store(addr, new, memory, platform)?)
            }
        };
        if rd != 0 {
            self.x[rd] = value;
        }
        Ok(stall)
    }

    fn load<P: Platform>(
        &self,
        addr: u32,
        memory: &mut Memory,
        platform: &mut P,
    ) -> Result<(u32, u32), Trap> {
        if !P::TIMES_MEMORY
            && let Some(bytes) = memory.load_main(addr)
        {
            return Ok((u32::from_le_bytes(bytes), 0));
        }
        let access = Access {
            addr,
            width: Width::Word,
            at: self.cycle,
        };
        load_slow(access, memory, platform, self.timing)
    }

    fn store<P: Platform>(
        &self,
        addr: u32,
        value: u32,
        memory: &mut Memory,
        platform: &mut P,
    ) -> Result<u32, Trap> {
        let mut access = Access {
            addr,
            width: Width::Word,
            at: self.cycle,
        };
        let stall = time_store(access, memory, platform)?;
        match memory.store_main(addr, value.to_le_bytes()) {
            StoreOutcome::Plain => Ok(stall),
            stored => {
                access.at += u64::from(stall);
                store_slow(access, value, stored, memory, platform, self.timing)
                    .map(|more| stall + more)
            }
        }
    }

    fn csr<P: Platform>(
        &mut self,
        instr: Instr,
        operand: u32,
        platform: &mut P,
    ) -> Result<u32, Trap> {
        let number = instr.imm as u16;
        let swap = matches!(instr.kind, Kind::Csrrw | Kind::Csrrwi);
        let writes = swap || instr.rs1 != 0;
        let reads = !swap || instr.rd != 0;
        let illegal = (Cause::IllegalInstruction, 0);
        // The top two bits of the number mark it read-only (volume II, 2.1).
        if writes && number >> 10 == 3 {
            return Err(illegal);
        }
        let owned = Csrs::owns(number);
        let old = match (reads, owned) {
            (false, _) => 0,
            (true, true) => self.csrs.read(number, self.cycle, self.instret),
            (true, false) => platform.csr_read(number, self.cycle).map_err(|_| illegal)?,
        };
        if writes {
            let new = match instr.kind {
                Kind::Csrrw | Kind::Csrrwi => operand,
                Kind::Csrrs | Kind::Csrrsi => old | operand,
                _ => old & !operand,
            };
            if owned {
                self.csrs.write(number, new, self.cycle, self.instret);
            } else {
                platform
                    .csr_write(number, new, self.cycle)
                    .map_err(|_| illegal)?;
            }
        }
        Ok(old)
    }
}
