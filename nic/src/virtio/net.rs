//! The network device (virtio 1.2 section 5.1).

use super::transport::{self, InitError, mmio};
use crate::accounts::{self, Collisions, Offered, OutgoingFrame};
use crate::device::{
    Capabilities, Checksums, Device, FrameTooLong, InterruptDriven, LinkState, Managed, Medium,
    TxToken,
};
use crate::dma::frames::{IdleBuffers, Lending, ReceiveQueue, Received, TakenFrame};
use crate::dma::virtqueue::{Memory, UnexpectedDescriptor, Virtqueue};
use crate::dma::{Buffer, Coherence, Transfer};
use crate::ledger::Ledger;
use crate::mmio::Registers;
use linerate_ether::fcs;
use linerate_ether::frame::{HEADER_LEN, MAX_LEN, MAX_TAGGED_LEN, MIN_LEN, MacAddress};
use linerate_ether::ledger::Counter;

/// Feature bits (section 5.1.3): the device has an address; it reports the link state.
const MAC: u64 = 1 << 5;
const STATUS: u64 = 1 << 16;

const RECEIVE: u32 = 0;
const TRANSMIT: u32 = 1;

/// Octets of the header before each frame (section 5.1.6, `virtio_net_hdr`). All zero requests no
/// offload.
const PRELUDE: usize = 12;
/// Longest frame to send, without FCS.
const LONGEST: usize = MAX_LEN - fcs::LEN;
/// Shortest frame, without FCS: a virtual device need not pad.
const SHORTEST: usize = MIN_LEN - fcs::LEN;
/// Minimum size of a buffer, in octets: received frames may have a tag.
pub const BUFFER_LEN: usize = PRELUDE + MAX_TAGGED_LEN - fcs::LEN;
/// Maximum polls for the end of transmission before the device is stopped.
const MAX_POLLS: u32 = 100_000;

/// The configuration space.
mod config {
    linerate_regs::constants!(linerate_regs::VIRTIO, "NET": mac0 status { LINK_UP });
}

/// Memory of the two queues, `N` frames per direction.
#[derive(Debug, Default)]
pub struct Queues<const N: usize> {
    receive: Memory<N>,
    transmit: Memory<N>,
}

impl<const N: usize> Queues<N> {
    /// Empty queues.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            receive: Memory::new(),
            transmit: Memory::new(),
        }
    }
}

/// A virtio-net device and its buffers.
pub struct VirtioNet<R, C, const N: usize> {
    registers: R,
    rx: Queue<C, N>,
    tx: Queue<C, N>,
    /// Unused transmit buffers.
    idle: IdleBuffers<N>,
    ledger: &'static Ledger,
    address: MacAddress,
    has_link_status: bool,
    link: LinkState,
    is_halted: bool,
    /// Protocol violation by the device; from then on it is not used.
    fault: Option<UnexpectedDescriptor>,
}

struct Queue<C, const N: usize> {
    number: u32,
    ring: Virtqueue<C, N>,
}

impl<C: Coherence, const N: usize> Queue<C, N> {
    #[inline]
    fn submit(&mut self, registers: &impl Registers, buffer: Buffer, transfer: Transfer) {
        // Cannot fail: there is a descriptor for each buffer.
        if let Ok(true) = self.ring.submit(buffer, transfer) {
            registers.write(mmio::QueueNotify, self.number);
        }
    }
}

impl<R: Registers + Registers<u8>, C: Coherence + Copy, const N: usize> VirtioNet<R, C, N> {
    /// Starts the device. `buffers` of [`BUFFER_LEN`] octets or more each: the first half for
    /// received frames, the other for frames to send; at most `N` each. `address` is used if the
    /// device has none.
    ///
    /// # Errors
    /// [`InitError`]: the device is missing, of another type, or unusable.
    ///
    /// # Panics
    /// If a buffer is too short, which is an error of the caller.
    pub fn start(
        registers: R,
        coherence: C,
        queues: &'static mut Queues<N>,
        buffers: [[Buffer; N]; 2],
        address: MacAddress,
        ledger: &'static Ledger,
    ) -> Result<Self, InitError> {
        assert!(
            buffers
                .as_flattened()
                .iter()
                .all(|it| it.len() >= BUFFER_LEN)
        );
        let features =
            transport::negotiate(&registers, mmio::DeviceID::ID::NETWORK, 0, MAC | STATUS)?;
        let Queues { receive, transmit } = queues;
        let [mut rx, mut tx] =
            [(RECEIVE, receive), (TRANSMIT, transmit)].map(|(number, memory)| Queue {
                number,
                ring: Virtqueue::new(memory, coherence),
            });
        transport::set_up_queue(&registers, RECEIVE, &rx.ring)?;
        transport::set_up_queue(&registers, TRANSMIT, &tx.ring)?;
        let address_at = transport::CONFIG + config::mac0.offset as usize;
        let own = core::array::from_fn(|index| registers.read_at(address_at + index));
        let [rx_buffers, tx_buffers] = buffers;
        // Completed transmissions are reclaimed when room is needed.
        tx.ring.set_interrupts(false);
        rx.ring.set_interrupts(false);
        transport::set_driver_ok(&registers);
        for buffer in rx_buffers {
            rx.submit(&registers, buffer, Transfer::FromDevice);
        }
        Ok(Self {
            registers,
            rx,
            tx,
            idle: IdleBuffers::full(tx_buffers),
            ledger,
            address: if features & MAC == 0 {
                address
            } else {
                MacAddress(own)
            },
            has_link_status: features & STATUS != 0,
            link: LinkState::Down,
            is_halted: false,
            fault: None,
        })
    }

