//! Counted cycles of a loop beside those it was written for.

/// Measured duration of one of the loops on this core.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoopCount {
    /// The loop, and the meaning of a round.
    pub what: &'static str,
    /// Counted cycles.
    pub cycles: u32,
    /// Number of rounds.
    pub rounds: u32,
    /// Designed cycles of a round.
    pub written: u32,
}

impl LoopCount {
    /// Cycles of a round, in thousandths.
    pub const fn millicycles(&self) -> u32 {
        self.cycles * 1000 / self.rounds
    }

    /// True if the duration is as designed; a loop that synchronizes to the clock may end a cycle early or
    /// late.
    ///
    /// The transmit loop also synchronizes while it is counted: it shows 128 even if an octet alone takes a
    /// cycle more or less. It compensates for that on the line.
    pub const fn holds(&self) -> bool {
        self.cycles.abs_diff(self.written * self.rounds) <= 1
    }
}
