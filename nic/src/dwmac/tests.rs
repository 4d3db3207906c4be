//! The driver against registers and descriptors for which a test emulates the device.

extern crate std;

use super::descriptor::{INSERT_ALL, INSERT_IPV4, OWN, SEND_INTERRUPT};
use super::mac::{dwmac, hash_bin};
use super::*;
use crate::accounts::tests::assert_script;
use crate::device::{Device, InterruptDriven, LinkState, Managed, RxToken, TxToken};
use crate::dma::{Buffer, Coherent};
use crate::ledger::Ledger;
use crate::mdio::{FlowControl, LinkSettings, MdioBus, MdioError, Phy, Speed, mii};
use crate::mmio::Registers;
use linerate_ether::frame::MacAddress;
use linerate_ether::ledger::Counter;
use linerate_regs::RegisterRef;
use std::boxed::Box;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::vec::Vec;

const N: usize = 4;
const OWN_ADDRESS: MacAddress = MacAddress([2, 0x11, 0x22, 0x33, 0x44, 0x55]);

/// Registers whose writes take effect at once.
#[derive(Default)]
struct Chip {
    values: RefCell<BTreeMap<usize, u32>>,
    written: RefCell<Vec<(usize, u32)>>,
    phy: RefCell<[u16; 32]>,
    /// True if the chip does not react.
    is_dead: Cell<bool>,
    /// Exchanges the two blocks of registers.
    swap: Cell<usize>,
}

impl Chip {
    fn value(&self, register: RegisterRef) -> u32 {
        let values = self.values.borrow();
        let at = register.offset as usize;
        values.get(&at).copied().unwrap_or(0)
    }

    fn set(&self, register: RegisterRef, value: u32) {
        let at = register.offset as usize;
        self.values.borrow_mut().insert(at, value);
    }

    /// Values written to a register, in order.
    fn written(&self, register: RegisterRef) -> Vec<u32> {
        let written = self.written.borrow();
        let ours = written
            .iter()
            .filter(|(at, _)| *at == register.offset as usize);
        ours.map(|(_, value)| *value).collect()
    }

    fn transfer(&self, address: u32) {
        let mut phy = self.phy.borrow_mut();
        let register = &mut phy[dwmac::MACMIIAR::MR.get(address) as usize];
        let is_here = dwmac::MACMIIAR::PA.get(address) == 6;
        if dwmac::MACMIIAR::MW.is_set(address) {
            *register = self.value(dwmac::MACMIIDR) as u16;
        } else {
            let data = if is_here { *register } else { 0xffff };
            self.set(dwmac::MACMIIDR, data.into());
        }
        self.set(dwmac::MACMIIAR, address & !1);
    }
}

impl Registers for &'static Chip {
    fn read_at(&self, offset: usize) -> u32 {
        let offset = offset ^ self.swap.get();
        let missed = dwmac::DMAMFBOCR.offset as usize;
        let mut values = self.values.borrow_mut();
        let found = values.get(&offset).copied().unwrap_or(0);
        if offset == missed {
            values.insert(missed, 0);
        }
        found
    }

    fn write_at(&self, offset: usize, value: u32) {
        let offset = offset ^ self.swap.get();
        self.written.borrow_mut().push((offset, value));
        let is = |register: RegisterRef| register.offset as usize == offset;
        let value = if is(dwmac::DMASR) {
            self.value(dwmac::DMASR) & !value
        } else if is(dwmac::DMABMR) && !self.is_dead.get() {
            value & !1
        } else {
            value
        };
        self.values.borrow_mut().insert(offset, value);
        if is(dwmac::MACMIIAR) && !self.is_dead.get() {
            self.transfer(value);
        }
    }
}

const ALL: Features = Features {
    inserts_checksums: true,
    verifies_checksums: true,
    has_enhanced_descriptors: true,
};

