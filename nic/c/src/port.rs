//! A driver behind one interface, whatever its type.

use linerate_nic::device::{
    Capabilities, FrameTooLong, LinkState, Managed, RxToken as _, TxToken as _,
};
use linerate_nic::dma::Buffer;
use linerate_nic::dma::frames::Lending;

/// Frames that a driver with DMA can queue in each direction.
pub(crate) const FRAMES: usize = 32;
/// Octets of a buffer of a driver with DMA: whole cache lines of 64.
pub(crate) const BUFFER: usize = 1600;

/// A driver.
pub(crate) trait Port {
    /// Passes the next frame to `take`, which returns false to reject it; false: there is none.
    fn receive(&mut self, take: &mut dyn FnMut(&mut [u8]) -> bool) -> bool;
    /// Lends the next frame in its buffer: its address and octets.
    fn lend(&mut self) -> Option<(*mut u8, usize)>;
    /// Takes back a lent frame by its address; false: it was not lent.
    fn give_back(&mut self, frame: usize) -> bool;
    /// True if it can lend frames.
    fn can_lend(&self) -> bool;
    /// Sends a frame of `octets`, written by `fill`; `Ok(false)`: there is no room now.
    fn transmit(
        &mut self,
        octets: usize,
        fill: &mut dyn FnMut(&mut [u8]),
    ) -> Result<bool, FrameTooLong>;
    fn has_pending_tx(&self) -> bool;
    fn capabilities(&self) -> Capabilities;
    fn mac_address(&self) -> [u8; 6];
    fn poll_link(&mut self) -> LinkState;
    fn unmask(&mut self) -> bool;
    fn mask(&mut self);
    fn halt(&mut self);
    fn resume(&mut self) -> bool;
}

/// How a driver lends its frames.
pub(crate) trait Lender<D> {
    /// True if it can.
    const LENDS: bool;
    fn lend(&mut self, device: &mut D) -> Option<(*mut u8, usize)>;
    fn give_back(&mut self, device: &mut D, frame: usize) -> bool;
}

/// A driver without DMA: it has one buffer, which the next frame overwrites.
pub(crate) struct Copies;

impl<D> Lender<D> for Copies {
    const LENDS: bool = false;

    fn lend(&mut self, _: &mut D) -> Option<(*mut u8, usize)> {
        None
    }

    fn give_back(&mut self, _: &mut D, _: usize) -> bool {
        false
    }
}

/// Lent buffers of a driver with DMA, by their number: the receive buffers follow each other in memory, each [`BUFFER`]
/// octets after the one before. That is a constant, since some processors have no instruction that divides.
pub(crate) struct Lent {
    buffers: [Option<Buffer>; FRAMES],
    /// Address of the first receive buffer.
    first: usize,
}

impl Lent {
    pub(crate) const fn new(first: usize) -> Self {
        Self {
            buffers: [const { None }; FRAMES],
            first,
        }
    }

    /// Number of the buffer that contains `address`; `FRAMES` or more if none does.
    const fn number_of(&self, address: usize) -> usize {
        address.wrapping_sub(self.first) / BUFFER
    }
}

impl<D: Lending> Lender<D> for Lent {
    const LENDS: bool = true;

    #[inline]
    fn lend(&mut self, device: &mut D) -> Option<(*mut u8, usize)> {
        let mut taken = device.take()?;
        let frame = taken.buffer[taken.offset..].as_mut_ptr();
        let number = self.number_of(taken.buffer.address());
        // A receive buffer: it is one of the table.
        *self.buffers.get_mut(number)? = Some(taken.buffer);
        Some((frame, taken.octets))
    }

    #[inline]
    fn give_back(&mut self, device: &mut D, frame: usize) -> bool {
        let number = self.number_of(frame);
        let Some(buffer) = self.buffers.get_mut(number).and_then(Option::take) else {
            return false;
        };
        device.give_back(buffer);
        true
    }
}

/// A driver and its way to lend frames.
pub(crate) struct Driven<D, L> {
    pub(crate) device: D,
    pub(crate) lender: L,
}

impl<D: Managed, L: Lender<D>> Port for Driven<D, L> {
    #[inline]
    fn receive(&mut self, take: &mut dyn FnMut(&mut [u8]) -> bool) -> bool {
        let Some((mut frame, _)) = self.device.receive() else {
            return false;
        };
        // A frame that is not consumed is counted as rejected by the stack.
        if take(frame.peek()) {
            frame.consume(|_| ());
        }
        true
    }

    #[inline]
    fn lend(&mut self) -> Option<(*mut u8, usize)> {
        self.lender.lend(&mut self.device)
    }

    #[inline]
    fn give_back(&mut self, frame: usize) -> bool {
        self.lender.give_back(&mut self.device, frame)
    }

    fn can_lend(&self) -> bool {
        L::LENDS
    }

    #[inline]
    fn transmit(
        &mut self,
        octets: usize,
        fill: &mut dyn FnMut(&mut [u8]),
    ) -> Result<bool, FrameTooLong> {
        let Some(slot) = self.device.transmit() else {
            return Ok(false);
        };
        slot.consume(octets, |frame| fill(frame)).map(|()| true)
    }

    fn has_pending_tx(&self) -> bool {
        self.device.has_pending_tx()
    }

    fn capabilities(&self) -> Capabilities {
        self.device.capabilities()
    }

    fn mac_address(&self) -> [u8; 6] {
        self.device.mac_address().0
    }

    fn poll_link(&mut self) -> LinkState {
        self.device.poll_link()
    }

    fn unmask(&mut self) -> bool {
        self.device.unmask()
    }

    fn mask(&mut self) {
        self.device.mask();
    }

    fn halt(&mut self) {
        self.device.halt();
    }

    fn resume(&mut self) -> bool {
        self.device.resume().is_ok()
    }
}
