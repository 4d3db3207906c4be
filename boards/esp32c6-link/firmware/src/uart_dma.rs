//! UART 1 by GDMA, through UHCI: received octets get into a ring of descriptors without an interrupt, and the program takes
//! them from there. It gets those of a descriptor when a chunk is full or the line is idle.

use esp_hal::Blocking;
use esp_hal::dma::{DmaRxStreamBuf, DmaTxBuf};
use esp_hal::peripherals::{DMA, DMA_CH0, UHCI0};
use esp_hal::uart::uhci::{RxConfig, Uhci, UhciDmaRxTransfer, UhciDmaTxTransfer, UhciRx, UhciTx};
use esp_hal::uart::{self, Uart};

use crate::counts::{Count, add};
use crate::port::{Octets, Wires};
use crate::ring::Ring;

/// Octets of a descriptor, and of all that receive.
const DESCRIPTOR: usize = 128;
const RECEIVE: usize = 32 * DESCRIPTOR;
/// Most octets of a transfer to the UART, and of those that wait for the next one.
const SEND: usize = 128;

/// A direction of the UART: free, or with a transfer.
enum Sending {
    Idle(UhciTx<'static, Blocking>, DmaTxBuf),
    Busy(UhciDmaTxTransfer<'static, Blocking, DmaTxBuf>),
}

/// The port.
pub struct UartDma {
    /// Empty only within a function.
    receiving: Option<UhciDmaRxTransfer<'static, Blocking, DmaRxStreamBuf>>,
    sending: Option<Sending>,
    to_send: Ring<SEND>,
}

impl UartDma {
    /// UART 1, whose octets the program gets in chunks of up to `chunk`.
    pub fn new(
        wires: Wires,
        baud: u32,
        chunk: u16,
        uhci: UHCI0<'static>,
        channel: DMA_CH0<'static>,
    ) -> Self {
        let config = uart::Config::default().with_baudrate(baud);
        let uart = Uart::new(wires.uart, config)
            .expect("a bit rate of the UART")
            .with_tx(wires.transmit)
            .with_rx(wires.receive);
        let mut uhci = Uhci::new(uart, uhci, channel);
        let chunk = chunk.clamp(1, DESCRIPTOR as u16);
        uhci.apply_rx_config(&RxConfig::default().with_chunk_limit(chunk))
            .expect("a length of the UHCI");
        // Chunks also end when the line is idle.
        uhci.apply_tx_config(&uart::uhci::TxConfig::default())
            .expect("settings of the UHCI");
        let (rx, tx) = uhci.split();
        let memory = esp_hal::dma_rx_stream_buffer!(RECEIVE, DESCRIPTOR);
        let send = esp_hal::dma_tx_buffer!(SEND).expect("room for it");
        Self {
            receiving: Some(start(rx, memory)),
            sending: Some(Sending::Idle(tx, send)),
            to_send: Ring::new(),
        }
    }

    /// Gives the octets that wait to DMA, if it has ended.
    fn send(&mut self) {
        let (tx, mut memory) = match self.sending.take() {
            // `wait` would wait until the UART's FIFO is empty, too, and the line would be idle afterwards.
            Some(Sending::Busy(transfer)) if transfer.is_done() => transfer.cancel(),
            Some(Sending::Idle(tx, memory)) => (tx, memory),
            busy => {
                self.sending = busy;
                return;
            }
        };
        if self.to_send.len() == 0 {
            self.sending = Some(Sending::Idle(tx, memory));
            return;
        }
        let count = self.to_send.pop(memory.as_mut_slice());
        memory.set_length(count);
        match tx.write(memory) {
            Ok(transfer) => self.sending = Some(Sending::Busy(transfer)),
            Err((error, ..)) => panic!("UHCI: {error:?}"),
        }
    }
}

impl Octets for UartDma {
    fn read(&mut self, to: &mut [u8]) -> usize {
        let Some(receiving) = &mut self.receiving else {
            return 0;
        };
        let count = receiving.pop(to);
        // DMA stops when all descriptors are full, which the driver does not report.
        if count == 0 && DMA::regs().in_int_ch(0).raw().read().in_dscr_empty().bit() {
            add(Count::Overflows, 1);
            let stopped = self.receiving.take();
            self.receiving = stopped.map(|receiving| {
                let (rx, memory) = receiving.cancel();
                start(rx, memory)
            });
        }
        count
    }

    fn write(&mut self, octets: &[u8]) -> usize {
        let count = self.to_send.push(octets);
        self.send();
        count
    }

    fn flush(&mut self) {
        self.send();
    }
}

/// Receives into all descriptors.
fn start(
    rx: UhciRx<'static, Blocking>,
    memory: DmaRxStreamBuf,
) -> UhciDmaRxTransfer<'static, Blocking, DmaRxStreamBuf> {
    match rx.read(memory) {
        Ok(receiving) => receiving,
        Err((error, ..)) => panic!("UHCI: {error:?}"),
    }
}
