//! The boot line: `name=value` words that replace settings of the build.
//!
//! Whoever starts the program writes it into [`BOOT_LINE`] before: the simulator does, from the scenario.
//!
//! | word | read by | meaning |
//! |---|---|---|
//! | `sizes=10000x5,100000x5` | `http_get`, `http_put`, `http_both` | what is transferred, and how often |
//! | `pings=20` | `ping` | number of echo requests |

use core::hint::black_box;

/// Longest boot line, in octets.
const LEN: usize = 256;

/// Ends with a zero if it is shorter. In flash, so that it costs no RAM.
#[unsafe(no_mangle)]
static BOOT_LINE: [u8; LEN] = [0; LEN];

/// The value of the word `name`, if the boot line has it.
///
/// # Panics
/// If the boot line is not text.
pub fn word(name: &str) -> Option<&'static str> {
    // The compiler must not assume what it knows of the content: it is replaced in the finished program.
    let line: &'static [u8; LEN] = black_box(&BOOT_LINE);
    let end = line.iter().position(|it| *it == 0).unwrap_or(LEN);
    let text = core::str::from_utf8(&line[..end]).expect("the boot line is text");
    text.split_ascii_whitespace()
        .find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
}