    /// Protocol violation by the device, if any. Nothing is received or sent after it.
    #[must_use]
    pub const fn fault(&self) -> Option<UnexpectedDescriptor> {
        self.fault
    }

    /// Memory of the receive and the transmit queue, for the device model of a test.
    #[cfg(test)]
    pub(super) fn queues(&self) -> [&'static Memory<N>; 2] {
        [&self.rx, &self.tx].map(|queue| queue.ring.memory())
    }

    /// Reclaims the buffers of sent frames. Returns `true` if there is room for one more.
    #[inline]
    fn reclaim(&mut self) -> bool {
        while self.fault.is_none() {
            match self.tx.ring.take() {
                Ok(Some((buffer, _))) => {
                    buffer.frame.count_sent(self.ledger, Collisions::None);
                    self.idle.push(buffer);
                }
                Ok(None) => break,
                Err(error) => self.fault = Some(error),
            }
        }
        !self.idle.is_empty() && self.fault.is_none() && !self.is_halted
    }

    /// The next valid frame, and its length without the header before it.
    #[inline]
    fn next(&mut self) -> Option<(Buffer, usize)> {
        loop {
            match self.rx.ring.take() {
                Ok(Some((buffer, octets))) => {
                    let is_whole = octets >= PRELUDE + HEADER_LEN;
                    let error = (!is_whole).then_some(Counter::RxRunts);
                    accounts::received(self.ledger, error);
                    if is_whole {
                        return Some((buffer, octets - PRELUDE));
                    }
                    self.rx
                        .submit(&self.registers, buffer, Transfer::FromDevice);
                }
                Ok(None) => return None,
                Err(error) => {
                    self.fault = Some(error);
                    return None;
                }
            }
        }
    }
}

impl<R: Registers + Registers<u8>, C: Coherence + Copy, const N: usize> Device
    for VirtioNet<R, C, N>
{
    type RxToken<'a>
        = Received<RxQueue<'a, R, C, N>>
    where
        Self: 'a;
    type TxToken<'a>
        = TxSlot<'a, R, C, N>
    where
        Self: 'a;

    #[inline]
    fn receive(&mut self) -> Option<(Self::RxToken<'_>, Self::TxToken<'_>)> {
        // A frame stays in the device until it can be answered.
        if !self.reclaim() {
            return None;
        }
        let (buffer, octets) = self.next()?;
        let queue = RxQueue {
            queue: &mut self.rx,
            registers: &self.registers,
        };
        let received = Received::new(buffer, PRELUDE, octets, queue, self.ledger);
        let slot = TxSlot {
            queue: &mut self.tx,
            idle: &mut self.idle,
            registers: &self.registers,
            ledger: self.ledger,
        };
        Some((received, slot))
    }

    #[inline]
    fn transmit(&mut self) -> Option<Self::TxToken<'_>> {
        self.reclaim().then_some(TxSlot {
            queue: &mut self.tx,
            idle: &mut self.idle,
            registers: &self.registers,
            ledger: self.ledger,
        })
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            medium: Medium::Ethernet,
            mtu: LONGEST - HEADER_LEN,
            max_burst_frames: Some(N),
            checksums: Checksums::NONE,
        }
    }

    fn link_state(&self) -> LinkState {
        // The low octet of the register.
        let at = transport::CONFIG + config::status.offset as usize;
        let state: u8 = self.registers.read_at(at);
        if self.has_link_status && !config::status::LINK_UP.is_set(state.into()) {
            LinkState::Down
        } else {
            LinkState::Up
        }
    }

    fn mac_address(&self) -> MacAddress {
        self.address
    }
}