const CONFIG: Config = Config {
    bus_hz: 80_000_000,
    order: RegisterOrder::MacFirst,
    features: Some(ALL),
    linkage: Linkage::Ring,
    receive: Forwarding::Stored,
    transmit: Forwarding::Stored,
    burst_words: 16,
    pause: Pause {
        quanta: 0x648,
        start_kib_below: 1,
        end_kib_below: 2,
    },
    promiscuous: false,
};

const FAST: LinkSettings = LinkSettings {
    speed: Speed::Mbit100,
    full_duplex: true,
    flow_control: FlowControl {
        send: true,
        receive: true,
    },
};

#[repr(align(64))]
struct Aligned([u8; BUFFER_LEN]);

/// A buffer with this content.
fn buffer(content: &[u8]) -> Buffer {
    let memory = Box::leak(Box::new(Aligned([0; BUFFER_LEN])));
    memory.0[..content.len()].copy_from_slice(content);
    Buffer::new(&mut memory.0)
}

struct Bench<L: Layout> {
    mac: Dwmac<&'static Chip, Coherent, L, N>,
    chip: &'static Chip,
    ledger: &'static Ledger,
    receive: &'static [L; N],
    transmit: &'static [L; N],
}

/// A running device whose receive buffers have this content.
fn bench<L: Layout>(config: Config, link: Option<LinkSettings>, content: &[u8]) -> Bench<L> {
    let chip: &'static Chip = Box::leak(Box::default());
    if config.order == RegisterOrder::DmaFirst {
        chip.swap.set(0x1000);
    }
    let ledger: &'static Ledger = Box::leak(Box::new(Ledger::new()));
    let mac = Mac::reset(chip, config).expect("out of reset");
    let rings = Box::leak(Box::new(Rings::new()));
    let buffers = [0, 1].map(|_| core::array::from_fn(|_| buffer(content)));
    let mac: Dwmac<_, _, L, N> =
        Dwmac::start(mac, Coherent, rings, buffers, OWN_ADDRESS, link, ledger);
    let (receive, transmit) = mac.descriptors();
    Bench {
        mac,
        chip,
        ledger,
        receive,
        transmit,
    }
}

fn normal(content: &[u8]) -> Bench<Normal> {
    bench(CONFIG, Some(FAST), content)
}

/// The device has received a frame of `octets` with FCS.
fn came(descriptor: &Normal, octets: usize, flags: u32) {
    assert_ne!(descriptor.words[0].read() & OWN, 0, "not the device's");
    descriptor.words[0].write((octets as u32) << 16 | flags);
}

const WHOLE: u32 = 3 << 8;

/// Addresses and `EtherType`, IPv4 of this protocol, fragment and sum of what it carries.
fn ipv4(protocol: u8, fragment: u8, sum: [u8; 2]) -> Vec<u8> {
    let mut frame = [[0x02; 12].as_slice(), &[8, 0, 0x45]].concat();
    frame.resize(14 + 20 + 20, 0);
    frame[14 + 7] = fragment;
    frame[14 + 9] = protocol;
    frame[14 + 20 + 6..][..2].copy_from_slice(&sum);
    frame
}

#[test]
fn the_mac_is_set_up_before_it_runs() {
    let Bench { mac, chip, .. } = normal(&[]);
    let value = |register| chip.value(register);
    assert_eq!(value(dwmac::MACA0LR), 0x3322_1102);
    assert_eq!(value(dwmac::MACA0HR), 0x5544);
    // MII, 100 Mbit/s, full duplex, checksums, transmitter and receiver on.
    assert_eq!(value(dwmac::MACCR), 0xcc0c);
    assert_eq!(value(dwmac::MACFCR), 0x0648_0016);
    // Stored both ways, checksum errors and other errors forwarded, thresholds of 1 and 2 KiB, second frame, both started.
    assert_eq!(value(dwmac::DMAOMR), 0x0620_2986);
    assert_eq!(value(dwmac::DMABMR), 16 << 8);
    assert_eq!(value(dwmac::DMAIER), 0);
    let started = chip.written(dwmac::DMAOMR);
    assert_eq!(started, [0x0620_0984, 0x0620_2986]);
    assert_eq!(mac.link_state(), LinkState::Up);
}

