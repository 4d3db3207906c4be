//! One engine of the legacy scatter-gather DMA (Altera, Embedded Peripherals IP User Guide, "Scatter-Gather DMA
//! Controller Core"): from memory to a stream, or from a stream to memory, by a chain of descriptors in memory.
//!
//! Master port 0 reads descriptors, 1 writes their results, 2 reads or writes data. Output 0 interrupts. Each request is
//! one burst, which ends at a multiple of its length; there is one at a time on each port, so a burst waits for the one
//! before it. Descriptors are not read ahead.

mod chain;

use std::collections::VecDeque;

use super::port::Fragment;
use super::{Device, Transfer};
use crate::time::{Instant, Span, TICKS_PER_SECOND};

/// The registers.
mod csr {
    linerate_regs::constants!(linerate_regs::TSE, "SGDMA":
        STATUS { ERROR EOP_ENCOUNTERED DESCRIPTOR_COMPLETED CHAIN_COMPLETED BUSY }
        CONTROL { IE_GLOBAL IE_MAX_DESC MAX_DESC STOP_DMA_ERROR RUN SW_RESET PARK DESC_POLL_EN DESC_POLL_FREQ
            CLEAR_INTERRUPT }
        NEXT
    );
}

/// Descriptors.
mod descriptor {
    linerate_regs::constants!(linerate_regs::TSE, "DESCRIPTOR":
        SOURCE DESTINATION NEXT
        LENGTH { BYTES }
        RESULT { OWNED_BY_HW READ_FIXED_ADDRESS WRITE_FIXED_ADDRESS GENERATE_EOP TERMINATED_BY_EOP }
    );
}

const DESCRIPTOR_READ: usize = 0;
const DESCRIPTOR_WRITE: usize = 1;
const DATA: usize = 2;

const DESCRIPTOR_BYTES: u32 = 32;
/// Bits of `status` that writing 1 clears; those of `control` that enable their interrupts are the same.
const EVENTS: u32 = csr::STATUS::ERROR.mask()
    | csr::STATUS::EOP_ENCOUNTERED.mask()
    | csr::STATUS::DESCRIPTOR_COMPLETED.mask()
    | csr::STATUS::CHAIN_COMPLETED.mask();

/// Direction of an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From memory to its stream output.
    ToStream,
    /// From its stream input to memory.
    FromStream,
}

/// A descriptor that is worked on.
#[derive(Clone, Copy, Debug, Default)]
struct Descriptor {
    address: u32,
    /// Next octet to read or write.
    data: u32,
    /// Octets left to read, or room left for octets of the stream.
    left: u32,
    /// Octets of the stream so far.
    transferred: u32,
    next: u32,
    result: u32,
    /// The packet has ended, with these errors.
    ended: Option<u8>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    Idle,
    /// Reads a descriptor, of which it has this much.
    Fetching {
        words: Vec<u8>,
        from: Instant,
    },
    /// Until then the descriptor is decoded.
    Decoding {
        words: Vec<u8>,
        until: Instant,
    },
    /// Until then the next look at a descriptor of the program is put off.
    Polling {
        until: Instant,
    },
    Moving,
    /// Writes the result.
    WritingBack {
        from: Instant,
    },
    /// The result is complete then.
    Completing {
        at: Instant,
    },
}

/// The engine.
#[derive(Clone, Debug)]
pub struct Sgdma {
    direction: Direction,
    /// Bytes of a burst, a power of two, and of the FIFO between its ports.
    burst: u32,
    fifo_bytes: usize,
    /// Cycles for each descriptor beside its accesses.
    descriptor_cycles: u64,
    period: u64,
    status: u32,
    control: u32,
    next: u32,
    interrupt: bool,
    /// Descriptors done since the interrupt by their number.
    done: u32,
    state: State,
    descriptor: Descriptor,
    /// Octets that were read, and arrive then.
    arriving: VecDeque<(Vec<u8>, Instant)>,
    fifo: VecDeque<u8>,
    /// The earliest next request for data.
    free: Instant,
}

impl Sgdma {
    /// An idle engine. `burst` is its longest burst in bytes, a power of two; `descriptor_cycles` are those that each
    /// descriptor takes beside its accesses.
    pub fn new(direction: Direction, burst: u32, fifo_bytes: u32, descriptor_cycles: u32) -> Self {
        Self {
            direction,
            burst,
            fifo_bytes: fifo_bytes.max(burst) as usize,
            descriptor_cycles: descriptor_cycles.into(),
            period: 1,
            status: 0,
            control: 0,
            next: 0,
            interrupt: false,
            done: 0,
            state: State::Idle,
            descriptor: Descriptor::default(),
            arriving: VecDeque::new(),
            fifo: VecDeque::new(),
            free: Instant::ZERO,
        }
    }

