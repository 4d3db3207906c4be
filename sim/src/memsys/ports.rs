//! The hart's side: instruction and data cache, write buffer, and accesses that bypass them.

use std::collections::VecDeque;
use std::ops::Range;

use super::cache::{Access, Cache, Geometry};
use super::fabric::{Completion, Request};

/// What the hart's ports are connected to. An implementation that has other masters lets them act
/// up to `at` first.
pub trait Bus {
    /// As [`super::Fabric::request`].
    fn request(&mut self, request: Request, at: u64) -> Option<Completion>;
}

impl Bus for super::Fabric {
    fn request(&mut self, request: Request, at: u64) -> Option<Completion> {
        Self::request(self, request, at)
    }
}

/// Handling of stores by a data cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WritePolicy {
    /// Modified lines are written when they are replaced; a store that misses fetches its line.
    Back,
    /// Each store is written to memory; a store that misses allocates nothing.
    Through,
}

/// When the hart continues after a miss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resume {
    /// When the whole line is in the cache.
    WholeLine,
    /// When the word that it waits for arrives, which is fetched first.
    CriticalWord,
}

/// A cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheConfig {
    /// Size and shape.
    pub geometry: Geometry,
    /// Handling of stores; without effect in an instruction cache.
    pub write_policy: WritePolicy,
    /// End of a miss.
    pub resume: Resume,
    /// Hart cycles from an access that misses to its request.
    pub miss_cycles: u32,
}

/// The hart's ports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortConfig {
    /// Period of the hart's clock in ticks.
    pub period: u64,
    /// Number of the instruction port in [`super::Topology::masters`].
    pub instruction_master: usize,
    /// Number of the data port.
    pub data_master: usize,
    /// Instruction cache; without one, each word is fetched by itself.
    pub instruction_cache: Option<CacheConfig>,
    /// Data cache.
    pub data_cache: Option<CacheConfig>,
    /// Entries of the write buffer: lines of a write-back cache, stores of a write-through cache.
    pub write_buffer: u32,
    /// Addresses that the caches hold; all others are accessed directly.
    pub cacheable: Vec<Range<u32>>,
}

/// Counts of the hart's accesses and of the ticks that it waited for them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortStatistics {
    /// Lines fetched for instructions.
    pub fetch_misses: u64,
    /// Ticks that the hart waited for instructions.
    pub fetch_waited: u64,
    /// Lines fetched for data.
    pub data_misses: u64,
    /// Modified lines written.
    pub lines_written: u64,
    /// Ticks that the hart waited for cached data.
    pub data_waited: u64,
    /// Loads and stores that bypass the cache.
    pub direct: u64,
    /// Ticks that the hart waited for them.
    pub direct_waited: u64,
}

/// A write in the buffer that was not issued yet.
#[derive(Clone, Copy, Debug)]
struct Buffered {
    addr: u32,
    bytes: u32,
    ready: u64,
}

/// The caches and the write buffer. Lines of instructions are numbered by the cache's line length,
/// or by words without cache.
#[derive(Clone, Debug)]
pub struct HartPorts {
    config: PortConfig,
    instructions: Option<Cache>,
    data: Option<Cache>,
    /// The lines that write-through caches hold are read like any other, but never written fast.
    fetch_shift: u32,
    data_shift: u32,
    /// The instruction port and the data cache are busy with the rest of a line until then.
    fetch_free: u64,
    data_free: u64,
    buffered: VecDeque<Buffered>,
    /// When the entries of issued writes are free again.
    issued: VecDeque<u64>,
    last_written: u64,
    statistics: PortStatistics,
}

impl HartPorts {
    /// Empty caches.
    pub fn new(config: PortConfig) -> Self {
        let cache = |config: &Option<CacheConfig>| config.map(|cache| Cache::new(cache.geometry));
        let line = |config: &Option<CacheConfig>| {
            config
                .map_or(4, |cache| cache.geometry.line)
                .trailing_zeros()
        };
        Self {
            instructions: cache(&config.instruction_cache),
            data: cache(&config.data_cache),
            fetch_shift: line(&config.instruction_cache),
            data_shift: line(&config.data_cache),
            fetch_free: 0,
            data_free: 0,
            buffered: VecDeque::new(),
            issued: VecDeque::new(),
            last_written: 0,
            statistics: PortStatistics::default(),
            config,
        }
    }

    /// Configuration.
    pub fn config(&self) -> &PortConfig {
        &self.config
    }

    /// Bytes in a line of instructions.
    pub fn fetch_line_bytes(&self) -> u32 {
        1 << self.fetch_shift
    }