#[test]
fn rings_end_and_chains_lead_to_the_next_descriptor() {
    let Bench { receive, .. } = normal(&[]);
    for (number, it) in receive.iter().enumerate() {
        let end = if number + 1 == N { 1 << 15 } else { 0 };
        assert_eq!(it.words[0].read(), OWN);
        assert_eq!(it.words[1].read(), end | BUFFER_LEN as u32);
    }
    let config = Config {
        linkage: Linkage::Chain,
        ..CONFIG
    };
    let mut chained: Bench<Enhanced> = bench(config, Some(FAST), &[]);
    let at = |it: &Enhanced| core::ptr::from_ref(it).addr() as u32;
    for (number, it) in chained.receive.iter().enumerate() {
        let next = at(&chained.receive[(number + 1) % N]);
        assert_eq!(it.base.words[1].read(), 1 << 14 | BUFFER_LEN as u32);
        assert_eq!(it.base.words[3].read(), next);
    }
    assert_eq!(chained.chip.value(dwmac::DMABMR), 16 << 8 | 1 << 7);
    for (number, it) in chained.transmit.iter().enumerate() {
        let room = chained.mac.transmit().expect("room");
        assert!(room.consume(100, |it| it.fill(0)).is_ok());
        let word = it.base.words[0].read();
        assert_eq!(word, OWN | SEND_INTERRUPT | 3 << 28 | 1 << 20);
        let next = at(&chained.transmit[(number + 1) % N]);
        assert_eq!(it.base.words[3].read(), next);
    }
}

#[test]
fn a_slow_half_duplex_link_with_thresholds() {
    let config = Config {
        receive: Forwarding::From(32),
        transmit: Forwarding::From(16),
        features: Some(Features::NONE),
        promiscuous: true,
        ..CONFIG
    };
    let link = LinkSettings {
        speed: Speed::Mbit10,
        full_duplex: false,
        flow_control: FlowControl::default(),
    };
    let Bench { chip, mac, .. } = bench::<Normal>(config, Some(link), &[]);
    assert_eq!(chip.value(dwmac::MACCR), 0xa00c);
    assert_eq!(chip.value(dwmac::MACFCR) & 6, 0);
    assert_eq!(chip.value(dwmac::MACFFR), 5);
    assert_eq!(chip.value(dwmac::DMAOMR), 0x0401_e98e);
    assert!(!mac.capabilities().checksums.tcp.transmit);
}

#[test]
fn the_features_are_read_and_the_blocks_of_registers_exchanged() {
    let config = Config {
        order: RegisterOrder::DmaFirst,
        features: None,
        ..CONFIG
    };
    let chip: &'static Chip = Box::leak(Box::default());
    chip.swap.set(0x1000);
    chip.set(dwmac::DMAHWFR, 1 << 16 | 1 << 18);
    let mac = Mac::reset(chip, config).expect("out of reset");
    let expected = Features {
        has_enhanced_descriptors: false,
        ..ALL
    };
    assert_eq!(mac.features(), expected);
    let swapped: Bench<Normal> = bench(
        Config {
            features: Some(ALL),
            ..config
        },
        Some(FAST),
        &[],
    );
    assert_eq!(swapped.chip.value(dwmac::MACCR), 0xcc0c);
}

#[test]
fn a_mac_without_clock_is_reported() {
    let chip: &'static Chip = Box::leak(Box::default());
    let mac = Mac::reset(chip, CONFIG).expect("there");
    chip.is_dead.set(true);
    assert_eq!(mac.read(6, mii::BMSR), Err(MdioError::Timeout));
    assert_eq!(Phy::at(&mac, 6).err(), Some(MdioError::Timeout));
    assert_eq!(Mac::reset(chip, CONFIG).err(), Some(InitError::InReset));
}

