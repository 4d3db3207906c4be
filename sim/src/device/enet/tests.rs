//! The MAC at its registers, its memory and its line.

mod overrun;

use linerate_ether::fcs;
use proptest::prelude::*;

use super::*;
use crate::time::Span;

/// Memory of the tests, from address 0; rings and buffers in it.
const MEMORY: usize = 0x1_0000;
const RX_RING: u32 = 0x100;
const TX_RING: u32 = 0x800;
const BUFFERS: u32 = 0x1000;
const BUFFER: u32 = 2048;
const OWN: [u8; 6] = [2, 0, 0, 0, 0, 2];

/// The line, with frames as the device has them.
impl Enet {
    fn deliver(&mut self, frame: LineFrame) {
        self.receiver.arrivals.push_back(frame);
    }

    fn take_frames(&mut self) -> Vec<LineFrame> {
        self.sent.drain(..).collect()
    }
}

/// A MAC with memory that answers after `delay`.
struct Bench {
    enet: Enet,
    memory: Vec<u8>,
    delay: Span,
    /// Accesses outside the memory.
    outside: u32,
}

impl Bench {
    fn new(parameters: Parameters) -> Self {
        Self {
            enet: Enet::new(parameters),
            memory: vec![0; MEMORY],
            delay: Span::from_ns(50),
            outside: 0,
        }
    }

    fn write(&mut self, register: linerate_regs::RegisterRef, value: u32, now: Instant) {
        self.enet.write(register.offset, value, now);
    }

    fn word(&self, at: u32) -> u32 {
        u32::from_le_bytes(*self.memory[at as usize..].first_chunk().expect("in memory"))
    }

    fn set_word(&mut self, at: u32, value: u32) {
        self.memory[at as usize..][..4].copy_from_slice(&value.to_le_bytes());
    }

    /// Legacy descriptors, the receiver with `buffers` empty ones, thresholds as given.
    fn start(&mut self, buffers: u32, rsem: u32, rsfl: u32) {
        let now = Instant::ZERO;
        for number in 0..buffers {
            let at = RX_RING + 8 * number;
            let wrap = if number + 1 == buffers { 1 << 29 } else { 0 };
            self.set_word(at, 1 << 31 | wrap);
            self.set_word(at + 4, BUFFERS + BUFFER * number);
        }
        self.write(regs::PALR, 0x0200_0000, now);
        self.write(regs::PAUR, 2 << 16, now);
        self.write(regs::RCR, 1522 << 16 | 1 << 5 | 1 << 6 | 1 << 2, now);
        self.write(regs::TCR, 1 << 2, now);
        self.write(regs::OPD, 0xfff0, now);
        self.write(regs::MIBC, 0, now);
        self.write(regs::TFWR, 1 << 8, now);
        self.write(regs::RSEM, rsem, now);
        self.write(regs::RSFL, rsfl, now);
        self.write(regs::MRBR, BUFFER, now);
        self.write(regs::RDSR, RX_RING, now);
        self.write(regs::TDSR, TX_RING, now);
        self.write(regs::EIMR, u32::MAX, now);
        self.write(regs::ECR, 1 << 8 | 1 << 5 | 1 << 1, now);
        self.write(regs::RDAR, 1 << 24, now);
    }

    /// Performs events and transfers up to `until`.
    fn run(&mut self, until: Instant) {
        loop {
            let ports = [RECEIVE, TRANSMIT];
            let transfers = ports.map(|port| self.enet.transfer(port));
            let next = transfers.iter().flatten().map(|it| it.from).min();
            let at = next.unwrap_or(Instant::NEVER).min(self.enet.next_event());
            if at > until {
                return;
            }
            self.enet.advance(at);
            for port in ports {
                if let Some(transfer) = self.enet.transfer(port).filter(|it| it.from <= at) {
                    self.perform(port, &transfer);
                }
            }
        }
    }

