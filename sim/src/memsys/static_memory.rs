//! Memories and devices whose access time does not depend on earlier addresses: on-chip memory,
//! SSRAM, registers.

use super::transfers;

/// Timing, in cycles of its clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StaticConfig {
    /// Period of its clock in ticks.
    pub period: u64,
    /// Bytes that it transfers at once.
    pub width: u32,
    /// Cycles from the address to the first data of a read.
    pub read_cycles: u32,
    /// Cycles from address and data to the acceptance of a write.
    pub write_cycles: u32,
    /// Cycles from one transfer of a request to the next.
    pub beat_cycles: u32,
    /// True if it accepts the next address while data of the last read are on their way.
    pub is_pipelined: bool,
}

/// When a memory serves a request, in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Service {
    /// The first data are read, or accepted.
    pub first: u64,
    /// The last data are.
    pub last: u64,
    /// It accepts the next request.
    pub free: u64,
}

/// Its controller.
#[derive(Clone, Debug)]
pub struct StaticMemory {
    config: StaticConfig,
}

impl StaticMemory {
    /// A controller that is free.
    pub fn new(config: StaticConfig) -> Self {
        Self { config }
    }

    /// Serves a request that arrives at `at`, a clock edge at which the controller is free.
    pub(super) fn serve(&self, bytes: u32, write: bool, at: u64) -> Service {
        let StaticConfig { period, width, .. } = self.config;
        let beats = u64::from(transfers(bytes, width));
        let beat = u64::from(self.config.beat_cycles.max(1)) * period;
        let latency = if write {
            self.config.write_cycles
        } else {
            self.config.read_cycles
        };
        let first = at + u64::from(latency) * period;
        let last = first + (beats - 1) * beat;
        let addresses = at + beats * beat;
        let free = if self.config.is_pipelined {
            addresses
        } else {
            addresses.max(last)
        };
        Service { first, last, free }
    }
}
