//! The rules of the memory system, tick by tick, without any shortcut.

use std::collections::VecDeque;

use linerate_sim::memsys::{
    Access, Arbitration, CacheConfig, ControllerConfig, PortConfig, Request, Resume, Topology,
    WritePolicy,
};

use super::caches::Textbook;
use super::dram::ReferenceDram;

/// Buses and memories.
pub struct ReferenceFabric {
    topology: Topology,
    drams: Vec<Option<ReferenceDram>>,
    /// Until when each arbiter is taken: of buses, of bridges, of targets.
    taken: [Vec<u64>; 3],
}

/// First and last word.
pub type Times = (u64, u64);

fn edge(mut at: u64, period: u64) -> u64 {
    while !at.is_multiple_of(period) {
        at += 1;
    }
    at
}

impl ReferenceFabric {
    pub fn new(topology: &Topology) -> Self {
        let dram = |controller: &ControllerConfig| match controller {
            ControllerConfig::Dram(config) => Some(ReferenceDram::new(*config)),
            ControllerConfig::Static(_) => None,
        };
        Self {
            drams: topology
                .targets
                .iter()
                .map(|t| dram(&t.controller))
                .collect(),
            taken: [
                vec![0; topology.buses.len()],
                vec![0; topology.bridges.len()],
                vec![0; topology.targets.len()],
            ],
            topology: topology.clone(),
        }
    }

    pub fn request(&mut self, request: Request, at: u64) -> Option<Times> {
        let targets = &self.topology.targets;
        let target = targets
            .iter()
            .position(|t| request.addr >= t.base && request.addr - t.base < t.size)?;
        let master = &self.topology.masters[request.master];
        let (bus, shares) = (master.bus, master.shares);
        let bridges = self.path(bus, target, self.topology.buses.len())?;
        let turn = shares * self.topology.buses[bus].width;
        let (mut offset, mut at, mut first) = (0, at, None);
        loop {
            let left = request.bytes - offset;
            let bytes = if turn == 0 { left } else { left.min(turn) };
            let (start, end) = self.turn(
                Request {
                    addr: request.addr + offset,
                    bytes,
                    ..request
                },
                bus,
                &bridges,
                target,
                at,
            );
            first.get_or_insert(start);
            offset += bytes;
            if offset == request.bytes {
                return Some((first.unwrap(), end));
            }
            at = at.max(self.arbiter_of(bus, bridges.first().copied(), target));
        }
    }

    /// Bridges on the way, found by trying all.
    fn path(&self, bus: usize, target: usize, left: usize) -> Option<Vec<usize>> {
        if self.topology.targets[target].bus == bus {
            return Some(Vec::new());
        }
        if left == 0 {
            return None;
        }
        let bridges = self.topology.bridges.iter().enumerate();
        let ways = bridges.filter(|(_, bridge)| bridge.from == bus);
        let paths = ways.filter_map(|(number, bridge)| {
            let mut rest = self.path(bridge.to, target, left - 1)?;
            rest.insert(0, number);
            Some(rest)
        });
        paths.min_by_key(Vec::len)
    }

    fn arbiter(&mut self, bus: usize, bridge: Option<usize>, target: usize) -> &mut u64 {
        if self.topology.buses[bus].arbitration == Arbitration::Shared {
            &mut self.taken[0][bus]
        } else if let Some(bridge) = bridge {
            &mut self.taken[1][bridge]
        } else {
            &mut self.taken[2][target]
        }
    }

    fn arbiter_of(&mut self, bus: usize, bridge: Option<usize>, target: usize) -> u64 {
        *self.arbiter(bus, bridge, target)
    }

    /// One turn, from `bus` on; recursion passes the bridges.
    fn turn(
        &mut self,
        request: Request,
        bus: usize,
        bridges: &[usize],
        target: usize,
        at: u64,
    ) -> Times {
        let config = self.topology.buses[bus].clone();
        let beats = u64::from(request.bytes.div_ceil(config.width));
        let bridge = bridges.first().copied();
        let mut start = edge(at, config.period);
        while start < self.arbiter_of(bus, bridge, target) {
            start += config.period;
        }
        let end_of_transfer = start + beats * config.period;
        let arrival = start + u64::from(config.request_cycles) * config.period;
        let (first, last, posted) = if let Some(number) = bridge {
            let bridge = self.topology.bridges[number].clone();
            *self.arbiter(bus, Some(number), target) = end_of_transfer;
            let next = self.topology.buses[bridge.to].period;
            let arrival = arrival + u64::from(bridge.request_cycles) * next;
            let (first, last) = self.turn(request, bridge.to, &bridges[1..], target, arrival);
            let back = u64::from(bridge.response_cycles) * config.period;
            let back = if request.write { 0 } else { back };
            let (first, last) = (edge(first, config.period), edge(last, config.period));
            let posted = request.write && bridge.posts_writes;
            (first + back, last + back, posted)
        } else {
            let (first, last, free) = self.serve(target, request, arrival);
            let free = edge(free, config.period).max(end_of_transfer);
            *self.arbiter(bus, None, target) = free;
            (edge(first, config.period), edge(last, config.period), false)
        };
        let back = if request.write {
            0
        } else {
            u64::from(config.response_cycles) * config.period
        };
        let first = first + back;
        let last = (last + back).max(first + (beats - 1) * config.period);
        if config.arbitration == Arbitration::Shared {
            let taken = &mut self.taken[0][bus];
            *taken = (*taken).max(last);
        }
        if posted {
            (end_of_transfer, end_of_transfer)
        } else {
            (first, last)
        }
    }

