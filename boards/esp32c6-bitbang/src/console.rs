//! Console output on the USB serial port: lines for a person, and lines with one JSON object each for a
//! program, prefixed with `@ `.

use esp_hal::peripherals::USB_DEVICE;
use esp_println::{print, println};

/// Prints a line for a person.
#[macro_export]
macro_rules! info {
    ($($arg:tt)*) => {
        $crate::console::line(::core::format_args!($($arg)*))
    };
}

/// Prints one event for a program: its name, and optionally further members of the JSON object.
#[macro_export]
macro_rules! event {
    ($event:literal) => {
        $crate::console::event($event, None)
    };
    ($event:literal, $($arg:tt)*) => {
        $crate::console::event($event, Some(::core::format_args!($($arg)*)))
    };
}

/// The port, as a `core::fmt::Write`.
pub struct Console;

impl core::fmt::Write for Console {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        print!("{text}");
        Ok(())
    }
}

/// Prints a line for a person.
pub fn line(text: core::fmt::Arguments<'_>) {
    println!("INFO - {text}");
}

/// Prints one event for a program, as a JSON line prefixed with `@ `.
pub fn event(name: &str, members: Option<core::fmt::Arguments<'_>>) {
    if let Some(members) = members {
        println!("@ {{\"event\":\"{name}\",{members}}}");
    } else {
        println!("@ {{\"event\":\"{name}\"}}");
    }
}

/// Ends the program: prints the event `done`, then waits for interrupts forever.
pub fn done() -> ! {
    event("done", None);
    halt()
}

/// Stops the main thread; interrupts remain enabled.
pub fn halt() -> ! {
    loop {
        esp_hal::interrupt::wait_for_interrupt();
    }
}

/// Maximum length of a command.
const LINE: usize = 80;

/// Command lines from a person or a program on the same port.
pub struct Commands {
    line: [u8; LINE],
    len: usize,
    /// The line was returned: the next octet begins another.
    over: bool,
}

impl Commands {
    /// Creates an empty line.
    pub const fn new() -> Self {
        Self {
            line: [0; LINE],
            len: 0,
            over: false,
        }
    }

    /// Returns the next line without its end, if it is complete. A line above 80 bytes is truncated; one that
    /// is not UTF-8 is dropped.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Option<&str> {
        if core::mem::take(&mut self.over) {
            self.len = 0;
        }
        let port = USB_DEVICE::regs();
        while port
            .ep1_conf()
            .read()
            .serial_out_ep_data_avail()
            .bit_is_set()
        {
            let byte = port.ep1().read().rdwr_byte().bits();
            if byte == b'\n' || byte == b'\r' {
                self.over = true;
                return str::from_utf8(&self.line[..self.len]).ok();
            }
            if let Some(place) = self.line.get_mut(self.len) {
                *place = byte;
                self.len += 1;
            }
        }
        None
    }
}

impl Default for Commands {
    fn default() -> Self {
        Self::new()
    }
}