#[test]
fn registers_of_the_phy_are_read_and_written() {
    for (mhz, clock) in [(25, 2), (50, 3), (80, 0), (120, 1), (168, 4), (300, 5)] {
        let chip: &'static Chip = Box::leak(Box::default());
        let config = Config {
            bus_hz: mhz * 1_000_000,
            ..CONFIG
        };
        let mac = Mac::reset(chip, config).expect("there");
        assert_eq!(mac.write(6, mii::ANAR, 0x0de1), Ok(()));
        assert_eq!(mac.read(6, mii::ANAR), Ok(0x0de1));
        assert_eq!(mac.read(5, mii::ANAR), Ok(0xffff));
        let start = 4 << 6 | clock << 2 | 1;
        let expected = [6 << 11 | start | 2, 6 << 11 | start, 5 << 11 | start];
        assert_eq!(chip.written(dwmac::MACMIIAR), expected);
    }
}

#[test]
fn a_frame_is_received_without_fcs() {
    let frame = [[0xff; 6], [3; 6], [7; 6], [9; 6]].concat();
    let mut bench = normal(&frame);
    assert!(bench.mac.receive().is_none());
    for turn in 0..2 * N {
        came(&bench.receive[turn % N], frame.len() + 4, WHOLE);
        let (mut token, _) = bench.mac.receive().expect("came");
        assert_eq!(token.peek(), frame);
        if turn % 2 == 0 {
            token.consume(|it| assert_eq!(it, frame));
        } else {
            drop(token);
        }
        assert!(bench.mac.receive().is_none());
    }
    let count = |counter| bench.ledger.get(counter);
    let half = N as u32;
    assert_eq!(count(Counter::RxFrames), 2 * half);
    assert_eq!(count(Counter::RxBroadcast), 2 * half);
    assert_eq!(count(Counter::RxDelivered), half);
    assert_eq!(count(Counter::RxStackRejected), half);
}

#[test]
fn invalid_frames_are_counted_and_dropped() {
    let mut bench = normal(&[0; 100]);
    let cases = [
        (WHOLE | 0x8800, 800, Counter::RxFifoOverruns),
        (WHOLE | 0xc000, 800, Counter::RxOversize),
        (WHOLE | 0x8012, 1540, Counter::RxOversize),
        (WHOLE, 1523, Counter::RxOversize),
        (WHOLE | 0x8006, 80, Counter::RxAlignmentErrors),
        (WHOLE | 0x8002, 80, Counter::RxBadFcs),
        (WHOLE | 0x8008, 80, Counter::RxSymbolErrors),
        (WHOLE, 17, Counter::RxRunts),
        (WHOLE, 0, Counter::RxRunts),
    ];
    let mut turn = 0;
    for (flags, octets, counter) in cases {
        let before = bench.ledger.get(counter);
        came(&bench.receive[turn % N], octets, flags);
        turn += 1;
        assert!(bench.mac.receive().is_none());
        assert_eq!(bench.ledger.get(counter), before + 1, "{flags:x} {octets}");
    }
    // One in two buffers, whose end could be mistaken for a frame; then a good one.
    for flags in [1 << 9, 1 << 8, WHOLE] {
        came(&bench.receive[turn % N], 70, flags);
        turn += 1;
    }
    assert!(bench.mac.receive().is_some());
    assert_eq!(bench.ledger.get(Counter::RxOversize), 4);
    assert_eq!(bench.ledger.get(Counter::RxFrames), cases.len() as u32 + 2);
    assert_eq!(bench.ledger.get(Counter::RxValid), 1);
}

#[test]
fn lost_frames_are_counted_once() {
    let mut bench = normal(&[0; 100]);
    // Two without a descriptor, three by overflow, of which one was reported.
    came(&bench.receive[0], 800, WHOLE | 0x8800);
    assert!(bench.mac.receive().is_none());
    bench.chip.set(dwmac::DMAMFBOCR, 3 << 17 | 2);
    bench.chip.set(dwmac::DMASR, 1 << 7);
    bench.mac.mask();
    let count = |counter| bench.ledger.get(counter);
    assert_eq!(count(Counter::RxRingFull), 2);
    assert_eq!(count(Counter::RxFifoOverruns), 3);
    bench.mac.mask();
    assert_eq!(count(Counter::RxRingFull), 2);
    bench.chip.set(dwmac::DMAMFBOCR, 1 << 28 | 1 << 16);
    bench.mac.halt();
    assert_eq!(count(Counter::RxRingFull), 2 + 0x1_0000);
    assert_eq!(count(Counter::RxFifoOverruns), 3 + 0x800);
}