impl<R: Registers + Registers<u8>, C: Coherence + Copy, const N: usize> Lending
    for VirtioNet<R, C, N>
{
    #[inline]
    fn take(&mut self) -> Option<TakenFrame> {
        // As `receive` does.
        if !self.reclaim() {
            return None;
        }
        let (buffer, octets) = self.next()?;
        Some(TakenFrame::new(buffer, PRELUDE, octets, self.ledger))
    }

    #[inline]
    fn give_back(&mut self, buffer: Buffer) {
        self.rx
            .submit(&self.registers, buffer, Transfer::FromDevice);
    }
}

impl<R: Registers + Registers<u8>, C: Coherence + Copy, const N: usize> InterruptDriven
    for VirtioNet<R, C, N>
{
    fn unmask(&mut self) -> bool {
        self.rx.ring.set_interrupts(true);
        !self.rx.ring.has_used()
    }

    fn mask(&mut self) {
        self.rx.ring.set_interrupts(false);
        let pending: u32 = self.registers.read(mmio::InterruptStatus);
        self.registers.write(mmio::InterruptACK, pending);
    }
}

impl<R: Registers + Registers<u8>, C: Coherence + Copy, const N: usize> Managed
    for VirtioNet<R, C, N>
{
    type Error = InitError;

    fn poll_link(&mut self) -> LinkState {
        let now = self.link_state();
        let before = core::mem::replace(&mut self.link, now);
        self.ledger.count_link(before, now);
        now
    }

    fn halt(&mut self) {
        // After a protocol violation this is never true.
        (0..MAX_POLLS).any(|_| !self.reclaim() || self.idle.is_full());
        self.is_halted = true;
        transport::reset(&self.registers);
        while let Some((buffer, octets)) = self.next() {
            drop(Offered::new(&buffer[PRELUDE..][..octets], self.ledger));
            // Kept there until the device is started again.
            let _ = self.rx.ring.submit(buffer, Transfer::FromDevice);
        }
    }

    fn resume(&mut self) -> Result<(), InitError> {
        if !self.is_halted {
            return Ok(());
        }
        let kind = mmio::DeviceID::ID::NETWORK;
        transport::negotiate(&self.registers, kind, 0, MAC | STATUS)?;
        transport::set_up_queue(&self.registers, RECEIVE, &self.rx.ring)?;
        transport::set_up_queue(&self.registers, TRANSMIT, &self.tx.ring)?;
        // The device reads the queues when it is started.
        let mut rx_buffers = IdleBuffers::<N>::empty();
        self.rx.ring.reclaim_all(|buffer| rx_buffers.push(buffer));
        self.tx
            .ring
            .reclaim_all(|buffer| self.idle.push_unsent(buffer, self.ledger));
        transport::set_driver_ok(&self.registers);
        for buffer in rx_buffers {
            self.rx
                .submit(&self.registers, buffer, Transfer::FromDevice);
        }
        (self.is_halted, self.fault) = (false, None);
        Ok(())
    }
}

/// The receiver's queue.
pub struct RxQueue<'a, R, C, const N: usize> {
    queue: &'a mut Queue<C, N>,
    registers: &'a R,
}

impl<R: Registers, C: Coherence, const N: usize> ReceiveQueue for RxQueue<'_, R, C, N> {
    #[inline]
    fn submit_empty(&mut self, buffer: Buffer) {
        self.queue
            .submit(self.registers, buffer, Transfer::FromDevice);
    }
}

/// A transmit buffer for one frame.
pub struct TxSlot<'a, R: Registers, C: Coherence, const N: usize> {
    queue: &'a mut Queue<C, N>,
    idle: &'a mut IdleBuffers<N>,
    registers: &'a R,
    ledger: &'static Ledger,
}

impl<R: Registers, C: Coherence, const N: usize> TxToken for TxSlot<'_, R, C, N> {
    #[inline]
    fn consume<T>(self, len: usize, f: impl FnOnce(&mut [u8]) -> T) -> Result<T, FrameTooLong> {
        let too_long = FrameTooLong { len, max: LONGEST };
        if len > LONGEST {
            self.ledger.count(Counter::TxOversize);
            return Err(too_long);
        }
        // A token exists only while a buffer is free.
        let mut buffer = self.idle.pop().ok_or(too_long)?;
        buffer[..PRELUDE].fill(0);
        let result = f(&mut buffer[PRELUDE..][..len]);
        let padded = len.max(SHORTEST);
        buffer[PRELUDE + len..PRELUDE + padded].fill(0);
        buffer.frame = OutgoingFrame::new(&buffer[PRELUDE..], len);
        let transfer = Transfer::ToDevice(PRELUDE + padded);
        self.queue.submit(self.registers, buffer, transfer);
        Ok(result)
    }
}
