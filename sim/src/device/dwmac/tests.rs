//! The MAC at its registers, its memory and its line.

use linerate_ether::checksum;
use linerate_ether::fcs;
use linerate_ether::frame::MacAddress;
use linerate_ether::pause::Pause;
use linerate_regs::RegisterRef;
use proptest::prelude::*;

use super::counters::offsets;
use super::*;
use crate::time::Span;

/// Memory of the tests, from address 0; rings and buffers in it.
const MEMORY: usize = 0x1_0000;
const RX_RING: u32 = 0x100;
const TX_RING: u32 = 0x800;
const BUFFERS: u32 = 0x1000;
const BUFFER: u32 = 1536;
const OWN: [u8; 6] = [2, 0, 0, 0, 0, 2];
const FAST: LinkMode = LinkMode { mbit_per_s: 100 };

/// A MAC with memory that answers after `delay`.
struct Bench {
    mac: Dwmac,
    memory: Vec<u8>,
    delay: Span,
}

impl Bench {
    fn new(parameters: Parameters) -> Self {
        let partner = Partner {
            mbit_per_s: 100,
            pause: true,
        };
        let mut mac = Dwmac::new(parameters);
        mac.connect(Some(partner), Instant::ZERO);
        Self {
            mac,
            memory: vec![0; MEMORY],
            delay: Span::from_ns(100),
        }
    }

    fn write(&mut self, register: RegisterRef, value: u32, now: Instant) {
        self.mac.write(register.offset, value, now);
    }

    fn read(&mut self, register: RegisterRef, now: Instant) -> u32 {
        self.mac.read(register.offset, now).expect("a register")
    }

    fn word(&self, at: u32) -> u32 {
        u32::from_le_bytes(*self.memory[at as usize..].first_chunk().expect("in memory"))
    }

    fn set_word(&mut self, at: u32, value: u32) {
        self.memory[at as usize..][..4].copy_from_slice(&value.to_le_bytes());
    }

    /// A ring of `buffers` normal receive descriptors, the operation mode `mode` besides the starts.
    fn start(&mut self, buffers: u32, mode: u32) {
        let now = Instant::ZERO;
        for number in 0..buffers {
            let at = RX_RING + 16 * number;
            let end = if number + 1 == buffers { 1 << 15 } else { 0 };
            self.set_word(at, 1 << 31);
            self.set_word(at + 4, end | BUFFER);
            self.set_word(at + 8, BUFFERS + BUFFER * number);
        }
        self.configure(mode, 0, now);
    }

    fn configure(&mut self, mode: u32, bus_mode: u32, now: Instant) {
        self.write(regs::MACA0HR, 0x0200, now);
        self.write(regs::MACA0LR, 0x0000_0002, now);
        self.write(regs::MACFCR, 100 << 16 | 1 << 2 | 1 << 1, now);
        self.write(regs::DMABMR, bus_mode | 16 << 8, now);
        self.write(regs::DMARDLAR, RX_RING, now);
        self.write(regs::DMATDLAR, TX_RING, now);
        self.write(regs::DMAIER, 0x1_ffff & !(1 << 2), now);
        self.write(regs::DMAOMR, mode | 1 << 13 | 1 << 1, now);
        let control = 1 << 15 | 1 << 14 | 1 << 11 | 1 << 10 | 1 << 3 | 1 << 2;
        self.write(regs::MACCR, control, now);
    }

    /// A normal descriptor to send `octets` octets from the first buffer, alone in its ring.
    fn send(&mut self, octets: u32, flags: u32, now: Instant) {
        self.set_word(TX_RING + 4, octets);
        self.set_word(TX_RING + 8, BUFFERS);
        self.set_word(
            TX_RING,
            1 << 31 | 1 << 30 | 1 << 29 | 1 << 28 | 1 << 21 | flags,
        );
        self.write(regs::DMATPDR, 0, now);
    }

    /// Performs events and transfers up to `until`.
    fn run(&mut self, until: Instant) {
        loop {
            let transfer = self.mac.transfer(0);
            let next = transfer.map_or(Instant::NEVER, |it| it.from);
            let at = next.min(self.mac.next_event());
            if at > until {
                return;
            }
            self.mac.advance(at);
            if let Some(transfer) = self.mac.transfer(0).filter(|it| it.from <= at) {
                self.perform(&transfer);
            }
        }
    }