    fn reset(&mut self) {
        let period = self.period;
        *self = Self::new(
            self.direction,
            self.burst,
            self.fifo_bytes as u32,
            self.descriptor_cycles as u32,
        );
        self.period = period;
    }

    fn cycles(&self, cycles: u64) -> Span {
        Span::from_ticks(cycles * self.period)
    }

    fn is_set(&self, bits: linerate_regs::Bits) -> bool {
        bits.is_set(self.control)
    }

    /// Octets from `address` to the end of its burst.
    fn burst_at(&self, address: u32) -> u32 {
        self.burst - address % self.burst
    }

    fn fetch(&mut self, from: Instant) {
        let words = Vec::new();
        self.state = State::Fetching { words, from };
    }

    fn write_control(&mut self, value: u32, now: Instant) {
        if csr::CONTROL::SW_RESET.is_set(value) {
            self.reset();
            self.control = csr::CONTROL::SW_RESET.mask();
            return;
        }
        if csr::CONTROL::CLEAR_INTERRUPT.is_set(value) {
            self.interrupt = false;
        }
        let was_running = self.is_set(csr::CONTROL::RUN);
        self.control = value & !csr::CONTROL::CLEAR_INTERRUPT.mask();
        if self.is_set(csr::CONTROL::RUN) && !was_running && self.state == State::Idle {
            self.done = 0;
            self.fetch(now);
        }
    }

    fn happens(&mut self, events: u32) {
        self.status |= events;
        let enabled = events & self.control & EVENTS != 0;
        self.interrupt |= enabled && self.is_set(csr::CONTROL::IE_GLOBAL);
    }

    /// The next burst of data.
    fn data_transfer(&self) -> Option<Transfer> {
        let Descriptor {
            data, left, ended, ..
        } = self.descriptor;
        let burst = self.burst_at(data);
        match self.direction {
            Direction::ToStream => {
                let held: usize = self.arriving.iter().map(|(octets, _)| octets.len()).sum();
                let bytes = burst.min(left);
                let fits = held + self.fifo.len() + bytes as usize <= self.fifo_bytes;
                (bytes > 0 && fits).then(|| Transfer::read(data, bytes, self.free))
            }
            Direction::FromStream => {
                let is_last = ended.is_some() || left == 0;
                let bytes = (burst as usize).min(self.fifo.len());
                let complete = bytes == burst as usize || is_last && bytes > 0;
                let octets = || self.fifo.iter().take(bytes).copied().collect();
                complete.then(|| Transfer::write(data, octets(), self.free))
            }
        }
    }

    fn data_transferred(&mut self, octets: &[u8], done: Instant) {
        let Some(Transfer { bytes, .. }) = self.data_transfer() else {
            return;
        };
        self.free = done;
        let fixed = descriptor::RESULT::READ_FIXED_ADDRESS.is_set(self.descriptor.result);
        match self.direction {
            Direction::ToStream => {
                // Nothing is there: it reads zeros.
                let mut octets = octets.to_vec();
                octets.resize(bytes as usize, 0);
                self.arriving.push_back((octets, done));
                self.descriptor.left -= bytes;
                if !fixed {
                    self.descriptor.data = self.descriptor.data.wrapping_add(bytes);
                }
            }
            Direction::FromStream => {
                self.fifo.drain(..bytes as usize);
                self.descriptor.data = self.descriptor.data.wrapping_add(bytes);
                self.finish_data(done);
            }
        }
    }

    /// Goes on to the result once all data are written.
    fn finish_data(&mut self, from: Instant) {
        let Descriptor { ended, left, .. } = self.descriptor;
        if self.fifo.is_empty() && (ended.is_some() || left == 0) {
            self.state = State::WritingBack { from };
        }
    }
}

impl Device for Sgdma {
    fn read(&mut self, offset: u32, now: Instant) -> Option<u32> {
        self.advance(now);
        if offset == csr::STATUS.offset {
            let busy = self.state != State::Idle;
            Some(self.status | csr::STATUS::BUSY.of(busy.into()))
        } else if offset == csr::CONTROL.offset {
            Some(self.control)
        } else if offset == csr::NEXT.offset {
            Some(self.next)
        } else {
            None
        }
    }

    fn write(&mut self, offset: u32, value: u32, now: Instant) -> bool {
        self.advance(now);
        if offset == csr::STATUS.offset {
            self.status &= !(value & EVENTS);
        } else if offset == csr::CONTROL.offset {
            self.write_control(value, now);
        } else if offset == csr::NEXT.offset {
            self.next = value & !3;
        } else {
            return false;
        }
        true
    }

