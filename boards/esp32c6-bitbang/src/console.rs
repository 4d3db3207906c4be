//! What the programs print, on the USB serial port: lines for a person, and beside them one JSON
//! object a line for a program, prefixed with `@ `.

use esp_println::println;

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
