//! The chip's devices: one line each.
//!
//! Interrupt sources: Technical Reference Manual, "Interrupt Matrix", table of peripheral interrupt sources. The
//! addresses are those of the register map. Pads, interrupt path and clock tree are part of the chip itself
//! (`soc.rs`).

use core::ops::Range;

use linerate_regs::ESP32C6;

use super::console::Port;
use super::{Config, ResetCause};
use crate::chip::peripherals::Peripherals;
use crate::device::{
    Action, Device, Efuse, FunctionClock, Gdma, I2cAna, IntPri, LpTimer, LpWdt, Rng, SpiController,
    SysTimer, TimerGroup, Uart, Uhci, UsbSerial,
};
use crate::time::Span;
use FunctionClock::{Spi, Timer, Uart as UartClock, Watchdog};

/// Number of UART 0 in [`WIRING`].
pub(super) const UART0: usize = 0;
/// Number of UART 1.
pub(super) const UART1: usize = 1;
/// Number of the fuses.
pub(super) const EFUSE: usize = 2;

/// Number of the DMA controller.
pub(super) const GDMA: usize = 3;
/// Number of the SPI controller.
pub(super) const SPI2: usize = 4;
/// Number of the USB Serial/JTAG.
pub(super) const USB_DEVICE: usize = 5;
/// Number of the UHCI.
pub(super) const UHCI0: usize = 6;

/// Every device. Events at the same time are processed in this order.
#[rustfmt::skip] // One line each.
pub(super) static WIRING: &[Wiring] = &[
    device("UART0", |_| Box::new(Uart::default())).interrupts(&[43]).clocks(&[UartClock(0)]).console(Port::Uart0),
    device("UART1", |_| Box::new(Uart::default())).interrupts(&[44]).clocks(&[UartClock(1)]).console(Port::Uart1),
    device("EFUSE", |config| Box::new(Efuse::new(config.mac))),
    device("GDMA", |_| Box::new(Gdma::default())).interrupts(&[66, 67, 68, 69, 70, 71]),
    device("SPI2", |_| Box::new(SpiController::default())).interrupts(&[72]).clocks(&[Spi]),
    device("USB_DEVICE", usb_serial).interrupts(&[48]).console(Port::UsbSerial),
    device("UHCI0", |_| Box::new(Uhci::default())),
    device("TIMG0", timer_group).interrupts(&[51, 53]).clocks(&[Timer(0), Watchdog(0)]).resets(timer_group_0),
    device("TIMG1", timer_group).interrupts(&[54, 56]).clocks(&[Timer(1), Watchdog(1)]).resets(timer_group_1),
    device("SYSTIMER", |_| Box::new(SysTimer::default())).interrupts(&[57, 58, 59]),
    device("LP_TIMER", |config| Box::new(LpTimer::new(slow(config)))).interrupts(&[15]).keeps_state(),
    device("LP_WDT", |config| Box::new(LpWdt::new(slow(config)))).interrupts(&[18]).resets(lp_watchdog),
    device("INTPRI", |_| Box::new(IntPri::default())).interrupts(&[22, 23, 24, 25]),
    device("LPPERI", |config| Box::new(Rng::new(config.seed))).keeps_state(),
    device("I2C_ANA_MST", |_| Box::new(I2cAna::default())),
];

/// How a device is connected.
pub(super) struct Wiring {
    /// Its block in the register map.
    block: &'static str,
    model: fn(&Config) -> Box<dyn Device>,
    /// The interrupt sources of its interrupt outputs.
    pub interrupts: &'static [u8],
    /// Its clocks, in the order of [`Device::set_clocks`].
    pub clocks: &'static [FunctionClock],
    /// The console that it is.
    pub console: Option<Port>,
    /// The cause of the chip's reset that it requests.
    pub resets: Option<fn(Action) -> ResetCause>,
    /// True if a reset of the chip does not reset it.
    pub keeps_state: bool,
}