    fn set_clocks(&mut self, hertz: &[u64], _: Instant) {
        let hertz = hertz.first().copied().unwrap_or(0).max(1);
        self.period = (TICKS_PER_SECOND + hertz / 2) / hertz;
    }

    fn next_event(&self) -> Instant {
        match self.state {
            State::Decoding { until, .. } | State::Polling { until } => until,
            State::Completing { at } => at,
            State::Moving => self.arriving.front().map_or(Instant::NEVER, |it| it.1),
            State::Idle | State::Fetching { .. } | State::WritingBack { .. } => Instant::NEVER,
        }
    }

    fn advance(&mut self, now: Instant) {
        if self.next_event() > now {
            return;
        }
        match std::mem::replace(&mut self.state, State::Idle) {
            State::Decoding { words, until } => self.begin(&words, until),
            State::Polling { until } => self.fetch(until),
            State::Completing { at } => self.complete(at),
            State::Moving => {
                self.state = State::Moving;
                while let Some((octets, _)) = self.arriving.pop_front_if(|it| it.1 <= now) {
                    self.fifo.extend(octets);
                }
            }
            other => self.state = other,
        }
    }

    fn transfer(&self, port: usize) -> Option<Transfer> {
        match (&self.state, port) {
            (State::Fetching { words, from }, DESCRIPTOR_READ) => {
                let got = words.len() as u32;
                let address = self.next.wrapping_add(got);
                let to_border = DESCRIPTOR_BYTES - address % DESCRIPTOR_BYTES;
                let bytes = (DESCRIPTOR_BYTES - got).min(to_border);
                Some(Transfer::read(address, bytes, *from))
            }
            (State::WritingBack { from }, DESCRIPTOR_WRITE) => {
                let result = descriptor::RESULT.offset;
                let address = self.descriptor.address.wrapping_add(result);
                let octets = self.result().to_le_bytes().to_vec();
                Some(Transfer::write(address, octets, *from))
            }
            (State::Moving, DATA) => self.data_transfer(),
            _ => None,
        }
    }

    fn transferred(&mut self, port: usize, data: &[u8], done: Instant) {
        let Some(Transfer { bytes, .. }) = self.transfer(port) else {
            return;
        };
        match port {
            DESCRIPTOR_READ => {
                let until = done + self.cycles(self.descriptor_cycles);
                if let State::Fetching { words, from } = &mut self.state {
                    let got = words.len();
                    words.extend(data);
                    // Nothing is there: it reads zeros.
                    words.resize(got + bytes as usize, 0);
                    *from = done;
                    if words.len() as u32 == DESCRIPTOR_BYTES {
                        let words = std::mem::take(words);
                        self.state = State::Decoding { words, until };
                    }
                }
            }
            DESCRIPTOR_WRITE => self.state = State::Completing { at: done },
            _ => self.data_transferred(data, done),
        }
    }

    fn stream_output(&mut self, room: usize, now: Instant) -> Option<Fragment> {
        if self.direction != Direction::ToStream || self.state != State::Moving {
            return None;
        }
        let octets: Vec<u8> = self.fifo.drain(..room.min(self.fifo.len())).collect();
        let is_last = self.descriptor.left == 0 && self.arriving.is_empty() && self.fifo.is_empty();
        if octets.is_empty() && !(is_last && room > 0) {
            return None;
        }
        self.descriptor.transferred += octets.len() as u32;
        let mut end = None;
        if is_last {
            let has_end = descriptor::RESULT::GENERATE_EOP.is_set(self.descriptor.result);
            end = has_end.then_some(0);
            self.state = State::WritingBack { from: now };
        }
        self.free = self.free.max(now);
        Some(Fragment { octets, end })
    }

    fn stream_room(&self, _: Instant) -> usize {
        let is_ready = self.direction == Direction::FromStream
            && self.state == State::Moving
            && self.descriptor.ended.is_none();
        if !is_ready {
            return 0;
        }
        let room = self.fifo_bytes.saturating_sub(self.fifo.len());
        room.min(self.descriptor.left as usize)
    }

    fn stream_input(&mut self, fragment: Fragment, now: Instant) {
        let octets = fragment.octets.len() as u32;
        self.fifo.extend(fragment.octets);
        self.descriptor.left = self.descriptor.left.saturating_sub(octets);
        self.descriptor.transferred += octets;
        self.descriptor.ended = fragment.end;
        self.free = self.free.max(now);
        // Nothing is left to write after an empty packet.
        self.finish_data(now);
    }

    fn interrupts(&self) -> u32 {
        u32::from(self.interrupt && self.is_set(csr::CONTROL::IE_GLOBAL))
    }
}

#[cfg(test)]
mod tests;