    fn serve(&mut self, target: usize, request: Request, at: u64) -> (u64, u64, u64) {
        let base = self.topology.targets[target].base;
        let Request {
            addr, bytes, write, ..
        } = request;
        match self.topology.targets[target].controller {
            ControllerConfig::Dram(config) => {
                let at = edge(at, config.period);
                let dram = self.drams[target].as_mut().unwrap();
                dram.serve(addr - base, bytes, write, at)
            }
            ControllerConfig::Static(config) => {
                let at = edge(at, config.period);
                let latency = if write {
                    config.write_cycles
                } else {
                    config.read_cycles
                };
                let (mut moved, mut data, mut address) = (0, Vec::new(), at);
                while moved < bytes {
                    data.push(address + u64::from(latency) * config.period);
                    address += u64::from(config.beat_cycles) * config.period;
                    moved += config.width;
                }
                let last = *data.last().unwrap();
                let free = if config.is_pipelined {
                    address
                } else {
                    address.max(last)
                };
                (data[0], last, free)
            }
        }
    }
}

/// The hart's ports, with the requests of other masters.
pub struct Reference {
    pub fabric: ReferenceFabric,
    config: PortConfig,
    instructions: Option<Textbook>,
    data: Option<Textbook>,
    /// Requests of other masters by time.
    pub others: VecDeque<(u64, Request)>,
    now: u64,
    fetch_free: u64,
    data_free: u64,
    /// Buffered writes with the time from which on they may be written.
    buffered: VecDeque<(u32, u32, u64)>,
    /// Ends of the writes of buffered entries.
    written: Vec<u64>,
}

impl Reference {
    pub fn new(topology: &Topology, config: PortConfig, others: &[(u64, Request)]) -> Self {
        let cache = |config: Option<CacheConfig>| config.map(|c| Textbook::new(c.geometry));
        Self {
            fabric: ReferenceFabric::new(topology),
            instructions: cache(config.instruction_cache),
            data: cache(config.data_cache),
            others: others.iter().copied().collect(),
            now: 0,
            fetch_free: 0,
            data_free: 0,
            buffered: VecDeque::new(),
            written: Vec::new(),
            config,
        }
    }

    /// What happens until `at`, tick by tick: other masters' requests, buffered writes.
    fn pass_time(&mut self, at: u64) {
        for tick in self.now..at {
            self.pass_tick(tick);
        }
        self.other_requests(at);
        self.now = self.now.max(at);
    }

    /// At one tick: other masters' requests, then buffered writes.
    fn pass_tick(&mut self, tick: u64) {
        self.other_requests(tick);
        while let Some(&(addr, bytes, ready)) = self.buffered.front() {
            let begin = ready
                .max(self.data_free)
                .max(self.written.last().copied().unwrap_or(0));
            if begin > tick {
                break;
            }
            self.buffered.pop_front();
            let end = self.data_request(addr, bytes, true, begin);
            self.written.push(end);
        }
    }

    fn other_requests(&mut self, at: u64) {
        while self.others.front().is_some_and(|&(time, _)| time <= at) {
            let (time, request) = self.others.pop_front().unwrap();
            self.fabric.request(request, time);
        }
    }

    fn data_request(&mut self, addr: u32, bytes: u32, write: bool, at: u64) -> u64 {
        let request = Request {
            master: self.config.data_master,
            addr,
            bytes,
            write,
        };
        self.fabric
            .request(request, at)
            .map_or(at, |(_, last)| last)
    }

    fn wait_for_writes(&mut self, mut at: u64) -> u64 {
        self.pass_time(at);
        loop {
            self.pass_tick(self.now);
            if self.buffered.is_empty() {
                break;
            }
            self.now += 1;
        }
        at = at.max(self.written.last().copied().unwrap_or(0));
        at
    }

    fn is_cacheable(&self, addr: u32) -> bool {
        self.config
            .cacheable
            .iter()
            .any(|range| range.contains(&addr))
    }

