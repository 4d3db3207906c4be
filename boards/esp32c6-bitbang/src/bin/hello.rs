//! Prints a few lines, blinks the debug pin (GPIO10) and ends: shows that the board, or the simulator, is
//! alive.

#![no_std]
#![no_main]

use esp_hal::{
    clock::CpuClock,
    delay::Delay,
    gpio::{Level, Output, OutputConfig},
    time::Instant,
};
use esp32c6_bitbang::{console, event, info, stage};

#[esp_hal::main]
fn main() -> ! {
    let peripherals = esp_hal::init(esp_hal::Config::default().with_cpu_clock(CpuClock::_160MHz));
    event!(
        "boot",
        "\"program\":\"hello\",\"variant\":\"{}\"",
        stage::NAME
    );
    info!("Hello from an ESP32-C6!");

    let mut pin = Output::new(peripherals.GPIO10, Level::Low, OutputConfig::default());
    let delay = Delay::new();
    for blink in 1..=3 {
        pin.set_high();
        delay.delay_millis(10);
        pin.set_low();
        delay.delay_millis(10);
        let now = Instant::now().duration_since_epoch();
        info!("Blink {blink} at {} ms", now.as_millis());
    }
    console::done()
}
