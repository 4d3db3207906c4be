//! Idle time of a kernel: in the WAIT mode up to the next tick of its timer, or running.

use core::fmt;
use linerate_agent::Instant;
use linerate_agent_firmware::Machine;

use crate::counts::{Count, count};
use crate::machine::{self, Board};

/// The machine with the idle time of a kernel.
pub struct Idle {
    board: Board,
    /// True: it sleeps when idle.
    waits: bool,
    /// Time from tick to tick.
    tick_ns: u64,
}

impl Idle {
    /// `tick_ns`: timers expire at multiples of it.
    pub const fn new(board: Board, waits: bool, tick_ns: u64) -> Self {
        Self {
            board,
            waits,
            tick_ns,
        }
    }
}

impl fmt::Write for Idle {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.board.write_str(text)
    }
}

impl Machine for Idle {
    fn now(&self) -> Instant {
        self.board.now()
    }

    fn read_console(&mut self) -> Option<u8> {
        self.board.read_console()
    }

    fn sleep(&mut self, until: Instant) {
        if self.waits {
            let now = self.board.now().ns();
            let tick = (now / self.tick_ns + 1) * self.tick_ns;
            count(Count::Sleeps, 1);
            self.board.sleep(Instant::from_ns(tick));
            return;
        }
        while !machine::is_interrupted() && self.board.now() < until {}
    }

    fn seed(&mut self) -> u64 {
        self.board.seed()
    }
}
