//! Splits the consoles' bytes into lines.

use std::collections::VecDeque;

use super::Event;
use crate::chip::esp32c6::{ConsoleByte, Port};
use crate::time::Instant;

/// A longer line is split.
const MAX_LINE_BYTES: usize = 64 * 1024;

/// An incomplete line.
#[derive(Debug, Default)]
struct Line {
    at: Instant,
    bytes: Vec<u8>,
}

/// Lines of all consoles.
#[derive(Debug, Default)]
pub(super) struct Lines {
    lines: [Line; 3],
}

const PORTS: [Port; 3] = [Port::Uart0, Port::Uart1, Port::UsbSerial];

impl Lines {
    /// Adds a byte; a complete line becomes an event.
    pub fn push(&mut self, byte: ConsoleByte, events: &mut VecDeque<Event>) {
        let line = &mut self.lines[byte.port as usize];
        if byte.byte == b'\n' || line.bytes.len() >= MAX_LINE_BYTES {
            line.end(byte.port, events);
        }
        if byte.byte != b'\n' {
            if line.bytes.is_empty() {
                line.at = byte.at;
            }
            line.bytes.push(byte.byte);
        }
    }

    /// Turns incomplete lines into events.
    pub fn finish(&mut self, events: &mut VecDeque<Event>) {
        for (line, port) in self.lines.iter_mut().zip(PORTS) {
            if !line.bytes.is_empty() {
                line.end(port, events);
            }
        }
    }
}

impl Line {
    fn end(&mut self, port: Port, events: &mut VecDeque<Event>) {
        let bytes = core::mem::take(&mut self.bytes);
        let text = String::from_utf8_lossy(&bytes);
        let text = text.trim_end_matches('\r').to_owned();
        events.push_back(Event::Line {
            at: self.at,
            port,
            text,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_carry_the_time_of_their_first_byte_and_ports_do_not_mix() {
        let mut lines = Lines::default();
        let mut events = VecDeque::new();
        let texts = [
            (Port::UsbSerial, "ab\r\n\n"),
            (Port::Uart0, "x"),
            (Port::UsbSerial, "c\nd"),
        ];
        let mut ns = 0;
        for (port, text) in texts {
            for byte in text.bytes() {
                ns += 10;
                lines.push(
                    ConsoleByte {
                        at: Instant::from_ns(ns),
                        port,
                        byte,
                    },
                    &mut events,
                );
            }
        }
        lines.finish(&mut events);
        let line = |ns, port, text: &str| Event::Line {
            at: Instant::from_ns(ns),
            port,
            text: text.to_owned(),
        };
        let expected = [
            line(10, Port::UsbSerial, "ab"),
            // An empty line has no byte; the time is that of the line before.
            line(10, Port::UsbSerial, ""),
            line(70, Port::UsbSerial, "c"),
            line(60, Port::Uart0, "x"),
            line(90, Port::UsbSerial, "d"),
        ];
        assert_eq!(Vec::from(events), expected);
    }
}