    fn perform(&mut self, transfer: &Transfer) {
        assert!(transfer.bytes > 0, "{transfer:?}");
        let start = transfer.addr as usize;
        let end = start + transfer.bytes as usize;
        let done = transfer.from + self.delay;
        let mut read = Vec::new();
        match (self.memory.get_mut(start..end), &transfer.data) {
            (Some(place), Some(data)) => place.copy_from_slice(data),
            (Some(place), None) => read = place.to_vec(),
            (None, _) => {}
        }
        self.mac.transferred(0, &read, done);
    }

    fn sent(&mut self) -> Vec<LineFrame> {
        self.mac.sent.drain(..).collect()
    }
}

fn frame(len: usize, to: [u8; 6], start: Instant) -> LineFrame {
    let mut octets: Vec<u8> = (0..len).map(|it| it as u8).collect();
    octets[..6].copy_from_slice(&to);
    octets[12..14].copy_from_slice(&[0x88, 0xb5]);
    octets.extend(fcs::crc32(&octets).to_le_bytes());
    LineFrame::new(octets, start, FAST)
}

const fn us(us: u64) -> Instant {
    Instant::from_ns(1000 * us)
}

const RSF: u32 = 1 << 25;
const TSF: u32 = 1 << 21;
const FEF: u32 = 1 << 7;

#[test]
fn a_frame_is_in_memory_with_its_length_and_interrupts() {
    let mut bench = Bench::new(Parameters::default());
    bench.start(2, RSF);
    let sent = frame(1514, OWN, us(1));
    bench.mac.receive_frame(sent.clone());
    bench.run(us(122));
    assert_eq!(bench.mac.interrupts(), 0, "it has not arrived");
    bench.run(us(200));
    assert_eq!(bench.mac.interrupts(), 1);
    // First and last, 1518 octets; an EtherType that is not IP.
    assert_eq!(bench.word(RX_RING), 1518 << 16 | 3 << 8 | 0x81);
    assert_eq!(&bench.memory[BUFFERS as usize..][..1518], sent.octets);
    let status = bench.read(regs::DMASR, us(200));
    // Also TBUS: there is nothing to send.
    assert_eq!(status & 0x1_ffff, 1 << 16 | 1 << 6 | 1 << 2);
    bench.write(regs::DMASR, 1 << 16 | 1 << 6, us(200));
    assert_eq!(bench.mac.interrupts(), 0);
}

#[test]
fn frames_for_other_stations_are_not_stored() {
    let mut bench = Bench::new(Parameters::default());
    bench.start(2, RSF);
    for (number, to) in [[2, 0, 0, 0, 0, 9], [1, 0, 0, 0, 0, 9], [0xff; 6]]
        .into_iter()
        .enumerate()
    {
        bench
            .mac
            .receive_frame(frame(100, to, us(1 + 20 * number as u64)));
    }
    bench.run(us(100));
    assert_eq!(bench.word(RX_RING) >> 16, 104);
    assert_eq!(bench.word(RX_RING + 16) >> 31, 1, "only one");
}

#[test]
fn without_a_descriptor_frames_are_counted_and_the_next_finds_the_ring_filled() {
    let mut bench = Bench::new(Parameters::default());
    bench.start(1, RSF);
    for number in 0..3 {
        bench
            .mac
            .receive_frame(frame(100, OWN, us(1 + 20 * number)));
    }
    bench.run(us(70));
    assert_eq!(bench.read(regs::DMAMFBOCR, us(70)), 2);
    assert_eq!(bench.read(regs::DMAMFBOCR, us(70)), 0, "reading clears");
    assert_ne!(bench.read(regs::DMASR, us(70)) & 1 << 7, 0, "RBUS");
    bench.set_word(RX_RING, 1 << 31);
    bench.mac.receive_frame(frame(100, OWN, us(80)));
    bench.run(us(100));
    assert_eq!(bench.word(RX_RING) >> 16, 104);
}

#[test]
fn with_dfrf_a_frame_waits_for_a_poll_demand() {
    let mut bench = Bench::new(Parameters::default());
    bench.start(1, RSF | 1 << 24);
    bench.mac.receive_frame(frame(100, OWN, us(1)));
    bench.mac.receive_frame(frame(200, OWN, us(20)));
    bench.run(us(70));
    assert_eq!(bench.word(RX_RING) >> 16, 104);
    bench.set_word(RX_RING, 1 << 31);
    bench.write(regs::DMARPDR, 0, us(70));
    bench.run(us(80));
    assert_eq!(bench.word(RX_RING) >> 16, 204);
    assert_eq!(bench.read(regs::DMAMFBOCR, us(80)), 0);
}

