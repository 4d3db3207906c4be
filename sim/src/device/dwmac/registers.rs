//! Accesses of the program to the registers (RM0090 section 33.8).

use super::{DMA, Dwmac, WORDS, counters, field, regs};
use crate::device::mdio;
use crate::time::Instant;
use linerate_regs::{Bits, RegisterRef};

/// Version of the core: 3.5, of no designer.
const VERSION: u32 = 0x1035;
/// Events of DMASR that a program clears, and those of each summary.
const EVENTS: u32 = 0x1_ffff;
const NORMAL: u32 = 0x4045;
const ABNORMAL: u32 = 0x27ba;
/// Bus cycles in a period of MDC, by `MACMIIAR.CR`.
const MDC_DIVISORS: [u64; 6] = [42, 62, 16, 26, 102, 124];

impl Dwmac {
    /// The offset in the order of the map, MAC first.
    pub(super) const fn offset(&self, offset: u32) -> u32 {
        if self.parameters.dma_first {
            offset ^ DMA
        } else {
            offset
        }
    }

    pub(super) fn reset_registers(&mut self) {
        *self.registers = [0; WORDS];
        for (register, value) in [
            (regs::MACCR, 0x8000),
            (regs::MACA0HR, 0x8000_ffff),
            (regs::MACA0LR, u32::MAX),
            (regs::DMABMR, 0x2_0100),
        ] {
            self.set_register(register.offset, value);
        }
        for number in 1..4 {
            self.set_register(regs::MACA0HR.offset + 8 * number, 0xffff);
            self.set_register(regs::MACA0LR.offset + 8 * number, u32::MAX);
        }
    }

    /// Raises events, and the summaries of the enabled ones.
    pub(super) fn raise(&mut self, events: u32) {
        self.events |= events;
        self.summarise();
    }

    fn summarise(&mut self) {
        let enabled = self.events & self.register(regs::DMAIER.offset);
        if enabled & NORMAL != 0 {
            self.events |= regs::DMASR::NIS.mask();
        }
        if enabled & ABNORMAL != 0 {
            self.events |= regs::DMASR::AIS.mask();
        }
    }

    /// Features of the core.
    fn features(&self) -> u32 {
        use regs::DMAHWFR as It;
        let bit = |bits: Bits, has: bool| bits.of(has.into());
        bit(It::ENHDESSEL, self.parameters.has_enhanced_descriptors)
            | bit(It::RXFIFOSIZE, self.parameters.receive_fifo > 2048)
            | bit(It::RXTYP2COE, self.parameters.has_checksums)
            | bit(It::TXCOESEL, self.parameters.has_checksums)
            | It::MMCSEL.mask()
            | It::SMASEL.mask()
            | It::ADDMACADRSEL.mask()
            | It::HASHSEL.mask()
            | It::HDSEL.mask()
            | It::MIISEL.mask()
    }

    pub(super) fn read_register(&mut self, at: u32, now: Instant) -> u32 {
        let is = |register: RegisterRef| at == register.offset;
        if is(regs::DMASR) {
            self.events
                | regs::DMASR::TPS.of(self.transmit_state())
                | regs::DMASR::RPS.of(self.receive_state())
        } else if is(regs::DMAMFBOCR) {
            use regs::DMAMFBOCR::{MFA, MFC, OFOC, OMFC};
            let [unowned, overflown] = core::mem::take(&mut self.missed);
            MFC.of(unowned)
                | OMFC.of((unowned > 0xffff).into())
                | MFA.of(overflown)
                | OFOC.of((overflown > 0x7ff).into())
        } else if is(regs::DMAHWFR) {
            self.features()
        } else if is(regs::MACVR) {
            VERSION
        } else if is(regs::MACDBGR) {
            let paused = self.transmitter.paused_until > now;
            regs::MACDBGR::MTP.of(paused.into()) | regs::MACDBGR::RFFL.of(self.level_class(now))
        } else if is(regs::DMACHTDR) {
            self.transmitter.descriptor
        } else if is(regs::DMACHRDR) {
            self.receiver.descriptor
        } else if is(regs::DMACHTBAR) {
            self.transmitter.buffer()
        } else if is(regs::DMACHRBAR) {
            self.receiver.buffer()
        } else if counters::RANGE.contains(&at) {
            let clears = field!(self, MMCCR, ROR) != 0;
            self.counters.read(at, clears)
        } else {
            self.register(at)
        }
    }

