//! The program `udp_sink`: receives the datagrams of an iperf 2 client through the unchanged driver, and spends a
//! stated number of cycles where a kernel would work: per interrupt, per turn of polling, per frame in the driver,
//! per frame in the stack, per datagram in the process that reads the socket. [`boot`] lists its settings.
//!
//! As in Linux 3.0, an interrupt goes before everything, the stack before the process, and the process runs when
//! nothing waits for the stack. Only polling whose budget is used up alternates with the process.

#![no_std]
#![no_main]

mod boot;
#[path = "../../../riscv/connect.rs"]
mod connect;
mod datagrams;
mod interrupt;
#[path = "../../../riscv/interrupts.rs"]
mod interrupts;
#[path = "../machine.rs"]
mod machine;
mod network;
mod spend;
#[path = "../../../riscv/start.rs"]
mod start;

use core::arch::asm;
use linerate_agent_firmware::console::event;
use linerate_nic::enet as mac;
use linerate_nic::ledger::Ledger;

use boot::Boot;
use datagrams::{Count, Datagram, Queue, Sink, count, counted};
use interrupt::Received;
use spend::spend;

/// The driver's counters.
pub static LINERATE_LEDGER: Ledger = Ledger::new();

fn main() -> ! {
    let (mut machine, boot, device) = network::start();
    interrupt::share(device, boot);
    count(Count::Ready, 1);
    event(
        &mut machine,
        "ready",
        format_args!("\"program\":\"udp_sink\""),
    );
    serve(&boot)
}

/// The stack, and the process that reads its socket.
struct Receiver<'a> {
    boot: &'a Boot,
    socket: Queue,
    process: Sink,
}

/// The main loop: turns of polling, the backlog, then the process, sleep.
fn serve(boot: &Boot) -> ! {
    let mut receiver = Receiver {
        boot,
        socket: Queue::new(),
        process: Sink::new(),
    };
    // Frames of the backlog in a row.
    let mut in_a_row = 0;
    loop {
        if interrupt::is_scheduled() {
            receiver.take_turn();
            if interrupt::is_scheduled() {
                // Frames were left: the next turn is that of a thread, which alternates with the process.
                let mut left = boot.budget;
                while left > 0 && receiver.run_process() {
                    left -= 1;
                }
            }
        } else if let Some(datagram) = interrupt::next_of_backlog() {
            receiver.pass(datagram);
            in_a_row += 1;
            if boot.restart > 0 && in_a_row >= boot.restart {
                // From here on a thread does the work of the soft interrupt, and the process gets its turn; in Linux 3.0
                // the end of an interrupt resumes the soft interrupt even so.
                in_a_row = 0;
                let before = counted(Count::Interrupts);
                let mut left = boot.socket;
                while left > 0 && receiver.run_process() {
                    left -= 1;
                    if boot.resumes && counted(Count::Interrupts) != before {
                        break;
                    }
                }
            }
        } else {
            in_a_row = 0;
            if !receiver.run_process() && boot.waits {
                sleep();
            }
        }
    }
}

impl Receiver<'_> {
    /// A turn of polling with its budget.
    fn take_turn(&mut self) {
        count(Count::Turns, 1);
        spend(self.boot.turn_cycles);
        let mut left = self.boot.budget;
        while left > 0 {
            let Some(look) = interrupt::with(interrupt::Shared::receive) else {
                return;
            };
            for _ in 0..self.boot.passed(&look) {
                spend(self.boot.frame_cycles);
                self.pass(Datagram::BAD);
            }
            // Each descriptor is one of the budget.
            left = left.saturating_sub(look.overruns + look.parts);
            match look.frame {
                Received::Nothing => {
                    interrupt::with(interrupt::Shared::end_turn);
                    return;
                }
                Received::Other => spend(self.boot.frame_cycles),
                Received::Datagram(datagram) => {
                    spend(self.boot.frame_cycles);
                    self.pass(datagram);
                }
            }
            left = left.saturating_sub(1);
        }
    }

    /// Passes a frame through the stack into the socket.
    fn pass(&mut self, datagram: Datagram) {
        if datagram.is_bad() {
            spend(self.boot.bad_cycles);
            count(Count::BadFrames, 1);
        } else {
            spend(self.boot.stack_cycles);
            self.socket
                .push(datagram, self.boot.socket, Count::SocketFull);
        }
    }

    /// The process reads a datagram. False if there is none.
    fn run_process(&mut self) -> bool {
        let Some(datagram) = self.socket.pop() else {
            return false;
        };
        spend(self.boot.process_cycles);
        self.process.receive(datagram);
        true
    }
}

/// Sleeps until an interrupt, unless one has left something to do.
fn sleep() {
    // SAFETY: a pending interrupt ends `wfi` even while interrupts are masked; it is taken after that.
    unsafe { asm!("csrci mstatus, 8") };
    if interrupt::is_idle() {
        count(Count::Sleeps, 1);
        // SAFETY: waits.
        unsafe { asm!("wfi") };
    }
    // SAFETY: interrupts were on before.
    unsafe { asm!("csrsi mstatus, 8") };
}