    fn perform(&mut self, port: usize, transfer: &Transfer) {
        let start = transfer.addr as usize;
        let end = start + transfer.bytes as usize;
        let done = transfer.from + self.delay;
        let mut read = Vec::new();
        match (self.memory.get_mut(start..end), &transfer.data) {
            (Some(place), Some(data)) => place.copy_from_slice(data),
            (Some(place), None) => read = place.to_vec(),
            (None, _) => self.outside += 1,
        }
        self.enet.transferred(port, &read, done);
    }
}

fn frame(len: usize, to: [u8; 6], start: Instant) -> LineFrame {
    let mut octets: Vec<u8> = (0..len).map(|it| it as u8).collect();
    octets[..6].copy_from_slice(&to);
    octets[12..14].copy_from_slice(&[0x88, 0xb5]);
    octets.extend(fcs::crc32(&octets).to_le_bytes());
    LineFrame::new(octets, start, LinkMode::GIGABIT)
}

const fn us(us: u64) -> Instant {
    Instant::from_ns(1000 * us)
}

#[test]
fn a_frame_is_in_memory_with_its_length_and_interrupts() {
    let mut bench = Bench::new(Parameters::default());
    bench.start(2, 0, 0);
    let sent = frame(1514, OWN, us(1));
    bench.enet.deliver(sent.clone());
    bench.run(us(13));
    assert_eq!(bench.enet.interrupts(), 0, "it has not arrived");
    bench.run(us(40));
    assert_eq!(bench.enet.interrupts(), 1);
    assert_eq!(bench.word(RX_RING), (1 << 27) + 1518);
    let place = &bench.memory[BUFFERS as usize..][..1518];
    assert_eq!(place, sent.octets);
    bench.write(regs::EIR, u32::MAX, us(40));
    assert_eq!(bench.enet.interrupts(), 0);
}

#[test]
fn frames_for_other_stations_are_not_stored() {
    let mut bench = Bench::new(Parameters::default());
    bench.start(2, 0, 0);
    bench.enet.deliver(frame(100, [2, 0, 0, 0, 0, 9], us(1)));
    bench.enet.deliver(frame(100, [1, 0, 0, 0, 0, 9], us(4)));
    bench.enet.deliver(frame(100, [0xff; 6], us(8)));
    bench.run(us(40));
    assert_eq!(bench.word(RX_RING) & 0xffff, 104);
    assert_eq!(bench.word(RX_RING) >> 23 & 1, 1, "a broadcast");
    assert_eq!(bench.word(RX_RING + 8) >> 31, 1, "only one");
}

/// 1518 octets with an empty FIFO reach 1056 octets once, and leave it once.
#[test]
fn a_frame_above_the_threshold_makes_a_pause_frame_and_one_that_ends_it() {
    let mut bench = Bench::new(Parameters::default());
    bench.start(4, 0x84, 0);
    bench.enet.deliver(frame(1514, OWN, us(1)));
    bench.run(us(100));
    let sent = bench.enet.take_frames();
    let quanta: Vec<u16> = sent
        .iter()
        .map(|it| {
            linerate_ether::pause::Pause::parse(&it.octets)
                .expect("PAUSE")
                .quanta
        })
        .collect();
    assert_eq!(quanta, [0xfff0, 0]);
    // Preamble and 1056 octets take 8.512 us.
    assert_eq!(sent[0].start, us(1) + LinkMode::GIGABIT.duration(8 + 1056));
    assert!(sent.iter().all(|it| fcs::is_good(&it.octets)));
    assert_eq!(
        bench.enet.counter(counters::offsets::IEEE_T_FDXFC.offset),
        2
    );
}

