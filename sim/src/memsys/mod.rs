//! The time that accesses to memory take: caches, buses with arbitration, bridges, and controllers
//! of on-chip memory, SSRAM, SDRAM and DDR.
//!
//! The contents are elsewhere ([`crate::mem::Memory`]): here are tags, open rows and the times at
//! which each resource is free again. Times are ticks of [`crate::time`], so clocks of different
//! frequency meet without rounding.
//!
//! # Rules
//! 1. Each master has one request at a time. Requests are granted in the order in which masters
//!    issue them, so a waiting master is served before the last one is served again. At the same
//!    time, a device's request precedes the hart's.
//! 2. A request passes the buses of its route. On each it waits until the arbiter is free, then takes
//!    the bus's request cycles; the response takes the response cycles of the same buses in reverse
//!    order. A clock-crossing bridge aligns it to the next clock edge of the other side.
//! 3. A crossbar has an arbiter for each target, free again as soon as the target accepts the next
//!    request. A shared bus has one, which is free when the response is complete.
//! 4. A request longer than the master's share is split into turns; other masters' requests may come
//!    between.
//! 5. A write is complete when the memory, or a bridge that posts writes, has accepted it.
//! 6. The hart waits for a line until it is complete or, with the critical word first, until that word
//!    arrives; the next miss of the same port waits for the rest.
//! 7. A dirty line is written before the fill, or after it from a write buffer. A load that misses, and
//!    any access that bypasses the cache, waits until the write buffer is empty.
//! 8. A flush removes a line from the data cache. A modified line goes to the write buffer, which has room for it.
//!
//! [`Fabric`] is the part from the masters' ports to the memories, [`HartPorts`] the hart's caches
//! and write buffer. Whoever owns both implements [`Bus`], where other masters get their turn.

mod cache;
mod dram;
mod fabric;
mod ports;
mod static_memory;
mod topology;

pub use cache::{Access, Cache, Geometry};
pub use dram::{Command, CommandKind, Dram, DramConfig, DramStatistics};
pub use fabric::{Completion, Fabric, MasterStatistics, Request};
pub use ports::{Bus, CacheConfig, HartPorts, PortConfig, PortStatistics, Resume, WritePolicy};
pub use static_memory::{StaticConfig, StaticMemory};
pub use topology::{
    Arbitration, BridgeConfig, BusConfig, ControllerConfig, MasterConfig, TargetConfig, Topology,
    TopologyError,
};

/// The first edge of the clock with period `to` at or after `at`, an edge of the clock with period
/// `from`.
#[inline]
fn align(at: u64, from: u64, to: u64) -> u64 {
    if from == to {
        at
    } else {
        at.next_multiple_of(to)
    }
}

/// Transfers of `unit` bytes, a power of two, that `bytes` take: at least one. A shift is faster than a division, and each
/// request asks several times.
#[inline]
fn transfers(bytes: u32, unit: u32) -> u32 {
    debug_assert!(unit.is_power_of_two(), "{unit} bytes");
    ((bytes + (unit - 1)) >> unit.trailing_zeros()).max(1)
}
