use super::*;
use crate::random::Random;

/// Duration of a transfer in the tests.
const ACCESS: Span = Span::from_ns(10);
const OWNED: u32 = 1 << 31;
const EOP: u32 = 1 << 24;
const RUN: u32 = 1 << 5;
const ALL_INTERRUPTS: u32 = 0x1f;

/// An engine with memory.
struct Rig {
    engine: Sgdma,
    memory: Vec<u8>,
    now: Instant,
    /// Requests: port, address, bytes.
    requests: Vec<(usize, u32, u32)>,
    /// What came out of the stream.
    packets: Vec<Vec<u8>>,
}

impl Rig {
    fn new(direction: Direction) -> Self {
        let mut engine = Sgdma::new(direction, 32, 128, 20);
        engine.set_clocks(&[100_000_000], Instant::ZERO);
        Self {
            engine,
            memory: (0..4096_u32).map(|it| it as u8).collect(),
            now: Instant::ZERO,
            requests: Vec::new(),
            packets: vec![Vec::new()],
        }
    }

    fn descriptor(&mut self, at: u32, data: u32, next: u32, bytes: u32, control: u32) {
        let words = [data, 0, data, 0, next, 0, bytes, control];
        for (number, word) in words.into_iter().enumerate() {
            let at = at as usize + 4 * number;
            self.memory[at..at + 4].copy_from_slice(&word.to_le_bytes());
        }
    }

    fn word(&self, at: u32) -> u32 {
        let word = self.memory[at as usize..].first_chunk().unwrap();
        u32::from_le_bytes(*word)
    }

    fn start(&mut self, at: u32) {
        self.engine.write(0x20, at, self.now);
        self.engine.write(0x10, RUN | ALL_INTERRUPTS, self.now);
    }

    /// Runs until nothing is due; `room` is that of the stream's other end.
    fn run(&mut self, room: usize) {
        for _ in 0..10_000 {
            while let Some(fragment) = self.engine.stream_output(room, self.now) {
                self.packets.last_mut().unwrap().extend(fragment.octets);
                if fragment.end.is_some() {
                    self.packets.push(Vec::new());
                }
            }
            let due = |port| Some((self.engine.transfer(port)?.from, port));
            let transfer = (0..3).filter_map(due).min();
            let event = self.engine.next_event();
            match transfer {
                Some((from, port)) if from <= event => self.transfer(from, port),
                _ if event == Instant::NEVER => return,
                _ => {
                    self.now = self.now.max(event);
                    self.engine.advance(event);
                    assert!(self.engine.next_event() > event, "no progress");
                }
            }
        }
        panic!("it never ends");
    }

    fn transfer(&mut self, from: Instant, port: usize) {
        let it = self.engine.transfer(port).unwrap();
        self.requests.push((port, it.addr, it.bytes));
        assert!(it.bytes > 0 && it.addr % 32 + it.bytes <= 32, "{it:?}");
        let range = it.addr as usize..it.addr as usize + it.bytes as usize;
        self.now = self.now.max(from + ACCESS);
        let read = match (it.data, self.memory.get_mut(range)) {
            (Some(data), Some(memory)) => {
                memory.copy_from_slice(&data);
                Vec::new()
            }
            (None, Some(memory)) => memory.to_vec(),
            (_, None) => Vec::new(),
        };
        self.engine.transferred(port, &read, from + ACCESS);
    }
}

#[test]
fn a_chain_is_sent_in_bursts_and_handed_back() {
    let mut rig = Rig::new(Direction::ToStream);
    // One packet in two parts, then one whole, then a descriptor of the program.
    rig.descriptor(0x100, 0x804, 0x140, 40, OWNED);
    rig.descriptor(0x140, 0x900, 0x120, 8, OWNED | EOP);
    rig.descriptor(0x120, 0xa00, 0x160, 64, OWNED | EOP);
    rig.descriptor(0x160, 0, 0, 0, 0);
    rig.start(0x100);
    rig.run(1000);
    let part = |from: usize, len: usize| (from..from + len).map(|it| it as u8);
    let first: Vec<u8> = part(0x804, 40).chain(part(0x900, 8)).collect();
    let second: Vec<u8> = part(0xa00, 64).collect();
    assert_eq!(rig.packets, [first, second, Vec::new()]);
    let data: Vec<_> = rig.requests.iter().filter(|it| it.0 == DATA).collect();
    let bursts = [
        (0x804, 28),
        (0x820, 12),
        (0x900, 8),
        (0xa00, 32),
        (0xa20, 32),
    ];
    assert!(data.iter().map(|it| (it.1, it.2)).eq(bursts), "{data:?}");
    assert_eq!(rig.word(0x11c), 40);
    assert_eq!(rig.word(0x13c), EOP | 64);
    // Not busy, chain and descriptor completed.
    let status = rig.engine.read(0x00, rig.now).unwrap();
    assert_eq!(status & 0x1c, 0x0c);
    assert_eq!(rig.engine.interrupts(), 1);
    rig.engine
        .write(0x10, RUN | ALL_INTERRUPTS | 1 << 31, rig.now);
    assert_eq!(rig.engine.interrupts(), 0);
    // It stands where the program's descriptor is; a new start goes on there.
    assert_eq!(rig.engine.read(0x20, rig.now), Some(0x160));
    rig.descriptor(0x160, 0xb00, 0x100, 4, OWNED | EOP);
    rig.engine.write(0x10, 0, rig.now);
    rig.engine.write(0x10, RUN, rig.now);
    rig.run(1000);
    assert_eq!(rig.packets[2].len(), 4);
    assert_eq!(rig.engine.interrupts(), 0);
}

