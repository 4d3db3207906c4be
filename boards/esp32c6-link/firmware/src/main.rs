//! An end of a byte link on an ESP32-C6, on UART 1, the USB Serial/JTAG or SPI 2 as a slave or master, beside an interrupt that
//! takes time away.
//!
//! The console (USB Serial/JTAG) takes one line, see [`console`]. Then the program is a link's end, which sends messages
//! as fast as they go and sends back those of channel 0, or only counts the octets that it receives. Its counts are in
//! [`COUNTS`].

#![no_std]
#![no_main]

mod console;
mod counts;
mod load;
mod master;
mod master_port;
mod port;
mod program;
mod ring;
mod spi;
mod uart_dma;

use console::{Choice, PortChoice};
use esp_hal::clock::CpuClock;
use esp_hal::peripherals::TIMG0;
use esp_hal::time::Duration;
use master::Master;
use master_port::MasterPort;
use port::{Octets, Port};
use uart_dma::UartDma;

pub use counts::COUNTS;

/// The CPU clock: 160 MHz, or 80 if the program was built with `LINERATE_CPU_80` in its environment.
const CLOCK: CpuClock = if option_env!("LINERATE_CPU_80").is_some() {
    CpuClock::_80MHz
} else {
    CpuClock::_160MHz
};

// The boot loader requires a descriptor; its build time is fixed, so that builds are reproducible.
esp_bootloader_esp_idf::esp_app_desc!(
    env!("CARGO_PKG_VERSION"),
    env!("CARGO_PKG_NAME"),
    "00:00:00",
    "1970-01-01",
    esp_bootloader_esp_idf::ESP_IDF_COMPATIBLE_VERSION,
    esp_bootloader_esp_idf::MMU_PAGE_SIZE,
    0,
    u16::MAX,
    0
);

/// Reports a panic on the console and stops.
#[panic_handler]
fn panic(info: &core::panic::PanicInfo) -> ! {
    esp_println::println!("PANIC - {info}");
    loop {
        core::hint::spin_loop();
    }
}

#[esp_hal::main]
fn main() -> ! {
    let peripherals = esp_hal::init(esp_hal::Config::default().with_cpu_clock(CLOCK));
    let choice = console::choice();
    esp_println::println!("@ {{\"event\":\"started\"}}");
    let timers = peripherals.TIMG0;
    match choice.port {
        PortChoice::UartDma(bits_per_s) => {
            let wires = port::Wires {
                uart: peripherals.UART1,
                transmit: peripherals.GPIO4,
                receive: peripherals.GPIO5,
            };
            let (uhci, channel) = (peripherals.UHCI0, peripherals.DMA_CH0);
            let mut port = UartDma::new(wires, bits_per_s, choice.threshold, uhci, channel);
            run(&mut port, timers, choice)
        }
        PortChoice::Uart(bits_per_s) => {
            let wires = port::Wires {
                uart: peripherals.UART1,
                transmit: peripherals.GPIO4,
                receive: peripherals.GPIO5,
            };
            let mut port = Port::uart(wires, bits_per_s, choice.threshold);
            run(&mut port, timers, choice)
        }
        PortChoice::Usb => run(&mut Port::usb(peripherals.USB_DEVICE), timers, choice),
        PortChoice::Spi => {
            let wires = spi::Wires {
                spi: peripherals.SPI2,
                channel: peripherals.DMA_CH0,
                clock: peripherals.GPIO6,
                from_master: peripherals.GPIO7,
                to_master: peripherals.GPIO2,
                select: peripherals.GPIO10,
            };
            spi::start(wires, choice.threshold.into());
            run(&mut Port::Spi, timers, choice)
        }
        PortChoice::Master(master) => {
            let wires = master::Wires {
                spi: peripherals.SPI2,
                channel: peripherals.DMA_CH0,
                clock: peripherals.GPIO6,
                to_slave: peripherals.GPIO7,
                from_slave: peripherals.GPIO2,
                select: peripherals.GPIO10,
            };
            let settings = master::Settings {
                hertz: master.hertz,
                octets: choice.threshold.into(),
                pause: Duration::from_micros(master.pause_us.into()),
                uses_dma: master.uses_dma,
            };
            let mut master = Master::new(wires, settings);
            if choice.message_octets == 0 {
                program::count_transfers(&mut master)
            }
            run(&mut MasterPort::new(master), timers, choice)
        }
    }
}

/// The program on its port, beside the other interrupt.
fn run(port: &mut impl Octets, timers: TIMG0<'static>, choice: Choice) -> ! {
    load::start(timers, choice.load_us, choice.period_us);
    if choice.message_octets == 0 {
        program::count(port)
    } else {
        // The other end may have the same program.
        let is_master = matches!(choice.port, PortChoice::Master(_));
        let session = 0x6C36_0001 + u32::from(is_master);
        program::link(port, session, choice.message_octets)
    }
}