#[test]
fn a_frame_is_padded_and_sent() {
    let mut bench = normal(&[0xaa; 100]);
    let room = bench.mac.transmit().expect("room");
    assert!(room.consume(1515, |_| ()).is_err());
    assert!(bench.chip.written(dwmac::DMATPDR).is_empty());
    let room = bench.mac.transmit().expect("room");
    assert!(room.consume(20, |it| it.fill(3)).is_ok());
    let descriptor = &bench.transmit[0];
    assert_eq!(descriptor.words[0].read(), OWN | SEND_INTERRUPT | 3 << 28);
    assert_eq!(descriptor.words[1].read(), 60);
    assert_eq!(bench.chip.written(dwmac::DMATPDR).len(), 1);
    assert_eq!(bench.ledger.get(Counter::TxOctets), 0);
    descriptor.words[0].write(2 << 3);
    assert!(bench.mac.transmit().is_some());
    assert_eq!(bench.ledger.get(Counter::TxOctets), 64);
    assert_eq!(bench.ledger.get(Counter::TxMultipleCollisions), 1);
    let (_, [_, buffers]) = bench.mac.stop();
    let sent = buffers.iter().flatten().find(|it| it[0] == 3);
    let sent = sent.expect("written");
    assert_eq!((&sent[..20], &sent[20..60]), (&[3; 20][..], &[0; 40][..]));
}

#[test]
fn a_full_ring_waits_and_failures_to_send_are_counted() {
    let mut bench = normal(&[]);
    for _ in 0..N {
        let room = bench.mac.transmit().expect("room");
        assert!(room.consume(100, |_| ()).is_ok());
    }
    assert!(bench.mac.transmit().is_none());
    // Frames wait in the device while none can be answered.
    came(&bench.receive[0], 100, WHOLE);
    assert!(bench.mac.receive().is_none());
    let errors = [
        (1 << 1, Counter::TxUnderruns),
        (1 << 8, Counter::TxExcessiveCollisions),
        (1 << 9, Counter::TxLateCollisions),
        (1 << 11, Counter::TxCarrierSenseErrors),
    ];
    for (descriptor, (bit, _)) in bench.transmit.iter().zip(errors) {
        descriptor.words[0].write(1 << 15 | bit);
    }
    assert!(bench.mac.receive().is_some());
    for (_, counter) in errors {
        assert_eq!(bench.ledger.get(counter), 1);
    }
}

#[test]
fn checksums_are_inserted_where_the_engine_knows_them() {
    let arp = [[2; 12].as_slice(), &[8, 6], &[0; 46]].concat();
    let tagged = |frame: Vec<u8>| [&frame[..12], &[0x81, 0, 0, 5], &frame[12..]].concat();
    let cases = [
        (ipv4(6, 0, [0; 2]), INSERT_ALL),
        (ipv4(17, 0, [0; 2]), INSERT_ALL),
        (ipv4(1, 0, [0; 2]), INSERT_ALL),
        (tagged(ipv4(17, 0, [0; 2])), INSERT_ALL),
        // An unknown protocol, and the second of two fragments.
        (ipv4(50, 0, [0; 2]), INSERT_IPV4),
        (ipv4(17, 9, [0; 2]), INSERT_IPV4),
        (arp, 0),
    ];
    let mut bench = normal(&[]);
    for (number, (frame, inserted)) in (0..).zip(cases) {
        let room = bench.mac.transmit().expect("room");
        let len = frame.len();
        assert!(room.consume(len, |it| it.copy_from_slice(&frame)).is_ok());
        let descriptor = &bench.transmit[number % N];
        let word = descriptor.words[0].read();
        assert_eq!(word & INSERT_ALL, inserted, "{frame:x?}");
        descriptor.words[0].write(0);
    }
    assert!(bench.mac.capabilities().checksums.icmp.transmit);
    let config = Config {
        transmit: Forwarding::From(64),
        ..CONFIG
    };
    let early: Bench<Normal> = self::bench(config, None, &[]);
    assert!(!early.mac.capabilities().checksums.tcp.transmit);
    assert_eq!(early.mac.link_state(), LinkState::Down);
}

