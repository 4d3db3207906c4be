//! The firmware of the board `esp32c6-bitbang`: a 10BASE-T PHY made of two GPIOs and cycle-counted
//! loops, under the MAC of `linerate-nic` and the TCP/IP of smoltcp.
//!
//! The programs are in `src/bin`; chip and simulator run the same ELF.

#![no_std]
#![warn(missing_docs)]

#[cfg(feature = "bench-agent")]
pub mod agent;
pub mod boot;
pub mod config;
pub mod console;
pub mod http;
mod memory;
#[cfg(feature = "article-mac")]
pub mod naive;
pub mod net;
pub mod phy;
pub mod stage;

use core::panic::PanicInfo;

use linerate_nic::ledger::Ledger;

/// Every counter of the device. A debugger or the simulator finds it by this symbol.
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

/// Reports a panic on the console, for a person and for a program, and stops.
#[panic_handler]
fn panic(info: &PanicInfo) -> ! {
    esp_println::println!("PANIC - {info}");
    let line = info.location().map_or(0, core::panic::Location::line);
    event!("error", "\"what\":\"panic\",\"line\":{line}");
    console::halt()
}
