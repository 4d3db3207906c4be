//! Description of buses, bridges, masters and memories, and the routes through them.

use super::dram::DramConfig;
use super::static_memory::StaticConfig;

/// Arbitration of a bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arbitration {
    /// A crossbar: an arbiter in front of each target.
    PerTarget,
    /// One arbiter; a request keeps the bus until its response is complete.
    Shared,
}

/// A bus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BusConfig {
    /// Name, for messages.
    pub name: String,
    /// Period of its clock in ticks.
    pub period: u64,
    /// Bytes that it transfers at once.
    pub width: u32,
    /// Cycles from grant to target.
    pub request_cycles: u32,
    /// Cycles from target to master.
    pub response_cycles: u32,
    /// Arbitration.
    pub arbitration: Arbitration,
}

/// A bridge: a target of one bus, a master of another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BridgeConfig {
    /// Name, for messages.
    pub name: String,
    /// Number of the bus whose requests it passes on.
    pub from: usize,
    /// Number of the bus that it passes them to.
    pub to: usize,
    /// Cycles of the target side's clock for a request.
    pub request_cycles: u32,
    /// Cycles of the master side's clock for a response.
    pub response_cycles: u32,
    /// True if a master's write is complete when the bridge has accepted it.
    pub posts_writes: bool,
}

/// Timing of a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ControllerConfig {
    /// Constant access time.
    Static(StaticConfig),
    /// SDRAM or DDR.
    Dram(DramConfig),
}

/// A memory or device on a bus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetConfig {
    /// Name, for messages.
    pub name: String,
    /// Number of its bus.
    pub bus: usize,
    /// First address.
    pub base: u32,
    /// Size in bytes.
    pub size: u32,
    /// Timing.
    pub controller: ControllerConfig,
}

/// A bus master.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MasterConfig {
    /// Name, for messages.
    pub name: String,
    /// Number of its bus.
    pub bus: usize,
    /// Period of the clock on whose edges it issues requests, in ticks.
    pub period: u64,
    /// Transfers of its turn while others wait; 0 for a whole request.
    pub shares: u32,
}

/// All of them. The numbers of buses are indices of [`Self::buses`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Topology {
    /// Buses.
    pub buses: Vec<BusConfig>,
    /// Bridges.
    pub bridges: Vec<BridgeConfig>,
    /// Memories and devices.
    pub targets: Vec<TargetConfig>,
    /// Masters.
    pub masters: Vec<MasterConfig>,
}

/// Reason that a topology cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TopologyError {
    /// A bus number without bus.
    #[error("{name} is on bus {bus}, but there are {buses}")]
    NoBus {
        /// What is on it.
        name: String,
        /// The number.
        bus: usize,
        /// Number of buses.
        buses: usize,
    },
    /// Two targets at one address.
    #[error("{first} and {second} overlap at {addr:#010x}")]
    Overlap {
        /// One of them.
        first: String,
        /// The other.
        second: String,
        /// The first common address.
        addr: u32,
    },
    /// A target beyond the end of the address space, or without size.
    #[error("{name} at {base:#010x} cannot have {size} bytes")]
    Size {
        /// The target.
        name: String,
        /// Its base.
        base: u32,
        /// Its size.
        size: u32,
    },
}

/// One bus of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hop {
    /// Number of the arbiter.
    pub arbiter: usize,
    /// Period of the bus's clock.
    pub period: u64,
    /// Bytes that the bus transfers at once.
    pub width: u32,
    /// Ticks from grant to the next bus or the target.
    pub request: u64,
    /// Ticks from there back.
    pub response: u64,
    /// A request keeps the bus until its response.
    pub is_shared: bool,
    /// Writes are complete here.
    pub posts_writes: bool,
}

impl Topology {
    /// Checks numbers and addresses.
    ///
    /// # Errors
    /// [`TopologyError`] names what does not fit.
    pub fn check(&self) -> Result<(), TopologyError> {
        let buses = self.buses.len();
        let bridges = self
            .bridges
            .iter()
            .flat_map(|bridge| [(&bridge.name, bridge.from), (&bridge.name, bridge.to)]);
        let targets = self.targets.iter().map(|target| (&target.name, target.bus));
        let masters = self.masters.iter().map(|master| (&master.name, master.bus));
        for (name, bus) in bridges.chain(targets).chain(masters) {
            if bus >= buses {
                return Err(TopologyError::NoBus {
                    name: name.clone(),
                    bus,
                    buses,
                });
            }
        }
        for (index, target) in self.targets.iter().enumerate() {
            let TargetConfig {
                name, base, size, ..
            } = target;
            if *size == 0 || base.checked_add(size - 1).is_none() {
                return Err(TopologyError::Size {
                    name: name.clone(),
                    base: *base,
                    size: *size,
                });
            }
            let last = base + (size - 1);
            for other in &self.targets[..index] {
                let other_last = other.base + (other.size - 1);
                if *base <= other_last && other.base <= last {
                    return Err(TopologyError::Overlap {
                        first: other.name.clone(),
                        second: name.clone(),
                        addr: (*base).max(other.base),
                    });
                }
            }
        }
        Ok(())
    }

    /// Number of arbiters: of each bus, each bridge, each target.
    pub(super) fn arbiters(&self) -> usize {
        self.buses.len() + self.bridges.len() + self.targets.len()
    }

    /// The buses from a bus to a target with the fewest bridges; `None` if none leads there.
    pub(super) fn route(&self, from: usize, target: usize) -> Option<Vec<Hop>> {
        let goal = self.targets[target].bus;
        // The bridge by which each bus was reached first.
        let mut reached: Vec<Option<Option<usize>>> = vec![None; self.buses.len()];
        reached[from] = Some(None);
        let mut queue = std::collections::VecDeque::from([from]);
        while let Some(bus) = queue.pop_front() {
            for (number, bridge) in self.bridges.iter().enumerate() {
                if bridge.from == bus && reached[bridge.to].is_none() {
                    reached[bridge.to] = Some(Some(number));
                    queue.push_back(bridge.to);
                }
            }
        }
        let arbiter_of_target = self.buses.len() + self.bridges.len() + target;
        let mut hops = vec![self.hop(goal, arbiter_of_target, None)];
        let mut at = reached[goal]?;
        while let Some(number) = at {
            let bridge = &self.bridges[number];
            hops.push(self.hop(bridge.from, self.buses.len() + number, Some(bridge)));
            at = reached[bridge.from]?;
        }
        hops.reverse();
        Some(hops)
    }

    /// The hop over `bus` to a target, or to the bridge that follows.
    fn hop(&self, bus: usize, arbiter: usize, bridge: Option<&BridgeConfig>) -> Hop {
        let BusConfig {
            period,
            width,
            request_cycles,
            response_cycles,
            arbitration,
            ..
        } = self.buses[bus];
        let is_shared = arbitration == Arbitration::Shared;
        let ticks = |cycles: u32, period: u64| u64::from(cycles) * period;
        let mut hop = Hop {
            arbiter: if is_shared { bus } else { arbiter },
            period,
            width,
            request: ticks(request_cycles, period),
            response: ticks(response_cycles, period),
            is_shared,
            posts_writes: false,
        };
        if let Some(bridge) = bridge {
            hop.request += ticks(bridge.request_cycles, self.buses[bridge.to].period);
            hop.response += ticks(bridge.response_cycles, period);
            hop.posts_writes = bridge.posts_writes;
        }
        hop
    }
}
