//! Interrupt handling without a budget, for comparison: the interrupt is always enabled, and its handler
//! moves all received frames into a queue. Frames that arrive faster than this keep the processor in the
//! handler and starve everything else.

use core::cell::RefCell;
use critical_section::Mutex;
use linerate_ether::fcs;
use linerate_ether::frame::{MAX_LEN, MacAddress};
use linerate_nic::device::{
    Capabilities, Device, FrameTooLong, InterruptDriven, LinkState, Managed, RxToken, TxToken,
};
use linerate_nic::queue::{Consumer, Frame, Producer, Queue};

/// Longest frame without FCS, and queue capacity for such frames; many more short ones fit.
const LONGEST: usize = MAX_LEN - fcs::LEN;
const WAITING: usize = 16;
const WORDS: usize = Queue::<0>::words_for(WAITING, LONGEST);

/// A device shared by the interrupt handler and the main loop, and the queue between them: a `static`.
pub struct Shared<D> {
    inside: Mutex<RefCell<Option<SharedState<D>>>>,
    queue: Queue<WORDS>,
}

struct SharedState<D> {
    device: D,
    queue: Producer<'static, WORDS>,
}

impl<D: InterruptDriven> Shared<D> {
    /// Creates an empty one, without a device.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "it is for a `static`")]
    pub const fn new() -> Self {
        Self {
            inside: Mutex::new(RefCell::new(None)),
            queue: Queue::new(),
        }
    }

    /// Gives the device to the handler, which receives frames from now on, and returns the main loop's end.
    /// `None` if it has a device already.
    pub fn share(&'static self, device: D) -> Option<PerFrame<D>> {
        let (queue, waiting) = self.queue.split()?;
        let capabilities = device.capabilities();
        let address = device.mac_address();
        let inside = SharedState { device, queue };
        critical_section::with(|cs| self.inside.borrow_ref_mut(cs).replace(inside));
        self.receive_all();
        Some(PerFrame {
            shared: self,
            waiting,
            capabilities,
            address,
        })
    }

    /// The interrupt handler: receives frames until none is left. Frames that do not fit the queue are
    /// dropped and counted by the driver as rejected.
    pub fn receive_all(&self) {
        self.with(|SharedState { device, queue }| {
            device.mask();
            loop {
                while let Some((mut frame, _)) = device.receive() {
                    let len = frame.peek().len();
                    if let Some(mut room) = queue.grant(len) {
                        frame.consume(|octets| room[..len].copy_from_slice(octets));
                        room.commit(len);
                    }
                }
                if device.unmask() {
                    return;
                }
            }
        });
    }

    fn with<R>(&self, f: impl FnOnce(&mut SharedState<D>) -> R) -> Option<R> {
        critical_section::with(|cs| self.inside.borrow_ref_mut(cs).as_mut().map(f))
    }
}

/// The main loop's end of a device whose frames the interrupt handler receives.
pub struct PerFrame<D: 'static> {
    shared: &'static Shared<D>,
    waiting: Consumer<'static, WORDS>,
    capabilities: Capabilities,
    address: MacAddress,
}

impl<D: InterruptDriven> PerFrame<D> {
    fn has_room(&self) -> bool {
        let room = |inside: &mut SharedState<D>| inside.device.transmit().is_some();
        self.shared.with(room) == Some(true)
    }
}

impl<D: InterruptDriven> Device for PerFrame<D> {
    type RxToken<'a> = QueuedFrame<'a>;
    type TxToken<'a> = PerFrameTxSlot<D>;

    fn receive(&mut self) -> Option<(Self::RxToken<'_>, Self::TxToken<'_>)> {
        // A frame stays in the queue until it can be answered.
        if !self.has_room() {
            return None;
        }
        let frame = self.waiting.read()?;
        Some((QueuedFrame(frame), PerFrameTxSlot(self.shared)))
    }

    fn transmit(&mut self) -> Option<Self::TxToken<'_>> {
        self.has_room().then_some(PerFrameTxSlot(self.shared))
    }

    fn has_pending_tx(&self) -> bool {
        self.shared.with(|inside| inside.device.has_pending_tx()) == Some(true)
    }

    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    fn link_state(&self) -> LinkState {
        let state = self.shared.with(|inside| inside.device.link_state());
        state.unwrap_or(LinkState::Down)
    }

    fn mac_address(&self) -> MacAddress {
        self.address
    }
}

/// Masked only while the processor is about to sleep.
impl<D: InterruptDriven> InterruptDriven for PerFrame<D> {
    fn unmask(&mut self) -> bool {
        self.waiting.is_empty()
    }

    fn mask(&mut self) {}

    fn sleep_until_frame(&mut self, sleep: impl FnOnce()) {
        // A frame that arrives after the check of the queue is pending, and ends the sleep.
        critical_section::with(|_| {
            if self.waiting.is_empty() {
                sleep();
                self.shared.receive_all();
            }
        });
    }
}

impl<D: Managed> Managed for PerFrame<D> {
    type Error = D::Error;

    fn poll_link(&mut self) -> LinkState {
        let state = self.shared.with(|inside| inside.device.poll_link());
        state.unwrap_or(LinkState::Down)
    }

    fn halt(&mut self) {
        self.shared.with(|inside| inside.device.halt());
    }

    fn resume(&mut self) -> Result<(), Self::Error> {
        let resumed = self.shared.with(|inside| inside.device.resume());
        self.shared.receive_all();
        resumed.unwrap_or(Ok(()))
    }
}

/// A frame in the queue.
pub struct QueuedFrame<'a>(Frame<'a, 'static, WORDS>);

impl RxToken for QueuedFrame<'_> {
    #[inline]
    fn peek(&mut self) -> &mut [u8] {
        &mut self.0
    }

    #[inline]
    fn consume<R>(mut self, f: impl FnOnce(&mut [u8]) -> R) -> R {
        f(&mut self.0)
    }
}

/// Transmit buffer for a frame; only the main loop sends.
pub struct PerFrameTxSlot<D: 'static>(&'static Shared<D>);

impl<D: InterruptDriven> TxToken for PerFrameTxSlot<D> {
    fn consume<R>(self, len: usize, f: impl FnOnce(&mut [u8]) -> R) -> Result<R, FrameTooLong> {
        let send = |inside: &mut SharedState<D>| Some(inside.device.transmit()?.consume(len, f));
        // There is space, as nobody else sends.
        let sent = self.0.with(send).flatten();
        sent.unwrap_or(Err(FrameTooLong { len, max: LONGEST }))
    }
}

#[cfg(test)]
mod tests;
