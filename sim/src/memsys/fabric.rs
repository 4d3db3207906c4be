//! From the masters' ports to the memories and back.

use super::dram::{Dram, DramStatistics};
use super::static_memory::{Service, StaticMemory};
use super::topology::{ControllerConfig, Hop, Topology, TopologyError};
use super::{align, transfers};

/// A request of a master: within one target, and within one row of a DRAM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Number of the master in [`Topology::masters`].
    pub master: usize,
    /// First address.
    pub addr: u32,
    /// Length in bytes.
    pub bytes: u32,
    /// True for a write.
    pub write: bool,
}

/// When a request is complete, in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The first word is at the master, or accepted.
    pub first: u64,
    /// The last word is.
    pub last: u64,
}

/// Counts of a master.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MasterStatistics {
    /// Requests.
    pub requests: u64,
    /// Bytes.
    pub bytes: u64,
    /// Ticks that its requests waited for an arbiter.
    pub waited: u64,
}

#[derive(Clone, Debug)]
enum Controller {
    Static(StaticMemory),
    Dram(Box<Dram>),
}

#[derive(Clone, Debug)]
struct Target {
    base: u32,
    size: u32,
    controller: Controller,
    /// Period of the controller's clock.
    period: u64,
}

/// Buses, bridges and memories: all times are in ticks.
#[derive(Clone, Debug)]
pub struct Fabric {
    targets: Vec<Target>,
    /// By master and target.
    routes: Vec<Vec<Option<Box<[Hop]>>>>,
    /// When each arbiter is free.
    free: Vec<u64>,
    /// Clock and largest turn of each master, in transfers; 0 is unlimited.
    masters: Vec<(u64, u32)>,
    statistics: Vec<MasterStatistics>,
    /// The target of the last request: most requests go to the same one.
    last_target: usize,
}

impl Fabric {
    /// The fabric with everything free.
    ///
    /// # Errors
    /// As [`Topology::check`].
    pub fn new(topology: &Topology) -> Result<Self, TopologyError> {
        topology.check()?;
        let targets = topology.targets.iter().map(|target| {
            let (controller, period) = match &target.controller {
                ControllerConfig::Static(config) => (
                    Controller::Static(StaticMemory::new(*config)),
                    config.period,
                ),
                ControllerConfig::Dram(config) => (
                    Controller::Dram(Box::new(Dram::new(*config))),
                    config.period,
                ),
            };
            Target {
                base: target.base,
                size: target.size,
                controller,
                period,
            }
        });
        let route = |bus| {
            (0..topology.targets.len())
                .map(|target| Some(topology.route(bus, target)?.into_boxed_slice()))
                .collect()
        };
        Ok(Self {
            targets: targets.collect(),
            routes: topology
                .masters
                .iter()
                .map(|master| route(master.bus))
                .collect(),
            free: vec![0; topology.arbiters()],
            masters: topology
                .masters
                .iter()
                .map(|master| (master.period, master.shares))
                .collect(),
            statistics: vec![MasterStatistics::default(); topology.masters.len()],
            last_target: 0,
        })
    }

    /// Counts of a master.
    pub fn statistics(&self, master: usize) -> MasterStatistics {
        self.statistics[master]
    }

    /// Counts of a target that is a DRAM, by its number in [`Topology::targets`].
    pub fn dram_statistics(&self, target: usize) -> Option<DramStatistics> {
        match &self.targets.get(target)?.controller {
            Controller::Dram(dram) => Some(dram.statistics()),
            Controller::Static(_) => None,
        }
    }

    /// A target's DRAM controller, for a record of its commands.
    pub fn dram_mut(&mut self, target: usize) -> Option<&mut Dram> {
        match &mut self.targets.get_mut(target)?.controller {
            Controller::Dram(dram) => Some(dram),
            Controller::Static(_) => None,
        }
    }

    /// True if `master` reaches something at `addr`.
    pub fn reaches(&mut self, master: usize, addr: u32) -> bool {
        self.target_at(addr)
            .is_some_and(|target| self.routes[master][target].is_some())
    }

