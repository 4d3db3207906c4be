//! The hart's view of the chip: loads, stores and CSRs, each at its own cycle.

use super::WatchEvent;
use super::report::ReportKind;
use super::soc::Soc;
use crate::mem::Memory;
use crate::pads::Pads;
use crate::rv32::{AccessFault, IllegalCsr, Platform, RomCall, Width};

/// Output enable, input and output of the dedicated GPIO (Technical Reference Manual,
/// "High-Performance CPU", "Dedicated IO").
const GPIO_OEN: u16 = 0x803;
const GPIO_IN: u16 = 0x804;
const GPIO_OUT: u16 = 0x805;

/// The chip and its pads during one run.
pub(super) struct Bus<'a, P> {
    pub soc: &'a mut Soc,
    pub pads: &'a mut P,
}

fn mask(width: Width) -> u32 {
    match width {
        Width::Byte => 0xff,
        Width::Half => 0xffff,
        Width::Word => 0xffff_ffff,
    }
}

impl<P: Pads> Bus<'_, P> {
    fn no_device(&mut self, addr: u32, write: bool, cycle: u64) -> AccessFault {
        let at = self.soc.clock.instant(cycle);
        self.soc.report(addr, ReportKind::NoDevice { write }, at);
        AccessFault
    }

    #[cold]
    #[inline(never)]
    fn no_csr(&mut self, csr: u16, cycle: u64) -> IllegalCsr {
        let at = self.soc.clock.instant(cycle);
        self.soc.report(u32::from(csr), ReportKind::UnknownCsr, at);
        IllegalCsr
    }
}

impl<P: Pads> Platform for Bus<'_, P> {
    fn load(&mut self, addr: u32, width: Width, cycle: u64) -> Result<u32, AccessFault> {
        if !Soc::covers(addr) {
            return Err(self.no_device(addr, false, cycle));
        }
        let now = self.soc.clock.instant(cycle);
        let word = self.soc.read(addr & !3, now, self.pads);
        Ok(word >> (8 * (addr & 3)) & mask(width))
    }

    fn store(
        &mut self,
        addr: u32,
        width: Width,
        value: u32,
        cycle: u64,
    ) -> Result<(), AccessFault> {
        if !Soc::covers(addr) {
            return Err(self.no_device(addr, true, cycle));
        }
        let shift = 8 * (addr & 3);
        self.soc.write(
            addr & !3,
            value << shift,
            mask(width) << shift,
            cycle,
            self.pads,
        );
        Ok(())
    }

    #[inline]
    fn csr_read(&mut self, csr: u16, cycle: u64) -> Result<u32, IllegalCsr> {
        let soc = &mut *self.soc;
        match csr {
            GPIO_IN => {
                let now = soc.clock.instant(cycle);
                let value = soc.gpio.dedicated_in(now, self.pads);
                soc.shorten_deadline(self.pads.deadline());
                Ok(value)
            }
            GPIO_OUT => Ok(soc.gpio.dedicated_out()),
            GPIO_OEN => Ok(soc.gpio.dedicated_enable()),
            _ => Err(self.no_csr(csr, cycle)),
        }
    }

    #[inline]
    fn csr_write(&mut self, csr: u16, value: u32, cycle: u64) -> Result<(), IllegalCsr> {
        let soc = &mut *self.soc;
        let now = soc.clock.instant(cycle);
        match csr {
            GPIO_OUT => soc.gpio.set_dedicated_out(value, now, self.pads),
            GPIO_OEN => soc.gpio.set_dedicated_enable(value, now, self.pads),
            GPIO_IN => return Ok(()),
            _ => return Err(self.no_csr(csr, cycle)),
        }
        soc.shorten_deadline(self.pads.deadline());
        soc.update_gpio_event();
        Ok(())
    }

    fn watched_store(&mut self, addr: u32, width: Width, value: u32, cycle: u64) {
        let at = self.soc.clock.instant(cycle);
        self.soc.watch_events.push(WatchEvent {
            at,
            addr,
            value: value & mask(width),
        });
    }

    fn rom_call(
        &mut self,
        pc: u32,
        regs: &mut [u32; 32],
        memory: &mut Memory,
        cycle: u64,
    ) -> RomCall {
        super::rom::call(self, pc, regs, memory, cycle)
    }

    #[inline]
    fn deadline(&self) -> u64 {
        self.soc.deadline()
    }

    #[inline]
    fn interrupt(&self) -> Option<u8> {
        self.soc.pending()
    }
}