/// A bus that is too slow: in store and forward, what does not fit leaves no descriptor; with a threshold, the first
/// part is written.
#[test]
fn an_overflow_is_counted_and_leaves_a_part_only_with_a_threshold() {
    for (mode, has_part) in [(RSF, false), (0, true)] {
        let mut bench = Bench::new(Parameters {
            receive_fifo: 1024,
            ..Parameters::default()
        });
        bench.start(4, mode);
        // 64 octets in 40 us: 13 Mbit/s.
        bench.delay = Span::from_us(40);
        for number in 0..3 {
            let start = us(1) + FAST.duration(1538 * number);
            bench.mac.receive_frame(frame(1514, OWN, start));
        }
        bench.run(us(20_000));
        let overflow = (0..4).filter(|it| bench.word(RX_RING + 16 * it) & 1 << 11 != 0);
        assert_eq!(overflow.count() > 0, has_part);
        assert_eq!(
            bench.word(RX_RING) & 1 << 11,
            if has_part { 1 << 11 } else { 0 }
        );
        let missed = bench.read(regs::DMAMFBOCR, us(20_000));
        assert!(regs::DMAMFBOCR::MFA.get(missed) > 0, "{missed:x}");
        let events = bench.read(regs::DMASR, us(20_000));
        assert_ne!(events & 1 << 4, 0, "ROS");
        assert!(bench.mac.counter(offsets::RX_FIFO_OVERFLOW) > 0);
    }
}

#[test]
fn frames_with_errors_are_dropped_unless_they_are_forwarded() {
    for (mode, is_there) in [(RSF, false), (RSF | FEF, true)] {
        let mut bench = Bench::new(Parameters::default());
        bench.start(2, mode);
        let mut bad = frame(100, OWN, us(1));
        bad.octets[50] ^= 1;
        bench.mac.receive_frame(bad);
        bench.run(us(50));
        let word = bench.word(RX_RING);
        assert_eq!(word >> 31 == 0, is_there);
        if is_there {
            assert_eq!(word & 0x8002, 0x8002, "ES and CE");
        }
        assert_eq!(bench.mac.counter(offsets::MMCRFCECR), 1);
    }
}

#[test]
fn a_frame_fills_both_buffers_of_a_descriptor_and_the_next_one() {
    let mut bench = Bench::new(Parameters::default());
    bench.start(2, RSF);
    // 64 and 36 octets, then the rest.
    bench.set_word(RX_RING + 4, 36 << 16 | 64);
    bench.set_word(RX_RING + 12, BUFFERS + 0x800);
    let sent = frame(200, OWN, us(1));
    bench.mac.receive_frame(sent.clone());
    bench.run(us(60));
    assert_eq!(bench.word(RX_RING) & 0x8000_0300, 1 << 9, "first");
    assert_eq!(bench.word(RX_RING + 16) & 0x8000_0300, 1 << 8, "last");
    assert_eq!(bench.word(RX_RING + 16) >> 16, 204);
    let at = |at: u32, len: usize| &bench.memory[at as usize..][..len];
    let stored = [
        at(BUFFERS, 64),
        at(BUFFERS + 0x800, 36),
        at(BUFFERS + BUFFER, 104),
    ]
    .concat();
    assert_eq!(stored, sent.octets);
}

#[test]
fn a_frame_that_does_not_fit_is_truncated() {
    let mut bench = Bench::new(Parameters::default());
    bench.start(2, RSF);
    bench.set_word(RX_RING + 4, 64);
    bench.set_word(RX_RING + 16, 0);
    bench.mac.receive_frame(frame(200, OWN, us(1)));
    bench.run(us(60));
    // Descriptor error, with the octets that were written.
    assert_eq!(bench.word(RX_RING) & 0x8000_4100, 0x4100);
    assert_eq!(bench.word(RX_RING) >> 16, 64);
}

