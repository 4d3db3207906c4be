//! A network device whose frames cost the cycles of a kernel beside the driver's own work.

use linerate_ether::frame::MacAddress;
use linerate_ether::ledger::Counter;
use linerate_nic::device::{
    Capabilities, Device, FrameTooLong, InterruptDriven, LinkState, Managed, RxToken, TxToken,
};

use crate::LINERATE_LEDGER;
use crate::boot::Boot;
use crate::counts::{Count, count};
use crate::spend::spend;

/// Shortest frame with data of a process; acknowledgments are shorter.
const DATA_LEN: usize = 100;

/// Cycles per frame, in both directions: driver, stack, process.
#[derive(Clone, Copy)]
struct FrameCosts {
    frame: u32,
    stack: u32,
    process: u32,
}

impl FrameCosts {
    fn of(self, len: usize) -> u32 {
        let process = if len < DATA_LEN { 0 } else { self.process };
        self.frame + self.stack + process
    }
}

/// The device.
pub struct Costly<D> {
    device: D,
    boot: Boot,
    overruns: u32,
}

impl<D> Costly<D> {
    /// `device` with the cycles of `boot`.
    pub const fn new(device: D, boot: Boot) -> Self {
        Self {
            device,
            boot,
            overruns: 0,
        }
    }

    fn costs(&self) -> FrameCosts {
        FrameCosts {
            frame: self.boot.frame_cycles,
            stack: self.boot.stack_cycles,
            process: self.boot.process_cycles,
        }
    }

    /// Spends what the frames with an overrun since the last call cost: nothing more, if they are dropped before the copy.
    fn account_for_overruns(&mut self) {
        let overruns = LINERATE_LEDGER.get(Counter::RxFifoOverruns);
        let before = core::mem::replace(&mut self.overruns, overruns);
        if self.boot.drops_errors {
            return;
        }
        for _ in 0..overruns.wrapping_sub(before) {
            spend(self.boot.frame_cycles + self.boot.bad_cycles);
        }
    }
}

impl<D: Device> Device for Costly<D> {
    type RxToken<'a>
        = D::RxToken<'a>
    where
        Self: 'a;
    type TxToken<'a>
        = CostlySlot<D::TxToken<'a>>
    where
        Self: 'a;

    fn receive(&mut self) -> Option<(Self::RxToken<'_>, Self::TxToken<'_>)> {
        self.account_for_overruns();
        let costs = self.costs();
        let (mut frame, slot) = self.device.receive()?;
        count(Count::Received, 1);
        spend(costs.of(frame.peek().len()));
        Some((frame, CostlySlot { slot, costs }))
    }

    fn transmit(&mut self) -> Option<Self::TxToken<'_>> {
        let costs = self.costs();
        let slot = self.device.transmit()?;
        Some(CostlySlot { slot, costs })
    }

    fn has_pending_tx(&self) -> bool {
        self.device.has_pending_tx()
    }

    fn capabilities(&self) -> Capabilities {
        self.device.capabilities()
    }

    fn link_state(&self) -> LinkState {
        self.device.link_state()
    }

    fn mac_address(&self) -> MacAddress {
        self.device.mac_address()
    }
}

impl<D: InterruptDriven> InterruptDriven for Costly<D> {
    fn unmask(&mut self) -> bool {
        self.device.unmask()
    }

    fn mask(&mut self) {
        self.device.mask();
    }

    fn sleep_until_frame(&mut self, sleep: impl FnOnce()) {
        self.device.sleep_until_frame(sleep);
        // Of the MAC or of the timer.
        count(Count::Interrupts, 1);
        spend(self.boot.interrupt_cycles + self.boot.turn_cycles);
    }
}

impl<D: Managed> Managed for Costly<D> {
    type Error = D::Error;

    fn poll_link(&mut self) -> LinkState {
        self.device.poll_link()
    }

    fn halt(&mut self) {
        self.device.halt();
    }

    fn resume(&mut self) -> Result<(), Self::Error> {
        self.device.resume()
    }
}

/// A transmit buffer.
pub struct CostlySlot<T> {
    slot: T,
    costs: FrameCosts,
}

impl<T: TxToken> TxToken for CostlySlot<T> {
    fn consume<R>(self, len: usize, f: impl FnOnce(&mut [u8]) -> R) -> Result<R, FrameTooLong> {
        spend(self.costs.of(len));
        count(Count::Sent, 1);
        self.slot.consume(len, f)
    }
}
