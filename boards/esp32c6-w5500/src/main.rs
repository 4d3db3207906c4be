//! A W5500 on the SPI of an ESP32-C6 under embassy-net, with a choice of drivers: the same programs on each.
//!
//! The console takes one line: the driver, the SPI clock in hertz, and the transfers in octets from which on esp-hal
//! does not wait in a loop (0: all). Then the program serves TCP on port 9 (discards) and 19 (sends), UDP on port 7
//! (echoes) and 19 (sends).

#![no_std]
#![no_main]

mod console;
mod dma;
mod drivers;
mod naive;
mod services;

use embassy_executor::Spawner;
use esp_hal::clock::CpuClock;
use esp_hal::timer::timg::TimerGroup;
use linerate_nic::ledger::Ledger;

/// Counters of the drivers of `linerate-nic`.
#[unsafe(no_mangle)]
pub static LINERATE_LEDGER: Ledger = Ledger::new();

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
        esp_hal::interrupt::wait_for_interrupt();
    }
}

#[esp_rtos::main]
async fn main(spawner: Spawner) -> ! {
    let peripherals = esp_hal::init(esp_hal::Config::default().with_cpu_clock(CpuClock::_160MHz));
    let timers = TimerGroup::new(peripherals.TIMG0);
    esp_rtos::start(timers.timer0, peripherals.FROM_CPU_INTR0);
    let choice = console::choice().await;
    let wires = drivers::Wires {
        spi: peripherals.SPI2,
        dma: peripherals.DMA_CH0,
        clock: peripherals.GPIO6,
        mosi: peripherals.GPIO7,
        miso: peripherals.GPIO2,
        select: peripherals.GPIO10,
        interrupt: peripherals.GPIO11,
        reset: peripherals.GPIO3,
    };
    let stack = drivers::start(spawner, &choice, wires).await;
    services::start(spawner, stack);
    esp_println::println!("@ {{\"event\":\"listening\"}}");
    core::future::pending().await
}
