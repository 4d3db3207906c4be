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
use crate::machine::HERTZ;
use crate::network::Network;
use crate::spend::spend;

/// Outcome of a look at the ring: frames that end in the driver, and the first one that does not.
pub struct Look {
    /// Frames with an overrun.
    pub overruns: u32,
    /// Buffers in which no frame ended.
    pub parts: u32,
    /// The frame after them.
    pub frame: Received,
}

/// A frame of the ring.
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
    /// Overruns and parts of frames that have been accounted for.
    overruns: u32,
    parts: u32,
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
            parts: 0,
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

/// Writes a line of so many characters to a serial console of this rate, without an interrupt meanwhile, as a kernel does that
/// waits for each character: a start bit, 8 data bits and a stop bit.
fn log(characters: u32, baud: u32) {
    let cycles = u64::from(characters) * 10 * HERTZ / u64::from(baud);
    critical_section::with(|_| spend(u32::try_from(cycles).unwrap_or(u32::MAX)));
}

impl Boot {
    /// Frames that end in the driver which `fec.c` copies and passes to the stack: those with an overrun, unless it drops them,
    /// and, after a line in the log, each buffer in which no frame ended.
    pub fn passed(&self, look: &Look) -> u32 {
        for _ in 0..look.parts {
            count(Count::Parts, 1);
            log(self.log_characters, self.baud);
        }
        let overruns = if self.drops_errors { 0 } else { look.overruns };
        look.parts + overruns
    }
}

impl Shared {
    /// Takes the next frame, and those before it that the driver drops.
    pub fn receive(&mut self) -> Look {
        let frame = self.device.receive().map(|(mut frame, _)| {
            let datagram = Datagram::parse(frame.peek());
            frame.consume(|_| ());
            datagram.map_or(Received::Other, Received::Datagram)
        });
        let overruns = LINERATE_LEDGER.get(Counter::RxFifoOverruns);
        let parts = self.device.parts();
        Look {
            overruns: overruns.wrapping_sub(core::mem::replace(&mut self.overruns, overruns)),
            parts: parts.wrapping_sub(core::mem::replace(&mut self.parts, parts)),
            frame: frame.unwrap_or(Received::Nothing),
        }
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
                let look = self.receive();
                for _ in 0..self.boot.passed(&look) {
                    spend(frame_cycles);
                    self.backlog
                        .push(Datagram::BAD, backlog, Count::BacklogFull);
                }
                match look.frame {
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
