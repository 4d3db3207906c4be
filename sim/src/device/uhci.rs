//! UHCI, the way of a UART's octets to DMA (ESP32-C6 Technical Reference Manual, "UART Controller", "UHCI"): which UART it
//! serves, and where a transfer to memory ends. The chip moves the octets, because they are in the UART and in memory.
//!
//! Octets pass unchanged. Packets with separators, headers, escapes or checks are not modelled: while the program has enabled
//! any of them, no octet moves. Nor are its interrupts, its time limits (`HUNG_CONF`) and its short packets.

use super::Device;
use crate::time::Instant;

const CONF0: u32 = 0x00;
const CONF1: u32 = 0x14;
const ESCAPE_CONF: u32 = 0x20;
const PKT_THRES: u32 = 0x7c;

/// `CONF0`.
const TX_RST: u32 = 1 << 0;
const RX_RST: u32 = 1 << 1;
const UART0_CE: u32 = 1 << 2;
const UART1_CE: u32 = 1 << 3;
const SEPER_EN: u32 = 1 << 5;
const HEAD_EN: u32 = 1 << 6;
const CRC_REC_EN: u32 = 1 << 7;
const UART_IDLE_EOF_EN: u32 = 1 << 8;
const LEN_EOF_EN: u32 = 1 << 9;
const ENCODE_CRC_EN: u32 = 1 << 10;
const UART_RX_BRK_EOF_EN: u32 = 1 << 12;
/// Functions without a model.
const PACKETS: u32 = SEPER_EN | HEAD_EN | CRC_REC_EN | ENCODE_CRC_EN | UART_RX_BRK_EOF_EN;
/// `PKT_THRES`.
const LENGTH: u32 = 0x1fff;

/// The controller.
#[derive(Clone, Debug)]
pub struct Uhci {
    conf0: u32,
    conf1: u32,
    escape_conf: u32,
    pkt_thres: u32,
    /// Octets to memory since the last end of a transfer.
    received: u32,
}

impl Default for Uhci {
    fn default() -> Self {
        Self {
            conf0: 0x6e0,
            conf1: 0x33,
            escape_conf: 0x33,
            pkt_thres: 0x80,
            received: 0,
        }
    }
}

impl Uhci {
    /// Number of the UART that it serves, if octets move.
    pub const fn uart(&self) -> Option<u32> {
        if self.conf0 & (PACKETS | TX_RST | RX_RST) != 0 || self.escape_conf != 0 {
            return None;
        }
        match self.conf0 & (UART0_CE | UART1_CE) {
            UART0_CE => Some(0),
            UART1_CE => Some(1),
            _ => None,
        }
    }

    /// An octet goes to memory; true if it is the last one of a transfer, by its length.
    pub const fn receive(&mut self) -> bool {
        self.received += 1;
        let ends = self.conf0 & LEN_EOF_EN != 0 && self.received >= self.pkt_thres & LENGTH;
        if ends {
            self.received = 0;
        }
        ends
    }

    /// True if a line that is idle ends a transfer: one has begun.
    pub const fn ends_when_idle(&self) -> bool {
        self.conf0 & UART_IDLE_EOF_EN != 0 && self.received > 0
    }

    /// The line is idle, which ends a transfer.
    pub const fn end(&mut self) {
        self.received = 0;
    }
}

impl Device for Uhci {
    fn read(&mut self, offset: u32, _: Instant) -> Option<u32> {
        Some(match offset {
            CONF0 => self.conf0,
            CONF1 => self.conf1,
            ESCAPE_CONF => self.escape_conf,
            PKT_THRES => self.pkt_thres,
            _ => return None,
        })
    }

    fn write(&mut self, offset: u32, value: u32, _: Instant) -> bool {
        match offset {
            CONF0 => {
                self.conf0 = value;
                if value & RX_RST != 0 {
                    self.received = 0;
                }
            }
            // Of packets only.
            CONF1 => self.conf1 = value,
            ESCAPE_CONF => self.escape_conf = value,
            PKT_THRES => self.pkt_thres = value,
            _ => return false,
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLK_EN: u32 = 1 << 11;

    fn uhci(conf0: u32) -> Uhci {
        let mut uhci = Uhci::default();
        assert!(uhci.write(CONF0, conf0, Instant::ZERO));
        assert!(uhci.write(ESCAPE_CONF, 0, Instant::ZERO));
        uhci
    }

    #[test]
    fn octets_move_only_without_packets_and_escapes() {
        assert_eq!(Uhci::default().uart(), None);
        let mut uhci = uhci(CLK_EN | UART1_CE);
        assert_eq!(uhci.uart(), Some(1));
        uhci.write(ESCAPE_CONF, 1, Instant::ZERO);
        assert_eq!(uhci.uart(), None);
        uhci.write(ESCAPE_CONF, 0, Instant::ZERO);
        uhci.write(CONF0, CLK_EN | UART0_CE, Instant::ZERO);
        assert_eq!(uhci.uart(), Some(0));
        uhci.write(CONF0, CLK_EN | UART0_CE | HEAD_EN, Instant::ZERO);
        assert_eq!(uhci.uart(), None);
    }

    #[test]
    fn a_transfer_ends_with_its_length_or_when_the_line_is_idle() {
        let mut uhci = uhci(UART1_CE | LEN_EOF_EN | UART_IDLE_EOF_EN);
        uhci.write(PKT_THRES, 3, Instant::ZERO);
        assert!(!uhci.ends_when_idle(), "none has begun");
        assert_eq!([(); 3].map(|()| uhci.receive()), [false, false, true]);
        assert!(!uhci.ends_when_idle(), "it has ended");
        assert!(!uhci.receive());
        assert!(uhci.ends_when_idle());
        uhci.end();
        assert!(!uhci.ends_when_idle());
        assert_eq!([(); 3].map(|()| uhci.receive()), [false, false, true]);
    }

    #[test]
    fn without_its_condition_a_transfer_has_no_end() {
        let mut uhci = uhci(UART1_CE);
        uhci.write(PKT_THRES, 1, Instant::ZERO);
        assert!(!uhci.receive());
        assert!(!uhci.ends_when_idle());
    }
}
