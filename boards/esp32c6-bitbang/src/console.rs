//! What the programs print, on the USB serial port: lines for a person, and beside them one JSON
//! object a line for a program, prefixed with `@ `.

use esp_hal::peripherals::USB_DEVICE;
use esp_println::{print, println};

/// Prints a line for a person.
#[macro_export]
macro_rules! info {
    ($($arg:tt)*) => {
        $crate::console::line(::core::format_args!($($arg)*))
    };
}

/// Prints one event for a program: its name, and optionally the other members of the JSON object.
#[macro_export]
macro_rules! event {
    ($event:literal) => {
        $crate::console::event($event, None)
    };
    ($event:literal, $($arg:tt)*) => {
        $crate::console::event($event, Some(::core::format_args!($($arg)*)))
    };
}

/// The port, for what writes to any.
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

/// Prints one event for a program, as a line of JSON behind `@ `.
pub fn event(name: &str, members: Option<core::fmt::Arguments<'_>>) {
    if let Some(members) = members {
        println!("@ {{\"event\":\"{name}\",{members}}}");
    } else {
        println!("@ {{\"event\":\"{name}\"}}");
    }
}

/// Ends the program: says so, then waits for interrupts for ever.
pub fn done() -> ! {
    event("done", None);
    halt()
}

/// Stops the main thread; interrupts go on.
pub fn halt() -> ! {
    loop {
        esp_hal::interrupt::wait_for_interrupt();
    }
}

/// The longest command.
const LINE: usize = 80;

/// Lines that a person or a program types on the same port.
pub struct Commands {
    line: [u8; LINE],
    len: usize,
    /// The line was returned: what comes is the next one's.
    over: bool,
}

impl Commands {
    /// Nothing typed so far.
    pub const fn new() -> Self {
        Self {
            line: [0; LINE],
            len: 0,
            over: false,
        }
    }

    /// The next line if it is complete, without its end. What exceeds 80 bytes, or is no UTF-8, is
    /// lost.
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