#[test]
fn wrong_checksums_are_dropped() {
    let arp = [[2; 12].as_slice(), &[8, 6], &[0; 46]].concat();
    // Bits of the first word of a normal descriptor: FT, IPHCE, PCE; the extended status of an enhanced one.
    let cases = [
        (ipv4(6, 0, [1, 2]), 0x20, 0x42, true),
        (ipv4(6, 0, [1, 2]), 0x21, 0x52, false),
        (ipv4(6, 0, [1, 2]), 0xa0, 0x4a, false),
        (ipv4(17, 0, [1, 2]), 0x21, 0x51, false),
        // UDP without a checksum, a fragment, another protocol than IP.
        (ipv4(17, 0, [0, 0]), 0x21, 0x51, true),
        (ipv4(17, 9, [1, 2]), 0x01, 0x60, true),
        (arp, 0x81, 0x20, true),
    ];
    for (frame, word, extended, is_good) in cases {
        let mut bench: Bench<Normal> = normal(&frame);
        came(&bench.receive[0], frame.len() + 4, WHOLE | word);
        assert_eq!(bench.mac.receive().is_some(), is_good, "{word:x}");
        let refused = bench.ledger.get(Counter::RxBadChecksum);
        assert_eq!(refused, u32::from(!is_good));
        let mut bench: Bench<Enhanced> = self::bench(CONFIG, Some(FAST), &frame);
        bench.receive[0].extended[0].write(extended);
        came(&bench.receive[0].base, frame.len() + 4, WHOLE | 1);
        assert_eq!(bench.mac.receive().is_some(), is_good, "{extended:x}");
    }
}

#[test]
fn a_waiting_frame_prevents_sleep() {
    let mut bench = normal(&[]);
    assert!(bench.mac.unmask());
    assert_eq!(bench.chip.value(dwmac::DMAIER), 0x1_a040);
    bench.chip.set(dwmac::DMASR, 1 << 16 | 1 << 6);
    came(&bench.receive[0], 100, WHOLE);
    bench.mac.mask();
    let registers = [dwmac::DMAIER, dwmac::DMASR].map(|it| bench.chip.value(it));
    assert_eq!(registers, [0, 0]);
    assert!(!bench.mac.unmask());
    // During a transmission its end wakes the processor, too.
    assert!(bench.mac.receive().is_some());
    let room = bench.mac.transmit().expect("room");
    assert!(room.consume(100, |_| ()).is_ok());
    assert!(bench.mac.unmask());
    assert_eq!(bench.chip.value(dwmac::DMAIER), 0x1_a041);
}

#[test]
fn a_failed_mac_starts_again() {
    let mut bench = normal(&[]);
    bench.chip.set(dwmac::DMASR, 1 << 13);
    bench.mac.mask();
    assert!(bench.mac.has_failed());
    let before = bench.chip.written(dwmac::DMABMR).len();
    bench.mac.set_link(Some(FAST));
    assert!(!bench.mac.has_failed());
    // Restarted once, and then not again.
    bench.mac.set_link(Some(FAST));
    assert_eq!(bench.chip.written(dwmac::DMABMR).len(), before + 2);
}