#[test]
fn a_descriptor_takes_its_accesses_and_its_cycles() {
    let mut rig = Rig::new(Direction::ToStream);
    rig.descriptor(0x100, 0x800, 0x120, 32, OWNED | EOP);
    rig.descriptor(0x120, 0, 0, 0, 0);
    rig.start(0x100);
    rig.run(1000);
    // Each descriptor: 10 ns to read it, 20 cycles of 10 ns; between them data and result.
    assert_eq!(rig.now, Instant::from_ns(2 * (10 + 200) + 10 + 10));
}

#[test]
fn a_sink_without_room_holds_the_reads() {
    let mut rig = Rig::new(Direction::ToStream);
    rig.descriptor(0x100, 0x800, 0x120, 512, OWNED | EOP);
    rig.descriptor(0x120, 0, 0, 0, 0);
    rig.start(0x100);
    rig.run(0);
    // As much as its FIFO holds.
    assert_eq!(rig.requests.iter().filter(|it| it.0 == DATA).count(), 4);
    rig.run(1000);
    assert_eq!(rig.packets[0].len(), 512);
}

#[test]
fn a_packet_is_written_and_ends_its_descriptor_with_its_errors() {
    let mut rig = Rig::new(Direction::FromStream);
    assert_eq!(rig.engine.stream_room(rig.now), 0);
    rig.descriptor(0x100, 0x800, 0x120, 256, OWNED);
    rig.descriptor(0x120, 0xa00, 0x140, 64, OWNED);
    rig.descriptor(0x140, 0, 0, 0, 0);
    rig.start(0x100);
    rig.run(0);
    for (number, end) in [None, Some(0b101)].into_iter().enumerate() {
        let room = rig.engine.stream_room(rig.now);
        assert!(room >= 50, "{room}");
        let octets = vec![number as u8 + 1; 50];
        rig.engine.stream_input(Fragment { octets, end }, rig.now);
        rig.run(0);
    }
    assert_eq!(rig.memory[0x800..0x832], [1; 50]);
    assert_eq!(rig.memory[0x832..0x864], [2; 50]);
    assert_eq!(rig.memory[0x864], 0x64);
    assert_eq!(rig.word(0x11c), 1 << 23 | 0b101 << 16 | 0x64);
    assert_eq!(rig.engine.read(0, rig.now).unwrap() & 0x17, 0x17);
    // A longer packet than its buffer goes on in the next descriptor.
    assert_eq!(rig.engine.stream_room(rig.now), 64);
    let whole = Fragment {
        octets: vec![9; 64],
        end: None,
    };
    rig.engine.stream_input(whole, rig.now);
    rig.run(0);
    assert_eq!(rig.word(0x13c), 64);
    assert_eq!(rig.engine.read(0, rig.now).unwrap() & 0x18, 0x08);
}

#[test]
fn a_reset_stops_it_at_once() {
    let mut rig = Rig::new(Direction::FromStream);
    rig.descriptor(0x100, 0x800, 0x120, 256, OWNED);
    rig.start(0x100);
    rig.run(0);
    assert_eq!(rig.engine.read(0, rig.now), Some(0x10));
    rig.engine.write(0x10, 1 << 16, rig.now);
    rig.engine.write(0x10, 0, rig.now);
    assert_eq!(rig.engine.read(0, rig.now), Some(0));
    assert_eq!(rig.engine.stream_room(rig.now), 0);
}

/// Random registers and descriptors: every request is a burst, and time goes on.
#[test]
fn random_programs_neither_hang_nor_exceed_a_burst() {
    let mut random = Random::new(0x5347);
    for round in 0..200 {
        let direction = [Direction::ToStream, Direction::FromStream][round % 2];
        let mut rig = Rig::new(direction);
        for _ in 0..64 {
            let at = random.below(4096) as usize;
            rig.memory[at] = random.below(256) as u8;
        }
        for _ in 0..40 {
            let offset = [0x00, 0x10, 0x20, 0x2c][random.below(4) as usize];
            let mut value = random.next_u64() as u32;
            if offset == 0x20 {
                value %= 4096;
            }
            // Polling goes on for ever.
            value &= !(1 << 18);
            rig.engine.write(offset, value, rig.now);
            rig.engine.read(offset, rig.now);
            for _ in 0..200 {
                let due = |port| Some((rig.engine.transfer(port)?.from, port));
                let Some((from, port)) = (0..3).filter_map(due).min() else {
                    break;
                };
                let from = from.max(rig.now);
                rig.transfer(from, port);
                rig.engine.advance(rig.now);
                rig.engine.stream_output(random.below(64) as usize, rig.now);
                let room = rig.engine.stream_room(rig.now);
                if room > 0 {
                    let fragment = Fragment {
                        octets: vec![0; random.below(room as u64 + 1) as usize],
                        end: (random.below(3) == 0).then_some(random.below(64) as u8),
                    };
                    rig.engine.stream_input(fragment, rig.now);
                }
            }
            rig.now += Span::from_us(1);
            rig.engine.advance(rig.now);
            assert!(rig.engine.next_event() > rig.now, "no progress");
        }
    }
}
