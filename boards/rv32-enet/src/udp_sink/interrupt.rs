//! The interrupt of the MAC: it receives frames into a backlog, or only schedules a turn.

use core::cell::RefCell;
use core::sync::atomic::{AtomicBool, Ordering};

use critical_section::Mutex;
use linerate_ether::ledger::Counter;
use linerate_nic::device::{Device, InterruptDriven, RxToken};

use crate::LINERATE_LEDGER;
use crate::boot::Boot;
use crate::datagrams::{Count, Datagram, Queue, count};
use crate::interrupts;
use crate::network::Network;
use crate::spend::spend;

/// Outcome of a look at the ring.
pub enum Received {
    /// There is no frame.
    Nothing,
    /// A frame that is no datagram for this program.
    Other,
    /// A datagram.
    Datagram(Datagram),
}

/// What handler and main loop share.
pub struct Shared {
    pub device: Network,
    /// Datagrams that wait for the stack.
    backlog: Queue,
    boot: Boot,
    /// Overruns that have been accounted for.
    overruns: u32,
}

static SHARED: Mutex<RefCell<Option<Shared>>> = Mutex::new(RefCell::new(None));
/// A turn of polling is due.
static IS_SCHEDULED: AtomicBool = AtomicBool::new(false);

/// Passes the device to the handler; interrupts are taken from now on.
pub fn share(device: Network, boot: Boot) {
    critical_section::with(|cs| {
        SHARED.borrow_ref_mut(cs).replace(Shared {
            device,
            backlog: Queue::new(),
            boot,
            overruns: 0,
        })
    });
    // A frame may have arrived already.
    handle();
    // SAFETY: the handler shares data with the program through `critical_section` only.
    unsafe { interrupts::enable() };
}

/// Calls `with` while no interrupt is taken.
pub fn with<R>(with: impl FnOnce(&mut Shared) -> R) -> Option<R> {
    critical_section::with(|cs| SHARED.borrow_ref_mut(cs).as_mut().map(with))
}

/// True if a turn of polling is due.
pub fn is_scheduled() -> bool {
    IS_SCHEDULED.load(Ordering::Relaxed)
}

/// The next datagram of the backlog.
pub fn next_of_backlog() -> Option<Datagram> {
    with(|shared| shared.backlog.pop()).flatten()
}

/// True if there is nothing to do.
pub fn is_idle() -> bool {
    !is_scheduled() && with(|shared| shared.backlog.is_empty()) == Some(true)
}

impl Shared {
    /// The next frame, and the number of frames with an overrun before it.
    pub fn receive(&mut self) -> (u32, Received) {
        let frame = self.device.receive().map(|(mut frame, _)| {
            let datagram = Datagram::parse(frame.peek());
            frame.consume(|_| ());
            datagram.map_or(Received::Other, Received::Datagram)
        });
        let overruns = LINERATE_LEDGER.get(Counter::RxFifoOverruns);
        let new = overruns.wrapping_sub(core::mem::replace(&mut self.overruns, overruns));
        (new, frame.unwrap_or(Received::Nothing))
    }

    /// Ends the polling, unless a frame has arrived meanwhile.
    pub fn end_turn(&mut self) {
        IS_SCHEDULED.store(!self.device.unmask(), Ordering::Relaxed);
    }

    fn on_interrupt(&mut self) {
        let Boot {
            interrupt_cycles,
            frame_cycles,
            polls,
            drops_errors,
            backlog,
            ..
        } = self.boot;
        count(Count::Interrupts, 1);
        spend(interrupt_cycles);
        self.device.mask();
        if polls {
            IS_SCHEDULED.store(true, Ordering::Relaxed);
            return;
        }
        loop {
            loop {
                let (bad, frame) = self.receive();
                for _ in 0..bad {
                    spend(frame_cycles);
                    if !drops_errors {
                        self.backlog
                            .push(Datagram::BAD, backlog, Count::BacklogFull);
                    }
                }
                match frame {
                    Received::Nothing => break,
                    Received::Other => spend(frame_cycles),
                    Received::Datagram(datagram) => {
                        spend(frame_cycles);
                        self.backlog.push(datagram, backlog, Count::BacklogFull);
                    }
                }
            }
            if self.device.unmask() {
                return;
            }
            self.device.mask();
        }
    }
}

/// Receives what the device has, or schedules a turn.
pub extern "C" fn handle() {
    with(Shared::on_interrupt);
}