#[test]
fn the_mac_is_stopped_for_a_while_and_follows_its_phy() {
    let Bench {
        mac,
        chip,
        ledger,
        receive,
        ..
    } = normal(&[0; 100]);
    chip.phy.borrow_mut()[1..6].copy_from_slice(&[0x782d, 7, 0xc0d1, 0x01e1, 0x0081]);
    let bus = Mac::reset(chip, CONFIG).expect("there");
    let mut mac = mac.with_phy(Phy::at(&bus, 6).expect("there"));
    came(&receive[0], 100, WHOLE);
    mac.halt();
    assert!(mac.receive().is_none() && mac.transmit().is_none());
    assert_eq!(ledger.get(Counter::RxStackRejected), 1);
    let is_running = || dwmac::MACCR::RE.is_set(chip.value(dwmac::MACCR));
    // The link goes down meanwhile.
    chip.phy.borrow_mut()[1] = 0x7809;
    assert_eq!(mac.poll_link(), LinkState::Down);
    assert!(!is_running());
    assert_eq!(mac.resume(), Ok(()));
    assert!(is_running());
    came(&receive[0], 100, WHOLE);
    assert!(mac.receive().is_some());
    // Half duplex, 100 Mbit/s.
    chip.phy.borrow_mut()[1] = 0x782d;
    assert_eq!(mac.poll_link(), LinkState::Up);
    assert_eq!(chip.value(dwmac::MACCR) & 0x6800, 0x6000);
    assert_eq!(
        [Counter::LinkDowns, Counter::LinkUps].map(|it| ledger.get(it)),
        [1, 1]
    );
    mac.halt();
    chip.is_dead.set(true);
    assert_eq!(mac.resume(), Err(InitError::InReset));
    chip.is_dead.set(false);
    assert_eq!(mac.resume(), Ok(()));
    assert!(mac.transmit().is_some());
}

/// The upper six bits of the CRC register after the address, most significant bit first.
#[test]
fn groups_are_found_by_their_bits() {
    for group in [
        MacAddress::BROADCAST,
        MacAddress::MAC_CONTROL,
        MacAddress([1, 0, 0x5e, 0, 0, 0xfb]),
    ] {
        // The CRC by its definition: most significant bit first, the octets' least significant bit first.
        let mut crc = u32::MAX;
        for octet in group.0 {
            for bit in 0..8 {
                let feedback = crc >> 31 ^ u32::from(octet >> bit & 1);
                crc = (crc << 1) ^ (feedback * 0x04c1_1db7);
            }
        }
        assert_eq!(hash_bin(group), !crc >> 26, "{group}");
    }
    let mut bench = normal(&[]);
    bench.mac.join(MacAddress([1, 0, 0x5e, 0, 0, 0xfb]));
    let bin = hash_bin(MacAddress([1, 0, 0x5e, 0, 0, 0xfb]));
    let table = [dwmac::MACHTLR, dwmac::MACHTHR].map(|it| bench.chip.value(it));
    assert_ne!(table[bin as usize / 32] >> (bin % 32) & 1, 0);
}

#[test]
fn the_hardware_counters_are_read() {
    let bench = normal(&[]);
    bench.chip.set(dwmac::TX_PAUSE_FRAME, 0xd6c);
    bench.chip.set(dwmac::RX_FIFO_OVERFLOW, 3);
    let expected = Statistics {
        sent_pauses: 0xd6c,
        overruns: 3,
        ..Statistics::default()
    };
    assert_eq!(bench.mac.statistics(), expected);
}

#[test]
fn every_frame_has_one_end_in_the_account() {
    let mut bench = normal(&[0xff; 60]);
    let mut number = 0..;
    let mut arrive = |flags| {
        let next: usize = number.next().expect("endless");
        came(&bench.receive[next % N], 64, WHOLE | flags);
    };
    arrive(0x8002);
    arrive(0);
    let (token, _) = bench.mac.receive().expect("valid");
    token.consume(|_| ());
    arrive(0);
    drop(bench.mac.receive().expect("valid"));
    arrive(0);
    arrive(0);
    for _ in 0..2 {
        let room = bench.mac.transmit().expect("room");
        assert!(room.consume(60, |it| it.fill(0xff)).is_ok());
    }
    bench.transmit[0].words[0].write(0);
    bench.mac.halt();
    assert_eq!(bench.mac.resume(), Ok(()));
    assert_script(bench.ledger, Counter::RxBadFcs);
}
