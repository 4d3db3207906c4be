//! Octets between a UART's FIFOs and memory, through UHCI and GDMA.
//!
//! They move as soon as the FIFO has an octet or room for one; the time of DMA itself is not modelled.

use super::Soc;
use crate::chip::esp32c6::wiring::{GDMA, UART0, UART1, UHCI0};
use crate::device::{Device, Uhci};
use crate::mem::Memory;
use crate::time::Instant;

/// UHCI at the DMA controller (Technical Reference Manual, "GDMA Controller", table of peripherals).
const UHCI_DMA: u32 = 2;

impl Soc {
    /// UHCI.
    fn uhci(&mut self) -> &mut Uhci {
        self.peripherals.model(UHCI0).expect("wired as UHCI")
    }

    /// Sets the time of the next octet, after a change of the device with this number.
    pub(super) fn update_uart_dma(&mut self, number: usize, now: Instant) {
        if matches!(number, UART0 | UART1 | GDMA | UHCI0) {
            let next = self.next_uart_dma(now);
            self.peripherals.set_event(UHCI0, next);
            self.shorten_deadline(next);
        }
    }

    fn next_uart_dma(&mut self, now: Instant) -> Instant {
        let Some(uart) = self.uhci().uart() else {
            return Instant::NEVER;
        };
        let ends_when_idle = self.uhci().ends_when_idle();
        let gdma = self.gdma();
        let sends = gdma.has_octets_for(UHCI_DMA);
        let receives = gdma.has_room_for(UHCI_DMA);
        let uart = self.uart(uart);
        let mut next = Instant::NEVER;
        if sends {
            next = uart.tx_ready_at(now);
        }
        if receives && uart.has_received() {
            next = next.min(now);
        } else if receives && ends_when_idle {
            next = next.min(uart.rx_idle_at());
        }
        next
    }

    /// Moves the octets that are due at `now`.
    pub fn move_uart_octets(&mut self, now: Instant, memory: &mut Memory) {
        if !self.peripherals.is_due(UHCI0, now) {
            return;
        }
        let Some(uart) = self.uhci().uart() else {
            return;
        };
        self.send_uart_octets(uart, now, memory);
        self.receive_uart_octets(uart, now, memory);
        let device = if uart == 0 { UART0 } else { UART1 };
        self.sync_device(device, now);
        self.sync_device(GDMA, now);
    }

    fn send_uart_octets(&mut self, uart: u32, now: Instant, memory: &mut Memory) {
        for _ in 0..self.uart(uart).tx_room(now) {
            let mut octet = [0];
            if self.gdma().take(UHCI_DMA, &mut octet, memory) == 0 {
                return;
            }
            self.uart(uart).transmit(octet[0], now);
        }
    }

    fn receive_uart_octets(&mut self, uart: u32, now: Instant, memory: &mut Memory) {
        self.uart(uart).advance(now);
        while self.gdma().has_room_for(UHCI_DMA)
            && let Some(octet) = self.uart(uart).read_byte()
        {
            let is_last = self.uhci().receive();
            self.gdma().put(UHCI_DMA, &[octet], is_last, memory);
        }
        if self.uhci().ends_when_idle()
            && self.gdma().has_room_for(UHCI_DMA)
            && self.uart(uart).rx_idle_at() <= now
        {
            self.uhci().end();
            self.gdma().put(UHCI_DMA, &[], true, memory);
        }
    }
}
