//! The way of drivers before there was a budget, for comparison: the interrupt is always enabled, and its
//! handler takes in every frame that is there, into a queue. What comes faster than it can be taken in keeps
//! the processor in the handler, and from all else.

use core::cell::RefCell;
use critical_section::Mutex;
use linerate_ether::fcs;
use linerate_ether::frame::{MAX_LEN, MacAddress};
use linerate_nic::device::{
    Capabilities, Device, FrameTooLong, InterruptDriven, LinkState, Managed, RxToken, TxToken,
};
use linerate_nic::queue::{Consumer, Frame, Producer, Queue};

/// The longest frame, without FCS, and so many of them wait for the main loop: many more short ones.
const LONGEST: usize = MAX_LEN - fcs::LEN;
const WAITING: usize = 16;
const WORDS: usize = Queue::<0>::words_for(WAITING, LONGEST);

/// A device that the interrupt's handler and the main loop share, and the queue between them: a `static`.
pub struct Shared<D> {
    inside: Mutex<RefCell<Option<Inside<D>>>>,
    queue: Queue<WORDS>,
}

struct Inside<D> {
    device: D,
    queue: Producer<'static, WORDS>,
}

impl<D: InterruptDriven> Shared<D> {
    /// Without a device.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "it is for a `static`")]
    pub const fn new() -> Self {
        Self {
            inside: Mutex::new(RefCell::new(None)),
            queue: Queue::new(),
        }
    }

    /// Lends the device to the handler, which takes in frames from now on: the main loop's end of it. `None`:
    /// there is a device already.
    pub fn share(&'static self, device: D) -> Option<PerFrame<D>> {
        let (queue, waiting) = self.queue.split()?;
        let capabilities = device.capabilities();
        let address = device.mac_address();
        let inside = Inside { device, queue };
        critical_section::with(|cs| self.inside.borrow_ref_mut(cs).replace(inside));
        self.take_in();
        Some(PerFrame {
            shared: self,
            waiting,
            capabilities,
            address,
        })
    }

    /// What the interrupt's handler does: takes in frames until none is left. Those that find no room in the
    /// queue are let go of, and counted by the driver as what they are, rejected.
    pub fn take_in(&self) {
        self.with(|Inside { device, queue }| {
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

    fn with<R>(&self, f: impl FnOnce(&mut Inside<D>) -> R) -> Option<R> {
        critical_section::with(|cs| self.inside.borrow_ref_mut(cs).as_mut().map(f))
    }
}

/// The main loop's end of a device whose frames the interrupt's handler takes in.
pub struct PerFrame<D: 'static> {
    shared: &'static Shared<D>,
    waiting: Consumer<'static, WORDS>,
    capabilities: Capabilities,
    address: MacAddress,
}

impl<D: InterruptDriven> PerFrame<D> {
    fn has_room(&self) -> bool {
        let room = |inside: &mut Inside<D>| inside.device.transmit().is_some();
        self.shared.with(room) == Some(true)
    }
}

impl<D: InterruptDriven> Device for PerFrame<D> {
    type RxToken<'a> = Waiting<'a>;
    type TxToken<'a> = Room<D>;

    fn receive(&mut self) -> Option<(Self::RxToken<'_>, Self::TxToken<'_>)> {
        // A frame stays in the queue until it can be answered.
        if !self.has_room() {
            return None;
        }
        let frame = self.waiting.read()?;
        Some((Waiting(frame), Room(self.shared)))
    }

    fn transmit(&mut self) -> Option<Self::TxToken<'_>> {
        self.has_room().then_some(Room(self.shared))
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

/// It is never masked, but while the processor is about to sleep.
impl<D: InterruptDriven> InterruptDriven for PerFrame<D> {
    fn unmask(&mut self) -> bool {
        self.waiting.is_empty()
    }

    fn mask(&mut self) {}

    fn sleep_until_frame(&mut self, sleep: impl FnOnce()) {
        // What comes after the look into the queue is pending, and ends the sleep.
        critical_section::with(|_| {
            if self.waiting.is_empty() {
                sleep();
                self.shared.take_in();
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
        self.shared.take_in();
        resumed.unwrap_or(Ok(()))
    }
}

/// A frame in the queue.
pub struct Waiting<'a>(Frame<'a, 'static, WORDS>);

impl RxToken for Waiting<'_> {
    #[inline]
    fn peek(&mut self) -> &mut [u8] {
        &mut self.0
    }

    #[inline]
    fn consume<R>(mut self, f: impl FnOnce(&mut [u8]) -> R) -> R {
        f(&mut self.0)
    }
}

/// Room for a frame, which only the main loop sends.
pub struct Room<D: 'static>(&'static Shared<D>);

impl<D: InterruptDriven> TxToken for Room<D> {
    fn consume<R>(self, len: usize, f: impl FnOnce(&mut [u8]) -> R) -> Result<R, FrameTooLong> {
        let send = |inside: &mut Inside<D>| Some(inside.device.transmit()?.consume(len, f));
        // There is room, as nobody else sends.
        let sent = self.0.with(send).flatten();
        sent.unwrap_or(Err(FrameTooLong { len, max: LONGEST }))
    }
}

#[cfg(test)]
mod tests;