    /// Counts since the start.
    pub fn statistics(&self) -> PortStatistics {
        self.statistics
    }

    /// True if the line of instructions is fetched at once, without any effect.
    #[inline]
    pub fn hits_fetch(&self, line: u32) -> bool {
        self.instructions
            .as_ref()
            .is_some_and(|cache| cache.is_latest(line))
    }

    /// True if data at `addr` are loaded at once, without any effect.
    #[inline]
    pub fn hits_load(&self, addr: u32) -> bool {
        self.data
            .as_ref()
            .is_some_and(|cache| cache.is_latest(addr >> self.data_shift))
    }

    /// True if data at `addr` are stored at once, without any effect.
    #[inline]
    pub fn hits_store(&self, addr: u32) -> bool {
        self.data
            .as_ref()
            .is_some_and(|cache| cache.is_latest_dirty(addr >> self.data_shift))
    }

    fn is_cacheable(&self, addr: u32) -> bool {
        self.config
            .cacheable
            .iter()
            .any(|range| range.contains(&addr))
    }

    /// Fetches the instructions of a line for the hart, which needs them at `at`; returns when it
    /// has them.
    pub fn fetch(&mut self, line: u32, at: u64, bus: &mut impl Bus) -> u64 {
        let addr = line << self.fetch_shift;
        let bytes = 1 << self.fetch_shift;
        let cached = self.is_cacheable(addr);
        if cached
            && let Some(cache) = &mut self.instructions
            && cache.access(line, false) == Access::Hit
        {
            return at;
        }
        let config = self.config.instruction_cache;
        let miss = config.map_or(0, |cache| u64::from(cache.miss_cycles) * self.config.period);
        let begin = at.max(self.fetch_free) + miss;
        self.write_until(begin, bus);
        let request = Request {
            master: self.config.instruction_master,
            addr,
            bytes,
            write: false,
        };
        let Some(completion) = bus.request(request, begin) else {
            return begin;
        };
        self.fetch_free = completion.last;
        self.statistics.fetch_misses += 1;
        let ready = resume(config, completion);
        self.statistics.fetch_waited += ready - at;
        ready
    }

    /// Loads `bytes` from `addr` at `at`; returns when the hart has them.
    pub fn load(&mut self, addr: u32, bytes: u32, at: u64, bus: &mut impl Bus) -> u64 {
        if self.data.is_none() || !self.is_cacheable(addr) {
            return self.access_directly(addr, bytes, false, at, bus);
        }
        self.access_line(addr, false, at, bus)
    }

    /// Stores `bytes` at `addr` at `at`; returns when the hart continues.
    pub fn store(&mut self, addr: u32, bytes: u32, at: u64, bus: &mut impl Bus) -> u64 {
        let policy = self.config.data_cache.map(|cache| cache.write_policy);
        match policy {
            Some(WritePolicy::Back) if self.is_cacheable(addr) => {
                self.access_line(addr, true, at, bus)
            }
            Some(WritePolicy::Through) if self.is_cacheable(addr) => {
                let line = addr >> self.data_shift;
                if let Some(cache) = &mut self.data
                    && cache.contains(line)
                {
                    cache.access(line, false);
                }
                self.store_through(addr, bytes, at, bus)
            }
            _ => self.access_directly(addr, bytes, true, at, bus),
        }
    }

    /// An access to a line of the data cache, which is fetched if it is missing.
    fn access_line(&mut self, addr: u32, write: bool, at: u64, bus: &mut impl Bus) -> u64 {
        let line = addr >> self.data_shift;
        let (Some(cache), Some(config)) = (&mut self.data, self.config.data_cache) else {
            return at;
        };
        let Access::Miss { dirty_victim } = cache.access(line, write) else {
            return at;
        };
        self.statistics.data_misses += 1;
        let miss = u64::from(config.miss_cycles) * self.config.period;
        let mut begin = self.write_all(at.max(self.data_free) + miss, bus);
        let bytes = 1 << self.data_shift;
        let victim = dirty_victim.map(|victim| victim << self.data_shift);
        if let Some(addr) = victim {
            self.statistics.lines_written += 1;
            if self.config.write_buffer == 0 {
                begin = self.write(addr, bytes, begin, bus);
            }
        }
        let request = Request {
            master: self.config.data_master,
            addr: line << self.data_shift,
            bytes,
            write: false,
        };
        let Some(completion) = bus.request(request, begin) else {
            return begin;
        };
        self.data_free = completion.last;
        if let Some(addr) = victim
            && self.config.write_buffer > 0
        {
            self.buffered.push_back(Buffered {
                addr,
                bytes,
                ready: completion.last,
            });
        }
        let ready = resume(Some(config), completion);
        self.statistics.data_waited += ready - at;
        ready
    }