#[test]
fn a_pause_frame_of_the_partner_holds_the_transmitter() {
    let mut bench = Bench::new(Parameters::default());
    bench.start(4, 0, 0);
    let mut pause = vec![0; 60];
    let source = linerate_ether::frame::MacAddress([2, 0, 0, 0, 0, 1]);
    let written = linerate_ether::pause::Pause {
        source,
        quanta: 100,
    }
    .emit(&mut pause);
    assert_eq!(written, Ok(60));
    pause.extend(fcs::crc32(&pause).to_le_bytes());
    bench
        .enet
        .deliver(LineFrame::new(pause, us(1), LinkMode::GIGABIT));
    bench.run(us(3));
    bench.set_word(TX_RING, (1 << 31 | 1 << 29 | 1 << 27 | 1 << 26) + 100);
    bench.set_word(TX_RING + 4, BUFFERS);
    bench.write(regs::TDAR, 1 << 24, us(3));
    bench.run(us(200));
    let sent = bench.enet.take_frames();
    assert_eq!(sent.len(), 1);
    // The pause frame ends after 72 octets; 100 quanta of 512 bit times are 51.2 us.
    let until = us(1) + LinkMode::GIGABIT.duration(72) + LinkMode::GIGABIT.quanta(100);
    assert_eq!(sent[0].start, until);
    assert_eq!(bench.word(TX_RING) >> 31, 0, "returned");
}

/// The paths alternate, and each change costs time: together they are slower than the receive path alone.
#[test]
fn both_directions_share_the_arbiter() {
    let parameters = Parameters {
        rates: [600_000_000, 480_000_000],
        turnaround_ns: 100,
        ..Parameters::default()
    };
    let mut engine = Engine::new(&parameters);
    let waiting = [Some(Instant::ZERO); 2];
    let (mut bytes, mut now) = (0_u64, Instant::ZERO);
    let mut served = [0; 2];
    while now < us(1000) {
        for port in [RECEIVE, TRANSMIT] {
            if let Some(from) = engine.grant(port, waiting) {
                engine.occupy(port, from, 64);
                served[port] += 1;
                bytes += 64;
                now = from;
            }
        }
    }
    assert!(served[RECEIVE] - served[TRANSMIT] <= 1, "{served:?}");
    // 64 octets each way take 853 + 1067 ns and two changes.
    let mbit = bytes * 8 / 1000;
    assert!((475..490).contains(&mbit), "{mbit} Mbit/s");
}

/// A register access or a frame of a random test.
#[derive(Clone, Debug)]
enum Step {
    Write(u32, u32),
    Read(u32),
    Memory(u32, u32),
    Frame(usize, bool),
    Wait(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let offset = prop_oneof![
        Just(regs::ECR.offset),
        Just(regs::RDAR.offset),
        Just(regs::TDAR.offset),
        Just(regs::RCR.offset),
        (0..SIZE / 4).prop_map(|it| 4 * it)
    ];
    prop_oneof![
        4 => (offset.clone(), any::<u32>()).prop_map(|(at, value)| Step::Write(at, value)),
        1 => offset.prop_map(Step::Read),
        4 => (0..0x400_u32, any::<u32>()).prop_map(|(at, value)| Step::Memory(4 * at, value)),
        2 => (60..2100_usize, any::<bool>()).prop_map(|(len, is_ours)| Step::Frame(len, is_ours)),
        2 => (1..200_u64).prop_map(Step::Wait),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    /// Whatever is in registers and descriptors: no panic, no event or transfer without end, time goes on.
    #[test]
    fn random_registers_and_descriptors_do_no_harm(
        overrun_end in 0..3000_u32,
        steps in prop::collection::vec(step(), 1..60),
    ) {
        let mut bench = Bench::new(Parameters { overrun_end, ..Parameters::default() });
        bench.start(4, 0x84, 16);
        let mut now = us(1);
        let mut line = now;
        for step in steps {
            match step {
                // A reset in each second step would leave nothing to test.
                Step::Write(at, value) if at == regs::ECR.offset => {
                    bench.enet.write(at, value & !1 | 2, now);
                }
                Step::Write(at, value) => {
                    bench.enet.write(at, value, now);
                }
                Step::Read(at) => {
                    bench.enet.read(at, now);
                }
                Step::Memory(at, value) => bench.set_word(RX_RING + at, value),
                Step::Frame(len, is_ours) => {
                    let to = if is_ours { OWN } else { [0xff; 6] };
                    let frame = frame(len, to, line.max(now));
                    line = frame.next_start();
                    bench.enet.deliver(frame);
                }
                Step::Wait(span) => now += Span::from_us(span),
            }
            bench.run(now);
            prop_assert!(bench.enet.next_event() > now);
        }
        bench.enet.take_frames();
    }
}