#[test]
fn enhanced_descriptors_in_a_chain_have_an_extended_status() {
    let mut bench = Bench::new(Parameters::default());
    let chain = [RX_RING, RX_RING + 0x200];
    for (number, at) in chain.into_iter().enumerate() {
        bench.set_word(at, 1 << 31);
        bench.set_word(at + 4, 1 << 14 | BUFFER);
        bench.set_word(at + 8, BUFFERS + BUFFER * number as u32);
        bench.set_word(at + 12, chain[1 - number]);
    }
    bench.configure(RSF | 1 << 26, 1 << 7, Instant::ZERO);
    for (number, is_good) in [true, false, true].into_iter().enumerate() {
        let start = us(1 + 100 * number as u64);
        bench.mac.receive_frame(udp(start, is_good));
        bench.run(us(90 + 100 * number as u64));
        let at = chain[number % 2];
        let expected = if is_good { 0x41 } else { 0x51 };
        assert_eq!(bench.word(at + 16), expected, "IPv4, UDP, payload");
        assert_eq!(bench.word(at) & 1, 1, "extended status");
        bench.set_word(at, 1 << 31);
    }
}

/// A datagram of 30 octets.
fn udp(start: Instant, is_good: bool) -> LineFrame {
    let mut octets = vec![0; 14 + 20 + 8 + 30];
    octets[..6].copy_from_slice(&OWN);
    octets[12..16].copy_from_slice(&[8, 0, 0x45, 0]);
    octets[17] = 58;
    octets[23] = 17;
    octets[26..34].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
    octets[38..40].copy_from_slice(&[0, 38]);
    let sum = checksum::checksum(&octets[14..34]);
    octets[24..26].copy_from_slice(&sum.to_be_bytes());
    let sum = checksum::transport_checksum([10, 0, 0, 1], [10, 0, 0, 2], 17, &octets[34..]);
    octets[40..42].copy_from_slice(&sum.expect("fits").to_be_bytes());
    octets[60] ^= u8::from(!is_good);
    octets.extend(fcs::crc32(&octets).to_le_bytes());
    LineFrame::new(octets, start, FAST)
}

#[test]
fn a_frame_is_sent_with_padding_fcs_and_checksums() {
    let mut bench = Bench::new(Parameters::default());
    bench.start(2, TSF);
    let whole = udp(us(0), true).octets;
    let mut without = whole[..72].to_vec();
    without[24..26].fill(0);
    without[40..42].fill(0);
    bench.memory[BUFFERS as usize..][..72].copy_from_slice(&without);
    bench.send(72, 3 << 22, us(1));
    bench.run(us(30));
    let sent = bench.sent();
    assert_eq!(sent.len(), 1);
    assert_eq!(sent[0].octets, whole);
    assert_eq!(bench.word(TX_RING) >> 31, 0, "returned");
    assert_ne!(bench.read(regs::DMASR, us(30)) & 1, 0, "TS");
    bench.send(20, 0, us(40));
    bench.run(us(60));
    let sent = bench.sent();
    assert_eq!(sent[0].octets.len(), 64);
    assert!(fcs::is_good(&sent[0].octets));
}

#[test]
fn a_slow_bus_underruns_with_a_threshold_and_not_in_store_and_forward() {
    for (mode, fails) in [(TSF, false), (0, true)] {
        let mut bench = Bench::new(Parameters::default());
        bench.start(2, mode);
        bench.delay = Span::from_us(10);
        bench.send(1000, 0, us(1));
        bench.run(us(2000));
        let sent = bench.sent();
        assert_eq!(sent[0].fault.is_some(), fails);
        assert_eq!(bench.word(TX_RING) & 2 != 0, fails, "UF");
        assert_eq!(bench.read(regs::DMASR, us(2000)) & 1 << 5 != 0, fails);
    }
}

#[test]
fn a_pause_frame_of_the_partner_holds_the_transmitter() {
    let mut bench = Bench::new(Parameters::default());
    bench.start(4, TSF | RSF);
    let mut pause = vec![0; 60];
    let source = MacAddress([2, 0, 0, 0, 0, 1]);
    let written = Pause { source, quanta: 10 }.emit(&mut pause);
    assert_eq!(written, Ok(60));
    pause.extend(fcs::crc32(&pause).to_le_bytes());
    bench.mac.receive_frame(LineFrame::new(pause, us(1), FAST));
    bench.run(us(8));
    bench.send(100, 0, us(8));
    bench.run(us(200));
    let sent = bench.sent();
    assert_eq!(sent[0].start, us(1) + FAST.duration(72) + FAST.quanta(10));
}