    pub fn fetch(&mut self, line: u32, at: u64) -> u64 {
        let bytes = self.config.instruction_cache.map_or(4, |c| c.geometry.line);
        let addr = line * bytes;
        if self.is_cacheable(addr)
            && let Some(cache) = &mut self.instructions
            && cache.access(line, false) == Access::Hit
        {
            return at;
        }
        let miss = self
            .config
            .instruction_cache
            .map_or(0, |c| u64::from(c.miss_cycles));
        let begin = at.max(self.fetch_free) + miss * self.config.period;
        self.pass_time(begin);
        let request = Request {
            master: self.config.instruction_master,
            addr,
            bytes,
            write: false,
        };
        let Some((first, last)) = self.fabric.request(request, begin) else {
            return begin;
        };
        self.fetch_free = last;
        match self.config.instruction_cache.map(|c| c.resume) {
            Some(Resume::CriticalWord) => first,
            _ => last,
        }
    }

    pub fn load(&mut self, addr: u32, bytes: u32, at: u64) -> u64 {
        if self.data.is_some() && self.is_cacheable(addr) {
            self.cached(addr, false, at)
        } else {
            self.direct(addr, bytes, false, at)
        }
    }

    pub fn store(&mut self, addr: u32, bytes: u32, at: u64) -> u64 {
        let Some(config) = self.config.data_cache.filter(|_| self.is_cacheable(addr)) else {
            return self.direct(addr, bytes, true, at);
        };
        if config.write_policy == WritePolicy::Back {
            return self.cached(addr, true, at);
        }
        let line = addr / config.geometry.line;
        let cache = self.data.as_mut().unwrap();
        if cache.contains(line) {
            cache.access(line, false);
        }
        self.pass_time(at);
        if self.config.write_buffer == 0 {
            let begin = at.max(self.data_free);
            self.pass_time(begin);
            return self.data_request(addr, bytes, true, begin);
        }
        let mut now = at;
        while self.entries_in_use(now) >= self.config.write_buffer as usize {
            self.pass_tick(now);
            if self.entries_in_use(now) >= self.config.write_buffer as usize {
                now += 1;
                self.pass_time(now);
            }
        }
        self.buffered.push_back((addr, bytes, now));
        now
    }

    pub fn flush(&mut self, addr: u32, at: u64) {
        let Some(config) = self.config.data_cache else {
            return;
        };
        let bytes = config.geometry.line;
        if self.data.as_mut().unwrap().remove(addr / bytes) {
            self.pass_time(at);
            self.buffered.push_back((addr / bytes * bytes, bytes, at));
        }
    }

    pub fn flush_set(&mut self, addr: u32, at: u64) {
        let (Some(config), Some(data)) = (self.config.data_cache, &mut self.data) else {
            return;
        };
        let bytes = config.geometry.line;
        for line in data.beside(addr / bytes) {
            self.flush(line * bytes, at);
        }
    }

    fn entries_in_use(&self, now: u64) -> usize {
        let unwritten = self.written.iter().filter(|&&end| end > now);
        self.buffered.len() + unwritten.count()
    }

    fn direct(&mut self, addr: u32, bytes: u32, write: bool, at: u64) -> u64 {
        let begin = self.wait_for_writes(at.max(self.data_free));
        self.pass_time(begin);
        let request = Request {
            master: self.config.data_master,
            addr,
            bytes,
            write,
        };
        self.fabric
            .request(request, begin)
            .map_or(begin, |(_, last)| last)
    }

    fn cached(&mut self, addr: u32, write: bool, at: u64) -> u64 {
        let config = self.config.data_cache.unwrap();
        let bytes = config.geometry.line;
        let line = addr / bytes;
        let Access::Miss { dirty_victim } = self.data.as_mut().unwrap().access(line, write) else {
            return at;
        };
        let miss = u64::from(config.miss_cycles) * self.config.period;
        let mut begin = self.wait_for_writes(at.max(self.data_free) + miss);
        self.pass_time(begin);
        if let Some(victim) = dirty_victim
            && self.config.write_buffer == 0
        {
            begin = self.data_request(victim * bytes, bytes, true, begin);
            self.pass_time(begin);
        }
        let request = Request {
            master: self.config.data_master,
            addr: line * bytes,
            bytes,
            write: false,
        };
        let Some((first, last)) = self.fabric.request(request, begin) else {
            return begin;
        };
        self.data_free = last;
        if let Some(victim) = dirty_victim
            && self.config.write_buffer > 0
        {
            self.buffered.push_back((victim * bytes, bytes, last));
        }
        match config.resume {
            Resume::CriticalWord => first,
            Resume::WholeLine => last,
        }
    }
}