    /// Performs a request that the master issues at `at`, an edge of its clock; `None` if nothing is there. Requests are
    /// granted in the order of calls.
    pub fn request(&mut self, request: Request, at: u64) -> Option<Completion> {
        let number = self.target_at(request.addr)?;
        let route = self.routes[request.master][number].as_deref()?;
        let statistics = &mut self.statistics[request.master];
        statistics.requests += 1;
        statistics.bytes += u64::from(request.bytes);
        let (period, shares) = self.masters[request.master];
        let path = Path {
            period,
            hops: route,
            target: &mut self.targets[number],
            free: &mut self.free,
            waited: &mut statistics.waited,
        };
        let turn = shares.saturating_mul(route[0].width);
        if turn == 0 || turn >= request.bytes {
            return Some(path.pass(request, at));
        }
        Some(path.pass_in_turns(request, turn, at))
    }

    fn target_at(&mut self, addr: u32) -> Option<usize> {
        let holds = |target: &Target| addr.wrapping_sub(target.base) < target.size;
        if !self.targets.get(self.last_target).is_some_and(holds) {
            self.last_target = self.targets.iter().position(holds)?;
        }
        Some(self.last_target)
    }
}

/// A route to a target.
struct Path<'a> {
    /// Period of the master's clock.
    period: u64,
    hops: &'a [Hop],
    target: &'a mut Target,
    free: &'a mut [u64],
    waited: &'a mut u64,
}

impl Path<'_> {
    /// A request in turns: each is issued when the arbiter of the first bus is free again.
    fn pass_in_turns(mut self, request: Request, turn: u32, mut at: u64) -> Completion {
        let mut first = None;
        let mut offset = 0;
        loop {
            let bytes = turn.min(request.bytes - offset);
            let part = Request {
                addr: request.addr + offset,
                bytes,
                ..request
            };
            let completion = self.pass_by_reference(part, at);
            let first = *first.get_or_insert(completion.first);
            offset += bytes;
            if offset == request.bytes {
                return Completion {
                    first,
                    last: completion.last,
                };
            }
            at = at.max(self.free[self.hops[0].arbiter]);
        }
    }

    fn pass(mut self, request: Request, at: u64) -> Completion {
        self.pass_by_reference(request, at)
    }

    fn pass_by_reference(&mut self, request: Request, at: u64) -> Completion {
        let Request {
            addr, bytes, write, ..
        } = request;
        let (mut time, mut clock) = (at, self.period);
        let mut posted = None;
        let last_hop = self.hops.len() - 1;
        for (number, hop) in self.hops.iter().enumerate() {
            let arrival = align(time, clock, hop.period);
            let start = arrival.max(self.free[hop.arbiter]);
            *self.waited += start - arrival;
            let transferred = start + hop.beats(bytes) * hop.period;
            if number < last_hop {
                self.free[hop.arbiter] = transferred;
                if write && hop.posts_writes && posted.is_none() {
                    posted = Some(transferred);
                }
            }
            (time, clock) = (start + hop.request, hop.period);
        }
        let hop = &self.hops[last_hop];
        let arrival = align(time, clock, self.target.period);
        let service = self.target.serve(addr, bytes, write, arrival);
        // The target's own arbiter: a bridge's or bus's is set above or below.
        let accepted = align(service.free, self.target.period, hop.period);
        let transferred = time - hop.request + hop.beats(bytes) * hop.period;
        self.free[hop.arbiter] = accepted.max(transferred);
        let completion = self.respond(service, bytes, write);
        match posted {
            Some(at) => Completion {
                first: at,
                last: at,
            },
            None => completion,
        }
    }

    /// The way back, which ends the use of shared buses.
    fn respond(&mut self, service: Service, bytes: u32, write: bool) -> Completion {
        let Service {
            mut first,
            mut last,
            ..
        } = service;
        let mut clock = self.target.period;
        for hop in self.hops.iter().rev() {
            let response = if write { 0 } else { hop.response };
            first = align(first, clock, hop.period) + response;
            let transferred = first + (hop.beats(bytes) - 1) * hop.period;
            last = (align(last, clock, hop.period) + response).max(transferred);
            clock = hop.period;
            if hop.is_shared {
                let free = &mut self.free[hop.arbiter];
                *free = (*free).max(last);
            }
        }
        Completion { first, last }
    }
}

impl Target {
    fn serve(&mut self, addr: u32, bytes: u32, write: bool, at: u64) -> Service {
        match &mut self.controller {
            Controller::Static(memory) => memory.serve(bytes, write, at),
            Controller::Dram(dram) => dram.serve(addr - self.base, bytes, write, at),
        }
    }
}

impl Hop {
    /// Transfers of a request on this bus.
    fn beats(&self, bytes: u32) -> u64 {
        u64::from(transfers(bytes, self.width))
    }
}