/// The FIFO reaches its level while the frame arrives, and leaves it in bursts.
#[test]
fn a_full_receive_fifo_sends_a_pause_frame_and_one_that_ends_it() {
    let parameters = Parameters {
        pause_level: 1024,
        ..Parameters::default()
    };
    let mut bench = Bench::new(parameters);
    bench.start(4, RSF);
    bench.mac.receive_frame(frame(1514, OWN, us(1)));
    bench.run(us(400));
    let sent = bench.sent();
    let quanta: Vec<u16> = sent
        .iter()
        .map(|it| Pause::parse(&it.octets).expect("PAUSE").quanta)
        .collect();
    assert_eq!(quanta, [100, 0]);
    assert_eq!(sent[0].start, us(1) + FAST.duration(8 + 1024));
    assert_eq!(bench.mac.counter(offsets::TX_PAUSE_FRAME), 2);
}

#[test]
fn the_engines_stop_at_the_end_of_a_frame() {
    let mut bench = Bench::new(Parameters::default());
    bench.start(2, TSF | RSF);
    bench.send(1000, 0, us(1));
    bench.run(us(30));
    let mode = bench.read(regs::DMAOMR, us(30));
    bench.write(regs::DMAOMR, mode & !(1 << 13 | 1 << 1), us(30));
    let status = bench.read(regs::DMASR, us(30));
    assert_ne!(regs::DMASR::TPS.get(status), regs::DMASR::TPS::STOPPED);
    assert_ne!(status & 1 << 8, 0, "RPSS");
    bench.run(us(200));
    let status = bench.read(regs::DMASR, us(200));
    assert_eq!(regs::DMASR::TPS.get(status), regs::DMASR::TPS::STOPPED);
    assert_ne!(status & 1 << 1, 0, "TPSS");
    assert_eq!(bench.sent().len(), 1);
}

#[test]
fn a_phy_is_read_through_mdio_in_its_time() {
    let parameters = Parameters {
        dma_first: true,
        phy: 1,
        ..Parameters::default()
    };
    let mut bench = Bench::new(parameters);
    let address = regs::MACMIIAR.offset + DMA;
    // PHY 1, register 2; a period of MDC is 42 cycles of 12.5 ns.
    bench.mac.write(address, 1 << 11 | 2 << 6 | 1, us(0));
    assert_eq!(bench.mac.read(address, us(33)), Some(1 << 11 | 2 << 6 | 1));
    assert_eq!(bench.mac.read(address, us(34)), Some(1 << 11 | 2 << 6));
    let data = regs::MACMIIDR.offset + DMA;
    assert_eq!(bench.mac.read(data, us(34)), Some(0x4c52));
}

#[test]
fn an_address_without_memory_is_a_bus_error() {
    let mut bench = Bench::new(Parameters::default());
    bench.configure(RSF, 0, us(0));
    bench.write(regs::DMATDLAR, 0x8000_0000, us(1));
    bench.write(regs::DMATPDR, 0, us(1));
    bench.run(us(10));
    assert_ne!(bench.read(regs::DMASR, us(10)) & 1 << 13, 0, "FBES");
    assert_eq!(bench.mac.interrupts(), 1);
    assert!(bench.mac.transfer(0).is_none());
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
        Just(regs::MACCR.offset),
        Just(regs::DMAOMR.offset),
        Just(regs::DMATPDR.offset),
        Just(regs::DMARPDR.offset),
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
    fn random_registers_and_descriptors_do_no_harm(steps in prop::collection::vec(step(), 1..60)) {
        let mut bench = Bench::new(Parameters::default());
        bench.start(4, 0);
        let mut now = us(1);
        let mut line = now;
        for step in steps {
            match step {
                Step::Write(at, value) => {
                    bench.mac.write(at, value, now);
                }
                Step::Read(at) => {
                    bench.mac.read(at, now);
                }
                Step::Memory(at, value) => bench.set_word(RX_RING + at, value),
                Step::Frame(len, is_ours) => {
                    let to = if is_ours { OWN } else { [0xff; 6] };
                    let frame = frame(len, to, line.max(now));
                    line = frame.next_start();
                    bench.mac.receive_frame(frame);
                }
                Step::Wait(span) => now += Span::from_us(span),
            }
            bench.run(now);
            prop_assert!(bench.mac.next_event() > now);
        }
        bench.sent();
    }
}