    pub(super) fn write_register(&mut self, at: u32, value: u32, now: Instant) {
        let is = |register: RegisterRef| at == register.offset;
        if is(regs::DMASR) {
            self.events &= !(value & EVENTS);
        } else if is(regs::DMABMR) {
            if regs::DMABMR::SR.is_set(value) {
                self.reset();
            } else {
                self.set_register(at, value);
            }
        } else if is(regs::DMAIER) {
            self.set_register(at, value);
            self.summarise();
        } else if is(regs::DMATPDR) {
            self.transmitter.wake(now);
        } else if is(regs::DMARPDR) {
            self.receiver.wake(now);
        } else if is(regs::DMARDLAR) {
            self.set_register(at, value & !3);
            self.receiver.descriptor = value & !3;
        } else if is(regs::DMATDLAR) {
            self.set_register(at, value & !3);
            self.transmitter.descriptor = value & !3;
        } else if is(regs::DMAOMR) {
            self.set_register(at, value & !regs::DMAOMR::FTF.mask());
            if regs::DMAOMR::FTF.is_set(value) {
                self.flush_transmitter();
            }
            self.start_dma(now);
        } else if is(regs::MACMIIAR) {
            self.set_register(at, value);
            if regs::MACMIIAR::MB.is_set(value) {
                self.start_mdio(value, now);
            }
        } else if is(regs::MACFCR) {
            let asked = regs::MACFCR::FCB.is_set(value);
            self.transmitter.pause_requested |= asked && self.is_full_duplex();
            self.set_register(at, value & !regs::MACFCR::FCB.mask());
        } else if is(regs::MMCCR) {
            self.set_register(at, value & !regs::MMCCR::CR.mask());
            if regs::MMCCR::CR.is_set(value) {
                self.counters = counters::Counters::new();
            }
        } else {
            self.set_register(at, value);
        }
    }

    /// Raises what a change of state made due at once: the end of a stop.
    pub(super) fn settle(&mut self) {
        let mode = self.register(regs::DMAOMR.offset);
        let running = [regs::DMAOMR::ST, regs::DMAOMR::SR].map(|it| it.is_set(mode));
        let stopped = [
            self.transmit_state() == regs::DMASR::TPS::STOPPED,
            self.receive_state() == 0,
        ];
        if self.transmitter.is_running && !running[0] && stopped[0] {
            self.transmitter.is_running = false;
            self.raise(regs::DMASR::TPSS.mask());
        }
        if self.receiver.is_running && !running[1] && stopped[1] {
            self.receiver.is_running = false;
            self.raise(regs::DMASR::RPSS.mask());
        }
    }

    /// Starts the transfer that MACMIIAR and MACMIIDR describe.
    fn start_mdio(&mut self, address: u32, now: Instant) {
        let operation = if regs::MACMIIAR::MW.is_set(address) {
            mdio::Operation::Write(self.register(regs::MACMIIDR.offset) as u16)
        } else {
            mdio::Operation::Read
        };
        let frame = mdio::Frame {
            phy: regs::MACMIIAR::PA.get(address),
            register: regs::MACMIIAR::MR.get(address),
            operation,
        };
        let clock = regs::MACMIIAR::CR.get(address) as usize;
        let divisor = MDC_DIVISORS.get(clock).copied().unwrap_or(124);
        self.mdio.start(frame, divisor, self.bus_hertz, now);
    }

    fn start_dma(&mut self, now: Instant) {
        if field!(self, DMAOMR, ST) != 0 && !self.transmitter.is_running {
            self.transmitter.is_running = true;
            self.transmitter.wake(now);
        }
        if field!(self, DMAOMR, SR) != 0 && !self.receiver.is_running {
            self.receiver.is_running = true;
            self.receiver.wake(now);
        }
    }
}