    /// Removes the line of `addr` from the data cache at `at`. A modified one goes to the write buffer, whose size
    /// does not limit that; the next access that misses or bypasses the cache waits for it.
    pub fn flush(&mut self, addr: u32, at: u64) {
        let line = addr >> self.data_shift;
        if self.data.as_mut().is_some_and(|cache| cache.remove(line)) {
            self.statistics.lines_written += 1;
            self.buffered.push_back(Buffered {
                addr: line << self.data_shift,
                bytes: 1 << self.data_shift,
                ready: at,
            });
        }
    }

    /// As [`HartPorts::flush`], but of all lines that have the same place in the data cache as that of `addr`.
    pub fn flush_set(&mut self, addr: u32, at: u64) {
        let line = addr >> self.data_shift;
        while let Some(present) = self.data.as_ref().and_then(|it| it.latest_beside(line)) {
            self.flush(present << self.data_shift, at);
        }
    }

    /// A store to memory through the write buffer, if there is one.
    fn store_through(&mut self, addr: u32, bytes: u32, at: u64, bus: &mut impl Bus) -> u64 {
        self.write_until(at, bus);
        let entries = self.config.write_buffer as usize;
        let ready = if entries == 0 {
            let begin = at.max(self.data_free);
            self.write(addr, bytes, begin, bus)
        } else {
            let ready = self.wait_for_entry(entries, at, bus);
            self.buffered.push_back(Buffered { addr, bytes, ready });
            ready
        };
        self.statistics.data_waited += ready - at;
        ready
    }

    /// Waits until the write buffer has a free entry; returns that time.
    fn wait_for_entry(&mut self, entries: usize, at: u64, bus: &mut impl Bus) -> u64 {
        let mut now = at;
        loop {
            while self.issued.front().is_some_and(|&free| free <= now) {
                self.issued.pop_front();
            }
            if self.buffered.len() + self.issued.len() < entries {
                return now;
            }
            match self.issued.front() {
                Some(&free) => {
                    now = free;
                    self.write_until(now, bus);
                }
                None => self.write_next(bus),
            }
        }
    }

    /// An access past the cache, in order with the stores before it.
    fn access_directly(
        &mut self,
        addr: u32,
        bytes: u32,
        write: bool,
        at: u64,
        bus: &mut impl Bus,
    ) -> u64 {
        let begin = self.write_all(at.max(self.data_free), bus);
        let request = Request {
            master: self.config.data_master,
            addr,
            bytes,
            write,
        };
        let Some(completion) = bus.request(request, begin) else {
            return begin;
        };
        self.statistics.direct += 1;
        self.statistics.direct_waited += completion.last - at;
        completion.last
    }

    /// Writes to memory; returns when it is done.
    fn write(&mut self, addr: u32, bytes: u32, at: u64, bus: &mut impl Bus) -> u64 {
        let request = Request {
            master: self.config.data_master,
            addr,
            bytes,
            write: true,
        };
        bus.request(request, at).map_or(at, |done| done.last)
    }

    /// When the oldest entry of the write buffer will be issued.
    fn next_write(&self) -> Option<u64> {
        let front = self.buffered.front()?;
        Some(front.ready.max(self.last_written).max(self.data_free))
    }

    /// Issues the oldest entry of the write buffer.
    fn write_next(&mut self, bus: &mut impl Bus) {
        let Some(begin) = self.next_write() else {
            return;
        };
        if let Some(Buffered { addr, bytes, .. }) = self.buffered.pop_front() {
            let done = self.write(addr, bytes, begin, bus);
            self.last_written = done;
            self.issued.push_back(done);
        }
    }

    /// Issues the buffered writes that begin before `at`: to be called before another master's
    /// request at `at`.
    pub fn write_until(&mut self, at: u64, bus: &mut impl Bus) {
        while self.next_write().is_some_and(|begin| begin < at) {
            self.write_next(bus);
        }
    }

    /// Empties the write buffer; returns when that is done, at least `at`.
    fn write_all(&mut self, at: u64, bus: &mut impl Bus) -> u64 {
        if self.buffered.is_empty() && self.issued.is_empty() {
            return at;
        }
        while !self.buffered.is_empty() {
            self.write_next(bus);
        }
        self.issued.clear();
        at.max(self.last_written)
    }
}

/// When the hart continues after a miss.
fn resume(config: Option<CacheConfig>, completion: Completion) -> u64 {
    match config.map(|config| config.resume) {
        Some(Resume::CriticalWord) => completion.first,
        _ => completion.last,
    }
}