const fn device(block: &'static str, model: fn(&Config) -> Box<dyn Device>) -> Wiring {
    Wiring {
        block,
        model,
        interrupts: &[],
        clocks: &[],
        console: None,
        resets: None,
        keeps_state: false,
    }
}

impl Wiring {
    const fn interrupts(self, interrupts: &'static [u8]) -> Self {
        Self { interrupts, ..self }
    }

    const fn clocks(self, clocks: &'static [FunctionClock]) -> Self {
        Self { clocks, ..self }
    }

    const fn console(self, port: Port) -> Self {
        Self {
            console: Some(port),
            ..self
        }
    }

    const fn resets(self, cause: fn(Action) -> ResetCause) -> Self {
        Self {
            resets: Some(cause),
            ..self
        }
    }

    const fn keeps_state(self) -> Self {
        Self {
            keeps_state: true,
            ..self
        }
    }

    /// The addresses from its block's base to the next block, at most 4 KiB.
    fn range(&self) -> Range<u32> {
        let bases = || {
            ESP32C6
                .blocks()
                .filter_map(|block| block.base.map(|base| (block.name, base)))
        };
        let base = bases()
            .find(|(name, _)| *name == self.block)
            .map_or(0, |(_, base)| base);
        let next = bases()
            .map(|(_, base)| base)
            .filter(|&other| other > base)
            .min();
        base..next.unwrap_or(u32::MAX).min(base + 0x1000)
    }
}

/// The devices as after power-on.
pub(super) fn peripherals(config: &Config) -> Peripherals {
    let mut peripherals = Peripherals::default();
    for line in WIRING {
        peripherals.add(line.range(), (line.model)(config));
    }
    peripherals
}

fn slow(config: &Config) -> u64 {
    config.timing.chip("slow_clock_hertz")
}

fn usb_serial(config: &Config) -> Box<dyn Device> {
    let packet = Span::from_ns(config.timing.chip("usb_serial_packet_ns"));
    Box::new(UsbSerial::new(packet))
}

fn timer_group(config: &Config) -> Box<dyn Device> {
    Box::new(TimerGroup::new(slow(config)))
}

fn timer_group_0(action: Action) -> ResetCause {
    match action {
        Action::ResetCpu => ResetCause::TimerGroup0Cpu,
        _ => ResetCause::TimerGroup0,
    }
}

fn timer_group_1(action: Action) -> ResetCause {
    match action {
        Action::ResetCpu => ResetCause::TimerGroup1Cpu,
        _ => ResetCause::TimerGroup1,
    }
}

fn lp_watchdog(action: Action) -> ResetCause {
    match action {
        Action::ResetCpu => ResetCause::RtcWatchdogCpu,
        Action::ResetCore => ResetCause::RtcWatchdogCore,
        _ => ResetCause::RtcWatchdogSystem,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::SOURCES;

    #[test]
    fn every_device_has_its_own_address_and_interrupts() {
        let config = Config::default();
        let mut devices = peripherals(&config);
        let mut sources: Vec<u8> = Vec::new();
        for (number, line) in WIRING.iter().enumerate() {
            let range = line.range();
            assert_eq!(devices.at(range.start), Some((number, 0)), "{}", line.block);
            sources.extend(line.interrupts);
        }
        sources.sort_unstable();
        assert!(
            sources.windows(2).all(|pair| pair[0] < pair[1]),
            "{sources:?}"
        );
        assert!(sources.iter().all(|&source| usize::from(source) < SOURCES));
        assert!(devices.model::<Uart>(UART0).is_some());
        assert!(devices.model::<Uart>(UART1).is_some());
        assert!(devices.model::<Efuse>(EFUSE).is_some());
        assert!(devices.model::<Gdma>(GDMA).is_some());
        assert!(devices.model::<SpiController>(SPI2).is_some());
        assert!(devices.model::<UsbSerial>(USB_DEVICE).is_some());
        assert!(devices.model::<Uhci>(UHCI0).is_some());
    }
}
